//! The maps over rows.

use diptych::{for_each_row_map, table};

use crate::model::{self, Dense};
use crate::oracle;
use crate::raw::{self, On, Result};
use crate::real::Dtype;

type Call<T> = unsafe fn(&dyn On, i64, i64, *const T, i64, i64, *mut T, i64, i64) -> Result<()>;

/// One map over rows.
pub struct RowMap<T> {
    /// Its name as in `diptych::raw`.
    pub name: &'static str,
    /// Its row of the table.
    pub row: &'static table::RowMap,
    call: Call<T>,
    model: fn(&[T]) -> Vec<T>,
    oracle: fn(&[T]) -> Vec<oracle::Total>,
}

impl<T: Dtype> RowMap<T> {
    /// Calls the raw function.
    ///
    /// # Safety
    /// As for the raw function.
    pub unsafe fn call(
        &self,
        exec: &dyn On,
        (m, n): (usize, usize),
        (x, x_rs, x_cs): (*const T, i64, i64),
        (out, out_rs, out_cs): (*mut T, i64, i64),
    ) -> Result<()> {
        let (m, n) = (m as i64, n as i64);
        // SAFETY: the caller keeps the contract of the raw function.
        unsafe { (self.call)(exec, m, n, x, x_rs, x_cs, out, out_rs, out_cs) }
    }

    /// Returns what every level must give for one row; where an element is NaN, any NaN.
    pub fn expected_row(&self, row: &[T]) -> Vec<T> {
        (self.model)(row)
    }

    /// Returns what every level must give for the rows of a matrix.
    pub fn expected(&self, x: &Dense<T>) -> Dense<T> {
        let rows = (0..x.rows).flat_map(|i| self.expected_row(x.row(i)));
        Dense {
            data: rows.collect(),
            ..*x
        }
    }

    /// Returns the oracle's results for one row.
    pub fn exact(&self, row: &[T]) -> Vec<oracle::Total> {
        (self.oracle)(row)
    }
}

macro_rules! row_maps {
    ({} $($name:ident)*) => {
        /// Returns all maps over rows, in the order of the table.
        pub fn row_maps<T: Dtype>() -> Vec<RowMap<T>> {
            let functions: Vec<Call<T>> = vec![$(raw::$name::<T>),*];
            let models: [fn(&[T]) -> Vec<T>; table::ROW_MAPS.len()] = [$(model::$name),*];
            let oracles: [fn(&[T]) -> Vec<oracle::Total>; table::ROW_MAPS.len()] = [$(oracle::$name),*];
            let rows = table::ROW_MAPS.iter().zip(functions).zip(models).zip(oracles);
            rows.map(|(((row, call), model), oracle)| RowMap { name: row.name, row, call, model, oracle })
                .collect()
        }
    };
}
for_each_row_map!(row_maps! {}[name]);
