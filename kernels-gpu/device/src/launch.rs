//! Kernels as typed functions on the host: each hands its arguments to a [`Device`].

use crate::gpu::host::Argument;
use crate::ops::*;
use crate::real::Real;
use crate::table::Entry;
use core::ffi::c_void;
use diptych::{Dtype, Storage, for_each_element};

/// Blocks of a grid, and bytes of shared memory for each. How many threads a block has is the kernel's own.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Blocks along x, y and z.
    pub blocks: (u32, u32, u32),
    /// Bytes of shared memory for each block.
    pub shared: u32,
}

impl Grid {
    /// So many blocks in a row, without shared memory.
    pub fn of(blocks: u32) -> Self {
        Self {
            blocks: (blocks, 1, 1),
            shared: 0,
        }
    }
}

/// Device memory for a launch.
#[derive(Clone, Copy, Debug)]
pub struct Scratch {
    /// Not initialised.
    pub bytes: *mut u8,
    /// All 0.
    pub counters: *mut u32,
}

/// What runs kernels: a stream of a GPU, or an emulator.
pub trait Device {
    /// What can go wrong: an argument, or the launch.
    type Error: From<diptych::Error>;

    /// How many multiprocessors there are: what a grid should fill. Result bits never depend on it.
    fn multiprocessors(&self) -> u32;

    /// The most blocks along x of a grid whose blocks can take further turns. Result bits never depend on it.
    fn most_blocks(&self) -> u32 {
        i32::MAX as u32
    }

    /// The only kernel that products may run on, those that can. Result bits never depend on it.
    fn product_kernel(&self) -> Option<&'static Entry> {
        None
    }

    /// Device memory for the launches that follow, until the next call of this function: `bytes` of scratch
    /// from a multiple of 16 on, and `counters` counters that are 0 and that the kernels leave at 0.
    ///
    /// # Errors
    /// When there is not so much.
    fn scratch(&self, bytes: usize, counters: usize) -> Result<Scratch, Self::Error>;

    /// Makes a later launch of `kernel` for a type possible, or refuses: a call that needs several
    /// kernels asks before the first launch.
    ///
    /// # Errors
    /// As that launch.
    fn prepare(&self, kernel: &'static Entry, dtype: Dtype) -> Result<(), Self::Error> {
        let _ = (kernel, dtype);
        Ok(())
    }

    /// Runs `kernel` for a type on a grid, with `arguments`, a pointer to each. The emulator
    /// runs `twin` on each thread instead, which is the same source with the same arguments.
    ///
    /// # Safety
    /// The arguments must be what the kernel demands.
    unsafe fn launch(
        &self,
        kernel: &'static Entry,
        dtype: Dtype,
        grid: Grid,
        arguments: &mut [*mut c_void],
        twin: impl Fn(),
    ) -> Result<(), Self::Error>;
}

/// The names of an entry for the types for which the row is there.
macro_rules! names {
    ({ $name:ident $only:tt } [$($M:ident as $C:ident $Dtype:ident),*]) => {{
        let mut names = [None; Dtype::COUNT];
        $(
            if is_there!($only $Dtype) {
                names[Dtype::$Dtype as usize] = Some(concat!(stringify!($name), "_", stringify!($M)));
            }
        )*
        names
    }};
}

/// Whether a row is there for a type: unless it is `only` for another.
macro_rules! is_there {
    ([] $Dtype:ident) => {
        true
    };
    ([$Only:ident] $Dtype:ident) => {
        <$Only as Storage>::TYPE as usize == Dtype::$Dtype as usize
    };
}

/// The sizes of the parameters, which are written with `T` for the type.
macro_rules! parameters {
    ({ $sizes:tt } [$($M:ident as $C:ident $Dtype:ident),*]) => {{
        let mut parameters: [&'static [usize]; Dtype::COUNT] = [&[]; Dtype::COUNT];
        $(parameters[Dtype::$Dtype as usize] = { type T = $M; const _: Option<T> = None; &$sizes };)*
        parameters
    }};
}

/// The function of the type for which the entry has the name.
macro_rules! of_name {
    ({ $entry:expr, $name:ident, $run:ident, $D:ident } [$($M:ident as $C:ident $Dtype:ident),*]) => {
        match () {
            $(() if $entry.name(Dtype::$Dtype) == Some($name) => $run::<$M, $D>,)*
            () => return None,
        }
    };
}

macro_rules! launchers {
    (() $($name:ident[$threads:literal, $blocks:literal] $(only $Only:ident)? ($($arg:ident: $ty:ty),*) = $($body:ident)::+ $([$($extra:ty),*])?;)*) => {
        $(
            #[doc = concat!("Runs [`", stringify!($($body)::+), "`].")]
            ///
            /// # Errors
            /// What the device says.
            ///
            /// # Safety
            /// As the kernel.
            #[allow(non_snake_case)]
            pub unsafe fn $name<T: Real, D: Device>(device: &D, grid: Grid, $(mut $arg: $ty),*) -> Result<(), D::Error> {
                let arguments = &mut [$((&raw mut $arg).cast::<c_void>()),*];
                // SAFETY: as the caller's; each argument is of the type that the kernel declares.
                unsafe {
                    device.launch(&entry::$name, T::TYPE, grid, arguments, || $($body)::+::<T $(, $($extra),*)?>($($arg.received()),*))
                }
            }
        )*

        /// Runs the entry `name` with arguments as the driver's launch takes them, a pointer to each;
        /// `None` when there is no such entry.
        ///
        /// # Safety
        /// As the kernel; the arguments must be of its types.
        pub unsafe fn by_name<D: Device>(
            device: &D,
            name: &str,
            grid: Grid,
            arguments: *const *mut c_void,
        ) -> Option<Result<(), D::Error>> {
            $(
                if entry::$name.names().any(|known| known == name) {
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
                    let run = for_each_element!(of_name! { entry::$name, name, run, D });
                    // SAFETY: as the caller's.
                    return Some(unsafe { run(device, grid, arguments) });
                }
            )*
            None
        }

        /// The rows of the table as data.
        #[allow(non_upper_case_globals, missing_docs)]
        pub mod entry {
            use super::{Dtype, Entry, Storage, for_each_element};

            #[allow(non_camel_case_types)]
            enum Row { $($name),* }

            $(
                pub static $name: Entry = Entry {
                    number: Row::$name as usize,
                    names: for_each_element!(names! { $name [$($Only)?] }),
                    threads: $threads,
                    blocks: $blocks,
                    parameters: for_each_element!(parameters! { [$(size_of::<$ty>()),*] }),
                };
            )*

            /// All of them.
            pub static ALL: &[&Entry] = &[$(&$name),*];
        }
    };
}

kernel_table!(launchers!());
