//! Peers with the C interface of BLAS, loaded at run time, with 32-bit or 64-bit integers.

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

/// An integer type of a build.
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

/// A library that may be there.
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
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::OpenBlas, Kind::Mkl, Kind::Blis];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Kind::OpenBlas => "OpenBLAS",
            Kind::Mkl => "MKL",
            Kind::Blis => "BLIS",
        }
    }

    /// The variable that names its file.
    pub fn variable(self) -> &'static str {
        match self {
            Kind::OpenBlas => "DIPTYCH_OPENBLAS",
            Kind::Mkl => "DIPTYCH_MKL",
            Kind::Blis => "DIPTYCH_BLIS",
        }
    }

    /// The names under which the system may have it.
    fn candidates(self) -> &'static [&'static str] {
        match self {
            Kind::OpenBlas => &["libopenblas.so.0", "libopenblas.so", "libopenblas.dylib"],
            Kind::Mkl => &["libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"],
            Kind::Blis => &["libblis.so.4", "libblis.so"],
        }
    }

    fn set_threads(self, names: &Names, threads: usize) {
        let before = names.before.replace("cblas", "openblas");
        let name = match self {
            Kind::OpenBlas => format!("{before}set_num_threads{}", names.after),
            Kind::Mkl => "MKL_Set_Num_Threads".into(),
            Kind::Blis => "bli_thread_set_num_threads".into(),
        };
        // BLIS has a wide integer there, the others an int; either reads this small value.
        // SAFETY: each library documents its function so.
        unsafe {
            if let Ok(set) = names.library.get::<unsafe extern "C" fn(i64)>(name) {
                set(threads as i64);
            }
        }
    }

    fn about(self, names: &Names) -> String {
        type GetText = unsafe extern "C" fn() -> *const c_char;
        type FillText = unsafe extern "C" fn(*mut c_char, c_int);
        let before = names.before.replace("cblas", "openblas");
        let text = |name: String| {
            // SAFETY: the libraries document these functions so; the texts are constant.
            unsafe {
                let get = names.library.get::<GetText>(name).ok()?;
                Some(CStr::from_ptr(get()).to_string_lossy().into_owned())
            }
        };
        match self {
            Kind::OpenBlas => text(format!("{before}get_config{}", names.after)),
            Kind::Blis => text("bli_info_get_version_str".into()),
            Kind::Mkl => {
                let mut buffer = [0 as c_char; 200];
                // SAFETY: MKL writes at most so many bytes, the last of them zero.
                unsafe {
                    let fill = names.library.get::<FillText>("MKL_Get_Version_String").ok();
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

/// Names of the C interface: before and after the name of a function, and whether integers have
/// 64 bits.
const NAMINGS: [(&str, &str, bool); 3] = [
    ("scipy_cblas_", "64_", true),
    ("cblas_", "64_", true),
    ("cblas_", "", false),
];

struct Names {
    library: Library,
    before: &'static str,
    after: &'static str,
}

/// A loaded library.
pub struct Blas {
    /// Which one.
    pub kind: Kind,
    /// What it says of itself.
    pub about: String,
    wide: bool,
    names: Names,
}

impl Blas {
    /// Loads the file that the kind's variable names, else `found`, else the system's; sets its
    /// threads.
    ///
    /// # Errors
    /// When there is none, or none of the known names in it.
    pub fn load(kind: Kind, found: Option<&Path>, threads: usize) -> Result<Self> {
        let library = open(kind, found)?;
        let naming = NAMINGS.into_iter().find(|(before, after, _)| {
            // SAFETY: the symbol is only looked for, not used.
            unsafe { library.get::<*const ()>(format!("{before}sgemm{after}")) }.is_ok()
        });
        let (before, after, wide) = naming.context("it has no cblas_sgemm of a known name")?;
        let names = Names {
            library,
            before,
            after,
        };
        kind.set_threads(&names, threads);
        Ok(Self {
            kind,
            about: kind.about(&names),
            wide,
            names,
        })
    }

    /// A sampler of the work; `None` when the library has nothing for it.
    ///
    /// # Safety
    /// The operands and the library outlive the sampler, and the operands are those of the work.
    pub unsafe fn sampler<T: Real>(
        &self,
        work: Work,
        operands: Pointers<T>,
        clock: Clock,
    ) -> Option<Sampler<'static>> {
        // SAFETY: as the caller's.
        unsafe {
            if self.wide {
                self.names.sampler::<T, i64>(work, operands, clock)
            } else {
                self.names.sampler::<T, i32>(work, operands, clock)
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
        // SAFETY: loading these libraries runs their start-up code, which looks at the CPU and the
        // environment.
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

impl Names {
    /// A function, or none where the library lacks it.
    ///
    /// # Safety
    /// `F` must be its type.
    unsafe fn get<T: Real, F: Copy>(&self, before: &str, name: &str) -> Option<F> {
        let letter = if T::NAME == "f32" { 's' } else { 'd' };
        let name = format!("{}{before}{letter}{name}{}", self.before, self.after);
        // SAFETY: as the caller's.
        let symbol: Symbol<'_, F> = unsafe { self.library.get(name) }.ok()?;
        Some(*symbol)
    }

    /// # Safety
    /// As for `Blas::sampler`; `I` is the library's integer.
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

    /// 2 a^T (a x - y), by two products; z takes the residuals, as the library needs no less.
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

    /// A product, by gemv where one side is a vector; a batch as a loop; an outer product as one
    /// with k = 1, since BLAS has none that only writes.
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
        // A vector times a matrix is the matrix, transposed once more, times the vector.
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
