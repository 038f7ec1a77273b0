//! The elementwise operations.

use diptych::table::Bound;
use diptych::{for_each_elementwise, table};

use crate::raw::{self, On, Result};
use crate::real::Dtype;
use crate::{model, oracle};

/// The scalars that elementwise operations take.
#[derive(Clone, Copy, Debug)]
pub struct Scalars<T> {
    /// A lower bound.
    pub lo: T,
    /// An upper bound.
    pub hi: T,
    /// Any other scalar: a factor or a value.
    pub alpha: T,
}

impl<T: Dtype> Scalars<T> {
    /// Returns bounds inside the range of [`Values::Ordinary`](crate::cases::Values::Ordinary), and a factor that is
    /// not a power of two, so that products round.
    pub fn ordinary() -> Scalars<T> {
        Scalars {
            lo: T::of(-0.4),
            hi: T::of(0.6),
            alpha: T::of(-1.3),
        }
    }
}

impl<T: Copy> Scalars<T> {
    /// Returns the scalar for an argument of this role.
    pub fn of(&self, role: table::Role) -> T {
        match role.bound() {
            Some(Bound::Lower) => self.lo,
            Some(Bound::Upper) => self.hi,
            None => self.alpha,
        }
    }
}

/// The most input arrays of an elementwise operation.
pub const MOST_INPUTS: usize = 2;

type Call<T> = unsafe fn(&dyn On, i64, [*const T; MOST_INPUTS], &Scalars<T>, *mut T) -> Result<()>;
/// Computes one result from one element of each input, the scalars, and the old element of the output.
type Meaning<T> = fn([T; MOST_INPUTS], &Scalars<T>, T) -> T;

/// One elementwise operation. Its functions ignore the inputs and scalars that it does not have.
pub struct Elementwise<T> {
    /// Its name as in `diptych::raw`.
    pub name: &'static str,
    /// Its row of the table.
    pub row: &'static table::Elementwise,
    call: Call<T>,
    model: Meaning<T>,
    oracle: Meaning<T>,
}

impl<T: Dtype> Elementwise<T> {
    /// Calls the raw function.
    ///
    /// # Safety
    /// As for the raw function.
    pub unsafe fn call(
        &self,
        exec: &dyn On,
        n: i64,
        x: *const T,
        y: *const T,
        s: &Scalars<T>,
        out: *mut T,
    ) -> Result<()> {
        // SAFETY: the caller keeps the contract of the raw function.
        unsafe { (self.call)(exec, n, [x, y], s, out) }
    }

    /// Returns what the model writes over `old`.
    pub fn expected(&self, x: &[T], y: &[T], s: &Scalars<T>, old: &[T]) -> Vec<T> {
        let element = |i: usize| (self.model)([x[i], y[i]], s, old[i]);
        (0..old.len()).map(element).collect()
    }

    /// Returns the exact result for these elements, rounded once.
    pub fn exact(&self, x: T, y: T, s: &Scalars<T>, old: T) -> T {
        (self.oracle)([x, y], s, old)
    }

    /// Returns the number of input arrays.
    pub fn inputs(&self) -> usize {
        let arrays = self.row.arguments.iter();
        arrays.filter(|(_, role)| role.is_array()).count()
    }

    /// Returns the number of scalars.
    pub fn scalars(&self) -> usize {
        self.row.arguments.len() - self.inputs()
    }

    /// Returns whether results are copies, which keep the bits of a NaN; other operations promise only some NaN.
    pub fn copies(&self) -> bool {
        self.inputs() == 0
    }
}

macro_rules! elementwise {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $mode:ident)*) => {
        /// Returns all elementwise operations, in the order of the table.
        #[allow(unused_mut, unused_variables)] // There may be no inputs, or no scalars.
        pub fn elementwise<T: Dtype>() -> Vec<Elementwise<T>> {
            let functions: Vec<(Call<T>, Meaning<T>, Meaning<T>)> = vec![$((
                |on, n, inputs, s, out| {
                    let mut inputs = inputs.into_iter();
                    // SAFETY: the caller keeps the contract of the raw function.
                    unsafe { raw::$name(on, n, $(elementwise!(@argument $kind $role inputs s),)* out) }
                },
                |inputs, s, old| {
                    let mut inputs = inputs.into_iter();
                    elementwise!(@meaning $mode old model::$name $(elementwise!(@argument $kind $role inputs s))*)
                },
                |inputs, s, old| {
                    let mut inputs = inputs.into_iter();
                    elementwise!(@meaning $mode old oracle::$name $(elementwise!(@argument $kind $role inputs s))*)
                },
            )),*];
            let rows = table::ELEMENTWISE.iter().zip(functions);
            rows.map(|(row, (call, model, oracle))| Elementwise { name: row.name, row, call, model, oracle })
                .collect()
        }
    };
    (@argument scalar $role:ident $inputs:ident $s:ident) => { $s.of(table::Role::$role) };
    (@argument array $role:ident $inputs:ident $s:ident) => {
        $inputs.next().expect("no more than MOST_INPUTS arrays")
    };
    (@meaning write $old:ident $of:ident::$name:ident $($value:expr)*) => { $of::$name($($value),*) };
    (@meaning update $old:ident $of:ident::$name:ident $($value:expr)*) => { $of::$name($($value,)* $old) };
}
for_each_elementwise!(elementwise! {} [name arguments roles mode]);
