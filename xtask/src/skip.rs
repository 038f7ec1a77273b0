//! Checks that this machine cannot make are named, never passed over in silence.
use anyhow::{Result, bail};

/// Reports a skipped check; a failure when DIPTYCH_NO_SKIP=1.
pub fn skip(check: &str, reason: &str) -> Result<()> {
    if std::env::var_os("DIPTYCH_NO_SKIP").is_some_and(|value| value == "1") {
        bail!("{check} would be skipped ({reason}), and DIPTYCH_NO_SKIP=1 forbids that");
    }
    println!("skipped: {check} ({reason})");
    Ok(())
}
