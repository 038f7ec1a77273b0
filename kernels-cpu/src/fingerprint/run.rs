//! One operation's calls: their inputs, and the hash of their outputs.

use core::ptr;

use super::backend::{Array, Backend, INPUT, Memory, Over, Tensors, Typed, WORDS};
use super::expected::fold;
use super::numbers::{self, Kind};
use crate::BiasKind;
use crate::element::Dtype;
use crate::tensor::Tensor;
use crate::tensor::kind::{Integer, Type};

/// Elements of the inputs, whatever their type is.
pub(super) const INPUTS: usize = INPUT;

/// The types with functions of their own.
pub(super) const TYPES: [Dtype; 2] = [Dtype::F32, Dtype::F64];

/// The types of 16-bit floats.
pub(super) const HALVES: [Dtype; 2] = [Dtype::F16, Dtype::Bf16];

/// The types of integers that have arithmetic.
pub(super) const INTEGERS: [Integer; 4] = [Integer::I8, Integer::U8, Integer::I32, Integer::I64];

/// Returns a table for a loop that is not to be unrolled, which would make the library larger.
pub(super) fn each<T>(table: &[T]) -> &[T] {
    core::hint::black_box(table)
}

/// The shape and the strides of a tensor.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub shape: &'a [i64],
    pub strides: &'a [i64],
}

impl View<'_> {
    /// Returns the sum of the distances along axes with strides of this sign.
    fn reach(&self, positive: bool) -> i64 {
        let axes = self.shape.iter().zip(self.strides);
        axes.filter(|&(_, &stride)| (stride > 0) == positive)
            .map(|(&count, &stride)| (count - 1) * stride.abs())
            .sum()
    }
}

/// What a call writes.
#[derive(Clone, Copy)]
pub(super) struct Written {
    pub of: Type,
    /// Elements from the first to the last, with those between them that are not written.
    pub elements: i64,
    /// Whether the bits of NaNs are promised.
    pub exact: bool,
}

/// The calls of one operation. Methods are not inlined, which keeps the library small.
pub(super) struct Run<'a, B> {
    backend: &'a mut B,
    memory: *mut u64,
    state: u64,
    hash: u64,
    /// The type of the inputs.
    of: Type,
    /// Where the inputs are.
    on_device: bool,
}

impl<'a, B: Backend> Run<'a, B> {
    pub(super) fn new(backend: &'a mut B, memory: &'a mut Memory) -> Self {
        Self {
            backend,
            memory: memory.as_mut_ptr(),
            state: 2026,
            hash: 0,
            of: Type::Integer(Integer::U8),
            on_device: false,
        }
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    /// Returns the type of the inputs.
    pub(super) fn of(&self) -> Type {
        self.of
    }

    fn random(&mut self) -> u64 {
        numbers::random(&mut self.state)
    }

    /// Makes the inputs of the next calls, in the memory of the device if that can take them.
    #[inline(never)]
    pub(super) fn inputs(
        &mut self,
        of: Type,
        kind: Kind,
        for_device: bool,
    ) -> Result<(), B::Error> {
        self.of = of;
        self.on_device = for_device && self.backend.device().is_some();
        self.fill(0, INPUTS, of, kind);
        if self.on_device {
            let words = (INPUTS * of.size()).div_ceil(8);
            // SAFETY: the memory of the host, which has more words.
            unsafe { self.backend.upload(self.memory, 0, words)? };
        }
        Ok(())
    }

    /// Makes the inputs of calls for a type with arithmetic. Devices compute in `f32` and `f64`.
    pub(super) fn numbers(&mut self, of: Type, kind: Kind) -> Result<(), B::Error> {
        let for_device = matches!(of, Type::Float(dtype) if TYPES.contains(&dtype));
        self.inputs(of, kind, for_device)
    }

    /// [`Run::numbers`] of a type of floats.
    pub(super) fn floats(&mut self, dtype: Dtype, kind: Kind) -> Result<(), B::Error> {
        self.numbers(Type::Float(dtype), kind)
    }

    /// Makes the next calls on the host.
    pub(super) fn stay_on_host(&mut self) {
        self.on_device = false;
    }

    /// Writes numbers to the memory of the host.
    #[inline(never)]
    fn fill(&mut self, word: usize, elements: usize, of: Type, kind: Kind) {
        for index in 0..elements {
            let r = self.random();
            let bits = numbers::number(of, kind, index, r);
            // SAFETY: there is a word for each element, and none is larger.
            unsafe {
                let first = self.memory.add(word).cast::<u8>();
                numbers::store(of, first.add(index * of.size()), bits);
            }
        }
    }

    /// Returns two scalars: a negative and a positive one, or special ones of a class.
    #[inline(never)]
    pub(super) fn scalars(&mut self, kind: Kind, class: usize) -> [u64; 2] {
        let of = self.of;
        [true, false].map(|negative| {
            let r = self.random();
            match kind {
                Kind::Special => numbers::number(of, kind, class * numbers::RUN, r),
                _ => numbers::bound(of, negative, r),
            }
        })
    }

    /// Returns word `word` of the memory of the calls.
    fn word(&self, word: usize) -> *mut u8 {
        let first = match self.backend.device() {
            Some(device) if self.on_device => device,
            _ => self.memory,
        };
        first.wrapping_add(word).cast()
    }

    /// Returns the address of input `element`.
    pub(super) fn input(&self, element: i64) -> *mut u8 {
        self.word(0)
            .wrapping_offset(element as isize * self.of.size() as isize)
    }

    /// Returns the address of output `element` of a type.
    pub(super) fn output(&self, of: Type, element: i64) -> *mut u8 {
        self.word(INPUT)
            .wrapping_offset(element as isize * of.size() as isize)
    }

    /// Returns an input as a vector.
    #[inline(never)]
    pub(super) fn vector(&self, element: i64, stride: i64) -> Array {
        let p = self.input(element);
        Array {
            p,
            rs: stride,
            ..Array::NONE
        }
    }

    /// Returns a call on pointers with empty arguments.
    #[inline(never)]
    pub(super) fn call(&self, op: usize, dtype: Dtype) -> Typed {
        Typed {
            op,
            rows: false,
            dtype,
            on_device: self.on_device,
            m: 1,
            n: 1,
            k: 1,
            batch: 1,
            arrays: [Array::NONE; 3],
            numbers: [0; 2],
            ddof: 0,
            bias_kind: BiasKind::None,
            out: Array {
                p: self.output(self.of, 0),
                ..Array::NONE
            },
            loss: ptr::null_mut(),
        }
    }

    /// Makes a call on pointers.
    #[inline(never)]
    pub(super) fn typed(&mut self, call: &Typed, written: Written) -> Result<(), B::Error> {
        self.prepare(written)?;
        // SAFETY: the arrays are in the memory, inputs and outputs apart.
        unsafe { self.backend.typed(call)? };
        self.take(written)
    }

    /// Returns a tensor whose first byte is at `p`.
    #[inline(never)]
    pub(super) fn tensor(&self, of: Type, p: *mut u8, view: View<'_>) -> Tensor {
        let offset = view.reach(false) as isize * of.size() as isize;
        Tensor {
            data: p.wrapping_offset(offset).cast(),
            device_type: if self.on_device { 2 } else { 1 },
            device_id: 0,
            ndim: view.shape.len() as i32,
            dtype_code: of.code(),
            dtype_bits: of.size() as u8 * 8,
            dtype_lanes: 1,
            shape: view.shape.as_ptr(),
            strides: view.strides.as_ptr(),
            byte_offset: 0,
        }
    }

    /// Returns an input as a tensor.
    #[inline(never)]
    pub(super) fn input_tensor(&self, element: i64, view: View<'_>) -> Tensor {
        self.tensor(self.of, self.input(element), view)
    }

    /// Returns a number on the host as a tensor.
    pub(super) fn number(&self, p: *mut u8) -> Tensor {
        let view = View {
            shape: &[],
            strides: &[],
        };
        Tensor {
            device_type: 1,
            ..self.tensor(self.of, p, view)
        }
    }

    /// Makes a call over tensors, which writes a tensor with this view, behind the loss if there is one.
    #[inline(never)]
    pub(super) fn tensors(
        &mut self,
        call: &Over,
        inputs: &[&Tensor],
        with: &With<'_>,
        view: View<'_>,
        of: Type,
    ) -> Result<(), B::Error> {
        let before = i64::from(with.has_loss);
        let written = Written {
            of,
            elements: before + view.reach(true) + view.reach(false) + 1,
            exact: matches!(call, Over::Reduction(_)),
        };
        self.prepare(written)?;
        let out = self.tensor(of, self.output(of, before), view);
        let scalar = View {
            shape: &[],
            strides: &[],
        };
        let loss = self.tensor(of, self.output(of, 0), scalar);
        let mut all = [&out; 4];
        for (slot, input) in all.iter_mut().zip(inputs) {
            *slot = input;
        }
        let call = Tensors {
            op: *call,
            on_device: self.on_device,
            inputs: all,
            axes: with.axes.unwrap_or(&[]),
            all_axes: with.axes.is_none(),
            ddof: with.ddof,
            numbers: with.numbers,
            has_epilogue: with.has_epilogue,
            out: &out,
            loss: &loss,
        };
        // SAFETY: the tensors are in the memory, inputs and outputs apart, and numbers in the caller's.
        unsafe { self.backend.tensors(&call)? };
        self.take(written)
    }

    /// Writes numbers where outputs will be.
    #[inline(never)]
    fn prepare(&mut self, written: Written) -> Result<(), B::Error> {
        let (elements, words) = extent(written);
        self.fill(INPUT, elements, written.of, Kind::Wide);
        if self.on_device {
            // SAFETY: the memory of the host, which has these words.
            unsafe { self.backend.upload(self.memory, INPUT, words)? };
        }
        Ok(())
    }

    /// Folds outputs into the hash.
    #[inline(never)]
    fn take(&mut self, written: Written) -> Result<(), B::Error> {
        let (elements, words) = extent(written);
        // SAFETY: the memory of the host, which has these words.
        unsafe {
            if self.on_device {
                self.backend.download(self.memory, INPUT, words)?;
            }
            let first = self.memory.add(INPUT).cast::<u8>();
            for index in 0..elements {
                let bits = numbers::load(written.of, first.add(index * written.of.size()));
                let word = match written.exact {
                    true => bits,
                    false => numbers::canonical(written.of, bits),
                };
                self.hash = fold(self.hash, word);
            }
        }
        Ok(())
    }
}

/// Returns how many elements outputs have, and in how many words.
fn extent(written: Written) -> (usize, usize) {
    debug_assert!((1..=(WORDS - INPUT) as i64).contains(&written.elements));
    let elements = (written.elements as usize).min(WORDS - INPUT);
    (elements, (elements * written.of.size()).div_ceil(8))
}

/// The arguments of a call over tensors that are no tensors.
#[derive(Clone, Copy)]
pub(super) struct With<'a> {
    pub axes: Option<&'a [i32]>,
    pub ddof: i64,
    pub numbers: [f64; 2],
    pub has_epilogue: bool,
    pub has_loss: bool,
}

impl With<'_> {
    pub(super) const NONE: Self = Self {
        axes: None,
        ddof: 0,
        numbers: [0.0; 2],
        has_epilogue: false,
        has_loss: false,
    };
}
