//! Peers with the C interface of BLAS (cblas), loaded at run time, with 32-bit or 64-bit integers.

use crate::bench::{Form, Work};
use crate::data::{Pointers, Real, Shape};
use crate::timing::{Clock, Sampler, repeat};
use anyhow::{Context, Result, bail};
use libloading::{Library, Symbol};
use std::ffi::{CStr, c_char, c_int};
use std::hint::black_box;
use std::path::{Path, PathBuf};

const ROW_MAJOR: c_int = 101;
const PLAIN: c_int = 111;
const TRANSPOSED: c_int = 112;

/// The integer type of a BLAS build.
trait Int: Copy + 'static {
    fn of(value: usize) -> Self;
}

impl Int for i32 {
    fn of(value: usize) -> Self {
        value as i32
    }
}

impl Int for i64 {
    fn of(value: usize) -> Self {
        value as i64
    }
}

type Axpy<T, I> = unsafe extern "C" fn(I, T, *const T, I, *mut T, I);
type Dot<T, I> = unsafe extern "C" fn(I, *const T, I, *const T, I) -> T;
type Fold<T, I> = unsafe extern "C" fn(I, *const T, I) -> T;
type Search<T, I> = unsafe extern "C" fn(I, *const T, I) -> usize;
type Ger<T, I> = unsafe extern "C" fn(c_int, I, I, T, *const T, I, *const T, I, *mut T, I);
type Gemv<T, I> =
    unsafe extern "C" fn(c_int, c_int, I, I, T, *const T, I, *const T, I, T, *mut T, I);
type Gemm<T, I> =
    unsafe extern "C" fn(c_int, c_int, c_int, I, I, I, T, *const T, I, *const T, I, T, *mut T, I);

/// A BLAS library that may be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// OpenBLAS.
    OpenBlas,
    /// Intel's MKL.
    Mkl,
    /// BLIS.
    Blis,
}

impl Kind {
    /// All libraries.
    pub const ALL: [Kind; 3] = [Kind::OpenBlas, Kind::Mkl, Kind::Blis];

    /// Returns its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Kind::OpenBlas => "OpenBLAS",
            Kind::Mkl => "MKL",
            Kind::Blis => "BLIS",
        }
    }

    /// Returns the environment variable that names its file.
    pub fn variable(self) -> &'static str {
        match self {
            Kind::OpenBlas => "DIPTYCH_OPENBLAS",
            Kind::Mkl => "DIPTYCH_MKL",
            Kind::Blis => "DIPTYCH_BLIS",
        }
    }

    /// Returns the file names under which the system may have it.
    fn candidates(self) -> &'static [&'static str] {
        match self {
            Kind::OpenBlas => &["libopenblas.so.0", "libopenblas.so", "libopenblas.dylib"],
            Kind::Mkl => &["libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"],
            Kind::Blis => &["libblis.so.4", "libblis.so"],
        }
    }

    fn set_threads(self, symbols: &Symbols, threads: usize) {
        let prefix = symbols.prefix.replace("cblas", "openblas");
        let name = match self {
            Kind::OpenBlas => format!("{prefix}set_num_threads{}", symbols.suffix),
            Kind::Mkl => "MKL_Set_Num_Threads".into(),
            Kind::Blis => "bli_thread_set_num_threads".into(),
        };
        // The parameter is a 64-bit integer in BLIS and an int in the others; passing an i64 with a small value works
        // for both. SAFETY: each library documents this signature, up to the integer.
        unsafe {
            if let Ok(set) = symbols.library.get::<unsafe extern "C" fn(i64)>(name) {
                set(threads as i64);
            }
        }
    }

    fn about(self, symbols: &Symbols) -> String {
        type GetText = unsafe extern "C" fn() -> *const c_char;
        type FillText = unsafe extern "C" fn(*mut c_char, c_int);
        let prefix = symbols.prefix.replace("cblas", "openblas");
        let text = |name: String| {
            // SAFETY: the libraries document these signatures; the strings are constant.
            unsafe {
                let get = symbols.library.get::<GetText>(name).ok()?;
                Some(CStr::from_ptr(get()).to_string_lossy().into_owned())
            }
        };
        match self {
            Kind::OpenBlas => text(format!("{prefix}get_config{}", symbols.suffix)),
            Kind::Blis => text("bli_info_get_version_str".into()),
            Kind::Mkl => {
                let mut buffer = [0 as c_char; 200];
                // SAFETY: MKL writes at most the given number of bytes, and terminates the string.
                unsafe {
                    let fill = symbols
                        .library
                        .get::<FillText>("MKL_Get_Version_String")
                        .ok();
                    fill.map(|fill| {
                        fill(buffer.as_mut_ptr(), buffer.len() as c_int - 1);
                        CStr::from_ptr(buffer.as_ptr())
                            .to_string_lossy()
                            .into_owned()
                    })
                }
            }
        }
        .map_or_else(|| self.name().into(), |text| text.trim().to_owned())
    }
}

/// The naming schemes of the C interface: prefix and suffix of a function's name, and whether integers have 64 bits.
const NAMINGS: [(&str, &str, bool); 3] = [
    ("scipy_cblas_", "64_", true),
    ("cblas_", "64_", true),
    ("cblas_", "", false),
];

/// A library and its naming scheme.
struct Symbols {
    library: Library,
    prefix: &'static str,
    suffix: &'static str,
}

/// A loaded library.
pub struct Blas {
    /// Which one.
    pub kind: Kind,
    /// The version or configuration that it reports.
    pub about: String,
    /// Whether its integers have 64 bits.
    wide: bool,
    symbols: Symbols,
}

impl Blas {
    /// Loads the file that the kind's environment variable names, else `found`, else the system's; sets its number of
    /// threads.
    ///
    /// # Errors
    /// When there is no such library, or it follows no known naming scheme.
    pub fn load(kind: Kind, found: Option<&Path>, threads: usize) -> Result<Self> {
        let library = open(kind, found)?;
        let naming = NAMINGS.into_iter().find(|(prefix, suffix, _)| {
            // SAFETY: the symbol is only looked for, not used.
            unsafe { library.get::<*const ()>(format!("{prefix}sgemm{suffix}")) }.is_ok()
        });
        let (prefix, suffix, wide) = naming.context("it has no cblas_sgemm of a known name")?;
        let symbols = Symbols {
            library,
            prefix,
            suffix,
        };
        kind.set_threads(&symbols, threads);
        Ok(Self {
            kind,
            about: kind.about(&symbols),
            wide,
            symbols,
        })
    }

    /// Returns a sampler of the work; `None` if the library has no such operation.
    ///
    /// # Safety
    /// The operands and the library must outlive the sampler, and the operands must be those of the work.
    pub unsafe fn sampler<T: Real>(
        &self,
        work: Work,
        operands: Pointers<T>,
        clock: Clock,
    ) -> Option<Sampler<'static>> {
        // SAFETY: as the caller's.
        unsafe {
            if self.wide {
                self.symbols.sampler::<T, i64>(work, operands, clock)
            } else {
                self.symbols.sampler::<T, i32>(work, operands, clock)
            }
        }
    }
}

fn open(kind: Kind, found: Option<&Path>) -> Result<Library> {
    let named = std::env::var_os(kind.variable()).map(PathBuf::from);
    let candidates = match named.or_else(|| found.map(Path::to_path_buf)) {
        Some(path) => vec![path],
        None => kind.candidates().iter().map(PathBuf::from).collect(),
    };
    let mut reasons = Vec::new();
    for path in candidates {
        // SAFETY: loading these libraries runs their initialisers, which only inspect the CPU and the environment.
        match unsafe { Library::new(&path) } {
            Ok(library) => return Ok(library),
            Err(error) => reasons.push(error.to_string()),
        }
    }
    bail!(
        "{}",
        reasons.first().map_or("no candidate", |reason| reason)
    )
}

impl Symbols {
    /// Looks up a function; `name` follows the letter of the type, and `before` precedes it. Returns `None` if the
    /// library lacks it.
    ///
    /// # Safety
    /// `F` must be its type.
    unsafe fn get<T: Real, F: Copy>(&self, before: &str, name: &str) -> Option<F> {
        let letter = if T::NAME == "f32" { 's' } else { 'd' };
        let name = format!("{}{before}{letter}{name}{}", self.prefix, self.suffix);
        // SAFETY: as the caller's.
        let symbol: Symbol<'_, F> = unsafe { self.library.get(name) }.ok()?;
        Some(*symbol)
    }

    /// Returns a sampler of the work, as [`Blas::sampler`].
    ///
    /// # Safety
    /// As for `Blas::sampler`; `I` must be the library's integer type.
    unsafe fn sampler<T: Real, I: Int>(
        &self,
        work: Work,
        p: Pointers<T>,
        clock: Clock,
    ) -> Option<Sampler<'static>> {
        let (n, one) = (I::of(p.shape.n), I::of(1));
        // SAFETY: these are the types of the C interface, the lengths those of the operands.
        unsafe {
            match (work.op, work.form) {
                ("axpy", _) => {
                    let f: Axpy<T, I> = self.get::<T, _>("", "axpy")?;
                    Some(repeat(clock, move || {
                        f(n, T::of(1e-6), p.x, one, p.out, one)
                    }))
                }
                ("dot" | "sumsq", Form::Vector) => {
                    let f: Dot<T, I> = self.get::<T, _>("", "dot")?;
                    let other = if work.op == "dot" { p.y } else { p.x };
                    Some(repeat(clock, move || {
                        _ = black_box(f(n, p.x, one, other, one));
                    }))
                }
                ("sum" | "asum" | "nrm2", Form::Vector) => {
                    let f: Fold<T, I> = self.get::<T, _>("", work.op)?;
                    Some(repeat(clock, move || _ = black_box(f(n, p.x, one))))
                }
                ("argmax", Form::Vector) => {
                    let f: Search<T, I> = self.get::<T, _>("i", "max")?;
                    Some(repeat(clock, move || _ = black_box(f(n, p.x, one))))
                }
                ("ger", _) => {
                    let f: Ger<T, I> = self.get::<T, _>("", "ger")?;
                    let (m, alpha) = (I::of(p.shape.m), T::of(1e-6));
                    Some(repeat(clock, move || {
                        f(ROW_MAJOR, m, n, alpha, p.x, one, p.y, one, p.out, n)
                    }))
                }
                ("lsq_grad", _) => self.lsq_grad::<T, I>(p, clock),
                ("gemm" | "gemm_batched" | "outer", _) => self.product::<T, I>(work, p, clock),
                _ => None,
            }
        }
    }

    /// Returns a sampler of 2 a^T (a x - y) by two calls of gemv. z holds y at first, and the residuals after the first
    /// call, which BLAS must store.
    ///
    /// # Safety
    /// As for `sampler`.
    unsafe fn lsq_grad<T: Real, I: Int>(
        &self,
        p: Pointers<T>,
        clock: Clock,
    ) -> Option<Sampler<'static>> {
        let (m, n, one) = (I::of(p.shape.m), I::of(p.shape.n), I::of(1));
        let (plain, minus, two) = (T::ONE, T::of(-1.0), T::of(2.0));
        let (r, t) = (ROW_MAJOR, TRANSPOSED);
        // SAFETY: as the caller's.
        unsafe {
            let f: Gemv<T, I> = self.get::<T, _>("", "gemv")?;
            Some(repeat(clock, move || {
                f(r, PLAIN, m, n, plain, p.x, n, p.y, one, minus, p.z, one);
                f(r, t, m, n, two, p.x, n, p.z, one, T::ZERO, p.out, one);
            }))
        }
    }

    /// Returns a sampler of a product: by gemv if A has one row or B one column; a batch as a loop of gemm; an outer
    /// product as gemm with k = 1, since BLAS has no outer product that only writes.
    ///
    /// # Safety
    /// As for `sampler`.
    unsafe fn product<T: Real, I: Int>(
        &self,
        work: Work,
        p: Pointers<T>,
        clock: Clock,
    ) -> Option<Sampler<'static>> {
        let Shape { m, n, k, batch } = p.shape;
        let (alpha, beta, r) = (T::ONE, T::ZERO, ROW_MAJOR);
        let (form_a, lda) = match work.form {
            Form::ProductTransposedA => (TRANSPOSED, m),
            _ => (PLAIN, k),
        };
        let (form_b, ldb) = match work.form {
            Form::ProductTransposedB => (TRANSPOSED, k),
            _ => (PLAIN, n),
        };
        // A row vector times a matrix is the transposed matrix times the vector.
        let vector = match work.form {
            Form::Product if n == 1 => Some((PLAIN, m, k, p.x, p.y)),
            Form::ProductTransposedA if n == 1 => Some((TRANSPOSED, k, m, p.x, p.y)),
            Form::Product if m == 1 => Some((TRANSPOSED, k, n, p.y, p.x)),
            _ => None,
        };
        // SAFETY: as the caller's.
        unsafe {
            if let Some((form, rows, cols, matrix, vector)) = vector {
                let f: Gemv<T, I> = self.get::<T, _>("", "gemv")?;
                let (rows, cols, one) = (I::of(rows), I::of(cols), I::of(1));
                #[rustfmt::skip]
                let run = move || f(
                    r, form, rows, cols, alpha, matrix, cols, vector, one, beta, p.out, one,
                );
                return Some(repeat(clock, run));
            }
            let f: Gemm<T, I> = self.get::<T, _>("", "gemm")?;
            let (rows, cols, depth) = (I::of(m), I::of(n), I::of(k));
            let (lda, ldb) = (I::of(lda), I::of(ldb));
            Some(repeat(clock, move || {
                for item in 0..batch {
                    let (a, b) = (p.x.add(item * m * k), p.y.add(item * k * n));
                    let c = p.out.add(item * m * n);
                    #[rustfmt::skip]
                    f(
                        r, form_a, form_b, rows, cols, depth, alpha, a, lda, b, ldb, beta, c, cols,
                    );
                }
            }))
        }
    }
}
