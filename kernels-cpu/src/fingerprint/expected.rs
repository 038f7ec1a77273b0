//! The promised hashes. `cargo xtask gen`, which writes [`FINGERPRINT`] into the header, includes this file by its path: it
//! must depend on nothing.

/// The version of the result bits. It is raised when the bits of an operation change.
pub const NUMERICS_VERSION: u32 = 1;

/// Bytes that the arrays of all calls need, wherever they begin.
pub const WORKSPACE: usize = 64 << 10;

/// The hash of each operation. One that changes is a change of a promise.
pub const HASHES: &[(&str, u64)] = &[
    ("clamp", 0x73f9749b89c05581),
    ("clamp_backward", 0xe2df6fd0e25ca970),
    ("add", 0xc975ac6c27325662),
    ("sub", 0x064ebf8912b296eb),
    ("mul", 0xa40a231ae2ee3ad1),
    ("div", 0x103764d11279df21),
    ("scale", 0x713c58bda7feabf7),
    ("axpy", 0x1b6be7693b514b1f),
    ("square", 0x20910ebd3fdd2ae0),
    ("abs", 0x7c86326b9cbab537),
    ("neg", 0xae1bcff5b1c05c49),
    ("minimum", 0xeb3935a1ecf8d59a),
    ("maximum", 0xbb60bae1636a9a7b),
    ("fill", 0xfe4b259840048fac),
    ("sum", 0x17754ae7e89a743f),
    ("mean", 0xf08ddb1a36647fa4),
    ("prod", 0x2cba464cf1c8af03),
    ("min", 0x42d863a54a93ce98),
    ("max", 0x30c67519b1e56482),
    ("sumsq", 0xe708cb3f58108ffc),
    ("asum", 0x46c08b8e9e1eca1c),
    ("nrm2", 0x8b81c3cde9cfc872),
    ("var", 0x3d67f7cc607eca87),
    ("std", 0x9f3b570aa315c259),
    ("logsumexp", 0xa7293a6fddacb861),
    ("count_nonzero", 0x0279f0e5481daf03),
    ("argmin", 0x1abcaee79702b508),
    ("argmax", 0xe5c0969d44f21009),
    ("normalize", 0x173f9597ea1796cb),
    ("outer", 0x26ff9022781c9061),
    ("ger", 0x3d48bbcedfab5e85),
    ("gemm", 0x19b01460c8ed50df),
    ("gemm_batched", 0xf8ea916d078bbd24),
    ("gemm_fused", 0x76d2b12cf2dfbc9e),
    ("dot", 0x157ebb9398758754),
    ("mse_grad", 0xada844bc575aa5c8),
    ("lsq_grad", 0x7f4086fb475d0577),
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
