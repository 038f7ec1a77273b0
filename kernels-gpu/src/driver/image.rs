//! The code of the kernels, made by `cargo xtask ptx`: PTX, which the driver compiles for its device, and with the feature
//! `cubin` also what that compiles to on some architectures. Each kernel is a module of its own, because compiling all of
//! them takes long and few programs use all of them.
#![forbid(unsafe_code)]

use super::api::{Api, DeviceNumber, attribute};
use super::context::device_attribute;
use super::driver_version;
use super::error::{Error, Result};

/// The name of each kernel, and its module as compressed by build.rs.
pub type Table = &'static [(&'static str, &'static [u8])];

/// The PTX, which every device from `OLDEST` on runs.
static PTX: Table = include!(concat!(env!("OUT_DIR"), "/sm_75.rs"));
const OLDEST: Capability = (7, 5);

/// The cubins of each architecture; none without the feature.
static CUBINS: &[(&str, Table)] = include!(concat!(env!("OUT_DIR"), "/cubins.rs"));

/// The oldest driver that is asked to load cubins: they are made by an assembler of CUDA 12.
const CUBIN_DRIVER: i32 = 12_000;

/// A device's compute capability.
type Capability = (i32, i32);

/// The code for a device.
#[derive(Clone, Copy)]
pub struct Images {
    /// Cubins, which the driver may refuse; empty if there are none for the device.
    pub cubins: Table,
    /// PTX of the same kernels.
    pub ptx: Table,
}

impl Images {
    /// Returns the code for a device.
    pub fn choose(api: &Api, device: DeviceNumber) -> Result<Images> {
        let major = device_attribute(api, attribute::CAPABILITY_MAJOR, device)?;
        let minor = device_attribute(api, attribute::CAPABILITY_MINOR, device)?;
        Images::for_capability((major, minor), driver_version(api)?)
    }

    fn for_capability(capability: Capability, driver: i32) -> Result<Images> {
        if capability < OLDEST {
            return Err(Error::DeviceTooOld);
        }
        let target = architecture(capability).filter(|_| driver >= CUBIN_DRIVER);
        let found = CUBINS.iter().find(|(name, _)| Some(*name) == target);
        Ok(Images {
            cubins: found.map_or(&[], |(_, cubins)| cubins),
            ptx: PTX,
        })
    }
}

/// Returns the architecture whose cubins a device runs: one of the same major number, and of the same or a lower minor one.
/// That does not hold for Tegra (8.7 and 8.8), and nothing is known of numbers that are not here.
fn architecture(capability: Capability) -> Option<&'static str> {
    match capability {
        (8, 0 | 6 | 9) => Some("sm_80"),
        (9, 0) => Some("sm_90"),
        (10, 0 | 3) => Some("sm_100"),
        _ => None,
    }
}

/// Returns the module of a kernel, with the NUL behind it that the driver needs at the end of PTX; `None` if there is no
/// such kernel.
pub fn module(table: Table, entry: &str) -> Option<Vec<u8>> {
    let (_, packed) = table.iter().find(|(name, _)| *name == entry)?;
    let mut module = miniz_oxide::inflate::decompress_to_vec_zlib(packed).ok()?;
    module.push(0);
    Some(module)
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_device::launch::entry;

    #[track_caller]
    fn has_every_kernel(table: Table) {
        let names = || entry::ALL.iter().flat_map(|entry| entry.names());
        assert_eq!(table.len(), names().count());
        for name in names() {
            assert!(table.iter().any(|(known, _)| *known == name), "{name}");
        }
        assert_eq!(module(table, "add_f16"), None);
    }

    /// The modules together are the committed file: each is the header of the file and the text of one kernel.
    #[test]
    fn modules_are_the_whole_file() {
        let file = include_str!("../../ptx/sm_75.ptx");
        let header = &file[..file.find(".visible").unwrap()];
        assert!(header.contains(".target sm_75\n"));
        let mut rest = file.strip_prefix(header).unwrap();
        for (name, _) in PTX {
            let text = String::from_utf8(module(PTX, name).unwrap()).unwrap();
            let entry = text.strip_prefix(header).unwrap();
            let entry = entry.strip_suffix('\0').unwrap();
            assert!(entry.starts_with(&format!(".visible .entry {name}(")));
            assert_eq!(entry.matches(".entry").count(), 1, "{name}");
            assert!(entry.ends_with("\n}\n"), "{name}");
            rest = rest.strip_prefix(entry).unwrap();
        }
        assert_eq!(rest, "");
        has_every_kernel(PTX);
    }

    /// Each cubin is an ELF file for its architecture, in the format of CUDA 12 where that has the architecture in it.
    #[test]
    #[cfg(feature = "cubin")]
    fn cubins_are_of_their_architecture() {
        for (target, abi, number) in [("sm_80", 7, 80), ("sm_90", 7, 90), ("sm_100", 8, 100)] {
            let (_, table) = CUBINS.iter().find(|(name, _)| *name == target).unwrap();
            has_every_kernel(table);
            for (name, _) in *table {
                let cubin = module(table, name).unwrap();
                assert_eq!(cubin[..7], *b"\x7fELF\x02\x01\x01", "{target} {name}");
                assert_eq!(cubin[8], abi, "{target} {name}");
                assert_eq!(cubin[18..20], [190, 0], "the machine: {target} {name}");
                // The low byte of the flags, and in the newer format the second one.
                let at = if abi == 7 { 48 } else { 49 };
                assert_eq!(cubin[at], number, "{target} {name}");
                let section = format!("\0.text.{name}\0");
                let mut places = cubin.windows(section.len());
                assert!(places.any(|place| place == section.as_bytes()));
            }
        }
        assert_eq!(CUBINS.len(), 3);
    }

    #[test]
    fn code_fits_the_device() {
        for (capability, expected) in [
            ((7, 5), None),
            ((8, 0), Some("sm_80")),
            ((8, 6), Some("sm_80")),
            ((8, 7), None),
            ((8, 9), Some("sm_80")),
            ((9, 0), Some("sm_90")),
            ((10, 0), Some("sm_100")),
            ((10, 1), None),
            ((10, 3), Some("sm_100")),
            ((11, 0), None),
            ((12, 0), None),
            ((12, 1), None),
        ] {
            assert_eq!(architecture(capability), expected, "{capability:?}");
            let expected = CUBINS.iter().find(|(name, _)| Some(*name) == expected);
            let expected = expected.map_or(&[][..], |(_, cubins)| cubins);
            for (driver, cubins) in [(11_040, &[][..]), (12_000, expected), (13_000, expected)] {
                let images = Images::for_capability(capability, driver).unwrap();
                assert!(core::ptr::eq(images.ptx, PTX));
                assert_eq!(images.cubins, cubins, "{capability:?} {driver}");
            }
        }
        for older in [(5, 2), (7, 0), (7, 2)] {
            let refused = Images::for_capability(older, 13_000);
            assert_eq!(refused.err(), Some(Error::DeviceTooOld));
        }
    }
}
