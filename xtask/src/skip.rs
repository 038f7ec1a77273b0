//! Reporting the checks that this machine cannot make.
use anyhow::{Result, bail};
use std::io::Write;
use std::sync::{Mutex, PoisonError};

static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Reports a skipped check; fails when DIPTYCH_NO_SKIP is set to anything but 0.
pub fn skip(check: &str, reason: &str) -> Result<()> {
    let forbidden = std::env::var_os("DIPTYCH_NO_SKIP").is_some_and(|v| !v.is_empty() && v != "0");
    if forbidden {
        bail!("{check} would be skipped ({reason}), and DIPTYCH_NO_SKIP forbids that");
    }
    let line = format!("skipped: {check} ({reason})");
    // Not through `eprintln!`, whose output the test harness shows only for tests that fail.
    writeln!(std::io::stderr(), "{line}")?;
    let mut skipped = SKIPPED.lock().unwrap_or_else(PoisonError::into_inner);
    skipped.push(line);
    Ok(())
}

/// Prints the checks that were skipped so far, a line each.
pub fn repeat() {
    for line in &*SKIPPED.lock().unwrap_or_else(PoisonError::into_inner) {
        println!("{line}");
    }
}
