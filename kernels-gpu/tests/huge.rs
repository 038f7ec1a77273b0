//! Sizes that do not fit in 32 bits: every launch is valid for a GPU and gets the whole size as an argument, and sizes
//! that no grid covers are refused. No kernel runs, and there is no memory at the addresses.

use core::cell::RefCell;
use core::ffi::c_void;
use core::ptr;
use diptych::Dtype;
use diptych::tensor::Tensor;
use diptych::{Error, for_each_row_map};
use diptych_device::gpu::parameters::Shape;
use diptych_device::launch::{Device, Grid, Scratch};
use diptych_device::table::Entry;
use diptych_gpu::{raw, tensor};

/// Sizes over 2^31 and over 2^32.
const SIZES: [i64; 3] = [(1 << 31) + 65536, (1 << 32) + 3, 5 << 31];

/// The name of a kernel, its grid, and its 64-bit arguments among the first two: its sizes.
type Launch = (&'static str, Grid, Vec<u64>);

/// A device that only records its launches.
#[derive(Default)]
struct Recorder(RefCell<Vec<Launch>>);

impl Device for Recorder {
    type Error = Error;

    fn multiprocessors(&self) -> u32 {
        132
    }
    fn scratch(&self, _: usize, _: usize) -> Result<Scratch, Error> {
        Ok(Scratch {
            bytes: ptr::without_provenance_mut(1 << 20),
            counters: ptr::without_provenance_mut(1 << 21),
        })
    }
    unsafe fn launch(
        &self,
        kernel: &'static Entry,
        dtype: Dtype,
        grid: Grid,
        arguments: &mut [*mut c_void],
        _: impl Fn(),
    ) -> Result<(), Error> {
        let parameters = kernel.parameters(dtype).iter().zip(arguments).take(2);
        // SAFETY: arguments of 64 bits; a first argument of this size is the shape of an elementwise operation.
        let sizes = parameters
            .enumerate()
            .flat_map(|(i, (bytes, argument))| unsafe {
                match *bytes {
                    8 => vec![argument.cast::<u64>().read()],
                    bytes if i == 0 && bytes == size_of::<Shape>() => {
                        argument.cast::<Shape>().read().counts.to_vec()
                    }
                    _ => vec![],
                }
            });
        let launch = (
            kernel.name(dtype).unwrap_or_default(),
            grid,
            sizes.collect(),
        );
        self.0.borrow_mut().push(launch);
        Ok(())
    }
}

/// Returns the address of array `number`. Arrays are so far apart that they do not overlap.
fn array<T>(number: usize) -> *mut T {
    ptr::without_provenance_mut((number + 1) << 50)
}

/// Returns the launches of a call, and checks that a GPU would accept them.
fn launches(call: impl FnOnce(&Recorder) -> Result<(), Error>) -> Vec<Launch> {
    let recorder = Recorder::default();
    call(&recorder).expect("a valid call");
    let launches = recorder.0.into_inner();
    assert!(!launches.is_empty());
    for (name, grid, _) in &launches {
        let (x, y, z) = grid.blocks;
        let fits = (1..=i32::MAX as u32).contains(&x)
            && (1..=65535).contains(&y)
            && (1..=65535).contains(&z);
        assert!(fits && grid.shared <= 48 << 10, "{name}: {grid:?}");
    }
    launches
}

/// Checks that every launch of each call gets `$size` as an argument.
macro_rules! each_gets {
    ($size:expr; $($name:ident($($arg:expr),* $(,)?);)*) => {$(
        // SAFETY: no kernel runs.
        let all = launches(|device| unsafe { raw::$name(device, $($arg),*) });
        for (name, _, sizes) in all {
            assert!(sizes.contains(&($size as u64)), "{name}: {sizes:?}");
        }
    )*};
}

#[test]
fn vectors() {
    let (x, y, out, index) = (array::<f32>(0), array(1), array(2), array::<i64>(3));
    for n in SIZES {
        each_gets! { n;
            clamp(n, x, 0.0, 1.0, out);
            add(n, x, y, out);
            axpy(n, 2.0, x, y);
            fill(n, 2.0, out);
            sum(n, x, 1, out);
            nrm2(n, x, 2, out);
            var(n, x, 1, 1, out);
            logsumexp(n, x, 1, out);
            argmax(n, x, 1, index);
            dot(n, x, 1, y, -1, out);
            mse_grad(n, x, y, x, out);
        }
    }
}

/// Operands of any strides: each call is one launch for all elements.
#[test]
fn tensors() {
    for n in SIZES {
        for shape in [
            [n, 3, 1],
            [3, n, 1],
            [3, 1, n],
            [n, 1, 3],
            [2, 70_000, 5],
            [70_000, 2, 5],
        ] {
            let [i, j, k] = shape;
            let tensor = |number, strides: &[i64; 3]| Tensor {
                data: array::<c_void>(number),
                device_type: 2,
                device_id: 0,
                ndim: 3,
                dtype_code: 2,
                dtype_bits: 32,
                dtype_lanes: 1,
                shape: shape.as_ptr(),
                strides: strides.as_ptr(),
                byte_offset: 0,
            };
            let (gaps, turned) = ([3 * j * k, 3 * k, 3], [1, i, i * j]);
            let (x, y, out) = (tensor(0, &turned), tensor(1, &[0, 0, 0]), tensor(2, &gaps));
            // SAFETY: no kernel runs.
            let all = launches(|device| unsafe { tensor::add(device, &x, &y, &out) });
            let counts: Vec<u64> = all
                .iter()
                .map(|(_, _, counts)| counts.iter().product())
                .collect();
            assert_eq!(counts, [(i * j * k) as u64], "{shape:?}");
        }
    }
}

#[test]
fn matrices() {
    let (x, y, out) = (array::<f64>(0), array(1), array(2));
    for n in SIZES {
        each_gets! { n;
            sum_rows(n, 3, x, 3, 1, out, 1);
            max_rows(n, 3, x, 1, n, out, 1);
            lsq_grad(n, 3, x, 3, 1, y, array(3), out);
            outer(n, 3, x, 1, y, 1, out, 3, 1);
            ger(n, 3, 2.0, x, 1, y, 1, out, 3, 1);
            gemm(n, 20, 8, 1.0, x, 8, 1, y, 20, 1, 0.0, out, 20, 1);
            gemm(n, 20, 0, 1.0, x, 8, 1, y, 20, 1, 2.0, out, 20, 1);
            gemm(n, 1, 8, 1.0, x, 8, 1, y, 1, 1, 0.0, out, 1, 1);
            sum_rows(3, n, x, n, 1, out, 1);
            argmin_rows(3, n, x, n, 1, array(3), 1);
            lsq_grad(3, n, x, n, 1, y, array(3), out);
            outer(3, n, x, 1, y, 1, out, n, 1);
        }
    }
}

/// The reductions of a map over rows and its step.
macro_rules! row_maps {
    ({ $n:ident $x:ident $out:ident } $($name:ident)*) => {
        each_gets! { $n;
            $(
                $name($n, 3, $x, 3, 1, $out, 3, 1);
                $name($n, 3, $x, 1, $n, $out, 3, 1);
                $name(3, $n, $x, $n, 1, $out, $n, 1);
                $name(3, $n, $x, 1, 3, $out, $n, 1);
            )*
        }
    };
}

#[test]
fn maps_over_rows() {
    let (x, out) = (array::<f32>(0), array(2));
    for n in SIZES {
        for_each_row_map!(row_maps! { n x out }[name]);
    }
}

/// Each product of a batch has a block.
#[test]
fn batches() {
    let (a, b, c) = (array::<f32>(0), array(1), array(2));
    for count in [SIZES[0], 65535 * 65535] {
        for k in [0, 3] {
            // SAFETY: no kernel runs.
            let all = launches(|device| unsafe {
                raw::gemm_batched(
                    device, 2, 2, k, 1.0, a, 3, 1, b, 2, 1, 0.0, c, 2, 1, count, 0, 0, 4,
                )
            });
            for (name, grid, _) in all {
                let (_, y, z) = grid.blocks;
                assert!(i64::from(y) * i64::from(z) >= count, "{name}: {grid:?}");
            }
        }
    }
}

#[test]
fn sizes_that_no_grid_covers_are_refused() {
    let (x, y, c) = (array::<f32>(0), array(1), array(2));
    let (side, long, batch) = (1 << 23, 1 << 43, 1 << 33);
    let device = Recorder::default();
    // SAFETY: no kernel runs.
    let refused = unsafe {
        [
            (
                "m * n",
                raw::outer(&device, 1, long, x, 0, y, 0, c, long, 1),
            ),
            (
                "m * n",
                raw::gemm(
                    &device, side, side, 4, 1.0, x, 0, 1, y, 1, 0, 0.0, c, side, 1,
                ),
            ),
            (
                "batch",
                raw::gemm_batched(
                    &device, 2, 2, 3, 1.0, x, 3, 1, y, 2, 1, 0.0, c, 2, 1, batch, 0, 0, 4,
                ),
            ),
        ]
    };
    for (arg, status) in refused {
        assert_eq!(status, Err(Error::SizeOverflow { arg }));
    }
    assert!(device.0.borrow().is_empty());
}
