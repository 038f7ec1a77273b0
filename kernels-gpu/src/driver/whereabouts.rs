//! Which memory a pointer is of.

use super::api::{Api, ContextHandle, DeviceNumber, pointer};
use super::context::{Loaded, address};
use super::error::{Error, Result};
use core::ffi::c_void;
use core::ptr;

/// A pointer that a caller gave, and the name of the argument. NULL is of no memory.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// The pointer.
    pub pointer: *const c_void,
    /// Its name.
    pub name: &'static str,
}

/// Where arguments lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In host memory, pinned or not.
    Host,
    /// In device memory, or in managed memory.
    Device,
}

/// What the driver knows about a pointer.
struct Memory {
    place: Place,
    managed: bool,
    context: ContextHandle,
    device: DeviceNumber,
}

fn memory(api: &Api, argument: &Argument) -> Result<Memory> {
    let (mut context, mut kind, mut managed, mut device) = (ptr::null_mut(), 0u32, 0u32, -1);
    let mut attributes = [
        pointer::CONTEXT,
        pointer::MEMORY_TYPE,
        pointer::IS_MANAGED,
        pointer::DEVICE_ORDINAL,
    ];
    let context_place: *mut ContextHandle = &mut context;
    let mut values = [
        context_place.cast::<c_void>(),
        (&raw mut kind).cast(),
        (&raw mut managed).cast(),
        (&raw mut device).cast(),
    ];
    // SAFETY: as many attributes as places, each of its attribute's type. The pointer is only looked up.
    let code = unsafe {
        (api.pointer_attributes)(
            4,
            attributes.as_mut_ptr(),
            values.as_mut_ptr(),
            address(argument.pointer),
        )
    };
    Error::check("cuPointerGetAttributes", code)?;
    // Memory that the driver does not know has no kind; it is the host's.
    let managed = managed != 0;
    let place = if managed || kind == pointer::ON_DEVICE {
        Place::Device
    } else {
        Place::Host
    };
    Ok(Memory {
        place,
        managed,
        context,
        device,
    })
}

/// Refuses what kernels in the context cannot reach.
pub fn check_reachable(loaded: &Loaded, arguments: &[Argument]) -> Result<()> {
    for argument in arguments
        .iter()
        .filter(|argument| !argument.pointer.is_null())
    {
        let memory = memory(loaded.api, argument)?;
        let arg = argument.name;
        if memory.place == Place::Host {
            return Err(Error::HostPointer { arg });
        }
        // Memory of pools and of virtual addresses belongs to a device, and to no context.
        let elsewhere = if memory.context.is_null() {
            memory.device != loaded.device
        } else {
            memory.context != loaded.context
        };
        if elsewhere && !memory.managed {
            return Err(Error::WrongContext { arg });
        }
    }
    Ok(())
}

/// Where the arguments lie: on the host when there is no driver, or no pointer.
///
/// # Errors
/// `MixedPointers`; what the driver says.
pub fn place(arguments: &[Argument]) -> Result<Place> {
    let Ok(api) = Api::get() else {
        return Ok(Place::Host);
    };
    let mut first = None;
    for argument in arguments
        .iter()
        .filter(|argument| !argument.pointer.is_null())
    {
        let place = memory(api, argument)?.place;
        if *first.get_or_insert(place) != place {
            return Err(Error::MixedPointers { arg: argument.name });
        }
    }
    Ok(first.unwrap_or(Place::Host))
}
