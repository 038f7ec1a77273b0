//! Reductions that are stopped, moved and joined.

mod elements;
mod floats;
mod state;
mod tree;

use core::marker::PhantomData;

pub use elements::PartialElement;
pub use state::BYTES;
use state::State;

use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::for_each_reduction;
use crate::view::VecRef;

/// What a finished reduction gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Total {
    /// A result in the type of arithmetic of the elements, which `f64` holds exactly.
    Float(f64),
    /// A count, an index, or a result from integers modulo 2^64.
    Integer(i64),
}

/// Part of a reduction: plain data that can be copied, sent and stored, and joined with its neighbours.
///
/// The result has the bits of one call on all elements, however these were cut into updates, and into parts at borders of
/// chunks: every 2048 elements, of `f64` every 1024, of integers anywhere. A part begins with the index of its first element in
/// the whole.
///
/// `var`, `std`, `logsumexp` and now and then `nrm2` take further passes over the elements. [`Partial::next_pass`] begins one.
///
/// ```
/// use diptych::{Exec, Partial, Total};
///
/// let exec = Exec::new();
/// let x: Vec<f32> = (0..10_000).map(|i| 1.0 / (i + 1) as f32).collect();
/// let mut left = Partial::<f32>::sum(0)?;
/// left.update(&exec, &x[..1000])?;
/// left.update(&exec, &x[1000..4096])?;
/// let mut right = Partial::<f32>::sum(4096)?;
/// right.update(&exec, &x[4096..])?;
/// // It could have come from a file or another machine.
/// let right = Partial::from_bytes(&right.to_bytes())?;
/// left.merge(&right)?;
/// let whole = diptych::sum(&exec, &x)?;
/// assert_eq!(left.finish()?, Total::Float(whole.into()));
/// # Ok::<(), diptych::Error>(())
/// ```
#[derive(Clone)]
pub struct Partial<T>(State, PhantomData<fn() -> T>);

macro_rules! operations {
    ({} $($name:ident $ddof:tt $empty:ident)*) => {
        /// The reductions, as in the table. A number is part of the format.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Operation {
            $($name,)*
            dot,
        }

        impl Operation {
            const ALL: &[Self] = &[$(Self::$name,)* Self::dot];

            fn of(number: u8) -> Option<Self> {
                Self::ALL.get(usize::from(number)).copied()
            }

            /// Whether it has no value for no elements.
            fn needs_elements(self) -> bool {
                match self {
                    $(Self::$name => operations!(@needs $empty),)*
                    Self::dot => false,
                }
            }
        }

        impl<T: PartialElement> Partial<T> {
            $(operations!(@begin $name $ddof);)*

            /// Begins a dot product whose first elements have the index `first` in the whole.
            ///
            /// # Errors
            /// [`Error::InvalidValue`] if `first` is not at the border of a chunk, or too large.
            pub fn dot(first: u64) -> Result<Self> {
                Self::new(Operation::dot, first, 0)
            }
        }
    };
    (@needs refused) => { true };
    (@needs value) => { false };
    (@begin $name:ident []) => {
        #[doc = concat!("Begins [`", stringify!($name), "`](fn@crate::", stringify!($name), ") of elements of which the first has the index `first` in the whole.")]
        ///
        /// # Errors
        /// [`Error::InvalidValue`] if `first` is not at the border of a chunk, or too large; [`Error::Unsupported`] if there is
        /// no such reduction of this type.
        pub fn $name(first: u64) -> Result<Self> {
            Self::new(Operation::$name, first, 0)
        }
    };
    (@begin $name:ident [ddof]) => {
        #[doc = concat!("Begins [`", stringify!($name), "`](fn@crate::", stringify!($name), ") of elements of which the first has the index `first` in the whole.")]
        ///
        /// # Errors
        /// [`Error::InvalidValue`] if `first` is not at the border of a chunk, or too large, or if `ddof` is negative;
        /// [`Error::Unsupported`] if there is no such reduction of this type.
        pub fn $name(first: u64, ddof: i64) -> Result<Self> {
            let ddof = u64::try_from(ddof).map_err(|_| Error::InvalidValue { arg: "ddof" })?;
            Self::new(Operation::$name, first, ddof)
        }
    };
}
for_each_reduction!(operations! {} [name ddof empty]);

impl<T: PartialElement> Partial<T> {
    fn new(operation: Operation, first: u64, ddof: u64) -> Result<Self> {
        if !T::has(operation) {
            let arg = "this reduction of integers";
            return Err(Error::Unsupported { arg });
        }
        if !first.is_multiple_of(T::CHUNK) || first > state::MOST_ELEMENTS {
            return Err(Error::InvalidValue { arg: "first" });
        }
        let mut state = State::new(operation as u8, T::NUMBER, first);
        state.ddof = ddof;
        Ok(Self(state, PhantomData))
    }

    fn operation(&self) -> Result<Operation> {
        let known = Operation::of(self.0.operation).filter(|&operation| T::has(operation));
        known.ok_or(Error::InvalidPartial { arg: "partial" })
    }

    /// The index of the first element in the whole.
    pub fn first(&self) -> u64 {
        self.0.first
    }

    /// The number of elements so far.
    pub fn count(&self) -> u64 {
        self.0.count
    }

    /// Adds the elements that follow.
    ///
    /// # Errors
    /// [`Error::PartialOperation`] for `dot`, which takes two vectors; [`Error::SizeOverflow`] beyond 2^52 elements; those of
    /// the level.
    pub fn update<'x>(&mut self, exec: &Exec<'_>, x: impl Into<VecRef<'x, T>>) -> Result<()> {
        let x = x.into();
        if self.operation()? == Operation::dot {
            return Err(Error::PartialOperation { arg: "partial" });
        }
        // SAFETY: a view is valid.
        unsafe { self.update_raw(exec, x.elements(), x.vector(), x.vector()) }
    }

    /// Adds the elements of both vectors that follow, to a dot product.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless `x` and `y` have the same length; those of [`update`](Partial::update).
    pub fn update_dot<'x, 'y>(
        &mut self,
        exec: &Exec<'_>,
        x: impl Into<VecRef<'x, T>>,
        y: impl Into<VecRef<'y, T>>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        if self.operation()? != Operation::dot {
            return Err(Error::PartialOperation { arg: "partial" });
        }
        if x.elements() != y.elements() {
            return Err(Error::ShapeMismatch { arg: "y" });
        }
        // SAFETY: views are valid.
        unsafe { self.update_raw(exec, x.elements(), x.vector(), y.vector()) }
    }

    /// Adds `n` elements.
    ///
    /// # Safety
    /// `x`, and `y` of a dot product, must be valid at `n` elements.
    unsafe fn update_raw(
        &mut self,
        exec: &Exec<'_>,
        n: usize,
        x: (*const T, i64),
        y: (*const T, i64),
    ) -> Result<()> {
        if n as u64 > state::MOST_ELEMENTS - self.0.end() {
            return Err(Error::SizeOverflow { arg: "x" });
        }
        let operation = self.operation()?;
        // SAFETY: as the caller's.
        unsafe { T::update(&mut self.0, operation, exec, n, x, y) }
    }

    /// Joins the part that begins where this one ends.
    ///
    /// # Errors
    /// [`Error::PartialOperation`] if `right` is part of another reduction or pass; [`Error::PartialOrder`] if it does not
    /// begin where this one ends, or that is not at the border of a chunk.
    pub fn merge(&mut self, right: &Partial<T>) -> Result<()> {
        let arg = "right";
        let key = |state: &State| {
            (
                state.operation,
                state.element,
                state.pass,
                state.ddof,
                state.known,
            )
        };
        if key(&self.0) != key(&right.0) {
            return Err(Error::PartialOperation { arg });
        }
        if right.0.first != self.0.end() || !self.0.count.is_multiple_of(T::CHUNK) {
            return Err(Error::PartialOrder { arg });
        }
        let operation = self.operation()?;
        T::merge(&mut self.0, &right.0, operation)
    }

    /// Returns the result. The part must be the whole.
    ///
    /// # Errors
    /// [`Error::PartialOrder`] unless it begins with element 0; [`Error::EmptyReduction`] as of the reduction;
    /// [`Error::InvalidValue`] unless there are more elements than `ddof`; [`Error::PartialPass`] if the reduction takes another pass.
    pub fn finish(&self) -> Result<Total> {
        let (total, goes_on) = self.after_pass()?;
        if goes_on {
            return Err(Error::PartialPass { arg: "partial" });
        }
        Ok(total)
    }

    /// Begins the next pass over the elements, for those from index `first` on; `None` if the reduction has its result. The
    /// part must be the whole.
    ///
    /// # Errors
    /// Those of [`finish`](Partial::finish) except the last; [`Error::InvalidValue`] if `first` is not at the border of a
    /// chunk, or too large.
    pub fn next_pass(&self, first: u64) -> Result<Option<Self>> {
        let (total, goes_on) = self.after_pass()?;
        if !goes_on {
            return Ok(None);
        }
        let mut next = Self::new(self.operation()?, first, self.0.ddof)?;
        next.0.pass = self.0.pass + 1;
        next.0.known = T::known(total);
        Ok(Some(next))
    }

    fn after_pass(&self) -> Result<(Total, bool)> {
        let operation = self.operation()?;
        if self.0.first != 0 {
            return Err(Error::PartialOrder { arg: "partial" });
        }
        if operation.needs_elements() && self.0.count == 0 {
            return Err(Error::EmptyReduction { arg: "n" });
        }
        if self.0.ddof > 0 && self.0.count <= self.0.ddof {
            return Err(Error::InvalidValue { arg: "ddof" });
        }
        T::after_pass(&self.0, operation)
    }

    /// The bytes of the part, with a version and a checksum.
    pub fn to_bytes(&self) -> [u8; BYTES] {
        self.0.to_bytes()
    }

    /// Reads the bytes of a part.
    ///
    /// # Errors
    /// [`Error::InvalidPartial`] for bytes that this version did not make on such a machine, or that have changed;
    /// [`Error::TypeMismatch`] for elements of another type.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let arg = "bytes";
        let bytes = bytes
            .try_into()
            .map_err(|_| Error::InvalidPartial { arg })?;
        let state = State::from_bytes(bytes, arg)?;
        if state.element != T::NUMBER {
            return Err(Error::TypeMismatch { arg });
        }
        let is_at_border = state.first.is_multiple_of(T::CHUNK);
        let operation = Operation::of(state.operation).filter(|&operation| T::has(operation));
        let passes = operation.map_or(0, T::passes);
        if !is_at_border || state.pass >= passes {
            return Err(Error::InvalidPartial { arg });
        }
        Ok(Self(state, PhantomData))
    }
}
