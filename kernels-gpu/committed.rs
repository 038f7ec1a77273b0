//! The files in `ptx`, of which build.rs takes what it embeds, and which `cargo xtask ptx` writes: both compile this file.

/// The text with which the PTX of each kernel begins.
const ENTRY: &str = ".visible .entry ";

/// Returns the name of each kernel in a file of PTX and a module with that kernel alone: the header of the file, then the
/// kernel.
pub fn modules(text: &str) -> impl Iterator<Item = (&str, String)> {
    let mut parts = text.split(ENTRY);
    let header = parts.next().unwrap_or_default();
    parts.map(move |entry| {
        let name = entry.split('(').next().unwrap_or_default();
        (name, [header, ENTRY, entry].concat())
    })
}

/// Returns the name of each kernel in a file of cubins, and its cubin; `None` if the file is not whole.
///
/// The file begins with lines of text: two about its origin, then the name and the bytes of each cubin, then an empty one.
/// The cubins follow.
pub fn cubins(file: &[u8]) -> Option<Vec<(&str, &[u8])>> {
    let end = file.windows(2).position(|pair| pair == b"\n\n")?;
    let mut rest = file.get(end + 2..)?;
    let mut all = Vec::new();
    for line in std::str::from_utf8(file.get(..end)?).ok()?.lines().skip(2) {
        let (name, bytes) = line.split_once(' ')?;
        let (cubin, after) = rest.split_at_checked(bytes.parse().ok()?)?;
        all.push((name, cubin));
        rest = after;
    }
    rest.is_empty().then_some(all)
}
