//! The calls of a fingerprint as data, and what a backend needs to make them.

use crate::api::gemm::BiasKind;
use crate::element::Dtype;
use crate::error::Error;
use crate::tensor::Tensor;

/// The memory of the calls, as the host sees it. The calls of a device find theirs at another address.
pub type Memory = [u64; WORDS];

/// Words of [`Memory`] that have inputs; the others have outputs.
pub(super) const INPUT: usize = 3000;
/// Words of [`Memory`].
pub const WORDS: usize = INPUT + 5183;

// Also where the memory begins at an odd address.
const _: () = assert!(size_of::<Memory>() + align_of::<Memory>() - 1 <= super::WORKSPACE);

/// Makes calls, on the host or on a device.
///
/// # Safety
/// After `upload` the words are in device memory, after `download` and the end of all calls in host memory.
pub unsafe trait Backend {
    /// Why a call failed.
    type Error: From<Error>;

    /// The address that word 0 of the memory has on the device; `None` if all calls run on the host.
    fn device(&self) -> Option<*mut u64> {
        None
    }

    /// Copies `count` words, from the word `first` of `memory` on, to the device.
    ///
    /// # Errors
    /// Those of the device.
    ///
    /// # Safety
    /// `memory` must be the host's, and have these words.
    unsafe fn upload(
        &mut self,
        _memory: *mut u64,
        _first: usize,
        _count: usize,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Copies words from the device, after all of its calls.
    ///
    /// # Errors
    /// Those of the device and of the calls.
    ///
    /// # Safety
    /// As [`Backend::upload`].
    unsafe fn download(
        &mut self,
        _memory: *mut u64,
        _first: usize,
        _count: usize,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Makes a call on pointers.
    ///
    /// # Errors
    /// Those of the call.
    ///
    /// # Safety
    /// The arrays must be valid.
    unsafe fn typed(&mut self, call: &Typed) -> Result<(), Self::Error>;

    /// Makes a call over tensors.
    ///
    /// # Errors
    /// Those of the call.
    ///
    /// # Safety
    /// The tensors must be valid.
    unsafe fn tensors(&mut self, call: &Tensors<'_>) -> Result<(), Self::Error>;
}

/// An array: where it begins, and the strides from row to row (of a vector: from element to element), from column to
/// column, and from one matrix of a batch to the next.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Array {
    pub p: *mut u8,
    pub rs: i64,
    pub cs: i64,
    pub bs: i64,
}

impl Array {
    pub(super) const NONE: Self = Self {
        p: core::ptr::null_mut(),
        rs: 1,
        cs: 1,
        bs: 0,
    };
}

/// A call on pointers: its operation and whatever arguments that has.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Typed {
    /// The number of its row among all operations of the table.
    pub op: usize,
    /// Whether this is the form of a reduction for rows.
    pub rows: bool,
    pub dtype: Dtype,
    pub on_device: bool,
    pub m: i64,
    pub n: i64,
    pub k: i64,
    pub batch: i64,
    /// The inputs, in the order of the arguments; of a fused product the bias too.
    pub arrays: [Array; 3],
    /// The bits of the scalars, in the order of the arguments; also the bounds of an epilogue.
    pub numbers: [u64; 2],
    pub ddof: i64,
    pub bias_kind: BiasKind,
    pub out: Array,
    /// The second output of `mse_grad`.
    pub loss: *mut u8,
}

/// A call over tensors.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Tensors<'a> {
    pub op: Over,
    pub on_device: bool,
    /// The inputs, in the order of the arguments; of a product with an epilogue the bias too.
    pub inputs: [&'a Tensor; 4],
    pub axes: &'a [i32],
    pub all_axes: bool,
    pub ddof: i64,
    /// alpha and beta; also the bounds of an epilogue.
    pub numbers: [f64; 2],
    pub has_epilogue: bool,
    pub out: &'a Tensor,
    /// The second output of `mse_grad`.
    pub loss: &'a Tensor,
}

/// An operation over tensors.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub enum Over {
    /// The row with this number among the elementwise operations.
    Elementwise(usize),
    /// The row with this number among the reductions.
    Reduction(usize),
    /// The row with this number among the maps over rows.
    RowMap(usize),
    Outer,
    Ger,
    Matmul,
    Dot,
    MseGrad,
    LsqGrad,
    Convert,
}

/// The arguments of a call, in their order.
pub struct Arguments<'a, A> {
    arrays: core::slice::Iter<'a, A>,
    numbers: core::slice::Iter<'a, u64>,
}

impl<'a, A> Arguments<'a, A> {
    /// The arguments of a call.
    pub fn new(arrays: &'a [A], numbers: &'a [u64]) -> Self {
        Self {
            arrays: arrays.iter(),
            numbers: numbers.iter(),
        }
    }

    /// Returns the bits of the next number.
    #[inline(always)]
    pub fn number(&mut self) -> u64 {
        self.numbers.next().copied().unwrap_or(0)
    }
}

impl Arguments<'_, Array> {
    /// Returns the address of the next array.
    #[inline(always)]
    pub fn array(&mut self) -> *mut u8 {
        self.arrays
            .next()
            .map_or(core::ptr::null_mut(), |array| array.p)
    }
}
