//! The rows of the table.

use diptych_benches::bench::{Bench, Form};
use diptych_benches::data::{Real, Shape, Size};
use diptych_benches::registry::benches;

/// A bench at one shape.
pub struct Row<T: 'static> {
    /// The bench.
    pub bench: Bench<T>,
    /// Its extents.
    pub shape: Shape,
    /// Where its operands lie, where that matters.
    pub place: &'static str,
}

/// Operations that are shown at every size.
const AT_ALL_SIZES: [&str; 15] = [
    "clamp", "add", "axpy", "fill", "outer", "ger", "sum", "sumsq", "asum", "nrm2", "max",
    "argmax", "dot", "var", "mse_grad",
];
/// Operations whose rows and columns are shown at every size.
const BOTH_AXES: [&str; 3] = ["sum", "max", "var"];

/// Products: the sizes of the goal, small cubes, and the shapes of a two-layer network.
const PRODUCTS: [(Form, [usize; 3]); 18] = [
    (Form::Product, [4, 4, 4]),
    (Form::Product, [8, 8, 8]),
    (Form::Product, [16, 16, 16]),
    (Form::Product, [32, 32, 32]),
    (Form::Product, [64, 64, 64]),
    (Form::Product, [100, 100, 100]),
    (Form::Product, [128, 128, 128]),
    (Form::Product, [256, 256, 256]),
    (Form::Product, [512, 512, 512]),
    (Form::Product, [1024, 1024, 1024]),
    (Form::Product, [64, 100, 1000]),
    (Form::Product, [64, 10, 100]),
    (Form::Product, [4096, 64, 64]),
    (Form::Product, [64, 64, 4096]),
    (Form::Product, [1000, 1, 1000]),
    (Form::ProductTransposedA, [1000, 100, 64]),
    (Form::ProductTransposedA, [100, 10, 64]),
    (Form::ProductTransposedB, [64, 100, 10]),
];

/// Outer products of the documents.
const OUTERS: [usize; 4] = [4, 16, 64, 256];
/// Unknowns of the least-squares problems.
const UNKNOWNS: [usize; 4] = [10, 100, 316, 1000];

/// All rows for one element type.
pub fn rows<T: Real>() -> Vec<Row<T>> {
    let all = benches::<T>();
    let find = |op: &str, form: Form| {
        all.iter()
            .copied()
            .find(|bench| bench.op == op && bench.form == form)
    };
    let mut rows = Vec::new();
    let mut add = |bench: Option<Bench<T>>, shape: Shape, place| {
        rows.extend(bench.map(|bench| Row {
            bench,
            shape,
            place,
        }));
    };
    for (form, [m, n, k]) in PRODUCTS {
        add(find("gemm", form), Shape::product(m, n, k), "");
    }
    add(
        find("gemm_fused", Form::Product),
        Shape::product(512, 512, 512),
        "",
    );
    add(
        find("gemm_batched", Form::Batch),
        Shape {
            batch: 64,
            ..Shape::product(32, 32, 32)
        },
        "",
    );
    for n in UNKNOWNS {
        add(find("lsq_grad", Form::Tall), Shape::matrix(10 * n, n), "");
    }
    for n in OUTERS {
        add(find("outer", Form::Matrix), Shape::matrix(n, n), "");
    }
    for op in AT_ALL_SIZES {
        for size in Size::ALL {
            let bench = find(op, Form::Vector).or_else(|| find(op, Form::Matrix));
            add(
                bench,
                bench.map_or(Shape::vector(0), |bench| bench.shape(size)),
                size.name(),
            );
        }
    }
    for op in BOTH_AXES {
        for form in [Form::Rows, Form::Columns] {
            for size in Size::ALL {
                let bench = find(op, form);
                add(
                    bench,
                    bench.map_or(Shape::vector(0), |bench| bench.shape(size)),
                    size.name(),
                );
            }
        }
    }
    rows
}
