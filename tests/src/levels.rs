//! The CPU levels that the suites run on. A level that the machine lacks is reported on stderr; if
//! `DIPTYCH_NO_SKIP` is set to anything but 0, it is a failure. `DIPTYCH_TEST_LEVEL` restricts the suites to one level.

use std::io::Write;
use std::sync::OnceLock;

use diptych::Level;

/// Returns whether a processor of this architecture could have the level.
fn possible_here(level: Level) -> bool {
    match level {
        Level::Portable => true,
        Level::Avx2 | Level::Avx512 => cfg!(target_arch = "x86_64"),
        Level::Neon => cfg!(target_arch = "aarch64"),
        _ => true,
    }
}

/// Returns the levels of this machine. The first call in a process reports the missing ones.
pub fn levels() -> &'static [Level] {
    static LEVELS: OnceLock<Vec<Level>> = OnceLock::new();
    LEVELS.get_or_init(|| {
        crate::machines::is_another();
        let (here, missing): (Vec<Level>, Vec<Level>) =
            Level::ALL.iter().partition(|level| level.is_available());
        for level in &missing {
            skip(*level);
        }
        let Ok(wanted) = std::env::var("DIPTYCH_TEST_LEVEL") else {
            return here;
        };
        let alone = here.into_iter().find(|level| level.name() == wanted);
        vec![alone.expect("DIPTYCH_TEST_LEVEL names a level of this machine")]
    })
}

fn skip(level: Level) {
    let possible = possible_here(level);
    let reason = if possible {
        "not on this machine"
    } else {
        "not applicable to this architecture"
    };
    // Written to stderr directly: the test harness shows the output of `print!` only for tests that fail.
    let line = format!("SKIPPED level {}: {reason}\n", level.name());
    let _ = std::io::stderr().write_all(line.as_bytes());
    let forbidden = std::env::var_os("DIPTYCH_NO_SKIP").is_some_and(|v| !v.is_empty() && v != "0");
    assert!(
        !(possible && forbidden),
        "level {} is missing, and DIPTYCH_NO_SKIP forbids that",
        level.name()
    );
}
