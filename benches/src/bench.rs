//! A bench: an operation in one form, its operands, and the bytes and flops that it takes at least.
#![forbid(unsafe_code)]

use crate::data::{Buffer, Operands, Real, Shape, Size};
use diptych::{Exec, Result};

/// The memory accesses of an operation, which determine its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Reads one array this many times.
    Read(usize),
    /// Reads two arrays.
    ReadTwo,
    /// Writes one array.
    Write,
    /// Reads one array and writes another.
    Copy,
    /// Reads two arrays and writes a third.
    Add,
    /// Reads one array and writes it back.
    Update,
    /// Reads one array and updates another.
    UpdateFrom,
    /// Compute-bound: memory accesses are not the limit.
    Compute,
}

/// The form of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Vectors.
    Vector,
    /// An m by n matrix.
    Matrix,
    /// Each row of a row-major m by n matrix.
    Rows,
    /// Each column of a row-major m by n matrix.
    Columns,
    /// A least-squares problem with ten times as many rows as columns.
    Tall,
    /// A product of matrices, row-major.
    Product,
    /// A product whose A is stored transposed.
    ProductTransposedA,
    /// A product whose B is stored transposed.
    ProductTransposedB,
    /// Many products of small matrices.
    Batch,
    /// A training step of a two-layer network with m samples of k inputs, n hidden units and `batch` outputs. It makes
    /// several calls, and so is not an operation of the table.
    Network,
}

impl Form {
    /// Returns its name in requests to the Python process.
    pub fn name(self) -> &'static str {
        match self {
            Form::Vector => "vector",
            Form::Matrix => "matrix",
            Form::Rows => "rows",
            Form::Columns => "columns",
            Form::Tall => "tall",
            Form::Product => "product",
            Form::ProductTransposedA => "product_transposed_a",
            Form::ProductTransposedB => "product_transposed_b",
            Form::Batch => "batch",
            Form::Network => "network",
        }
    }
}

/// An operation in one form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The operation.
    pub op: &'static str,
    /// Its form.
    pub form: Form,
    /// Its memory accesses.
    pub pattern: Pattern,
}

/// One call of the library.
pub type Run<T> = fn(&Exec<'_>, &mut Operands<T>) -> Result<()>;

/// A bench of one form of one operation.
#[derive(Clone, Copy)]
pub struct Bench<T: 'static> {
    /// The operation and its form.
    pub work: Work,
    /// Makes one call.
    pub run: Run<T>,
}

impl<T: Real> Bench<T> {
    pub(crate) const fn new(op: &'static str, form: Form, pattern: Pattern, run: Run<T>) -> Self {
        Self {
            work: Work { op, form, pattern },
            run,
        }
    }
}

impl Work {
    /// Returns its name in results.
    pub fn name(&self) -> String {
        let suffix = match self.form {
            Form::Rows => "_rows",
            Form::Columns => "_rows (columns)",
            Form::ProductTransposedA => " (A transposed)",
            Form::ProductTransposedB => " (B transposed)",
            _ => "",
        };
        format!("{}{suffix}", self.op)
    }

    /// Returns the extents with which the operands have about the given size.
    pub fn shape<T: Real>(&self, size: Size) -> Shape {
        let elements = size.bytes() / size_of::<T>();
        let side = |elements: usize| elements.isqrt().max(1);
        match self.form {
            Form::Vector => Shape::vector(elements / self.arrays().max(1)),
            Form::Matrix | Form::Rows | Form::Columns => {
                Shape::matrix(side(elements), side(elements))
            }
            Form::Tall => Shape::matrix(10 * side(elements / 10), side(elements / 10)),
            Form::Product | Form::ProductTransposedA | Form::ProductTransposedB => {
                let edge = side(elements / 3);
                Shape::product(edge, edge, edge)
            }
            Form::Batch => Shape {
                batch: (elements / (3 * 32 * 32)).max(1),
                ..Shape::product(32, 32, 32)
            },
            Form::Network => Shape {
                batch: 10,
                ..Shape::product(64, 100, 1000)
            },
        }
    }

    /// Returns how many arrays of the full shape it accesses.
    fn arrays(&self) -> usize {
        match self.pattern {
            Pattern::Read(_) | Pattern::Write | Pattern::Update => 1,
            Pattern::ReadTwo | Pattern::Copy | Pattern::UpdateFrom => 2,
            Pattern::Add => 3,
            Pattern::Compute => 0,
        }
    }

    /// Returns the bytes that must be read and written at least; 0 if compute-bound.
    pub fn bytes<T: Real>(&self, shape: Shape) -> usize {
        let array = shape.m * shape.n * size_of::<T>();
        match self.pattern {
            Pattern::Read(times) => times * array,
            Pattern::Write => array,
            Pattern::ReadTwo | Pattern::Copy | Pattern::Update => 2 * array,
            Pattern::Add | Pattern::UpdateFrom => 3 * array,
            Pattern::Compute => 0,
        }
    }

    /// Returns the total size of the arrays in bytes, which determines the cache level that holds them.
    pub fn footprint<T: Real>(&self, shape: Shape) -> usize {
        self.arrays() * shape.m * shape.n * size_of::<T>()
    }

    /// Returns the floating-point operations of a compute-bound bench, else 0.
    pub fn flops(&self, shape: Shape) -> usize {
        let Shape { m, n, k, batch } = shape;
        match (self.form, self.pattern) {
            // Two products with the first weights, three with the second.
            (Form::Network, _) => 2 * m * n * (2 * k + 3 * batch),
            (_, Pattern::Compute) => 2 * m * n * k * batch,
            _ => 0,
        }
    }

    /// Allocates and fills operands of this shape.
    pub fn operands<T: Real>(&self, shape: Shape) -> Operands<T> {
        let Shape { m, n, k, batch } = shape;
        let array = m * n;
        let (x, y, z, out) = match (self.form, self.pattern) {
            (Form::Vector, Pattern::Read(_)) => (array, 0, 0, 0),
            (Form::Vector, Pattern::ReadTwo) => (array, array, 0, 0),
            (Form::Vector, Pattern::Write) => (0, 0, 0, array),
            (Form::Vector, Pattern::Copy | Pattern::UpdateFrom) => (array, 0, 0, array),
            (Form::Vector, _) => (array, array, 0, array),
            (Form::Matrix, Pattern::Copy) => (array, 0, 0, array),
            (Form::Matrix, _) => (m, n, 0, array),
            (Form::Rows, _) => (array, 0, 0, m),
            (Form::Columns, _) => (array, 0, 0, n),
            (Form::Tall, _) => (array, n, m, n),
            (Form::Network, _) => (0, 0, 0, 0),
            _ => (m * k * batch, k * n * batch, n, array * batch),
        };
        Operands {
            shape,
            x: Buffer::random(x, 1),
            y: Buffer::random(y, 2),
            z: Buffer::random(z, 3),
            out: Buffer::random(out, 4),
            index: vec![0; m.max(n).min(out)],
        }
    }
}
