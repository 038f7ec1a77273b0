//! Maps over rows, which any axes make.

use super::reduce::random_case;
use super::{call_each, each_type, on_device, refused, row_major};
use diptych::tensor::{self, Tensor};
use diptych::{Error, Exec, Result, Storage, for_each_row_map};
use diptych_emulator::Emulator;
use diptych_gpu::tensor as device;
use diptych_tests::device::single;
use diptych_tests::tensors::Array;
use fastrand::Rng;

type OnHost = unsafe fn(&Exec<'_>, &Tensor, Option<&[i32]>, &Tensor) -> Result<()>;
type OnDevice = unsafe fn(
    &Emulator,
    &Tensor,
    Option<&[i32]>,
    &Tensor,
) -> core::result::Result<(), diptych_emulator::Error>;

/// A map on both backends.
pub struct RowMap {
    pub name: &'static str,
    pub host: OnHost,
    pub device: OnDevice,
}

macro_rules! row_maps {
    ({} $($name:ident)*) => {
        pub const ROW_MAPS: &[RowMap] = &[$(RowMap {
            name: stringify!($name),
            host: tensor::$name,
            device: device::$name::<Emulator>,
        }),*];
    };
}
for_each_row_map!(row_maps! {}[name]);

/// Where the elements of a map lie.
struct Case<T> {
    shape: Vec<i64>,
    axes: Vec<i32>,
    x: Array<T>,
    out: Array<T>,
    in_place: bool,
}

impl<T: Storage> Case<T>
where
    T::Compute: From<f32>,
{
    /// Returns a map of a tensor in row-major order to another one.
    fn new(shape: &[i64], axes: &[i32]) -> Self {
        let (x, out) = (row_major(shape), row_major(shape));
        Self::with_strides(shape, axes, x, out)
    }

    fn with_strides(shape: &[i64], axes: &[i32], x: Vec<i64>, out: Vec<i64>) -> Self {
        let array = |strides| Array::with_strides(shape, strides);
        Self {
            shape: shape.to_vec(),
            axes: axes.to_vec(),
            x: array(x),
            out: array(out),
            in_place: false,
        }
    }

    /// Returns a map whose elements may be anywhere.
    fn random(rng: &mut Rng, shape: &[i64], axes: &[i32]) -> Self {
        let mut case = Self::new(shape, axes);
        if rng.bool() {
            case.x = Array::random(rng, shape);
        }
        if rng.bool() {
            case.out = Array::random(rng, shape);
        }
        case.in_place = rng.u8(..4) == 0;
        case
    }

    /// Compares the devices, of which the GPU has no more scratch memory than `scratch` bytes. Returns the launches.
    fn run(mut self, rng: &mut Rng, map: &RowMap, scratch: usize) -> u32 {
        self.x
            .fill(|| T::from_compute((rng.f32() * 4.0 - 1.0).into()));
        if self.in_place {
            core::mem::swap(&mut self.x, &mut self.out);
            self.out
                .fill(|| T::from_compute((rng.f32() * 4.0 - 1.0).into()));
        }
        let before = self.out.bytes().to_vec();
        let name = format!(
            "{} {:?} over {:?}, in place {}, {scratch} bytes",
            map.name, self.shape, self.axes, self.in_place
        );
        let axes = Some(&self.axes[..]);
        let to = self.out.tensor();
        let from = if self.in_place { to } else { self.x.tensor() };
        // SAFETY: the tensors are valid.
        unsafe { (map.host)(&Exec::new(), &from, axes, &to) }.expect("a valid call");
        let wanted = self.out.bytes().to_vec();
        let mut launches = 0;
        for config in single() {
            let emulator = config.emulator().with_scratch(scratch);
            self.out.restore(&before);
            let to = on_device(&mut self.out);
            let from = if self.in_place {
                to
            } else {
                on_device(&mut self.x)
            };
            // SAFETY: the tensors are valid; the emulator's memory is that of the host.
            let done = unsafe { (map.device)(&emulator, &from, axes, &to) };
            assert_eq!(done.map_err(refused), Ok(()), "{name}");
            assert!(self.out.bytes() == wanted, "{name}");
            launches = emulator.launches();
        }
        launches
    }
}

fn run_random<T: Storage>(rng: &mut Rng, map: &RowMap, shape: &[i64], axes: &[i32], scratch: usize)
where
    T::Compute: From<f32>,
{
    Case::<T>::random(rng, shape, axes).run(rng, map, scratch);
}

/// Runs every map for every type.
fn run_all(rng: &mut Rng, shape: &[i64], axes: &[i32], scratch: usize) {
    for map in ROW_MAPS {
        each_type!(run_random(rng, map, shape, axes, scratch));
    }
}

#[test]
fn maps_have_the_bits_of_the_cpu() {
    let mut rng = Rng::with_seed(21);
    for _ in 0..60 {
        let (shape, axes) = random_case(&mut rng, 3000);
        run_all(&mut rng, &shape, &axes, usize::MAX);
    }
}

/// Axes of a row that do not merge, and rows of one element.
#[test]
fn rows_over_several_axes() {
    let mut rng = Rng::with_seed(22);
    let cases: [(&[i64], &[i32]); 5] = [
        (&[100, 4, 11], &[0, 2]),
        (&[6, 7, 11, 13], &[1, 3]),
        (&[3, 5, 2, 101, 4], &[0, 2, 4]),
        (&[40, 30], &[]),
        (&[9, 1, 40], &[1]),
    ];
    for (shape, axes) in cases {
        for scratch in [usize::MAX, 140 << 10] {
            run_all(&mut rng, shape, axes, scratch);
        }
    }
}

/// Rows whose results do not fit in scratch memory are done in parts, along several axes if necessary. What scratch memory
/// there is takes the results of 16384 or 32768 rows.
#[test]
fn rows_in_parts() {
    let mut rng = Rng::with_seed(23);
    let gaps = |shape: &[i64], gap: i64| {
        let mut strides = row_major(shape);
        strides[0] += gap;
        strides
    };
    let cases: [(&[i64], &[i32], i64); 4] = [
        (&[40_000, 2], &[1], 0),
        (&[2, 40_000], &[0], 2),
        (&[2, 20_000, 2], &[2], 6),
        (&[5, 9_000, 2], &[2], 2),
    ];
    for (shape, axes, gap) in cases {
        for map in ROW_MAPS {
            let case = Case::<f32>::with_strides(shape, axes, gaps(shape, gap), row_major(shape));
            let launches = case.run(&mut rng, map, 140 << 10);
            assert!(launches >= 4, "{shape:?}: {launches} launches");
            let [x, out] = [gap; 2].map(|gap| gaps(shape, gap));
            let mut in_place = Case::<f64>::with_strides(shape, axes, x, out);
            in_place.in_place = true;
            in_place.run(&mut rng, map, 140 << 10);
        }
    }
}

/// Where the elements of rows are copied too, there are the fewer results the less room is left.
#[test]
fn rows_in_parts_and_in_slabs() {
    let mut rng = Rng::with_seed(24);
    let cases: [(&[i64], &[i32], usize); 4] = [
        // All results beside a small slab; some of them; some of them beside a row.
        (&[2, 9_000, 3], &[0, 2], 256 << 10),
        (&[2, 20_000, 3], &[0, 2], 200 << 10),
        (&[40, 10, 50], &[0, 2], 10 << 10),
        (&[3, 4, 3, 7], &[0, 2], 180),
    ];
    for (shape, axes, scratch) in cases {
        for map in ROW_MAPS {
            Case::<f32>::new(shape, axes).run(&mut rng, map, scratch);
        }
    }
}

/// A refused map has launched nothing, and says what it needs.
#[test]
fn scratch_memory_that_is_too_small_is_refused() {
    let cases: [(&[i64], &[i32], usize, usize); 2] = [
        // The results of 10 rows; a row of 400,000 bytes and the results of all.
        (&[10, 8], &[1], 32, 40),
        (&[1000, 20, 100], &[0, 2], 256 << 10, 400_080),
    ];
    for (shape, axes, scratch, least) in cases {
        let mut x = Array::<f32>::with_strides(shape, row_major(shape));
        let mut out = Array::<f32>::with_strides(shape, row_major(shape));
        for map in ROW_MAPS {
            let emulator = single()[0].emulator().with_scratch(scratch);
            let (x, out) = (on_device(&mut x), on_device(&mut out));
            // SAFETY: the tensors are valid.
            let refusal = unsafe { (map.device)(&emulator, &x, Some(axes), &out) };
            let refusal = refusal.map_err(refused).unwrap_err();
            assert!(
                matches!(refusal, Error::WorkspaceTooSmall { needed } if needed >= least),
                "{refusal}"
            );
            assert_eq!(emulator.launches(), 0);
        }
    }
}

/// What a map refuses on the CPU it refuses on the device.
#[test]
fn wrong_tensors_are_refused() {
    let emulator = single()[0].emulator();
    let array = |shape: &[i64]| Array::<f32>::with_strides(shape, row_major(shape));
    let (mut x, mut out, mut turned) = (array(&[3, 4]), array(&[3, 4]), array(&[4, 3]));
    let mut double = Array::<f64>::with_strides(&[3, 4], vec![4, 1]);
    let mut empty = array(&[3, 0]);
    let (host, x, out) = (x.tensor(), on_device(&mut x), on_device(&mut out));
    let (turned, double) = (on_device(&mut turned), on_device(&mut double));
    let empty = on_device(&mut empty);
    for map in ROW_MAPS {
        let call = |x: &Tensor, axes: Option<&[i32]>, out: &Tensor| {
            // SAFETY: the tensors are valid.
            unsafe { (map.device)(&emulator, x, axes, out) }.map_err(refused)
        };
        let unsupported = |arg| Err(Error::Unsupported { arg });
        assert_eq!(call(&host, None, &out), unsupported("x"));
        assert_eq!(call(&out, None, &host), unsupported("out"));
        let mismatch = Err(Error::ShapeMismatch { arg: "out" });
        assert_eq!(call(&x, None, &turned), mismatch);
        let mismatch = Err(Error::TypeMismatch { arg: "out" });
        assert_eq!(call(&x, None, &double), mismatch);
        let invalid = Err(Error::InvalidValue { arg: "axes" });
        assert_eq!(call(&x, Some(&[2]), &out), invalid);
        assert_eq!(call(&x, Some(&[0, -2]), &out), invalid);
        assert_eq!(call(&empty, Some(&[1]), &empty), Ok(()));
        assert_eq!(emulator.launches(), 0);
    }
}
