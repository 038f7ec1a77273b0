//! The errors of launches, with messages that say where the mistake is.

use core::fmt;
use diptych_device::gpu::host::Site;

/// Why a call on the emulator failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// An argument was refused; nothing was launched.
    Argument(diptych::Error),
    /// A kernel or its launch has a bug.
    Fault(Fault),
}

impl From<diptych::Error> for Error {
    fn from(error: diptych::Error) -> Self {
        Error::Argument(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Argument(error) => write!(f, "{error:?}"),
            Error::Fault(fault) => write!(f, "{fault}"),
        }
    }
}

impl std::error::Error for Error {}

/// A bug in a kernel or in its launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kernel.
    pub kernel: &'static str,
    /// The schedule under which it was found, as text.
    pub schedule: String,
    /// The block that was running, if any.
    pub block: Option<(u32, u32, u32)>,
    /// A description, with source lines and threads.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {}", self.kernel)?;
        if let Some((x, y, z)) = self.block {
            write!(f, ", block ({x}, {y}, {z})")?;
        }
        write!(f, ", schedule {}: {}", self.schedule, self.what)
    }
}

/// Formats threads as ranges: `0-31, 40`.
pub fn ranges(threads: &[u32]) -> String {
    let mut text: Vec<String> = Vec::new();
    let mut rest = threads;
    while let Some(&first) = rest.first() {
        let run = (first..).zip(rest).take_while(|(i, thread)| i == *thread);
        let length = run.count();
        let last = rest[length - 1];
        text.push(if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        });
        rest = &rest[length..];
    }
    text.join(", ")
}

/// Formats a place in the source of a kernel.
pub fn line(site: Site) -> String {
    format!("{}:{}:{}", site.file(), site.line(), site.column())
}

#[cfg(test)]
mod tests {
    #[test]
    fn threads_are_named_as_ranges() {
        assert_eq!(super::ranges(&[0, 1, 2, 5, 7, 8, 31]), "0-2, 5, 7-8, 31");
        assert_eq!(super::ranges(&[]), "");
    }
}
