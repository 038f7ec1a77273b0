//! Maps over rows: all elements of one row at a time.

use super::reductions::nrm2;
use crate::real::Real;

/// Each element divided by the Euclidean norm of all, rounded once.
pub fn normalize<T: Real>(row: &[T]) -> Vec<T> {
    let norm = nrm2(row);
    row.iter().map(|&v| v / norm).collect()
}
