//! The device code: PTX, made by `cargo xtask ptx`, which the driver compiles for its device.
#![forbid(unsafe_code)]

use super::api::{Api, DeviceNumber, attribute};
use super::context::device_attribute;
use super::driver_version;
use super::error::{Error, Result};

/// PTX, compressed by build.rs.
const SM_75: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sm_75.zlib"));
const SM_90A: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a.zlib"));

/// The first driver that reads the PTX of sm_90a: that of CUDA 12.0.
const READS_SM_90A: i32 = 12_000;

/// The code for a device, with the zero at the end that the driver wants.
pub fn choose(api: &Api, device: DeviceNumber) -> Result<Vec<u8>> {
    let major = device_attribute(api, attribute::CAPABILITY_MAJOR, device)?;
    let minor = device_attribute(api, attribute::CAPABILITY_MINOR, device)?;
    unpack(for_capability((major, minor), driver_version(api)?)?)
}

fn unpack(packed: &[u8]) -> Result<Vec<u8>> {
    let mut text =
        miniz_oxide::inflate::decompress_to_vec_zlib(packed).map_err(|_| Error::OutOfMemory)?;
    text.push(0);
    Ok(text)
}

/// Code for sm_90a runs on nothing else; that for sm_75 runs on all later devices.
fn for_capability(capability: (i32, i32), driver: i32) -> Result<&'static [u8]> {
    match capability {
        (9, 0) if driver >= READS_SM_90A => Ok(SM_90A),
        (7, 5..) | (8.., _) => Ok(SM_75),
        _ => Err(Error::DeviceTooOld),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_fits_the_device() {
        for (packed, target) in [(SM_75, ".target sm_75"), (SM_90A, ".target sm_90a")] {
            let text = String::from_utf8(unpack(packed).unwrap()).unwrap();
            assert!(text.contains(target) && text.ends_with("}\n\0"));
        }
        assert_eq!(for_capability((9, 0), 12_040), Ok(SM_90A));
        assert_eq!(for_capability((9, 0), 11_080), Ok(SM_75));
        for newer in [(7, 5), (8, 0), (8, 9), (10, 0), (12, 1)] {
            assert_eq!(for_capability(newer, 13_000), Ok(SM_75));
        }
        for older in [(5, 2), (7, 0), (7, 2)] {
            assert_eq!(for_capability(older, 13_000), Err(Error::DeviceTooOld));
        }
    }
}
