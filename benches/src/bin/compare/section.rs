//! The sections of the report, with their goals as text.
#![forbid(unsafe_code)]

/// A kind of work, in the order of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Products,
    Squares,
    Skinny,
    Small,
    Network,
    Outer,
    MatrixVector,
    LeastSquares,
    Vectors,
    Axes,
    ShortSides,
    Batched,
    Mixed,
    Others,
}

impl Section {
    pub const ALL: [Section; 14] = [
        Section::Products,
        Section::Squares,
        Section::Skinny,
        Section::Small,
        Section::Network,
        Section::Outer,
        Section::MatrixVector,
        Section::LeastSquares,
        Section::Vectors,
        Section::Axes,
        Section::ShortSides,
        Section::Batched,
        Section::Mixed,
        Section::Others,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Section::Products => "Matrix products",
            Section::Squares => "Products of small squares",
            Section::Skinny => "Matrix products with a short side",
            Section::Small => "Calls of four elements",
            Section::Network => "A training step of a two-layer network",
            Section::Outer => "Outer products",
            Section::MatrixVector => "Updates of rank one",
            Section::LeastSquares => "Gradient of least squares",
            Section::Vectors => "Vectors",
            Section::Axes => "Reductions along either axis",
            Section::ShortSides => "Reductions over a short side",
            Section::Batched => "Batches of matrix products",
            Section::Mixed => "Matrix products of 16-bit floats and of integers",
            Section::Others => "Other operations",
        }
    }

    /// Returns the goal as text.
    pub fn goal(self) -> &'static str {
        match self {
            Section::Products => {
                "Goal: at least as fast as the best peer; 95 % of the fma peak for squares from 256; with several threads, 1.9 times the speed of one thread from 512, and never slower."
            }
            Section::Squares => {
                "Goal: every square from 1 to 64 at 0.95 of the best peer or faster; a geometric mean of 1.15; \
                 4x4x4 in 15 ns."
            }
            Section::Skinny => {
                "Goal: at least as fast as the best peer; 85 % of the ceiling if the large matrix comes from memory, \
                 60 % from a cache. The ceiling reads the large matrix once, or is the fma peak if that takes longer."
            }
            Section::Small => "Goal: 8 ns for the whole call through the C interface.",
            Section::Network => "Goal: twice as fast as the better of NumPy and PyTorch.",
            Section::Outer => {
                "Goal: at least as fast as the better of NumPy and PyTorch; 90 % of the write ceiling."
            }
            Section::MatrixVector => "Goal: 90 % of the ceiling.",
            Section::LeastSquares => {
                "Goal: at least as fast as the better of NumPy and PyTorch, and 1.8 times as fast for 1000 \
                 unknowns. The ceiling reads A once."
            }
            Section::Vectors => "Goal: at least as fast as the best peer; 90 % of the ceiling.",
            Section::Axes => {
                "Goal: faster than the peers; 85 % of the speed along the rows for reductions down the columns."
            }
            Section::ShortSides => {
                "Goal: at least as fast as the peers; 70 % of the ceiling, which reads the matrix once."
            }
            Section::Batched => {
                "Goal: 1.5 times as fast as the best peer; BLAS and the crates run in a loop."
            }
            Section::Mixed => {
                "Goal: at least as fast as the best peer. Products of bf16 and of f16 have their own type, those of i8 have i32."
            }
            Section::Others => "No goal.",
        }
    }
}
