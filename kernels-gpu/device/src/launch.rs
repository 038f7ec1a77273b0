//! The kernels as typed host functions, each of which launches its kernel on a [`Device`].

use crate::gpu::host::Argument;
use crate::gpu::parameters;
use crate::memory::{Half, HalfFormat, Memory};
use crate::ops::*;
use crate::real::Real;
use crate::table::{Entry, Number};
use core::ffi::c_void;
use diptych::{Dtype, Storage, for_each_element};

/// The blocks of a grid and their dynamic shared memory. The number of threads in a block is fixed by the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Blocks along x, y and z.
    pub blocks: (u32, u32, u32),
    /// Bytes of dynamic shared memory per block.
    pub shared: u32,
}

impl Grid {
    /// Returns a one-dimensional grid of `blocks` blocks without shared memory.
    pub fn of(blocks: u32) -> Self {
        Self {
            blocks: (blocks, 1, 1),
            shared: 0,
        }
    }
}

/// Scratch memory on the device for a launch.
#[derive(Clone, Copy, Debug)]
pub struct Scratch {
    /// Uninitialised bytes.
    pub bytes: *mut u8,
    /// Counters, all 0.
    pub counters: *mut u32,
}

impl Scratch {
    /// Returns what is behind the first bytes.
    pub fn behind(self, bytes: usize) -> Self {
        Self {
            bytes: self.bytes.wrapping_add(bytes),
            ..self
        }
    }

    /// For launches that need none.
    pub const NONE: Self = Self {
        bytes: core::ptr::null_mut(),
        counters: core::ptr::null_mut(),
    };
}

/// Something that runs kernels: a stream of a GPU, or the emulator.
pub trait Device {
    /// An invalid argument or a failed launch.
    type Error: From<diptych::Error>;

    /// Returns the number of multiprocessors that a grid should fill. Result bits never depend on it.
    fn multiprocessors(&self) -> u32;

    /// Returns the largest number of blocks along x for kernels whose blocks loop over the grid. Result bits never
    /// depend on it.
    fn max_blocks(&self) -> u32 {
        i32::MAX as u32
    }

    /// Returns the kernel to which matrix products are restricted, if any; a shape that it cannot compute uses
    /// another. Result bits never depend on it.
    fn product_kernel(&self) -> Option<&'static Entry> {
        None
    }

    /// Returns whether a row of a matrix product of `f32` or `f64` has the same bits for every m, as with
    /// [`diptych::Exec::batch_invariant`].
    fn batch_invariant(&self) -> bool {
        false
    }

    /// Returns scratch memory for the following launches, valid until the next call of this function: `bytes` bytes,
    /// aligned to 16, and `counters` counters that are 0 and that the kernels set back to 0.
    ///
    /// # Errors
    /// When there is not enough scratch memory.
    fn scratch(&self, bytes: usize, counters: usize) -> Result<Scratch, Self::Error>;

    /// As [`Device::scratch`], for the first of several amounts that is not refused; returns its number too. The best
    /// comes first, the least last.
    ///
    /// # Errors
    /// The refusal of the least.
    fn scratch_of(&self, choices: &[(usize, usize)]) -> Result<(usize, Scratch), Self::Error> {
        let mut refusal = None;
        for (number, &(bytes, counters)) in choices.iter().enumerate() {
            match self.scratch(bytes, counters) {
                Ok(scratch) => return Ok((number, scratch)),
                Err(error) => refusal = Some(error),
            }
        }
        Err(refusal.unwrap_or_else(|| diptych::Error::OutOfMemory.into()))
    }

    /// Prepares `kernel` for a later launch with the type `dtype`, or fails. A call that launches several kernels
    /// prepares all of them first, so that it fails before it has launched any.
    ///
    /// # Errors
    /// Those that the launch would have.
    fn prepare(&self, kernel: &'static Entry, dtype: Dtype) -> Result<(), Self::Error> {
        let _ = (kernel, dtype);
        Ok(())
    }

    /// Launches `kernel` for a type on a grid; `arguments` has a pointer to each argument. The emulator runs
    /// `host_kernel` in each thread instead: the same source with the same arguments, compiled for the host.
    ///
    /// # Safety
    /// The arguments must meet the kernel's safety requirements.
    unsafe fn launch(
        &self,
        kernel: &'static Entry,
        dtype: Dtype,
        grid: Grid,
        arguments: &mut [*mut c_void],
        host_kernel: impl Fn(),
    ) -> Result<(), Self::Error>;
}

/// The PTX names of a row, by the places of types; `None` for a type for which the row does not exist.
macro_rules! names {
    ({ $name:ident $only:tt $which:tt } [$($M:ident as $C:ident $Dtype:ident),*]) => {{
        let mut names = [None; Dtype::COUNT];
        $(
            if is_there!($only $which $Dtype) {
                names[Dtype::$Dtype as usize] = Some(concat!(stringify!($name), "_", stringify!($M)));
            }
        )*
        if has_format!($which) {
            names[Entry::place(Dtype::F16)] = Some(concat!(stringify!($name), "_half"));
        }
        names
    }};
}

/// Whether a row exists for a type that has arithmetic, that is, unless it is for another type.
macro_rules! is_there {
    ([] [half] $Dtype:ident) => {
        false
    };
    ([] $which:tt $Dtype:ident) => {
        true
    };
    ([$Only:ident] $which:tt $Dtype:ident) => {
        <$Only as Storage>::TYPE as usize == Dtype::$Dtype as usize
    };
}

/// Whether a row exists for 16-bit floats, and its kernels take the format.
macro_rules! has_format {
    ([]) => {
        false
    };
    ([$Which:ident]) => {
        true
    };
}

/// The sizes of the parameters for each type; the parameter types are written in terms of `T`.
macro_rules! parameters {
    ({ $sizes:tt $with_format:tt $which:tt } [$($M:ident as $C:ident $Dtype:ident),*]) => {{
        let mut parameters: [&'static [usize]; Dtype::COUNT] = [&[]; Dtype::COUNT];
        $(parameters[Dtype::$Dtype as usize] = { type T = $M; const _: Option<T> = None; &$sizes };)*
        if has_format!($which) {
            type T = Half;
            const _: Option<T> = None;
            parameters[Entry::place(Dtype::F16)] = &$with_format;
        }
        parameters
    }};
}

/// The instance of `$run` for the type for which the entry is named `$name`.
macro_rules! of_name {
    ({ $entry:expr, $name:ident, $run:ident, $D:ident $(, $Half:ident)? } [$($M:ident as $C:ident $Dtype:ident),*]) => {
        match () {
            $(() if $entry.name(Dtype::$Dtype) == Some($name) => $run::<$M, $D>,)*
            $(() if $entry.name(Dtype::F16) == Some($name) => $run::<$Half, $D>,)?
            () => return None,
        }
    };
}

/// The typed function of a row, and its call with the arguments as `cuLaunchKernel` takes them.
macro_rules! launcher {
    ([] $name:ident ($($arg:ident: $ty:ty),*) $doc:expr, $body:expr) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// Those of the device.
        ///
        /// # Safety
        /// As for the kernel.
        #[allow(non_snake_case)]
        pub unsafe fn $name<T: Real, D: Device>(device: &D, grid: Grid, $(mut $arg: $ty),*) -> Result<(), D::Error> {
            let arguments = &mut [$((&raw mut $arg).cast::<c_void>()),*];
            // SAFETY: as the caller's; each argument is of the type that the kernel declares.
            unsafe {
                device.launch(&entry::$name, T::TYPE, grid, arguments, || $body($($arg.received()),*))
            }
        }
    };
    ([$Which:ident] $name:ident ($($arg:ident: $ty:ty),*) $doc:expr, $body:expr) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// Those of the device.
        ///
        /// # Safety
        /// As for the kernel.
        #[allow(non_snake_case)]
        pub unsafe fn $name<T: Memory, D: Device>(device: &D, grid: Grid, mut format: T::Format, $(mut $arg: $ty),*) -> Result<(), D::Error> {
            let all = &mut [(&raw mut format).cast::<c_void>(), $((&raw mut $arg).cast::<c_void>()),*];
            let arguments = &mut all[usize::from(size_of::<T::Format>() == 0)..];
            // SAFETY: as the caller's; each argument is of the type that the kernel declares.
            unsafe {
                device.launch(&entry::$name, T::dtype(format), grid, arguments, || $body(format, $($arg.received()),*))
            }
        }
    };
}

/// Makes the launch of an entry from pointers to its arguments.
macro_rules! launch_by_name {
    ([] $name:ident ($($arg:ident: $ty:ty),*) ($device:ident $wanted:ident $grid:ident $arguments:ident $D:ident)) => {{
        #[allow(non_snake_case, unused_assignments)]
        unsafe fn run<T: Real, D: Device>(device: &D, grid: Grid, mut next: *const *mut c_void) -> Result<(), D::Error> {
            // SAFETY: as the caller's.
            unsafe {
                $(
                    let $arg = next.read().cast::<$ty>().read();
                    next = next.add(1);
                )*
                $name::<T, D>(device, grid, $($arg),*)
            }
        }
        let run = for_each_element!(of_name! { entry::$name, $wanted, run, $D });
        // SAFETY: as the caller's.
        return Some(unsafe { run($device, $grid, $arguments) });
    }};
    ([$Which:ident] $name:ident ($($arg:ident: $ty:ty),*) ($device:ident $wanted:ident $grid:ident $arguments:ident $D:ident)) => {{
        #[allow(non_snake_case, unused_assignments)]
        unsafe fn run<T: Memory, D: Device>(device: &D, grid: Grid, mut next: *const *mut c_void) -> Result<(), D::Error> {
            // SAFETY: as the caller's; there is always a format without a size.
            unsafe {
                let format = if size_of::<T::Format>() == 0 {
                    core::ptr::dangling::<T::Format>().read()
                } else {
                    let format = next.read().cast::<T::Format>().read();
                    next = next.add(1);
                    format
                };
                $(
                    let $arg = next.read().cast::<$ty>().read();
                    next = next.add(1);
                )*
                $name::<T, D>(device, grid, format, $($arg),*)
            }
        }
        let run = for_each_element!(of_name! { entry::$name, $wanted, run, $D, Half });
        // SAFETY: as the caller's.
        return Some(unsafe { run($device, $grid, $arguments) });
    }};
}

macro_rules! launchers {
    (() $($name:ident[$threads:literal, $blocks:literal] $(only $Only:ident)? $(of $Which:ident)? ($($arg:ident: $ty:ty),*) = $($body:ident)::+ $([$($extra:ty),*])?;)*) => {
        $(
            launcher! {
                [$($Which)?] $name ($($arg: $ty),*)
                concat!("Runs [`", stringify!($($body)::+), "`]."), $($body)::+::<T $(, $($extra),*)?>
            }
        )*

        /// Runs the entry called `name`, with the arguments as `cuLaunchKernel` takes them: a pointer to each.
        /// Returns `None` when there is no such entry.
        ///
        /// # Safety
        /// As for the kernel; the arguments must have its parameter types.
        pub unsafe fn by_name<D: Device>(
            device: &D,
            name: &str,
            grid: Grid,
            arguments: *const *mut c_void,
        ) -> Option<Result<(), D::Error>> {
            $(
                if entry::$name.names().any(|known| known == name) {
                    launch_by_name! { [$($Which)?] $name ($($arg: $ty),*) (device name grid arguments D) }
                }
            )*
            None
        }

        /// The rows of the table as data.
        #[allow(non_upper_case_globals, missing_docs)]
        pub mod entry {
            use super::{Dtype, Entry, Half, HalfFormat, Number, Storage, for_each_element};
            use crate::gpu::parameters;

            #[allow(non_camel_case_types)]
            enum Row { $($name),* }

            $(
                pub static $name: Entry = Entry {
                    number: Row::$name as usize,
                    names: for_each_element!(names! { $name [$($Only)?] [$($Which)?] }),
                    threads: $threads,
                    blocks: $blocks,
                    parameters: for_each_element!(parameters! {
                        [$(size_of::<$ty>()),*] [size_of::<HalfFormat>(), $(size_of::<$ty>()),*] [$($Which)?]
                    }),
                };
            )*

            /// All rows.
            pub static ALL: &[&Entry] = &[$(&$name),*];
        }
    };
}

kernel_table!(launchers!());
