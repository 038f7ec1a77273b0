//! The promised hashes. `cargo xtask gen`, which writes [`FINGERPRINT`] into the header, includes this file by its path: it
//! must depend on nothing.

/// The version of the result bits. It is raised when the bits of an operation change.
pub const NUMERICS_VERSION: u32 = 1;

/// Bytes that the arrays of all calls need, wherever they begin.
pub const WORKSPACE: usize = 64 << 10;

/// The hash of each operation. One that changes is a change of a promise.
pub const HASHES: &[(&str, u64)] = &[
    ("clamp", 0x45449cc4d453470a),
    ("clamp_backward", 0x542fc6775fc8b84c),
    ("add", 0x03ed00f53bc176a3),
    ("sub", 0x455bb0a81a6f71b9),
    ("mul", 0x5b77295f193f7272),
    ("div", 0x103764d11279df21),
    ("scale", 0xcc3d5d4b09efa7a3),
    ("axpy", 0xfda349fe4f85f067),
    ("square", 0x9e452020cc80e68a),
    ("abs", 0xadfe226185a553bb),
    ("neg", 0x209d7ce7d4c3ec16),
    ("minimum", 0xf4643fe778e5e460),
    ("maximum", 0x2d8c39017f7d1230),
    ("fill", 0xd8eb0ad8c770ad31),
    ("sum", 0x21057f308f2d799c),
    ("mean", 0xf08ddb1a36647fa4),
    ("prod", 0x4fdf12fa6bd18070),
    ("min", 0x0928cf1bd461b4c6),
    ("max", 0x02ba45a7ae224cb1),
    ("sumsq", 0x3d816b0c1eb2e426),
    ("asum", 0x227f43537ca845b9),
    ("nrm2", 0x58c78b86ec23f047),
    ("var", 0xf004515110db62d5),
    ("std", 0xb49edbac832d97d9),
    ("logsumexp", 0x20893d84ab18920b),
    ("count_nonzero", 0xa2884f6c5e0b829e),
    ("argmin", 0x25945965ff092819),
    ("argmax", 0x6a89f033a1ca4aca),
    ("normalize", 0xc666fe9b6f587b8a),
    ("outer", 0x45768d8ab3062478),
    ("ger", 0x30ee217100159530),
    ("gemm", 0xd0ff838767a92ba2),
    ("gemm_batched", 0xf8ea916d078bbd24),
    ("gemm_fused", 0x76d2b12cf2dfbc9e),
    ("dot", 0xb62b02e141fcea95),
    ("mse_grad", 0xd0b526919f2d5658),
    ("lsq_grad", 0x909e9d179a83e33e),
    ("convert", 0xfee46b48773006d4),
];

/// The fingerprint: the same on every machine.
pub const FINGERPRINT: u64 = combined(HASHES);

/// Returns what the hash `hash` becomes with one more word.
pub const fn fold(hash: u64, word: u64) -> u64 {
    let product = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 32)
}

/// Returns the part that an operation has in the fingerprint.
pub const fn share(name: &str, hash: u64) -> u64 {
    let (mut name, mut share) = (name.as_bytes(), hash);
    while let [byte, rest @ ..] = name {
        share = fold(share, *byte as u64);
        name = rest;
    }
    share
}

/// Returns the fingerprint that hashes make; their order does not matter.
const fn combined(mut hashes: &[(&str, u64)]) -> u64 {
    let mut sum: u64 = 0;
    while let [(name, hash), rest @ ..] = hashes {
        sum = sum.wrapping_add(share(name, *hash));
        hashes = rest;
    }
    sum
}
