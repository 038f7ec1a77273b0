//! Which memory a pointer is of.

use super::api::{Api, ContextHandle, DeviceNumber, code, pointer as attribute};
use super::context::{Loaded, address, with_primary};
use super::error::{Error, Result};
use core::ffi::c_void;
use core::ptr;

/// The pointers that a caller gave, and the names of the arguments. NULL is of no memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arguments<'a> {
    /// The pointers.
    pub pointers: &'a [*const c_void],
    /// Their names.
    pub names: &'a [&'static str],
}

impl<'a> Arguments<'a> {
    /// Those that are not NULL.
    fn iter(self) -> impl Iterator<Item = (*const c_void, &'static str)> + 'a {
        let all = self
            .pointers
            .iter()
            .copied()
            .zip(self.names.iter().copied());
        all.filter(|(pointer, _)| !pointer.is_null())
    }
}

/// Where arguments lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// In host memory, pinned or not.
    Host,
    /// In device memory, or in managed memory.
    Device,
}

/// What the driver knows about a pointer.
struct Memory {
    location: Location,
    managed: bool,
    context: ContextHandle,
    device: DeviceNumber,
}

fn memory(api: &Api, pointer: *const c_void) -> Result<Memory> {
    let (mut context, mut kind, mut managed, mut device) = (ptr::null_mut(), 0u32, 0u32, -1);
    let mut attributes = [
        attribute::CONTEXT,
        attribute::MEMORY_TYPE,
        attribute::IS_MANAGED,
        attribute::DEVICE_ORDINAL,
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
            address(pointer),
        )
    };
    Error::check("cuPointerGetAttributes", code)?;
    // Memory that the driver does not know has no kind; it is the host's.
    let managed = managed != 0;
    let location = if managed || kind == attribute::ON_DEVICE {
        Location::Device
    } else {
        Location::Host
    };
    Ok(Memory {
        location,
        managed,
        context,
        device,
    })
}

/// Refuses what kernels in the context cannot reach.
pub fn check_reachable(loaded: &Loaded, arguments: Arguments<'_>) -> Result<()> {
    for (pointer, arg) in arguments.iter() {
        let memory = memory(loaded.api, pointer)?;
        if memory.location == Location::Host {
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

/// Where the arguments lie: on the host when there is no driver, no context, or no pointer.
///
/// # Errors
/// `MixedPointers`; what the driver says.
pub fn locate(arguments: Arguments<'_>) -> Result<Location> {
    let Ok(api) = Api::get() else {
        return Ok(Location::Host);
    };
    // The driver may refuse a thread without a current context; and, with one, memory that no context knows.
    let refused = |found: &Result<Location>| {
        matches!(
            found,
            Err(Error::Driver {
                code: code::INVALID_CONTEXT,
                ..
            })
        )
    };
    let found = common_location(api, arguments);
    if !refused(&found) {
        return found;
    }
    let found = with_primary(api, || common_location(api, arguments));
    found
        .filter(|found| !refused(found))
        .unwrap_or(Ok(Location::Host))
}

fn common_location(api: &Api, arguments: Arguments<'_>) -> Result<Location> {
    let mut first = None;
    for (pointer, arg) in arguments.iter() {
        let location = memory(api, pointer)?.location;
        if *first.get_or_insert(location) != location {
            return Err(Error::MixedPointers { arg });
        }
    }
    Ok(first.unwrap_or(Location::Host))
}
