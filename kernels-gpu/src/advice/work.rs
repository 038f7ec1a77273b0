//! How much an operation reads, writes and computes.
#![forbid(unsafe_code)]

use diptych::{Error, Result, panel::args::size};

/// The work of one call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// 0: f32; 1: f64.
    pub dtype: usize,
    /// Bytes of the arrays that are read: what a copy takes there.
    pub read: f64,
    /// Bytes of the arrays that are written: what a copy takes back.
    pub written: f64,
    /// Bytes of both: of arrays that are changed in place.
    pub updated: f64,
    /// Bytes that are read once more, in a second walk.
    pub again: f64,
    /// Operations, a multiply-add being two, without the exponentials.
    pub flops: f64,
    /// Exponentials.
    pub exps: f64,
}

impl Work {
    /// Bytes of all arrays.
    pub(super) fn bytes(&self) -> f64 {
        self.read + self.written - self.updated
    }

    /// So many times the work, each time on other arrays.
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

/// The work of the operation `name`, as in `diptych::raw`, on elements of 4 or 8 bytes. Its sizes are m, n
/// and k where it has them: a vector has n elements, a matrix m rows and n columns, a product adds k terms.
/// For a batch of products see [`Work::times`]; where all have one B, m may count the rows of all.
///
/// # Errors
/// `InvalidValue` for a name that is no operation; `NegativeSize`.
pub fn work(name: &str, element: usize, [m, n, k]: [i64; 3]) -> Result<Work> {
    let [m, n, k] = [
        size(m, "m")? as f64,
        size(n, "n")? as f64,
        size(k, "k")? as f64,
    ];
    let matrix = m * n;
    let rows = name.strip_suffix("_rows");
    let (elements, results) = if rows.is_some() {
        (matrix, m)
    } else {
        (n, 1.0)
    };
    let (read, written, flops) = match rows.unwrap_or(name) {
        "fill" if rows.is_none() => (0.0, n, 0.0),
        "clamp" | "scale" | "square" if rows.is_none() => (n, n, n),
        "clamp_backward" | "add" | "sub" | "mul" | "div" | "axpy" if rows.is_none() => {
            (2.0 * n, n, 2.0 * n)
        }
        "outer" if rows.is_none() => (m + n, matrix, matrix),
        "ger" if rows.is_none() => (m + n + matrix, matrix, 2.0 * matrix),
        "gemm" | "gemm_batched" | "gemm_fused" if rows.is_none() => {
            (m * k + k * n, matrix, 2.0 * matrix * k)
        }
        "dot" if rows.is_none() => (2.0 * n, 1.0, 2.0 * n),
        "mse_grad" if rows.is_none() => (2.0 * n, n + 1.0, 3.0 * n),
        "lsq_grad" if rows.is_none() => (matrix + n + m, n, 4.0 * matrix),
        "sum" | "mean" | "prod" | "min" | "max" | "asum" | "argmin" | "argmax" | "logsumexp" => {
            (elements, results, elements)
        }
        "sumsq" | "nrm2" => (elements, results, 2.0 * elements),
        "var" => (elements, results, 4.0 * elements),
        _ => return Err(Error::InvalidValue { arg: "op" }),
    };
    let (updated, again, exps) = match rows.unwrap_or(name) {
        "axpy" => (n, 0.0, 0.0),
        "ger" => (matrix, 0.0, 0.0),
        "var" => (0.0, elements, 0.0),
        "logsumexp" => (0.0, elements, elements),
        _ => (0.0, 0.0, 0.0),
    };
    let bytes = element as f64;
    Ok(Work {
        dtype: usize::from(element == 8),
        read: read * bytes,
        written: written * bytes,
        updated: updated * bytes,
        again: again * bytes,
        flops,
        exps,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_figure() {
        for op in diptych::table::OPS {
            let one = work(op.name, 4, [10, 20, 30]).unwrap();
            assert!(one.written > 0.0, "{}", op.name);
            assert_eq!(
                work(&format!("{}_rows", op.name), 4, [1, 1, 1]).is_ok(),
                op.rows,
                "{}",
                op.name
            );
            let double = work(op.name, 8, [10, 20, 30]).unwrap();
            assert_eq!(
                (double.bytes(), double.flops),
                (2.0 * one.bytes(), one.flops)
            );
        }
        assert_eq!(
            work("multiply", 4, [1, 1, 1]),
            Err(Error::InvalidValue { arg: "op" })
        );
        assert_eq!(
            work("add", 4, [1, -1, 1]),
            Err(Error::NegativeSize { arg: "n" })
        );
    }

    #[test]
    fn a_product_reads_its_factors() {
        let product = work("gemm", 4, [100, 50, 10]).unwrap();
        assert_eq!(
            (product.read, product.written, product.flops),
            (6000.0, 20000.0, 100_000.0)
        );
    }

    #[test]
    fn a_second_walk_is_no_second_copy() {
        for (name, again) in [("sum", 0.0), ("var", 4000.0), ("logsumexp", 4000.0)] {
            let one = work(name, 4, [0, 1000, 0]).unwrap();
            assert_eq!((one.read, one.again), (4000.0, again), "{name}");
        }
    }

    #[test]
    fn every_product_of_a_batch_has_its_own_matrices() {
        let batch = work("gemm_batched", 4, [64; 3]).unwrap().times(1000);
        let matrices = 1000.0 * 4.0 * 64.0 * 64.0;
        assert_eq!((batch.read, batch.written), (2.0 * matrices, matrices));
        assert_eq!(batch.flops, 1000.0 * 2.0 * 64.0 * 64.0 * 64.0);
    }
}
