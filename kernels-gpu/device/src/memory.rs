//! Elements as they lie in memory, where 16-bit floats take half the room of the numbers that kernels compute with.

use crate::gpu::{Bits, Vector, Word, global, thread, words};
use crate::real::Real;
use diptych::{Dtype, Storage};

/// A type of elements in memory: `f32`, `f64`, or [`Half`].
pub trait Memory: Copy + core::fmt::Debug + 'static {
    /// The type of arithmetic. Values in registers, shared memory and scratch memory have it.
    type Number: Real;
    /// Which type the elements have, where a kernel serves several: a parameter of the kernel, unless its size is 0.
    type Format: Copy + core::fmt::Debug;
    /// 16 bytes of elements.
    type Packed: Copy;
    /// The same elements as numbers.
    type Unpacked: Copy + AsRef<[Self::Number]> + AsMut<[Self::Number]>;
    /// Elements in 16 bytes.
    const PACKED: u32;
    /// 16 bytes that are 0.
    const EMPTY: Self::Packed;
    /// Bytes of scratch memory of each row, beside its parts, for the result of a pass that the next launch continues: 0
    /// if the output has room for it.
    const KNOWN_BYTES: u32 = 0;

    /// Returns the type of the elements.
    fn dtype(format: Self::Format) -> Dtype;
    /// Returns the format whose results of reductions have the type of arithmetic.
    #[cfg(not(target_arch = "nvptx64"))]
    fn unrounded(format: Self::Format) -> Self::Format {
        format
    }
    /// Returns copies of a number.
    fn copies(value: Self::Number) -> Self::Unpacked;
    /// Returns a number in memory of the host.
    ///
    /// # Safety
    /// `p` must be valid for reading an element.
    #[cfg(not(target_arch = "nvptx64"))]
    unsafe fn number(format: Self::Format, p: *const u8) -> Self::Number;
    /// Loads an element.
    ///
    /// # Safety
    /// `p` must be valid for reading.
    #[track_caller]
    unsafe fn get(format: Self::Format, p: *const Self) -> Self::Number;
    /// Stores a number, rounded once. With `COPIES` all numbers are one, and a NaN keeps its bits, as far as they fit.
    ///
    /// # Safety
    /// `p` must be valid for writing.
    #[track_caller]
    unsafe fn put<const COPIES: bool>(format: Self::Format, p: *mut Self, value: Self::Number);
    /// Loads 16 bytes.
    ///
    /// # Safety
    /// `p` must be valid for reading 16 bytes, and a multiple of 16.
    #[track_caller]
    unsafe fn get_packed(p: *const Self) -> Self::Packed;
    /// Stores 16 bytes.
    ///
    /// # Safety
    /// `p` must be valid for writing 16 bytes, and a multiple of 16.
    #[track_caller]
    unsafe fn put_packed(p: *mut Self, packed: Self::Packed);
    /// Returns the numbers of 16 bytes of elements.
    fn unpack(format: Self::Format, packed: Self::Packed) -> Self::Unpacked;
    /// As [`Memory::put`], of 16 bytes.
    fn pack<const COPIES: bool>(format: Self::Format, numbers: Self::Unpacked) -> Self::Packed;
    /// Loads as many numbers as there are elements in 16 bytes.
    ///
    /// # Safety
    /// `p` must be valid for reading them, and a multiple of 16.
    #[track_caller]
    unsafe fn get_numbers(p: *const Self::Number) -> Self::Unpacked;
    /// Loads as many elements as there are numbers in 16 bytes, [`Vector::WIDTH`].
    ///
    /// # Safety
    /// `p` must be valid for reading them, and a multiple of their size together.
    #[track_caller]
    unsafe fn get_lanes(format: Self::Format, p: *const Self) -> <Self::Number as Vector>::Pack;
    /// Stores as many numbers.
    ///
    /// # Safety
    /// `p` must be valid for writing them, and a multiple of their size together.
    #[track_caller]
    unsafe fn put_lanes(
        format: Self::Format,
        p: *mut Self,
        numbers: <Self::Number as Vector>::Pack,
    );
    /// Returns the address `at` results of a reduction behind `out`. They may have another type than `R`, by the format.
    #[inline(always)]
    fn result_at<R: Word + Default>(_: Self::Format, out: *mut R, at: i64) -> *mut R {
        out.wrapping_offset(at as isize)
    }
    /// Stores the result of a reduction.
    ///
    /// # Safety
    /// `p` must be valid for writing a result of the type that the format has.
    #[inline(always)]
    #[track_caller]
    unsafe fn put_result<R: Word>(_: Self::Format, p: *mut R, value: R) {
        // SAFETY: as the caller's.
        unsafe { global::store(p, value) }
    }
}

macro_rules! real {
    ($($T:ident $width:literal)*) => {$(
        impl Memory for $T {
            type Number = $T;
            type Format = ();
            type Packed = [$T; $width];
            type Unpacked = [$T; $width];
            const PACKED: u32 = $width;
            const EMPTY: Self::Packed = [0.0; $width];

            #[inline(always)]
            fn dtype((): ()) -> Dtype {
                <$T as Storage>::TYPE
            }
            #[inline(always)]
            fn copies(value: $T) -> Self::Unpacked {
                [value; $width]
            }
            #[cfg(not(target_arch = "nvptx64"))]
            unsafe fn number((): (), p: *const u8) -> $T {
                // SAFETY: as the caller's.
                unsafe { p.cast::<$T>().read() }
            }
            #[inline(always)]
            unsafe fn get((): (), p: *const $T) -> $T {
                // SAFETY: as the caller's.
                unsafe { Vector::load(p) }
            }
            #[inline(always)]
            unsafe fn put<const COPIES: bool>((): (), p: *mut $T, value: $T) {
                // SAFETY: as the caller's.
                unsafe { Vector::store(p, value) }
            }
            #[inline(always)]
            unsafe fn get_packed(p: *const $T) -> Self::Packed {
                // SAFETY: as the caller's.
                unsafe { Vector::load_pack(p) }
            }
            #[inline(always)]
            unsafe fn put_packed(p: *mut $T, packed: Self::Packed) {
                // SAFETY: as the caller's.
                unsafe { Vector::store_pack(p, packed) }
            }
            #[inline(always)]
            fn unpack((): (), packed: Self::Packed) -> Self::Unpacked {
                packed
            }
            #[inline(always)]
            fn pack<const COPIES: bool>((): (), numbers: Self::Unpacked) -> Self::Packed {
                numbers
            }
            #[inline(always)]
            unsafe fn get_numbers(p: *const $T) -> Self::Unpacked {
                // SAFETY: as the caller's.
                unsafe { Vector::load_pack(p) }
            }
            #[inline(always)]
            unsafe fn get_lanes((): (), p: *const $T) -> Self::Unpacked {
                // SAFETY: as the caller's.
                unsafe { Vector::load_pack(p) }
            }
            #[inline(always)]
            unsafe fn put_lanes((): (), p: *mut $T, numbers: Self::Unpacked) {
                // SAFETY: as the caller's.
                unsafe { Vector::store_pack(p, numbers) }
            }
        }
    )*};
}

real!(f32 4 f64 2);

/// A 16-bit float, `f16` or `bf16`: kernels serve both, since memory takes longer than the choice.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Half(u16);

/// Which 16-bit float a [`Half`] is, and whether results of reductions are of that type too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct HalfFormat(u32);

impl HalfFormat {
    /// `f16`.
    pub const F16: Self = Self(0);
    /// `bf16`.
    pub const BF16: Self = Self(1);
    /// The bit of formats with results of `f32`.
    const UNROUNDED: u32 = 2;

    /// Returns the format of a type of 16 bits.
    pub fn of(dtype: Dtype) -> Self {
        if dtype == Dtype::Bf16 {
            Self::BF16
        } else {
            Self::F16
        }
    }
    #[inline(always)]
    fn is_bfloat(self) -> bool {
        self.0 & Self::BF16.0 != 0
    }
    #[inline(always)]
    fn rounds_results(self) -> bool {
        self.0 & Self::UNROUNDED == 0
    }

    /// Returns the number with these bits, of which those above the lower 16 are ignored.
    #[inline(always)]
    fn widen(self, bits: u32) -> f32 {
        // Both: a branch would keep loads from being moved together.
        let (bfloat, float) = (words::of_bits(bits << 16), words::widen_f16(bits as u16));
        if self.is_bfloat() { bfloat } else { float }
    }

    /// Returns the bits of two numbers, rounded to nearest even.
    #[inline(always)]
    fn round<const COPIES: bool>(self, [low, high]: [f32; 2]) -> u32 {
        if COPIES {
            // Copies of one number.
            let bits = u32::from(self.exact(low));
            return bits << 16 | bits;
        }
        let pair = |low: u16, high: u16| u32::from(high) << 16 | u32::from(low);
        let bfloat = pair(words::round_bf16(low), words::round_bf16(high));
        let float = pair(words::round_f16(low), words::round_f16(high));
        if self.is_bfloat() { bfloat } else { float }
    }

    /// Returns the bits of a number, rounded to nearest even. The bits of a NaN are those that the CPU gives it.
    #[inline(always)]
    pub(crate) fn exact(self, value: f32) -> u16 {
        if value.is_nan() {
            // Hidden: the compiler would clear the sign of a number by arithmetic, which gives another NaN.
            let bits = thread::opaque(words::to_bits(value));
            let high = (bits >> 16) as u16;
            return if self.is_bfloat() {
                high | 0x40
            } else {
                high & 0x8000 | 0x7E00 | (bits >> 13) as u16 & 0x1FF
            };
        }
        if self.is_bfloat() {
            diptych::bf16::from_f32(value).to_bits()
        } else {
            diptych::f16::from_f32(value).to_bits()
        }
    }
}

impl Memory for Half {
    type Number = f32;
    type Format = HalfFormat;
    type Packed = [u32; 4];
    type Unpacked = [f32; 8];
    const PACKED: u32 = 8;
    const EMPTY: [u32; 4] = [0; 4];
    const KNOWN_BYTES: u32 = 8;

    #[inline(always)]
    fn dtype(format: HalfFormat) -> Dtype {
        if format.is_bfloat() {
            Dtype::Bf16
        } else {
            Dtype::F16
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    fn unrounded(format: HalfFormat) -> HalfFormat {
        HalfFormat(format.0 | HalfFormat::UNROUNDED)
    }
    #[inline(always)]
    fn copies(value: f32) -> [f32; 8] {
        [value; 8]
    }
    #[cfg(not(target_arch = "nvptx64"))]
    unsafe fn number(format: HalfFormat, p: *const u8) -> f32 {
        // SAFETY: as the caller's.
        let bits = unsafe { p.cast::<u16>().read() };
        if format.is_bfloat() {
            diptych::bf16::from_bits(bits).to_f32()
        } else {
            diptych::f16::from_bits(bits).to_f32()
        }
    }
    #[inline(always)]
    unsafe fn get(format: HalfFormat, p: *const Self) -> f32 {
        // SAFETY: as the caller's.
        format.widen(unsafe { <u16 as Bits>::load(p.cast()) } as u32)
    }
    #[inline(always)]
    unsafe fn put<const COPIES: bool>(format: HalfFormat, p: *mut Self, value: f32) {
        let bits = format.round::<COPIES>([value; 2]);
        // SAFETY: as the caller's.
        unsafe { <u16 as Bits>::store(p.cast(), bits.into()) }
    }
    #[inline(always)]
    unsafe fn get_packed(p: *const Self) -> [u32; 4] {
        // SAFETY: as the caller's.
        unsafe { words::load_four(p.cast()) }
    }
    #[inline(always)]
    unsafe fn put_packed(p: *mut Self, packed: [u32; 4]) {
        // SAFETY: as the caller's.
        unsafe { words::store_four(p.cast(), packed) }
    }
    #[inline(always)]
    fn unpack(format: HalfFormat, [a, b, c, d]: [u32; 4]) -> [f32; 8] {
        [a, a >> 16, b, b >> 16, c, c >> 16, d, d >> 16].map(
            #[inline(always)]
            |bits| format.widen(bits),
        )
    }
    #[inline(always)]
    fn pack<const COPIES: bool>(format: HalfFormat, x: [f32; 8]) -> [u32; 4] {
        if COPIES {
            return [format.round::<COPIES>([x[0]; 2]); 4];
        }
        [[x[0], x[1]], [x[2], x[3]], [x[4], x[5]], [x[6], x[7]]].map(
            #[inline(always)]
            |pair| format.round::<COPIES>(pair),
        )
    }
    #[inline(always)]
    unsafe fn get_numbers(p: *const f32) -> [f32; 8] {
        // SAFETY: as the caller's.
        let ([a, b, c, d], [e, f, g, h]) = unsafe { (f32::load_pack(p), f32::load_pack(p.add(4))) };
        [a, b, c, d, e, f, g, h]
    }
    #[inline(always)]
    unsafe fn get_lanes(format: HalfFormat, p: *const Self) -> [f32; 4] {
        // SAFETY: as the caller's.
        let [a, b] = unsafe { words::load_two(p.cast()) };
        [a, a >> 16, b, b >> 16].map(
            #[inline(always)]
            |bits| format.widen(bits),
        )
    }
    #[inline(always)]
    unsafe fn put_lanes(format: HalfFormat, p: *mut Self, [a, b, c, d]: [f32; 4]) {
        let rounded = [[a, b], [c, d]].map(
            #[inline(always)]
            |pair| format.round::<false>(pair),
        );
        // SAFETY: as the caller's.
        unsafe { words::store_two(p.cast(), rounded) }
    }
    #[inline(always)]
    fn result_at<R: Word + Default>(format: HalfFormat, out: *mut R, at: i64) -> *mut R {
        if format.rounds_results() && R::default().rounded(format).is_some() {
            out.cast::<Self>().wrapping_offset(at as isize).cast()
        } else {
            out.wrapping_offset(at as isize)
        }
    }
    #[inline(always)]
    unsafe fn put_result<R: Word>(format: HalfFormat, p: *mut R, value: R) {
        // SAFETY: as the caller's; rounded results take 16 bits.
        unsafe {
            match value.rounded(format) {
                Some(bits) if format.rounds_results() => {
                    <u16 as Bits>::store(p.cast(), bits.into());
                }
                _ => global::store(p, value),
            }
        }
    }
}
