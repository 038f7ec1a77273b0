//! Tensors in memory of their own, with random shapes and strides.

use std::marker::PhantomData;

use diptych::tensor::Tensor;
use diptych::{Dtype, Storage};
use fastrand::Rng;

/// The bits that surround the elements, to find writes outside.
const GAP: u8 = 0xa5;

/// Numbers at which mistakes show.
pub const SPECIAL: [f32; 7] = [
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    0.0,
    -0.0,
    1e-40,
    3e38,
];

/// A tensor and its memory.
pub struct Array<T> {
    bytes: Vec<u64>,
    /// The index of the first element in memory.
    first: usize,
    shape: Vec<i64>,
    strides: Vec<i64>,
    of: PhantomData<T>,
}

impl<T: Copy> Array<T> {
    /// Returns a tensor whose axes lie in memory in a random order and direction, with random gaps.
    pub fn random(rng: &mut Rng, shape: &[i64]) -> Self {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        if rng.bool() {
            rng.shuffle(&mut order);
        }
        let mut strides = vec![0; shape.len()];
        let mut next = if rng.u8(..4) == 0 { 2 } else { 1 };
        for &axis in order.iter().rev() {
            strides[axis] = if rng.u8(..5) == 0 { -next } else { next };
            next *= shape[axis].max(1);
            next += if rng.u8(..4) == 0 { rng.i64(1..4) } else { 0 };
        }
        Self::with_strides(shape, strides)
    }

    /// Returns a tensor with these strides.
    pub fn with_strides(shape: &[i64], strides: Vec<i64>) -> Self {
        let reach = |positive: bool| -> i64 {
            let axes = shape.iter().zip(&strides);
            axes.filter(|&(_, &stride)| (stride > 0) == positive)
                .map(|(count, stride)| (count - 1).max(0) * stride.abs())
                .sum()
        };
        let elements = (reach(true) + reach(false) + 1) as usize;
        // A cache line before and behind.
        let bytes = elements * size_of::<T>() + 128;
        Self {
            bytes: vec![u64::from_ne_bytes([GAP; 8]); bytes.div_ceil(8)],
            first: reach(false) as usize + 64 / size_of::<T>(),
            shape: shape.to_vec(),
            strides,
            of: PhantomData,
        }
    }

    /// Returns the tensor, whose elements have this code and number of bits of DLPack.
    pub fn described(&mut self, code: u8, bits: u8) -> Tensor {
        // The description splits the distance of the first element.
        let (bytes, offset) = (self.first * size_of::<T>(), 8);
        Tensor {
            data: self
                .bytes
                .as_mut_ptr()
                .cast::<u8>()
                .wrapping_add(bytes - offset)
                .cast(),
            device_type: 1,
            device_id: 0,
            ndim: self.shape.len() as i32,
            dtype_code: code,
            dtype_bits: bits,
            dtype_lanes: 1,
            shape: self.shape.as_ptr(),
            strides: self.strides.as_ptr(),
            byte_offset: offset as u64,
        }
    }

    fn position(&self, index: &[i64]) -> usize {
        let distance: i64 = index
            .iter()
            .zip(&self.strides)
            .map(|(i, stride)| i * stride)
            .sum();
        (self.first as i64 + distance) as usize
    }

    /// Returns the element at an index.
    pub fn get(&self, index: &[i64]) -> T {
        // SAFETY: the position is that of an element.
        unsafe {
            self.bytes
                .as_ptr()
                .cast::<T>()
                .add(self.position(index))
                .read()
        }
    }

    /// Writes the element at an index.
    pub fn set(&mut self, index: &[i64], value: T) {
        let at = self.position(index);
        // SAFETY: as above.
        unsafe { self.bytes.as_mut_ptr().cast::<T>().add(at).write(value) };
    }

    /// Writes all elements.
    pub fn fill(&mut self, mut value: impl FnMut() -> T) {
        for index in indices(&self.shape.clone()) {
            self.set(&index, value());
        }
    }

    /// The memory, gaps too.
    pub fn bytes(&self) -> &[u64] {
        &self.bytes
    }

    /// Makes the memory what [`Array::bytes`] returned before.
    pub fn restore(&mut self, bytes: &[u64]) {
        self.bytes.copy_from_slice(bytes);
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Returns whether the memory outside the elements is as it was.
    pub fn gaps_intact(&self) -> bool {
        let mut is_element = vec![false; self.bytes.len() * 8 / size_of::<T>()];
        for index in indices(&self.shape) {
            is_element[self.position(&index)] = true;
        }
        let bytes = self.bytes.iter().flat_map(|word| word.to_ne_bytes());
        bytes
            .enumerate()
            .all(|(i, byte)| is_element[i / size_of::<T>()] || byte == GAP)
    }
}

impl<T: Storage> Array<T> {
    /// Returns the tensor.
    pub fn tensor(&mut self) -> Tensor {
        let (code, bits) = match T::TYPE {
            Dtype::F32 => (2, 32),
            Dtype::F64 => (2, 64),
            Dtype::F16 => (2, 16),
            Dtype::Bf16 => (4, 16),
            other => unreachable!("{other:?} is not in the tests"),
        };
        self.described(code, bits)
    }
}

/// All indices of a shape, in row-major order.
pub fn indices(shape: &[i64]) -> Vec<Vec<i64>> {
    let mut all = vec![vec![]];
    for &count in shape {
        all = all
            .iter()
            .flat_map(|index| (0..count).map(move |i| [index.as_slice(), &[i]].concat()))
            .collect();
    }
    all
}

/// Returns a random shape of at most `most` elements.
pub fn random_shape(rng: &mut Rng, most: i64) -> Vec<i64> {
    let lengths = [1, 2, 3, 4, 7, 16, 17, 33, 64, 100, 129, 300, 2000, 5000];
    let mut shape = Vec::new();
    let mut count = 1;
    for _ in 0..rng.usize(..6) {
        let length = lengths[rng.usize(..lengths.len())];
        if count * length <= most {
            count *= length;
            shape.push(length);
        }
    }
    if rng.u8(..30) == 0 {
        shape.push(0);
    }
    rng.shuffle(&mut shape);
    shape
}

/// Returns a shape that is broadcast to `shape`: leading axes may be missing, others be 1.
pub fn broadcast_from(rng: &mut Rng, shape: &[i64]) -> Vec<i64> {
    let from = if rng.u8(..4) == 0 {
        rng.usize(..=shape.len())
    } else {
        0
    };
    let shorten = rng.bool();
    let shrink = |&count: &i64| {
        if shorten && rng.u8(..3) == 0 {
            1
        } else {
            count
        }
    };
    shape[from..].iter().map(shrink).collect()
}

/// Returns the index of an operand of shape `own` for an index of the broadcast shape.
pub fn own_index(own: &[i64], index: &[i64]) -> Vec<i64> {
    let index = &index[index.len() - own.len()..];
    own.iter()
        .zip(index)
        .map(|(&count, &i)| if count == 1 { 0 } else { i })
        .collect()
}

/// Returns a random tensor; if `repeats`, steps of 0 may occur.
pub fn array<T: Copy>(rng: &mut Rng, shape: &[i64], repeats: bool) -> Array<T> {
    if repeats && rng.u8(..5) == 0 {
        let mut next = 1;
        let mut strides = vec![0; shape.len()];
        for (stride, count) in strides.iter_mut().zip(shape).rev() {
            if rng.bool() {
                *stride = next;
                next *= count.max(&1);
            }
        }
        Array::with_strides(shape, strides)
    } else if rng.bool() {
        let mut strides = vec![1; shape.len()];
        for i in (1..shape.len()).rev() {
            strides[i - 1] = strides[i] * shape[i].max(1);
        }
        Array::with_strides(shape, strides)
    } else {
        Array::random(rng, shape)
    }
}

/// Returns the matrix of a batch, in row-major order.
pub fn matrix<T: Copy>(
    x: &Array<T>,
    batch: &[i64],
    (rows, columns): (i64, i64),
    vector: bool,
) -> Vec<T> {
    let mut elements = Vec::new();
    let leading = x.shape().len().saturating_sub(if vector { 1 } else { 2 });
    let own = own_index(&x.shape()[..leading], batch);
    for i in 0..rows {
        for j in 0..columns {
            let last: &[i64] = match (vector, columns) {
                (false, _) => &[i, j],
                (true, 1) => &[i],
                (true, _) => &[j],
            };
            elements.push(x.get(&[&own, last].concat()));
        }
    }
    elements
}
