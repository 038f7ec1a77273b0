//! The PTX of the kernels, made by `cargo xtask ptx`, which the driver compiles for its device. Each kernel is a module
//! of its own, because compiling all of them takes long and few programs use all of them.
#![forbid(unsafe_code)]

use super::api::{Api, DeviceNumber, attribute};
use super::context::device_attribute;
use super::driver_version;
use super::error::{Error, Result};

/// The name of each kernel, and its module as compressed by build.rs.
pub type Images = &'static [(&'static str, &'static [u8])];

const SM_75: Images = include!(concat!(env!("OUT_DIR"), "/sm_75.rs"));

/// A device's compute capability.
type Capability = (i32, i32);

/// The PTX of one target.
struct Target {
    images: Images,
    /// Returns whether devices of this compute capability can run it with a driver of this version.
    fits: fn(Capability, i32) -> bool,
}

/// All targets; the first one that fits a device is used. Another target needs its name in xtask's `TARGETS`, the file
/// that `cargo xtask ptx` then makes, and a row here.
const TARGETS: [Target; 1] = [Target {
    images: SM_75,
    fits: |capability, _driver| capability >= (7, 5),
}];

/// Returns the modules for a device.
pub fn choose(api: &Api, device: DeviceNumber) -> Result<Images> {
    let major = device_attribute(api, attribute::CAPABILITY_MAJOR, device)?;
    let minor = device_attribute(api, attribute::CAPABILITY_MINOR, device)?;
    for_capability((major, minor), driver_version(api)?)
}

/// Returns the text of a kernel's module, with the NUL at the end that the driver needs; `None` if there is no such
/// kernel.
pub fn module(images: Images, entry: &str) -> Option<Vec<u8>> {
    let (_, packed) = images.iter().find(|(name, _)| *name == entry)?;
    let mut text = miniz_oxide::inflate::decompress_to_vec_zlib(packed).ok()?;
    text.push(0);
    Some(text)
}

fn for_capability(capability: Capability, driver: i32) -> Result<Images> {
    let found = TARGETS
        .iter()
        .find(|target| (target.fits)(capability, driver));
    found.map(|target| target.images).ok_or(Error::DeviceTooOld)
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_device::launch::entry;

    /// The modules together are the committed file: each is the header of the file and the text of one kernel.
    #[test]
    fn modules_are_the_whole_file() {
        for (images, file, target) in [(SM_75, include_str!("../../ptx/sm_75.ptx"), "sm_75")] {
            let header = &file[..file.find(".visible").unwrap()];
            assert!(header.contains(&format!(".target {target}\n")));
            let mut rest = file.strip_prefix(header).unwrap();
            for (name, _) in images {
                let text = String::from_utf8(module(images, name).unwrap()).unwrap();
                let entry = text.strip_prefix(header).unwrap();
                let entry = entry.strip_suffix('\0').unwrap();
                assert!(entry.starts_with(&format!(".visible .entry {name}(")));
                assert_eq!(entry.matches(".entry").count(), 1, "{name}");
                assert!(entry.ends_with("\n}\n"), "{name}");
                rest = rest.strip_prefix(entry).unwrap();
            }
            assert_eq!(rest, "");
            let names = || entry::ALL.iter().flat_map(|entry| entry.names());
            assert_eq!(images.len(), names().count());
            for name in names() {
                assert!(images.iter().any(|(known, _)| *known == name), "{name}");
            }
            assert_eq!(module(images, "add_f16"), None);
        }
    }

    #[test]
    fn code_fits_the_device() {
        for newer in [(7, 5), (8, 0), (8, 9), (9, 0), (10, 0), (12, 1)] {
            assert_eq!(for_capability(newer, 13_000), Ok(SM_75));
        }
        for older in [(5, 2), (7, 0), (7, 2)] {
            assert_eq!(for_capability(older, 13_000), Err(Error::DeviceTooOld));
        }
    }
}
