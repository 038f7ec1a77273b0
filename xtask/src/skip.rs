//! Checks that this machine cannot make are named, never passed over in silence.
use anyhow::{Result, bail};

/// Reports a skipped check; a failure when DIPTYCH_NO_SKIP is set to anything but 0.
pub fn skip(check: &str, reason: &str) -> Result<()> {
    let forbidden = std::env::var_os("DIPTYCH_NO_SKIP").is_some_and(|v| !v.is_empty() && v != "0");
    if forbidden {
        bail!("{check} would be skipped ({reason}), and DIPTYCH_NO_SKIP forbids that");
    }
    println!("skipped: {check} ({reason})");
    Ok(())
}
