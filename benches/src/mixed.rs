//! Products of 16-bit floats and of integers: their types and operands.
#![forbid(unsafe_code)]

use crate::data::{Buffer, Shape, random};
use diptych::{bf16, f16};

/// A type of the elements of A and B.
pub trait Factor: Copy + Default + 'static {
    /// The type of the elements of C.
    type Product: Copy + Default + 'static;
    /// The name of the type.
    const NAME: &'static str;
    /// The kinds of the two types, as in DLPack.
    const KINDS: [u8; 2];
    /// Returns a random value.
    fn random(rng: &mut fastrand::Rng) -> Self;
}

macro_rules! factors {
    ($($T:ident to $Product:ident, kinds $kinds:expr, |$rng:ident| $random:expr;)*) => {$(
        impl Factor for $T {
            type Product = $Product;
            const NAME: &'static str = stringify!($T);
            const KINDS: [u8; 2] = $kinds;
            fn random($rng: &mut fastrand::Rng) -> Self {
                $random
            }
        }
    )*};
}

const INTEGER: u8 = 0;
const FLOAT: u8 = 2;
const BFLOAT: u8 = 4;

// The types of C are those that the peers have too.
factors! {
    bf16 to bf16, kinds [BFLOAT; 2], |rng| bf16::from_f32(random(rng) as f32);
    f16 to f16, kinds [FLOAT; 2], |rng| f16::from_f32(random(rng) as f32);
    i8 to i32, kinds [INTEGER; 2], |rng| rng.i8(..);
    i32 to i32, kinds [INTEGER; 2], |rng| rng.i32(..);
    i64 to i64, kinds [INTEGER; 2], |rng| rng.i64(..);
}

/// The operands of a product, all row-major.
pub struct Matrices<F: Factor> {
    shape: Shape,
    /// The left factor.
    pub a: Buffer<F>,
    /// The right factor.
    pub b: Buffer<F>,
    /// The result.
    pub c: Buffer<F::Product>,
}

impl<F: Factor> Matrices<F> {
    /// Allocates and fills them.
    pub fn new(shape: Shape) -> Self {
        let Shape { m, n, k, .. } = shape;
        let mut rng = fastrand::Rng::with_seed(1);
        Self {
            shape,
            a: Buffer::filled(m * k, || F::random(&mut rng)),
            b: Buffer::filled(k * n, || F::random(&mut rng)),
            c: Buffer::filled(m * n, F::Product::default),
        }
    }

    /// Returns pointers to them, for calls through a C interface.
    pub fn pointers(&mut self) -> MatrixPointers<F> {
        MatrixPointers {
            shape: self.shape,
            a: self.a.as_ptr(),
            b: self.b.as_ptr(),
            c: self.c.as_mut_ptr(),
        }
    }
}

/// Pointers to [`Matrices`].
#[derive(Clone, Copy)]
pub struct MatrixPointers<F: Factor> {
    /// Their extents.
    pub shape: Shape,
    /// A, m by k.
    pub a: *const F,
    /// B, k by n.
    pub b: *const F,
    /// C, m by n.
    pub c: *mut F::Product,
}
