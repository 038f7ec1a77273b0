//! How maps over rows use a device that runs nothing: what they prepare, the scratch memory that they ask for, and their
//! launches. The matrices are too large for the emulator.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::ptr;

use diptych::{Dtype, for_each_row_map};
use diptych_device::launch::{Device, Grid, Scratch};
use diptych_device::table::Entry;
use diptych_gpu::raw;
use diptych_tests::raw::Error;

/// The library's own scratch memory for a stream: bytes and counters.
const SLOT: (usize, usize) = (256 << 10, 16 << 10);

/// A device that records what it is asked for.
struct Recorder {
    multiprocessors: u32,
    /// Bytes and counters of its scratch memory.
    scratch: (usize, usize),
    /// The number of the kernel that it refuses to prepare.
    refuses: Option<u32>,
    prepared: RefCell<BTreeSet<&'static str>>,
    calls: Cell<u32>,
    launches: Cell<u32>,
}

impl Recorder {
    fn new(multiprocessors: u32, scratch: (usize, usize)) -> Self {
        Self {
            multiprocessors,
            scratch,
            refuses: None,
            prepared: RefCell::default(),
            calls: Cell::new(0),
            launches: Cell::new(0),
        }
    }
}

impl Device for Recorder {
    type Error = Error;

    fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    fn scratch(&self, bytes: usize, counters: usize) -> Result<Scratch, Error> {
        if bytes > self.scratch.0 || counters > self.scratch.1 {
            return Err(diptych::Error::WorkspaceTooSmall { needed: bytes }.into());
        }
        Ok(Scratch {
            bytes: ptr::without_provenance_mut(1 << 12),
            counters: ptr::without_provenance_mut(1 << 40),
        })
    }

    fn prepare(&self, kernel: &'static Entry, dtype: Dtype) -> Result<(), Error> {
        assert_eq!(self.launches.get(), 0, "prepared after a launch");
        let call = self.calls.replace(self.calls.get() + 1);
        if self.refuses == Some(call) {
            return Err(diptych::Error::Unsupported { arg: "stream" }.into());
        }
        let name = kernel.name(dtype).expect("a kernel of this type");
        self.prepared.borrow_mut().insert(name);
        Ok(())
    }

    unsafe fn launch(
        &self,
        kernel: &'static Entry,
        dtype: Dtype,
        Grid {
            blocks: (x, y, z), ..
        }: Grid,
        _: &mut [*mut c_void],
        _: impl Fn(),
    ) -> Result<(), Error> {
        let name = kernel.name(dtype).expect("a kernel of this type");
        assert!(self.prepared.borrow().contains(name), "{name}");
        assert!(x > 0 && x <= i32::MAX as u32, "{name}: {x} blocks");
        assert!((1..=65535).contains(&y) && (1..=65535).contains(&z));
        self.launches.set(self.launches.get() + 1);
        Ok(())
    }
}

/// A map of an m by n matrix with these strides to one in row-major order, at addresses that nothing reads.
type Map = fn(&Recorder, [i64; 4]) -> Result<(), Error>;

macro_rules! row_maps {
    ({} $($name:ident)*) => {
        const ROW_MAPS: &[(&str, [Map; 2])] = &[$((stringify!($name), [
            |device, [m, n, rs, cs]| {
                let (x, out) = (ptr::without_provenance::<f32>(1 << 48), ptr::without_provenance_mut(1 << 52));
                // SAFETY: the device runs nothing.
                unsafe { raw::$name(device, m, n, x, rs, cs, out, n, 1) }
            },
            |device, [m, n, rs, cs]| {
                let (x, out) = (ptr::without_provenance::<f64>(1 << 48), ptr::without_provenance_mut(1 << 52));
                // SAFETY: as above.
                unsafe { raw::$name(device, m, n, x, rs, cs, out, n, 1) }
            },
        ])),*];
    };
}
for_each_row_map!(row_maps! {}[name]);

/// Matrices of all kinds, by rows and by columns.
fn matrices() -> impl Iterator<Item = [i64; 4]> {
    let sizes = [1, 7, 8, 100, 1000, 8193, 40_000, 1 << 20];
    let shapes = sizes.into_iter().flat_map(move |m| sizes.map(|n| (m, n)));
    shapes.flat_map(|(m, n)| [[m, n, n, 1], [m, n, 1, m], [m, n, -2 * n, 2]])
}

/// The scratch memory of the library is enough for every matrix, also for the last rows, which few blocks share. With
/// more, the launches do not depend on the number of rows.
#[test]
fn scratch_memory_is_enough_for_every_matrix() {
    for (name, maps) in ROW_MAPS {
        for map in maps {
            for multiprocessors in [1, 20, 132, 1000] {
                for matrix in matrices() {
                    let own = Recorder::new(multiprocessors, SLOT);
                    assert_eq!(map(&own, matrix), Ok(()), "{name} {matrix:?}");
                }
                let many = [[3 << 30, 9, 9, 1], [3 << 30, 9, 1, 3 << 30]];
                for matrix in matrices().chain(many) {
                    let ample = Recorder::new(multiprocessors, (usize::MAX, usize::MAX));
                    assert_eq!(map(&ample, matrix), Ok(()), "{name} {matrix:?}");
                    let launches = ample.launches.get();
                    assert!(launches < 10, "{name} {matrix:?}: {launches} launches");
                }
            }
        }
    }
}

/// Whichever kernel cannot be prepared, as during a capture, nothing has been launched.
#[test]
fn a_refused_map_has_launched_nothing() {
    for (name, [map, _]) in ROW_MAPS {
        for matrix in matrices() {
            let whole = Recorder::new(132, SLOT);
            assert_eq!(map(&whole, matrix), Ok(()), "{name} {matrix:?}");
            for call in 0..whole.calls.get() {
                let device = Recorder {
                    refuses: Some(call),
                    ..Recorder::new(132, SLOT)
                };
                let refused = Err(diptych::Error::Unsupported { arg: "stream" }.into());
                assert_eq!(map(&device, matrix), refused, "{name} {matrix:?}");
                assert_eq!(device.launches.get(), 0, "{name} {matrix:?}");
            }
        }
    }
}
