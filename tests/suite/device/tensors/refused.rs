//! What the CPU refuses is refused on the device with the same error, for every operation and types of elements, and
//! nothing is launched or written.

use super::{elementwise, reduce, refused, row_map};
use diptych::tensor::{self, Tensor};
use diptych::{Error, Exec, Result};
use diptych_emulator::Emulator;
use diptych_gpu::tensor as device;
use diptych_tests::device::single;
use std::collections::BTreeSet;
use std::mem::discriminant;

type OnHost = Box<dyn Fn(&[Tensor]) -> Result<()>>;
type OnDevice = Box<dyn Fn(&Emulator, &[Tensor]) -> Result<()>>;

/// An operation on both backends, with the shapes of its tensors. Numbers, which stay on the host, have no axes.
struct Operation {
    name: &'static str,
    shapes: Vec<&'static [i64]>,
    host: OnHost,
    device: OnDevice,
}

const MATRIX: &[i64] = &[2, 3];

/// An operation of a module on both backends, whose tensors have these shapes.
macro_rules! operation {
    ($name:ident, [$($before:expr),*] $($operand:ident: $shape:expr),*) => {
        Operation {
            name: stringify!($name),
            shapes: vec![$(&$shape[..]),*],
            host: Box::new(|tensors| {
                let [$($operand),*] = tensors else { unreachable!() };
                // SAFETY: the elements are in memory, unless the call is refused.
                unsafe { tensor::$name(&Exec::new(), $($before,)* $($operand),*) }
            }),
            device: Box::new(|emulator, tensors| {
                let [$($operand),*] = tensors else { unreachable!() };
                // SAFETY: as above; the emulator's memory is that of the host.
                unsafe { device::$name(emulator, $($before,)* $($operand),*) }.map_err(refused)
            }),
        }
    };
}

fn operations() -> Vec<Operation> {
    let elementwise = elementwise::operations().into_iter().map(|one| {
        let of_role = |role: &diptych::table::Role| if role.is_array() { MATRIX } else { &[] };
        let inputs = one.roles.iter().map(of_role);
        // SAFETY: as above.
        let host: OnHost = Box::new(move |tensors| unsafe {
            let (out, inputs) = tensors.split_last().expect("an output");
            (one.host)(inputs, out)
        });
        // SAFETY: as above.
        let device: OnDevice = Box::new(move |emulator, tensors| unsafe {
            let (out, inputs) = tensors.split_last().expect("an output");
            (one.device)(emulator, inputs, out)
        });
        Operation {
            name: one.name,
            shapes: inputs.chain([MATRIX]).collect(),
            host,
            device,
        }
    });
    let reductions = reduce::reductions().into_iter().map(|one| Operation {
        name: one.name,
        shapes: vec![MATRIX, &[2]],
        // SAFETY: as above.
        host: Box::new(move |t| unsafe { (one.host)(&t[0], Some(&[1]), &t[1]) }),
        // SAFETY: as above.
        device: Box::new(move |emulator, t| unsafe {
            (one.device)(emulator, &t[0], Some(&[1]), &t[1])
        }),
    });
    let maps = row_map::ROW_MAPS.iter().map(|one| Operation {
        name: one.name,
        shapes: vec![MATRIX, MATRIX],
        // SAFETY: as above.
        host: Box::new(move |t| unsafe { (one.host)(&Exec::new(), &t[0], Some(&[1]), &t[1]) }),
        device: Box::new(move |emulator, t| {
            // SAFETY: as above.
            unsafe { (one.device)(emulator, &t[0], Some(&[1]), &t[1]) }.map_err(refused)
        }),
    });
    let products = [
        operation!(outer, [] x: [2], y: [3], out: [2, 3]),
        operation!(ger, [2.0] x: [2], y: [3], a: [2, 3]),
        operation!(dot, [] x: [2, 3], y: [3], out: [2]),
        operation!(mse_grad, [] x: [2, 3], y: [2, 3], grad: [2, 3], loss: [1]),
        operation!(lsq_grad, [] a: [2, 3], x: [3], y: [2], grad: [3]),
        Operation {
            name: "matmul",
            shapes: vec![MATRIX, &[3, 4], &[2, 4]],
            // SAFETY: as above.
            host: Box::new(|t| unsafe {
                tensor::matmul(&Exec::new(), 1.0, &t[0], &t[1], 0.0, &t[2], None)
            }),
            device: Box::new(|emulator, t| {
                // SAFETY: as above.
                unsafe { device::matmul(emulator, 1.0, &t[0], &t[1], 0.0, &t[2], None) }
                    .map_err(refused)
            }),
        },
    ];
    let all = elementwise.chain(reductions).chain(maps).chain(products);
    all.collect()
}

/// Words for each tensor; its elements begin after a quarter of them.
const WORDS: usize = 64;

/// The tensors of a call with all their memory, on one side.
struct Side {
    memory: Vec<u64>,
    tensors: Vec<Tensor>,
    device_type: i32,
}

impl Side {
    fn new(shapes: &[&'static [i64]], device_type: i32) -> Self {
        let mut memory = vec![0; WORDS * shapes.len()];
        let start = memory.as_mut_ptr();
        let tensors = shapes.iter().enumerate().map(|(i, shape)| Tensor {
            data: start.wrapping_add(i * WORDS + WORDS / 4).cast(),
            device_type: if shape.is_empty() { 1 } else { device_type },
            device_id: 0,
            ndim: shape.len() as i32,
            dtype_code: 0,
            dtype_bits: 0,
            dtype_lanes: 1,
            shape: shape.as_ptr(),
            strides: std::ptr::null(),
            byte_offset: 0,
        });
        let tensors = tensors.collect();
        Self {
            memory,
            tensors,
            device_type,
        }
    }

    /// Word `i` of the memory before a call: the elements of each tensor are others.
    fn word(i: usize) -> u64 {
        u64::from_ne_bytes([1 + (i / WORDS) as u8; 8])
    }

    fn fill(&mut self) {
        let words = self.memory.iter_mut().enumerate();
        words.for_each(|(i, word)| *word = Self::word(i));
    }

    fn is_unchanged(&self) -> bool {
        let mut words = self.memory.iter().enumerate();
        words.all(|(i, &word)| word == Self::word(i))
    }
}

/// Code and bits of DLPack.
type Type = (u8, u8);

/// A change of the tensors of a call.
type Change<'a> = &'a dyn Fn(&mut [Tensor]);

/// An operation and its tensors on both backends.
struct Pair<'a> {
    operation: &'a Operation,
    emulator: Emulator,
    sides: [Side; 2],
}

impl<'a> Pair<'a> {
    fn new(operation: &'a Operation) -> Self {
        let mut sides = [1, 2].map(|device_type| Side::new(&operation.shapes, device_type));
        sides.iter_mut().for_each(Side::fill);
        Self {
            operation,
            emulator: single()[0].emulator(),
            sides,
        }
    }

    /// The tensors of a side with these types.
    fn typed(&self, side: usize, types: &[Type]) -> Vec<Tensor> {
        let tensors = self.sides[side].tensors.iter().zip(types);
        let typed = tensors.map(|(&tensor, &(dtype_code, dtype_bits))| Tensor {
            dtype_code,
            dtype_bits,
            ..tensor
        });
        typed.collect()
    }

    /// Makes a changed call with tensors of these types on both sides. What is refused must not write.
    fn call(&mut self, types: &[Type], what: &str, change: Change<'_>) -> [Result<()>; 2] {
        let launches = self.emulator.launches();
        let both = [0, 1].map(|side| {
            let mut tensors = self.typed(side, types);
            change(&mut tensors);
            match self.sides[side].device_type {
                1 => (self.operation.host)(&tensors),
                _ => (self.operation.device)(&self.emulator, &tensors),
            }
        });
        let what = format!("{} of {types:?}, {what}: {both:?}", self.operation.name);
        assert_eq!(both[1].is_ok(), both[0].is_ok(), "{what}");
        if both[0].is_err() {
            assert_eq!(self.emulator.launches(), launches, "{what}, launched");
            assert!(self.sides.iter().all(Side::is_unchanged), "{what}, written");
        } else {
            let same = self.sides[0].memory == self.sides[1].memory;
            assert!(same, "{what}, with other bits");
            self.sides.iter_mut().for_each(Side::fill);
        }
        both
    }

    /// Changes an accepted call in one way: both sides must give the same status.
    fn check(&mut self, types: &[Type], what: &str, change: Change<'_>) {
        let both = self.call(types, what, change);
        let [host, device] = both.map(|result| result.err().map(|error| discriminant(&error)));
        assert_eq!(
            device, host,
            "{} of {types:?}, {what}: {both:?}",
            self.operation.name
        );
    }
}

/// All codes of DLPack that have a meaning here, with all sizes: also such as no type has.
fn types() -> impl Iterator<Item = Type> {
    let codes = [0, 1, 2, 4, 6].into_iter();
    codes.flat_map(|code| [8, 16, 32, 64].map(|bits| (code, bits)))
}

/// Calls `each` with the types of every call that is accepted. All tensors have one type, but the last may have
/// another, and the first of a product of bytes.
fn each_accepted(mut each: impl FnMut(&mut Pair<'_>, &[Type])) {
    let mut accepted = 0;
    for operation in &operations() {
        let mut pair = Pair::new(operation);
        for of in types() {
            for first in BTreeSet::from([of, (1, 8)]) {
                for last in types() {
                    let mut types = vec![of; operation.shapes.len()];
                    types[0] = first;
                    *types.last_mut().expect("an output") = last;
                    // Of several types that do not fit, each side may find another one first.
                    if pair.call(&types, "unchanged", &|_| {})[0].is_ok() {
                        each(&mut pair, &types);
                        accepted += 1;
                    }
                }
            }
        }
    }
    assert!(accepted > 200, "only {accepted} calls were accepted");
}

/// One tensor of another type.
#[test]
fn types_that_do_not_fit_are_refused_as_on_the_cpu() {
    each_accepted(|pair, accepted| {
        for i in 0..accepted.len() {
            for of in types() {
                let mut types = accepted.to_vec();
                types[i] = of;
                pair.check(&types, "unchanged", &|_| {});
            }
        }
    });
}

/// A change of one tensor.
type Edit = fn(&mut Tensor);

const CHANGES: [(&str, Edit); 13] = [
    ("ndim -1", |t| t.ndim = -1),
    ("ndim 65", |t| t.ndim = 65),
    ("lanes", |t| t.dtype_lanes = 2),
    ("NULL data", |t| t.data = std::ptr::null_mut()),
    ("NULL shape", |t| t.shape = std::ptr::null()),
    ("another device", |t| t.device_type = 10),
    ("an odd address", |t| t.byte_offset = 1),
    ("a negative length", |t| t.shape = [-1, 3].as_ptr()),
    ("other lengths", |t| t.shape = [3, 2].as_ptr()),
    ("huge lengths", |t| t.shape = [i64::MAX, i64::MAX].as_ptr()),
    ("no stride", |t| t.strides = [0, 0].as_ptr()),
    ("one stride", |t| t.strides = [1, 1].as_ptr()),
    ("huge strides", |t| {
        t.strides = [i64::MAX, i64::MIN].as_ptr()
    }),
];

#[test]
fn hostile_tensors_are_refused_as_on_the_cpu() {
    each_accepted(|pair, types| {
        let all = 0..types.len();
        for i in all.clone() {
            for (what, change) in CHANGES {
                let what = format!("{what} of tensor {i}");
                pair.check(types, &what, &|tensors| change(&mut tensors[i]));
            }
            for j in all.clone().filter(|&j| j != i) {
                let what = format!("tensor {i} in the memory of tensor {j}");
                pair.check(types, &what, &|tensors| tensors[i].data = tensors[j].data);
            }
        }
    });
}

#[test]
fn arrays_on_the_host_are_refused() {
    each_accepted(|pair, types| {
        let shapes = &pair.operation.shapes;
        for i in (0..types.len()).filter(|&i| !shapes[i].is_empty()) {
            let mut tensors = pair.typed(1, types);
            tensors[i].device_type = 1;
            let done = (pair.operation.device)(&pair.emulator, &tensors);
            let what = format!("{} of {types:?}, tensor {i}: {done:?}", pair.operation.name);
            assert!(matches!(done, Err(Error::Unsupported { .. })), "{what}");
            assert!(pair.sides[1].is_unchanged(), "{what}");
        }
    });
}
