//! The cases that are compared, and their goals.
#![forbid(unsafe_code)]

use crate::section::Section;
use diptych_benches::bench::{Form, Pattern, Work};
use diptych_benches::data::{Real, Shape, Size};

/// The goals of a case.
#[derive(Clone, Copy, Debug, Default)]
pub struct Goal {
    /// The least speed relative to the best peer.
    pub ratio: Option<f64>,
    /// Whether only NumPy and PyTorch count as peers.
    pub python_only: bool,
    /// The least fraction of the ceiling.
    pub part: Option<f64>,
    /// The greatest time in nanoseconds.
    pub nanoseconds: Option<f64>,
    /// With several threads: the least speed relative to one thread.
    pub speedup: Option<f64>,
    /// For reductions down the columns: the least speed relative to the rows.
    pub of_rows: Option<f64>,
}

/// A piece of work with one shape.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub section: Section,
    pub work: Work,
    pub shape: Shape,
    pub goal: Goal,
}

impl Case {
    /// Returns its extents as text.
    pub fn extents(&self) -> String {
        let Shape { m, n, k, batch } = self.shape;
        match self.work.form {
            Form::Vector => format!("{n}"),
            Form::Matrix | Form::Rows | Form::Columns | Form::Tall => format!("{m}x{n}"),
            Form::Batch => format!("{batch} of {m}x{n}x{k}"),
            Form::Network => format!("{m}, {k}, {n}, {batch}"),
            _ => format!("{m}x{n}x{k}"),
        }
    }

    /// Returns the bytes of all operands, as a measure of its size.
    pub fn bytes<T: Real>(&self) -> usize {
        match self.work.pattern {
            Pattern::Compute => self.elements() * size_of::<T>(),
            _ => self.work.footprint::<T>(self.shape),
        }
    }

    /// Returns the elements of the matrices of a product.
    pub fn elements(&self) -> usize {
        let Shape { m, n, k, batch } = self.shape;
        (m * k + k * n + m * n) * batch.max(1)
    }
}

/// Products: m, n and k.
const PRODUCTS: [(Form, [usize; 3]); 16] = [
    (Form::Product, [100, 100, 100]),
    (Form::Product, [128, 128, 128]),
    (Form::Product, [256, 256, 256]),
    (Form::Product, [512, 512, 512]),
    (Form::Product, [1024, 1024, 1024]),
    (Form::Product, [2048, 2048, 2048]),
    (Form::Product, [64, 100, 1000]),
    (Form::ProductTransposedA, [1000, 100, 64]),
    (Form::Product, [64, 10, 100]),
    (Form::ProductTransposedA, [100, 10, 64]),
    (Form::ProductTransposedB, [64, 100, 10]),
    (Form::Product, [4096, 64, 64]),
    (Form::Product, [1000, 1, 1000]),
    (Form::Product, [1, 1000, 1000]),
    (Form::Product, [2000, 2000, 4]),
    // A is stored as 10000 x 1000.
    (Form::ProductTransposedA, [1000, 1, 10000]),
];
/// Products of 16-bit floats and of integers: m, n and k.
const MIXED: [[usize; 3]; 6] = [
    [64, 64, 64],
    [256, 256, 256],
    [1024, 1024, 1024],
    [64, 100, 1000],
    [64, 1024, 1024],
    [1, 1024, 1024],
];
/// Products with one side of this many elements; the other sides have [`LONG_SIDES`].
const SHORT_SIDES: [usize; 5] = [2, 3, 5, 8, 16];
/// The large matrix comes from L2, from L3, or from memory.
const LONG_SIDES: [usize; 3] = [256, 1024, 4096];
/// Rows of A, with B stored transposed: batches through a layer of a network.
const BATCHES: [usize; 2] = [32, 64];
const OUTERS: [usize; 12] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];
const UPDATES: [[usize; 2]; 6] = [
    [64, 64],
    [256, 256],
    [1000, 1000],
    [4096, 4096],
    [10000, 100],
    [100, 10000],
];
const UNKNOWNS: [usize; 7] = [10, 32, 100, 200, 316, 1000, 2000];
const VECTORS: [(&str, Pattern); 8] = [
    ("clamp", Pattern::Copy),
    ("sum", Pattern::Read(1)),
    ("sumsq", Pattern::Read(1)),
    ("max", Pattern::Read(1)),
    ("argmax", Pattern::Read(1)),
    ("dot", Pattern::ReadTwo),
    ("mse_grad", Pattern::Add),
    ("var", Pattern::Read(2)),
];
const LENGTHS: [usize; 3] = [1_000, 100_000, 10_000_000];
const MATRICES: [[usize; 2]; 3] = [[1000, 1000], [100_000, 16], [16, 100_000]];
/// Matrices with a short side, of about 50 MB in f32, and the side that is reduced.
const FLAT: [(Form, [usize; 2]); 6] = [
    (Form::Rows, [4_194_304, 3]),
    (Form::Rows, [1_572_864, 8]),
    (Form::Rows, [786_432, 16]),
    (Form::Columns, [3, 4_194_304]),
    (Form::Columns, [8, 1_572_864]),
    (Form::Columns, [64, 262_144]),
];
const OTHERS: [(&str, Pattern); 5] = [
    ("add", Pattern::Add),
    ("axpy", Pattern::UpdateFrom),
    ("fill", Pattern::Write),
    ("asum", Pattern::Read(1)),
    ("nrm2", Pattern::Read(1)),
];

/// Returns all cases.
pub fn all<T: Real>() -> Vec<Case> {
    let mut all = products();
    all.extend(squares());
    all.extend(skinny::<T>());
    all.extend(small());
    all.push(Case {
        section: Section::Network,
        work: work("network", Form::Network, Pattern::Compute),
        shape: Shape {
            batch: 10,
            ..Shape::product(64, 100, 1000)
        },
        goal: Goal {
            ratio: Some(2.0),
            python_only: true,
            ..Goal::default()
        },
    });
    all.extend(matrices());
    all.extend(vectors());
    all.extend(axes());
    all.extend(short_sides());
    all.extend([16, 32, 64].map(|n| Case {
        section: Section::Batched,
        work: work("gemm_batched", Form::Batch, Pattern::Compute),
        shape: Shape {
            batch: 1000,
            ..Shape::product(n, n, n)
        },
        goal: Goal {
            ratio: Some(1.5),
            ..Goal::default()
        },
    }));
    for (op, pattern) in OTHERS {
        let work = work(op, Form::Vector, pattern);
        all.extend(Size::ALL.map(|size| Case {
            section: Section::Others,
            work,
            shape: work.shape::<T>(size),
            goal: Goal::default(),
        }));
    }
    all
}

/// Returns the cases of each type of 16-bit floats and of integers.
pub fn mixed() -> [Case; 6] {
    MIXED.map(|[m, n, k]| Case {
        section: Section::Mixed,
        work: work("matmul", Form::Product, Pattern::Compute),
        shape: Shape::product(m, n, k),
        goal: Goal {
            ratio: Some(1.0),
            ..Goal::default()
        },
    })
}

fn work(op: &'static str, form: Form, pattern: Pattern) -> Work {
    Work { op, form, pattern }
}

fn products() -> Vec<Case> {
    let case = |(form, [m, n, k]): (Form, [usize; 3])| {
        let square = m == n && n == k;
        Case {
            section: Section::Products,
            work: work("gemm", form, Pattern::Compute),
            shape: Shape::product(m, n, k),
            goal: Goal {
                ratio: Some(1.0),
                part: (square && n >= 256).then_some(0.95),
                speedup: Some(if square && n >= 512 { 1.9 } else { 0.97 }),
                ..Goal::default()
            },
        }
    };
    PRODUCTS.map(case).into()
}

fn squares() -> impl Iterator<Item = Case> {
    (1..=64).map(|n| Case {
        section: Section::Squares,
        work: work("gemm", Form::Product, Pattern::Compute),
        shape: Shape::product(n, n, n),
        goal: Goal {
            ratio: Some(0.95),
            nanoseconds: (n == 4).then_some(15.0),
            ..Goal::default()
        },
    })
}

fn skinny<T: Real>() -> Vec<Case> {
    use Form::{Product, ProductTransposedA, ProductTransposedB};
    let case = |form, [m, n, k]: [usize; 3]| {
        let large = k * m.max(n) * size_of::<T>();
        let part = if large > Size::L3.bytes() { 0.85 } else { 0.6 };
        Case {
            section: Section::Skinny,
            work: work("gemm", form, Pattern::Compute),
            shape: Shape::product(m, n, k),
            goal: Goal {
                ratio: Some(1.0),
                part: Some(part),
                ..Goal::default()
            },
        }
    };
    let mut all = Vec::new();
    for long in LONG_SIDES {
        for short in SHORT_SIDES {
            all.extend([Product, ProductTransposedA].map(|form| case(form, [long, short, long])));
            all.extend([Product, ProductTransposedB].map(|form| case(form, [short, long, long])));
        }
    }
    for batch in BATCHES {
        all.extend([Product, ProductTransposedB].map(|form| Case {
            goal: Goal {
                ratio: Some(1.0),
                ..Goal::default()
            },
            ..case(form, [batch, 1024, 1024])
        }));
    }
    all
}

fn small() -> Vec<Case> {
    let short = VECTORS
        .iter()
        .filter(|(op, _)| matches!(*op, "clamp" | "sum" | "dot"));
    let case = |&(op, pattern): &(&'static str, Pattern)| Case {
        section: Section::Small,
        work: work(op, Form::Vector, pattern),
        shape: Shape::vector(4),
        goal: Goal {
            nanoseconds: Some(8.0),
            ..Goal::default()
        },
    };
    short.map(case).collect()
}

fn matrices() -> Vec<Case> {
    let outer = OUTERS.map(|n| Case {
        section: Section::Outer,
        work: work("outer", Form::Matrix, Pattern::Write),
        shape: Shape::matrix(n, n),
        goal: Goal {
            ratio: Some(1.0),
            python_only: true,
            part: Some(0.9),
            ..Goal::default()
        },
    });
    let update = UPDATES.map(|[m, n]| Case {
        section: Section::MatrixVector,
        work: work("ger", Form::Matrix, Pattern::Update),
        shape: Shape::matrix(m, n),
        goal: Goal {
            part: Some(0.9),
            ..Goal::default()
        },
    });
    let gradient = UNKNOWNS.map(|n| Case {
        section: Section::LeastSquares,
        work: work("lsq_grad", Form::Tall, Pattern::Read(1)),
        shape: Shape::matrix(10 * n, n),
        goal: Goal {
            ratio: Some(if n == 1000 { 1.8 } else { 1.0 }),
            python_only: true,
            ..Goal::default()
        },
    });
    [&outer[..], &update[..], &gradient[..]].concat()
}

fn vectors() -> Vec<Case> {
    let case = |(op, pattern), n| Case {
        section: Section::Vectors,
        work: work(op, Form::Vector, pattern),
        shape: Shape::vector(n),
        goal: Goal {
            ratio: Some(1.0),
            part: Some(0.9),
            ..Goal::default()
        },
    };
    let all = VECTORS
        .iter()
        .flat_map(|&kind| LENGTHS.map(|n| case(kind, n)));
    all.collect()
}

fn axes() -> Vec<Case> {
    let mut all = Vec::new();
    for (op, times) in [("sum", 1), ("max", 1), ("argmax", 1), ("var", 2)] {
        for [m, n] in MATRICES {
            for form in [Form::Rows, Form::Columns] {
                all.push(Case {
                    section: Section::Axes,
                    work: work(op, form, Pattern::Read(times)),
                    shape: Shape::matrix(m, n),
                    goal: Goal {
                        ratio: Some(1.0),
                        of_rows: (form == Form::Columns).then_some(0.85),
                        ..Goal::default()
                    },
                });
            }
        }
    }
    all
}

fn short_sides() -> Vec<Case> {
    let ops = ["sum", "max", "argmax", "var", "logsumexp"];
    let case = |op, (form, [m, n]): (Form, [usize; 2])| Case {
        section: Section::ShortSides,
        work: work(op, form, Pattern::Read(1)),
        shape: Shape::matrix(m, n),
        goal: Goal {
            ratio: Some(1.0),
            part: Some(0.7),
            ..Goal::default()
        },
    };
    let all = ops
        .into_iter()
        .flat_map(|op| FLAT.map(|flat| case(op, flat)));
    all.collect()
}
