//! In which memory a pointer points: host memory or device memory, and of which context.

use super::api::{Api, ContextHandle, DeviceNumber, code, pointer as attribute};
use super::context::{ContextState, address, with_active_primary};
use super::error::{Error, Result};
use core::ffi::c_void;
use core::ptr;

/// The pointers that a caller passed, and the names of the arguments. NULL pointers are ignored.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arguments<'a> {
    /// The pointers.
    pub pointers: &'a [*const c_void],
    /// Their names.
    pub names: &'a [&'static str],
}

impl<'a> Arguments<'a> {
    /// Iterates over the pointers that are not NULL.
    fn iter(self) -> impl Iterator<Item = (*const c_void, &'static str)> + 'a {
        let all = self
            .pointers
            .iter()
            .copied()
            .zip(self.names.iter().copied());
        all.filter(|(pointer, _)| !pointer.is_null())
    }
}

/// Whether arguments are in host or in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// In host memory, pinned or not.
    Host,
    /// In device memory or managed memory.
    Device,
}

/// What the driver reports about a pointer.
struct PointerInfo {
    location: Location,
    managed: bool,
    context: ContextHandle,
    device: DeviceNumber,
}

fn pointer_info(api: &Api, pointer: *const c_void) -> Result<PointerInfo> {
    let (mut context, mut kind, mut managed, mut device) = (ptr::null_mut(), 0u32, 0u32, -1);
    let mut attributes = [
        attribute::CONTEXT,
        attribute::MEMORY_TYPE,
        attribute::IS_MANAGED,
        attribute::DEVICE_ORDINAL,
    ];
    let context_value: *mut ContextHandle = &mut context;
    let mut values = [
        context_value.cast::<c_void>(),
        (&raw mut kind).cast(),
        (&raw mut managed).cast(),
        (&raw mut device).cast(),
    ];
    // SAFETY: there are as many values as attributes, each of its attribute's type. The pointer is looked up, not
    // dereferenced.
    let code = unsafe {
        (api.pointer_attributes)(
            4,
            attributes.as_mut_ptr(),
            values.as_mut_ptr(),
            address(pointer),
        )
    };
    Error::check("cuPointerGetAttributes", code)?;
    // Memory that the driver does not know has no memory type: it is pageable host memory.
    let managed = managed != 0;
    let location = if managed || kind == attribute::ON_DEVICE {
        Location::Device
    } else {
        Location::Host
    };
    Ok(PointerInfo {
        location,
        managed,
        context,
        device,
    })
}

/// Refuses pointers to memory that kernels of the context cannot access.
pub fn check_reachable(context: &ContextState, arguments: Arguments<'_>) -> Result<()> {
    for (pointer, arg) in arguments.iter() {
        let info = match pointer_info(context.api, pointer) {
            Ok(info) if info.location == Location::Device => info,
            // The driver may answer so for memory that no context knows.
            Ok(_)
            | Err(Error::Driver {
                code: code::INVALID_CONTEXT,
                ..
            }) => {
                return Err(Error::HostPointer { arg });
            }
            Err(error) => return Err(error),
        };
        // Memory from memory pools and from the virtual memory API belongs to a device, not to a context.
        let foreign = if info.context.is_null() {
            info.device != context.device
        } else {
            info.context != context.handle
        };
        if foreign && !info.managed {
            return Err(Error::WrongContext { arg });
        }
    }
    Ok(())
}

/// Returns which memory the arguments are in: host memory if there is no driver or no pointer. No context is created to
/// find out. The driver may not answer a thread without a current context; then it is asked again in an active primary
/// context, and if there is none, the answer is host memory. So it is in a forked child of a process that used the
/// driver, where the driver answers nothing.
///
/// # Errors
/// `MixedPointers`; errors of the driver.
pub fn locate(arguments: Arguments<'_>) -> Result<Location> {
    let Ok(api) = Api::get() else {
        return Ok(Location::Host);
    };
    let refusal = |found: &Result<Location>| match found {
        Err(Error::Driver { code, .. }) => Some(*code),
        _ => None,
    };
    let mut found = common_location(api, arguments);
    // The driver may answer so to a thread without a current context and, to a thread that has one, for memory that no
    // context knows.
    if refusal(&found) == Some(code::INVALID_CONTEXT)
        && let Some(again) = with_active_primary(api, || common_location(api, arguments))
    {
        found = again;
    }
    match refusal(&found) {
        Some(code::INVALID_CONTEXT | code::NOT_INITIALIZED | code::DEINITIALIZED) => {
            Ok(Location::Host)
        }
        _ => found,
    }
}

fn common_location(api: &Api, arguments: Arguments<'_>) -> Result<Location> {
    let mut first = None;
    for (pointer, arg) in arguments.iter() {
        let location = pointer_info(api, pointer)?.location;
        if *first.get_or_insert(location) != location {
            return Err(Error::MixedPointers { arg });
        }
    }
    Ok(first.unwrap_or(Location::Host))
}
