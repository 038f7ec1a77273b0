//! Other machines. Which code runs depends on the caches of the machine, and no machine has all of them: with
//! `DIPTYCH_TEST_MACHINE` the suites of a process run as if on another one.

use std::sync::LazyLock;

use diptych::backend::geometry::Geometry;

/// The environment variable that names one of [`MACHINES`], or sizes of L1, L2 and LLC: `48K/2M/300M`.
pub const VARIABLE: &str = "DIPTYCH_TEST_MACHINE";

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

const fn machine(l1: usize, l2: usize, llc: usize) -> Geometry {
    Geometry {
        l1,
        l2,
        llc,
        double_pumps_avx512: false,
    }
}

/// Machines that exist, and extremes. The LLC is what cpuid reports, for all cores that share it. Without an L3 it is L2.
pub const MACHINES: [(&str, Geometry); 16] = [
    ("haswell", machine(32 * KIB, 256 * KIB, 8 * MIB)),
    ("skylake-sp", machine(32 * KIB, MIB, 22 * MIB)),
    ("ice-lake-sp", machine(48 * KIB, 1280 * KIB, 48 * MIB)),
    ("emerald-rapids", machine(48 * KIB, 2 * MIB, 300 * MIB)),
    ("alder-lake-n", machine(32 * KIB, 2 * MIB, 6 * MIB)),
    ("zen2", machine(32 * KIB, 512 * KIB, 16 * MIB)),
    (
        "zen4",
        Geometry {
            double_pumps_avx512: true,
            ..machine(32 * KIB, MIB, 32 * MIB)
        },
    ),
    ("zen5", machine(48 * KIB, MIB, 32 * MIB)),
    ("neoverse-n1", machine(64 * KIB, MIB, 32 * MIB)),
    ("cortex-a72", machine(32 * KIB, MIB, MIB)),
    ("cortex-a53", machine(32 * KIB, 512 * KIB, 512 * KIB)),
    ("least", machine(16 * KIB, 256 * KIB, 256 * KIB)),
    ("most", machine(64 * KIB, 4 * MIB, 512 * MIB)),
    ("small-l1", machine(16 * KIB, 4 * MIB, 4 * MIB)),
    ("small-l2", machine(64 * KIB, 256 * KIB, 2 * MIB)),
    (
        "least-double-pumped",
        Geometry {
            double_pumps_avx512: true,
            ..machine(16 * KIB, 256 * KIB, 1536 * KIB)
        },
    ),
];

/// Reads a size such as `48K`.
fn size(text: &str) -> Option<usize> {
    let (digits, unit) = match text.strip_suffix('K') {
        Some(digits) => (digits, KIB),
        None => (text.strip_suffix('M')?, MIB),
    };
    Some(digits.parse::<usize>().ok()? * unit)
}

/// Reads a name of [`MACHINES`], or three sizes.
fn parse(text: &str) -> Option<Geometry> {
    if let Some((_, known)) = MACHINES.iter().find(|(name, _)| *name == text) {
        return Some(*known);
    }
    let sizes: Option<Vec<usize>> = text.split('/').map(size).collect();
    let [l1, l2, llc] = sizes?.try_into().ok()?;
    Some(machine(l1, l2, llc))
}

/// Whether the process runs as if on another machine. The first call arranges it; [`levels`](crate::levels::levels) makes
/// one before any suite calls the library.
pub fn is_another() -> bool {
    static ANOTHER: LazyLock<bool> = LazyLock::new(|| {
        let Ok(text) = std::env::var(VARIABLE) else {
            return false;
        };
        let geometry = parse(&text);
        let names = MACHINES.map(|(name, _)| name).join(", ");
        assert!(
            geometry.is_some(),
            "{VARIABLE}={text} is none of {names}, nor sizes such as 48K/2M/300M"
        );
        Geometry::force(geometry);
        true
    });
    *ANOTHER
}

/// Bytes around which plans change: shares of the caches, and fixed limits in `kernels-cpu`.
pub fn thresholds() -> Vec<usize> {
    is_another();
    let Geometry { l1, l2, llc, .. } = Geometry::current();
    let shares = |cache: usize| {
        let shares = [
            (1, 4),
            (1, 3),
            (3, 8),
            (1, 2),
            (7, 12),
            (2, 3),
            (8, 9),
            (1, 1),
            (3, 2),
        ];
        shares.map(|(a, b)| cache / b * a)
    };
    let fixed = [64, 96, 256, 512, 768, 1024, 1536].map(|kib| kib * KIB);
    [l1, l2, llc]
        .into_iter()
        .flat_map(shares)
        .chain(fixed)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sizes_are_read() {
        assert_eq!(parse("zen4"), Some(MACHINES[6].1));
        assert_eq!(
            parse("48K/2M/300M"),
            Some(machine(49_152, 2 << 20, 300 << 20))
        );
        assert_eq!(parse("48K/2M").or(parse("48/2/3")).or(parse("zen")), None);
    }
}
