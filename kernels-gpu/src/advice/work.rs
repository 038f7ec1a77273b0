//! The bytes that an operation reads and writes, and the operations that it computes.
#![forbid(unsafe_code)]

use diptych::table::{ELEMENTWISE, Elementwise, REDUCTIONS, ROW_MAPS, Reduction, RowMap};
use diptych::{Dtype, Error, Result, backend::args::size};

/// The work of one call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// The type of the elements.
    pub dtype: Dtype,
    /// Bytes of the arrays that are read: the bytes to copy before a call on the other backend.
    pub read: f64,
    /// Bytes of the arrays that are written: the bytes to copy back after such a call.
    pub written: f64,
    /// Bytes of the arrays that are updated in place, which `read` and `written` both include.
    pub updated: f64,
    /// Bytes that further passes read again.
    pub again: f64,
    /// Operations without the exponentials; a multiply-add counts as two.
    pub flops: f64,
    /// Exponentials.
    pub exps: f64,
}

impl Work {
    /// Returns the bytes of all arrays.
    pub(super) fn bytes(&self) -> f64 {
        self.read + self.written - self.updated
    }

    /// Returns `batch` times the work, each time on other arrays.
    #[must_use]
    pub fn times(self, batch: usize) -> Self {
        let batch = batch as f64;
        Self {
            dtype: self.dtype,
            read: self.read * batch,
            written: self.written * batch,
            updated: self.updated * batch,
            again: self.again * batch,
            flops: self.flops * batch,
            exps: self.exps * batch,
        }
    }
}

/// The counts of [`Work`] in elements instead of bytes.
#[derive(Clone, Copy, Default)]
struct Counts {
    read: f64,
    written: f64,
    updated: f64,
    again: f64,
    flops: f64,
    exps: f64,
}

/// Returns the work of the operation `name`, which is its name in `diptych::raw`. A vector has n elements, a matrix has
/// m rows and n columns, and k is the inner dimension of a product; sizes that the operation does not have are ignored.
/// For a batch of products see [`Work::times`]; if all products share one B, m may be the sum of their rows.
///
/// # Errors
/// `InvalidValue` for an unknown name; `NegativeSize`, also for a size that the operation does not have.
pub fn work(name: &str, dtype: Dtype, [m, n, k]: [i64; 3]) -> Result<Work> {
    let [m, n, k] = [
        size(m, "m")? as f64,
        size(n, "n")? as f64,
        size(k, "k")? as f64,
    ];
    let reduction = |name| REDUCTIONS.iter().find(|row| row.name == name);
    let counts = if let Some(row) = ELEMENTWISE.iter().find(|row| row.name == name) {
        Some(elementwise(row, n))
    } else if let Some(row) = reduction(name) {
        Some(reduce(row, 1.0, n))
    } else if let Some(row) = name.strip_suffix("_rows").and_then(reduction) {
        Some(reduce(row, m, n))
    } else if let Some(row) = ROW_MAPS.iter().find(|row| row.name == name) {
        Some(row_map(row, m * n))
    } else {
        other(name, m, n, k)
    };
    let counts = counts.ok_or(Error::InvalidValue { arg: "op" })?;
    let bytes = dtype.size() as f64;
    Ok(Work {
        dtype,
        read: counts.read * bytes,
        written: counts.written * bytes,
        updated: counts.updated * bytes,
        again: counts.again * bytes,
        flops: counts.flops,
        exps: counts.exps,
    })
}

fn elementwise(row: &Elementwise, n: f64) -> Counts {
    let arrays = row.arguments.iter().filter(|(_, role)| role.is_array());
    let updated = if row.updates { n } else { 0.0 };
    Counts {
        read: arrays.count() as f64 * n + updated,
        written: n,
        updated,
        flops: f64::from(row.facts.flops) * n,
        exps: f64::from(row.facts.exps) * n,
        ..Counts::default()
    }
}

/// Returns the counts of a reduction of m vectors of n elements each.
fn reduce(row: &Reduction, m: f64, n: f64) -> Counts {
    let elements = m * n;
    Counts {
        read: elements,
        written: m,
        again: f64::from(row.passes - 1) * elements,
        flops: f64::from(row.facts.flops) * elements,
        exps: f64::from(row.facts.exps) * elements,
        ..Counts::default()
    }
}

/// Returns the counts of a map over rows: its reductions read the elements, and its step reads them again.
fn row_map(row: &RowMap, elements: f64) -> Counts {
    Counts {
        read: elements,
        written: elements,
        again: row.statistics.len() as f64 * elements,
        flops: f64::from(row.facts.flops) * elements,
        exps: f64::from(row.facts.exps) * elements,
        ..Counts::default()
    }
}

fn other(name: &str, m: f64, n: f64, k: f64) -> Option<Counts> {
    let matrix = m * n;
    let (read, written, flops) = match name {
        "outer" => (m + n, matrix, matrix),
        "ger" => (m + n + matrix, matrix, 2.0 * matrix),
        "gemm" | "gemm_batched" | "gemm_fused" => (m * k + k * n, matrix, 2.0 * matrix * k),
        "dot" => (2.0 * n, 1.0, 2.0 * n),
        "mse_grad" => (2.0 * n, n + 1.0, 3.0 * n),
        "lsq_grad" => (matrix + n + m, n, 4.0 * matrix),
        _ => return None,
    };
    Some(Counts {
        read,
        written,
        updated: if name == "ger" { matrix } else { 0.0 },
        flops,
        ..Counts::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_figure() {
        for op in diptych::table::OPS {
            let one = work(op.name, Dtype::F32, [10, 20, 30]).unwrap();
            assert!(one.written > 0.0, "{}", op.name);
            assert_eq!(
                work(&format!("{}_rows", op.name), Dtype::F32, [1, 1, 1]).is_ok(),
                op.rows,
                "{}",
                op.name
            );
            let double = work(op.name, Dtype::F64, [10, 20, 30]).unwrap();
            assert_eq!(
                (double.bytes(), double.flops),
                (2.0 * one.bytes(), one.flops)
            );
        }
        assert_eq!(
            work("multiply", Dtype::F32, [1, 1, 1]),
            Err(Error::InvalidValue { arg: "op" })
        );
        assert_eq!(
            work("add", Dtype::F32, [1, -1, 1]),
            Err(Error::NegativeSize { arg: "n" })
        );
    }

    #[test]
    fn a_product_reads_its_factors_once() {
        let product = work("gemm", Dtype::F32, [100, 50, 10]).unwrap();
        assert_eq!(
            (product.read, product.written, product.flops),
            (6000.0, 20000.0, 100_000.0)
        );
    }

    #[test]
    fn a_second_pass_is_not_copied_again() {
        for (name, again) in [("sum", 0.0), ("var", 4000.0), ("logsumexp", 4000.0)] {
            let one = work(name, Dtype::F32, [0, 1000, 0]).unwrap();
            assert_eq!((one.read, one.again), (4000.0, again), "{name}");
        }
    }

    #[test]
    fn every_product_of_a_batch_has_its_own_matrices() {
        let batch = work("gemm_batched", Dtype::F32, [64; 3])
            .unwrap()
            .times(1000);
        let matrices = 1000.0 * 4.0 * 64.0 * 64.0;
        assert_eq!((batch.read, batch.written), (2.0 * matrices, matrices));
        assert_eq!(batch.flops, 1000.0 * 2.0 * 64.0 * 64.0 * 64.0);
    }
}
