//! The peer: OpenBLAS's C interface, loaded at run time, with 32-bit or 64-bit integers.

use crate::data::{Real, Shape};
use anyhow::{Context, Result};
use libloading::{Library, Symbol};
use std::ffi::{CStr, c_char, c_int};
use std::hint::black_box;
use std::path::PathBuf;

const ROW_MAJOR: c_int = 101;
const PLAIN: c_int = 111;
const TRANSPOSED: c_int = 112;

/// An integer type of a build of OpenBLAS.
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

/// The operands of a product: A, B and C.
struct Product<'a, T> {
    shape: Shape,
    transposed: (bool, bool),
    a: &'a [T],
    b: &'a [T],
    c: &'a mut [T],
}

type AxpyCall<T> = Box<dyn Fn(T, &[T], &mut [T])>;
type DotCall<T> = Box<dyn Fn(&[T], &[T]) -> T>;
type FoldCall<T> = Box<dyn Fn(&[T]) -> T>;
type SearchCall<T> = Box<dyn Fn(&[T]) -> usize>;
type GerCall<T> = Box<dyn Fn(Shape, T, &[T], &[T], &mut [T])>;
type GemvCall<T> = Box<dyn Fn(Shape, (bool, T, T), &[T], &[T], &mut [T])>;
type GemmCall<T> = Box<dyn Fn(Product<'_, T>)>;

/// The functions for one element type; those that the library lacks are `None`.
pub struct Peer<T> {
    axpy: Option<AxpyCall<T>>,
    dot: Option<DotCall<T>>,
    sum: Option<FoldCall<T>>,
    asum: Option<FoldCall<T>>,
    nrm2: Option<FoldCall<T>>,
    argmax: Option<SearchCall<T>>,
    ger: Option<GerCall<T>>,
    gemv: Option<GemvCall<T>>,
    gemm: Option<GemmCall<T>>,
}

impl<T: Real> Peer<T> {
    /// y += alpha x.
    pub fn axpy(&self, alpha: T, x: &[T], y: &mut [T]) -> Option<()> {
        self.axpy.as_ref().map(|call| call(alpha, x, y))
    }
    /// x . y.
    pub fn dot(&self, x: &[T], y: &[T]) -> Option<()> {
        self.dot.as_ref().map(|call| _ = black_box(call(x, y)))
    }
    /// The sum.
    pub fn sum(&self, x: &[T]) -> Option<()> {
        self.sum.as_ref().map(|call| _ = black_box(call(x)))
    }
    /// The sum of absolute values.
    pub fn asum(&self, x: &[T]) -> Option<()> {
        self.asum.as_ref().map(|call| _ = black_box(call(x)))
    }
    /// The Euclidean norm.
    pub fn nrm2(&self, x: &[T]) -> Option<()> {
        self.nrm2.as_ref().map(|call| _ = black_box(call(x)))
    }
    /// The index of the greatest.
    pub fn argmax(&self, x: &[T]) -> Option<()> {
        self.argmax.as_ref().map(|call| _ = black_box(call(x)))
    }
    /// a += alpha x y^T.
    pub fn ger(&self, shape: Shape, alpha: T, x: &[T], y: &[T], a: &mut [T]) -> Option<()> {
        self.ger.as_ref().map(|call| call(shape, alpha, x, y, a))
    }
    /// c = a b, with a or b stored transposed.
    pub fn gemm(
        &self,
        shape: Shape,
        transposed: (bool, bool),
        a: &[T],
        b: &[T],
        c: &mut [T],
    ) -> Option<()> {
        self.gemm.as_ref().map(|call| {
            call(Product {
                shape,
                transposed,
                a,
                b,
                c,
            })
        })
    }
    /// grad = 2 a^T (a x - y), by two products; `y` takes the residuals, as the peer needs no less.
    pub fn lsq_grad(
        &self,
        shape: Shape,
        a: &[T],
        x: &[T],
        y: &mut [T],
        grad: &mut [T],
    ) -> Option<()> {
        let call = self.gemv.as_ref()?;
        call(shape, (false, T::ONE, T::of(-1.0)), a, x, y);
        call(shape, (true, T::of(2.0), T::ZERO), a, y, grad);
        Some(())
    }
}

/// A loaded OpenBLAS.
pub struct OpenBlas {
    /// What it says of itself.
    pub about: String,
    /// Its f32 functions.
    pub f32: Peer<f32>,
    /// Its f64 functions.
    pub f64: Peer<f64>,
    // Dropped last: the functions above are in it.
    _library: Library,
}

/// Names of the C interface: before and after the name of a function, and whether integers have
/// 64 bits.
const NAMINGS: [(&str, &str, bool); 3] = [
    ("scipy_cblas_", "64_", true),
    ("cblas_", "64_", true),
    ("cblas_", "", false),
];

impl OpenBlas {
    /// Loads the library that `DIPTYCH_OPENBLAS` names, else the system's; sets its threads.
    ///
    /// # Errors
    /// When there is none, or none of the known names in it.
    pub fn load(threads: usize) -> Result<Self> {
        let library = open()?;
        let naming = NAMINGS.into_iter().find(|(before, after, _)| {
            // SAFETY: the symbol is only looked for, not used.
            unsafe { library.get::<*const ()>(format!("{before}sgemm{after}")) }.is_ok()
        });
        let (before, after, wide) =
            naming.context("it has no function cblas_sgemm of a known name")?;
        let plain = before.replace("cblas", "openblas");
        // SAFETY: OpenBLAS documents these two under these names and types.
        unsafe {
            if let Ok(set) =
                library.get::<unsafe extern "C" fn(c_int)>(format!("{plain}set_num_threads{after}"))
            {
                set(threads as c_int);
            }
        }
        let about = about(&library, &plain, after);
        let names = Names {
            library: &library,
            before,
            after,
        };
        let (f32, f64) = if wide {
            (names.peer::<f32, i64>('s'), names.peer::<f64, i64>('d'))
        } else {
            (names.peer::<f32, i32>('s'), names.peer::<f64, i32>('d'))
        };
        Ok(Self {
            about,
            f32,
            f64,
            _library: library,
        })
    }
}

fn open() -> Result<Library> {
    let named = std::env::var_os("DIPTYCH_OPENBLAS").map(PathBuf::from);
    let candidates = match named {
        Some(path) => vec![path],
        None => ["libopenblas.so.0", "libopenblas.so", "libopenblas.dylib"]
            .map(PathBuf::from)
            .into(),
    };
    let mut last = None;
    for path in candidates {
        // SAFETY: loading OpenBLAS runs its start-up code, which looks at the CPU and the environment.
        match unsafe { Library::new(&path) } {
            Ok(library) => return Ok(library),
            Err(error) => last = Some(error),
        }
    }
    Err(last.context("no candidate")?.into())
}

fn about(library: &Library, before: &str, after: &str) -> String {
    type GetConfig = unsafe extern "C" fn() -> *const c_char;
    // SAFETY: OpenBLAS documents the function so; the text is constant.
    unsafe {
        match library.get::<GetConfig>(format!("{before}get_config{after}")) {
            Ok(get) => CStr::from_ptr(get()).to_string_lossy().into_owned(),
            Err(_) => "OpenBLAS".into(),
        }
    }
}

struct Names<'a> {
    library: &'a Library,
    before: &'a str,
    after: &'a str,
}

impl Names<'_> {
    /// A function, or none where the library lacks it.
    ///
    /// # Safety
    /// `F` must be its type.
    unsafe fn get<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: as the caller's.
        let symbol: Symbol<'_, F> = unsafe {
            self.library
                .get(format!("{}{name}{}", self.before, self.after))
        }
        .ok()?;
        Some(*symbol)
    }

    fn peer<T: Real, I: Int>(&self, letter: char) -> Peer<T> {
        // SAFETY: these are the types of the C interface for this element type; the lengths that
        // each call passes are those of its slices. OpenBlas keeps the library as long as these.
        unsafe {
            let fold = |name: &str| {
                let call: Option<Fold<T, I>> = self.get(name);
                call.map(|call| {
                    Box::new(move |x: &[T]| call(I::of(x.len()), x.as_ptr(), I::of(1)))
                        as FoldCall<T>
                })
            };
            let axpy: Option<Axpy<T, I>> = self.get(&format!("{letter}axpy"));
            let dot: Option<Dot<T, I>> = self.get(&format!("{letter}dot"));
            let argmax: Option<Search<T, I>> = self.get(&format!("i{letter}max"));
            let one = I::of(1);
            Peer {
                axpy: axpy.map(|call| {
                    Box::new(move |alpha, x: &[T], y: &mut [T]| {
                        assert_eq!(x.len(), y.len());
                        call(I::of(x.len()), alpha, x.as_ptr(), one, y.as_mut_ptr(), one);
                    }) as AxpyCall<T>
                }),
                dot: dot.map(|call| {
                    Box::new(move |x: &[T], y: &[T]| {
                        assert_eq!(x.len(), y.len());
                        call(I::of(x.len()), x.as_ptr(), one, y.as_ptr(), one)
                    }) as DotCall<T>
                }),
                sum: fold(&format!("{letter}sum")),
                asum: fold(&format!("{letter}asum")),
                nrm2: fold(&format!("{letter}nrm2")),
                argmax: argmax.map(|call| {
                    Box::new(move |x: &[T]| call(I::of(x.len()), x.as_ptr(), one)) as SearchCall<T>
                }),
                ger: self.ger::<T, I>(letter),
                gemv: self.gemv::<T, I>(letter),
                gemm: self.gemm::<T, I>(letter),
            }
        }
    }

    unsafe fn ger<T: Real, I: Int>(&self, letter: char) -> Option<GerCall<T>> {
        // SAFETY: as in `peer`.
        let call: Ger<T, I> = unsafe { self.get(&format!("{letter}ger"))? };
        Some(Box::new(move |Shape { m, n, .. }, alpha, x, y, a| {
            assert!(x.len() >= m && y.len() >= n && a.len() >= m * n);
            let (rows, cols, one) = (I::of(m), I::of(n), I::of(1));
            // SAFETY: the lengths have been compared.
            unsafe {
                call(
                    ROW_MAJOR,
                    rows,
                    cols,
                    alpha,
                    x.as_ptr(),
                    one,
                    y.as_ptr(),
                    one,
                    a.as_mut_ptr(),
                    cols,
                )
            }
        }))
    }

    unsafe fn gemv<T: Real, I: Int>(&self, letter: char) -> Option<GemvCall<T>> {
        // SAFETY: as in `peer`.
        let call: Gemv<T, I> = unsafe { self.get(&format!("{letter}gemv"))? };
        Some(Box::new(
            move |Shape { m, n, .. }, (transposed, alpha, beta), a, x, y| {
                let (from, to) = if transposed { (m, n) } else { (n, m) };
                assert!(a.len() >= m * n && x.len() >= from && y.len() >= to);
                let (rows, cols, one) = (I::of(m), I::of(n), I::of(1));
                let form = if transposed { TRANSPOSED } else { PLAIN };
                let (a, x, y) = (a.as_ptr(), x.as_ptr(), y.as_mut_ptr());
                // SAFETY: the lengths have been compared.
                unsafe {
                    call(
                        ROW_MAJOR, form, rows, cols, alpha, a, cols, x, one, beta, y, one,
                    )
                }
            },
        ))
    }

    unsafe fn gemm<T: Real, I: Int>(&self, letter: char) -> Option<GemmCall<T>> {
        // SAFETY: as in `peer`.
        let call: Gemm<T, I> = unsafe { self.get(&format!("{letter}gemm"))? };
        Some(Box::new(
            move |Product {
                      shape: Shape { m, n, k, .. },
                      transposed,
                      a,
                      b,
                      c,
                  }| {
                assert!(a.len() >= m * k && b.len() >= k * n && c.len() >= m * n);
                let form = |transposed| if transposed { TRANSPOSED } else { PLAIN };
                let (lda, ldb) = (
                    if transposed.0 { m } else { k },
                    if transposed.1 { k } else { n },
                );
                let (fa, fb) = (form(transposed.0), form(transposed.1));
                let (rows, cols, depth, lda, ldb) =
                    (I::of(m), I::of(n), I::of(k), I::of(lda), I::of(ldb));
                let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
                // SAFETY: the lengths have been compared.
                unsafe {
                    call(
                        ROW_MAJOR,
                        fa,
                        fb,
                        rows,
                        cols,
                        depth,
                        T::ONE,
                        a,
                        lda,
                        b,
                        ldb,
                        T::ZERO,
                        c,
                        cols,
                    )
                }
            },
        ))
    }
}
