//! The device code: PTX, made by `cargo xtask ptx`, which the driver compiles for its device.
#![forbid(unsafe_code)]

use super::api::{Api, DeviceNumber, attribute};
use super::context::device_attribute;
use super::driver_version;
use super::error::{Error, Result};

/// With the zero at the end that the driver wants.
const SM_75: &str = concat!(include_str!("../../ptx/sm_75.ptx"), "\0");
const SM_90A: &str = concat!(include_str!("../../ptx/sm_90a.ptx"), "\0");

/// The first driver that reads the PTX of sm_90a: that of CUDA 12.0.
const READS_SM_90A: i32 = 12_000;

/// The code for a device.
pub fn choose(api: &Api, device: DeviceNumber) -> Result<&'static str> {
    let major = device_attribute(api, attribute::CAPABILITY_MAJOR, device)?;
    let minor = device_attribute(api, attribute::CAPABILITY_MINOR, device)?;
    for_capability((major, minor), driver_version(api)?)
}

/// Code for sm_90a runs on nothing else; that for sm_75 runs on all later devices.
fn for_capability(capability: (i32, i32), driver: i32) -> Result<&'static str> {
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
        assert!(SM_75.contains(".target sm_75") && SM_90A.contains(".target sm_90a"));
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
