//! Matrices of any elements in memory with canaries in the gaps and around.

use diptych::{MatMut, MatRef};
use diptych_tests::layout::Strides;
use diptych_tests::mixed::Number;

/// The bits of the elements in the gaps.
const CANARY: u64 = 0xA5A5_A5A5_A5A5_A5A5;
/// Elements before and after the matrix.
const EDGE: usize = 70;

/// A matrix in memory.
#[derive(Clone)]
pub struct Grid<T> {
    data: Vec<T>,
    origin: usize,
    rows: usize,
    columns: usize,
    strides: Strides,
}

impl<T: Number> Grid<T> {
    /// Draws the elements row by row. Where some share an address, the last one stays.
    pub fn new(
        (rows, columns): (usize, usize),
        strides: Strides,
        mut draw: impl FnMut() -> T,
    ) -> Self {
        let reach = |count: usize, stride: i64| stride * (count.max(1) as i64 - 1);
        let (down, right) = (reach(rows, strides.rs), reach(columns, strides.cs));
        let before = (-down.min(0) - right.min(0)) as usize;
        let span = (down.abs() + right.abs()) as usize + 1;
        let mut grid = Self {
            data: vec![T::of_bits(CANARY); span + 2 * EDGE],
            origin: EDGE + before,
            rows,
            columns,
            strides,
        };
        for i in 0..rows {
            for j in 0..columns {
                grid.set(i, j, draw());
            }
        }
        grid
    }

    fn position(&self, i: usize, j: usize) -> usize {
        let distance = i as i64 * self.strides.rs + j as i64 * self.strides.cs;
        (self.origin as i64 + distance) as usize
    }

    /// Element (i, j).
    pub fn at(&self, i: usize, j: usize) -> T {
        self.data[self.position(i, j)]
    }

    /// Writes element (i, j).
    pub fn set(&mut self, i: usize, j: usize, value: T) {
        let at = self.position(i, j);
        self.data[at] = value;
    }

    /// Row i, each element converted.
    pub fn row<W>(&self, i: usize, wide: impl Fn(T) -> W) -> Vec<W> {
        (0..self.columns).map(|j| wide(self.at(i, j))).collect()
    }

    /// Column j, each element converted.
    pub fn column<W>(&self, j: usize, wide: impl Fn(T) -> W) -> Vec<W> {
        (0..self.rows).map(|i| wide(self.at(i, j))).collect()
    }

    /// Returns the matrix.
    pub fn view(&self) -> MatRef<'_, T> {
        let (rs, cs) = (self.strides.rs as isize, self.strides.cs as isize);
        MatRef::with_strides(&self.data, self.origin, self.rows, self.columns, rs, cs)
            .expect("the memory contains the matrix")
    }

    /// Returns the matrix for writing.
    pub fn view_mut(&mut self) -> MatMut<'_, T> {
        let (rs, cs) = (self.strides.rs as isize, self.strides.cs as isize);
        MatMut::with_strides(&mut self.data, self.origin, self.rows, self.columns, rs, cs)
            .expect("the memory contains the matrix")
    }

    /// Returns a row as a matrix.
    pub fn one_row(&self, i: usize) -> MatRef<'_, T> {
        let (rs, cs) = (self.strides.rs as isize, self.strides.cs as isize);
        MatRef::with_strides(&self.data, self.position(i, 0), 1, self.columns, rs, cs)
            .expect("the memory contains the row")
    }

    /// Returns where two matrices of one layout differ, in an element or in a canary.
    pub fn differs(&self, want: &Self) -> Option<String> {
        let mut pairs = self.data.iter().zip(&want.data);
        let at = pairs.position(|(x, y)| x.bits() != y.bits())?;
        let all = (0..self.rows).flat_map(|i| (0..self.columns).map(move |j| (i, j)));
        let place = match all.into_iter().find(|&(i, j)| self.position(i, j) == at) {
            Some(element) => format!("{element:?}"),
            None => format!(
                "outside, at {} of the first",
                at as i64 - self.origin as i64
            ),
        };
        let (got, want) = (self.data[at].bits(), want.data[at].bits());
        Some(format!("{place} is {got:#x} instead of {want:#x}"))
    }

    /// Names the type, the shape and the strides.
    pub fn described(&self) -> String {
        let Strides { rs, cs } = self.strides;
        format!("{} {}x{} ({rs}, {cs})", T::NAME, self.rows, self.columns)
    }
}
