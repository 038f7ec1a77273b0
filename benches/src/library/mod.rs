//! Diptych as C programs use it: libdiptych.so, called through its C interface.

mod matmul;
mod network;

use crate::bench::{Form, Work};
use crate::data::{Pointers, Real, Shape};
use crate::timing::{Clock, Sampler, repeat};
use anyhow::{Context, Result, bail, ensure};
use diptych::table::REDUCTIONS;
use libloading::{Library, Symbol};
use network::Network;
use std::ffi::{CStr, c_char};
use std::hint::black_box;
use std::path::Path;
use std::ptr;

/// A `dpt_exec` as words: its size first, the rest filled by `dpt_pool_exec`.
type ExecWords = [usize; 8];
/// A pointer to a `dpt_exec`, or NULL.
type E = *const ExecWords;

type Clamp<T> = unsafe extern "C" fn(E, i64, *const T, T, T, *mut T) -> i32;
type ClampBackward<T> = unsafe extern "C" fn(E, i64, *const T, *const T, T, T, *mut T) -> i32;
type Binary<T> = unsafe extern "C" fn(E, i64, *const T, *const T, *mut T) -> i32;
type Axpy<T> = unsafe extern "C" fn(E, i64, T, *const T, *mut T) -> i32;
type Fill<T> = unsafe extern "C" fn(E, i64, T, *mut T) -> i32;
type Outer<T> =
    unsafe extern "C" fn(E, i64, i64, *const T, i64, *const T, i64, *mut T, i64, i64) -> i32;
type Ger<T> =
    unsafe extern "C" fn(E, i64, i64, T, *const T, i64, *const T, i64, *mut T, i64, i64) -> i32;
#[rustfmt::skip]
type Gemm<T> = unsafe extern "C" fn(
    E, i64, i64, i64, T, *const T, i64, i64, *const T, i64, i64, T, *mut T, i64, i64,
) -> i32;
#[rustfmt::skip]
type GemmBatched<T> = unsafe extern "C" fn(
    E, i64, i64, i64, T, *const T, i64, i64, *const T, i64, i64, T, *mut T, i64, i64,
    i64, i64, i64, i64,
) -> i32;
type Fold<T> = unsafe extern "C" fn(E, i64, *const T, i64, *mut T) -> i32;
type Var<T> = unsafe extern "C" fn(E, i64, *const T, i64, i64, *mut T) -> i32;
type Search<T> = unsafe extern "C" fn(E, i64, *const T, i64, *mut i64) -> i32;
type Dot<T> = unsafe extern "C" fn(E, i64, *const T, i64, *const T, i64, *mut T) -> i32;
type FoldRows<T> = unsafe extern "C" fn(E, i64, i64, *const T, i64, i64, *mut T, i64) -> i32;
type VarRows<T> = unsafe extern "C" fn(E, i64, i64, *const T, i64, i64, i64, *mut T, i64) -> i32;
type SearchRows<T> = unsafe extern "C" fn(E, i64, i64, *const T, i64, i64, *mut i64, i64) -> i32;
type MseGrad<T> = unsafe extern "C" fn(E, i64, *const T, *const T, *mut T, *mut T) -> i32;
type LsqGrad<T> =
    unsafe extern "C" fn(E, i64, i64, *const T, i64, i64, *const T, *const T, *mut T) -> i32;

type PoolCreate = unsafe extern "C" fn(i32, *mut *mut u8) -> i32;
type PoolDestroy = unsafe extern "C" fn(*mut u8);
type PoolExec = unsafe extern "C" fn(*mut u8, *mut ExecWords) -> i32;
type Text = unsafe extern "C" fn() -> *const c_char;

/// A loaded libdiptych.so, and a pool of threads if there is more than one.
pub struct Diptych {
    library: Library,
    pool: *mut u8,
    exec: Box<ExecWords>,
    threads: usize,
}

/// Returns whether the result of a reduction is an index or a count.
fn gives_index(op: &str) -> bool {
    REDUCTIONS
        .iter()
        .any(|row| row.name == op && row.gives_index)
}

impl Diptych {
    /// Loads the library; creates a pool for more than one thread.
    ///
    /// # Errors
    /// When the file is not a libdiptych.so, or the pool cannot be created.
    pub fn load(path: &Path, threads: usize) -> Result<Self> {
        // SAFETY: libdiptych runs no code when it is loaded.
        let library = unsafe { Library::new(path) }.with_context(|| path.display().to_string())?;
        let mut loaded = Self {
            library,
            pool: ptr::null_mut(),
            exec: Box::new([size_of::<ExecWords>(), 0, 0, 0, 0, 0, 0, 0]),
            threads,
        };
        if threads > 1 {
            // SAFETY: the types are those of the header; the exec is as large as its first word says.
            unsafe {
                let create: PoolCreate = loaded.symbol("dpt_pool_create")?;
                let fill: PoolExec = loaded.symbol("dpt_pool_exec")?;
                let status = create(i32::try_from(threads)?, &mut loaded.pool);
                ensure!(status == 0, "dpt_pool_create: status {status}");
                let status = fill(loaded.pool, &mut *loaded.exec);
                ensure!(status == 0, "dpt_pool_exec: status {status}");
            }
        }
        Ok(loaded)
    }

    /// Returns the active CPU level.
    pub fn level(&self) -> Result<String> {
        // SAFETY: the type is that of the header; the text is constant.
        unsafe {
            let level: Text = self.symbol("dpt_cpu_level")?;
            Ok(CStr::from_ptr(level()).to_string_lossy().into_owned())
        }
    }

    /// Returns the settings of calls on the pool's threads, or of calls on the calling thread.
    fn exec(&self, pooled: bool) -> E {
        if pooled && self.threads > 1 {
            &raw const *self.exec
        } else {
            ptr::null()
        }
    }

    /// Looks up a function of the library.
    ///
    /// # Safety
    /// `F` must be its type, and it may be called only while the library is loaded.
    unsafe fn symbol<F: Copy>(&self, name: &str) -> Result<F> {
        // SAFETY: as the caller's.
        let symbol: Symbol<'_, F> = unsafe { self.library.get(name) }?;
        Ok(*symbol)
    }

    /// Looks up the function of an operation for the element type `T`.
    ///
    /// # Safety
    /// As for `symbol`.
    unsafe fn typed<T: Real, F: Copy>(&self, op: &str) -> Result<F> {
        // SAFETY: as the caller's.
        unsafe { self.symbol(&format!("dpt_{op}_{}", T::NAME)) }
    }

    /// Returns a sampler of the work, on the pool's threads if `pooled`, else on the calling thread.
    ///
    /// # Errors
    /// When this file has no call for the work.
    ///
    /// # Safety
    /// The operands and the library must outlive the sampler, and the operands must be those of the work.
    pub unsafe fn sampler<T: Real>(
        &self,
        work: Work,
        p: Pointers<T>,
        pooled: bool,
        clock: Clock,
    ) -> Result<Sampler<'static>> {
        let e = self.exec(pooled);
        // SAFETY: as the caller's.
        unsafe {
            match work.form {
                Form::Rows | Form::Columns => self.rows(work, p, e, clock),
                Form::Vector if matches!(work.op, "clamp" | "add" | "axpy" | "fill") => {
                    self.elementwise(work.op, p, e, clock)
                }
                Form::Vector => self.reduction(work.op, p, e, clock),
                Form::Network => Network::<T>::new(self, e)?.sampler(p.shape, clock),
                _ => self.matrix(work, p, e, clock),
            }
        }
    }

    /// # Safety
    /// As for `sampler`.
    unsafe fn elementwise<T: Real>(
        &self,
        op: &str,
        p: Pointers<T>,
        e: E,
        clock: Clock,
    ) -> Result<Sampler<'static>> {
        let n = p.shape.n as i64;
        let one = T::ONE;
        // SAFETY: the types are those of the header, the lengths those of the operands.
        Ok(unsafe {
            match op {
                "clamp" => {
                    let f: Clamp<T> = self.typed::<T, _>(op)?;
                    repeat(clock, move || check(f(e, n, p.x, T::of(-1.0), one, p.out)))
                }
                "add" => {
                    let f: Binary<T> = self.typed::<T, _>(op)?;
                    repeat(clock, move || check(f(e, n, p.x, p.y, p.out)))
                }
                "axpy" => {
                    let f: Axpy<T> = self.typed::<T, _>(op)?;
                    repeat(clock, move || check(f(e, n, T::of(1e-6), p.x, p.out)))
                }
                _ => {
                    let f: Fill<T> = self.typed::<T, _>(op)?;
                    repeat(clock, move || check(f(e, n, T::of(1.5), p.out)))
                }
            }
        })
    }

    /// # Safety
    /// As for `sampler`.
    unsafe fn reduction<T: Real>(
        &self,
        op: &str,
        p: Pointers<T>,
        e: E,
        clock: Clock,
    ) -> Result<Sampler<'static>> {
        let n = p.shape.n as i64;
        let mut value = T::ZERO;
        let mut index = 0;
        // SAFETY: the types are those of the header, the lengths those of the operands.
        Ok(unsafe {
            match op {
                "dot" => {
                    let f: Dot<T> = self.typed::<T, _>(op)?;
                    repeat(clock, move || {
                        check(f(e, n, p.x, 1, p.y, 1, black_box(&mut value)))
                    })
                }
                "mse_grad" => {
                    let f: MseGrad<T> = self.typed::<T, _>(op)?;
                    repeat(clock, move || {
                        check(f(e, n, p.x, p.y, p.out, black_box(&mut value)))
                    })
                }
                "var" | "std" => {
                    let f: Var<T> = self.typed::<T, _>(op)?;
                    repeat(clock, move || {
                        check(f(e, n, p.x, 1, 1, black_box(&mut value)))
                    })
                }
                op if gives_index(op) => {
                    let f: Search<T> = self.typed::<T, _>(op)?;
                    repeat(clock, move || check(f(e, n, p.x, 1, black_box(&mut index))))
                }
                "sum" | "mean" | "prod" | "min" | "max" | "sumsq" | "asum" | "nrm2"
                | "logsumexp" => {
                    let f: Fold<T> = self.typed::<T, _>(op)?;
                    repeat(clock, move || check(f(e, n, p.x, 1, black_box(&mut value))))
                }
                _ => bail!("no call is known for {op}"),
            }
        })
    }

    /// # Safety
    /// As for `sampler`.
    unsafe fn rows<T: Real>(
        &self,
        work: Work,
        p: Pointers<T>,
        e: E,
        clock: Clock,
    ) -> Result<Sampler<'static>> {
        let (m, n) = (p.shape.m as i64, p.shape.n as i64);
        let (m, n, rs, cs) = match work.form {
            Form::Columns => (n, m, 1, n),
            _ => (m, n, n, 1),
        };
        let name = format!("{}_rows", work.op);
        // SAFETY: the types are those of the header, the lengths those of the operands.
        Ok(unsafe {
            match work.op {
                "var" | "std" => {
                    let f: VarRows<T> = self.typed::<T, _>(&name)?;
                    repeat(clock, move || check(f(e, m, n, p.x, rs, cs, 1, p.out, 1)))
                }
                op if gives_index(op) => {
                    let f: SearchRows<T> = self.typed::<T, _>(&name)?;
                    repeat(clock, move || check(f(e, m, n, p.x, rs, cs, p.index, 1)))
                }
                _ => {
                    let f: FoldRows<T> = self.typed::<T, _>(&name)?;
                    repeat(clock, move || check(f(e, m, n, p.x, rs, cs, p.out, 1)))
                }
            }
        })
    }

    /// # Safety
    /// As for `sampler`.
    unsafe fn matrix<T: Real>(
        &self,
        work: Work,
        p: Pointers<T>,
        e: E,
        clock: Clock,
    ) -> Result<Sampler<'static>> {
        let Shape { m, n, k, batch } = p.shape;
        let (m, n, k, batch) = (m as i64, n as i64, k as i64, batch as i64);
        let (ars, acs) = match work.form {
            Form::ProductTransposedA => (1, m),
            _ => (k, 1),
        };
        let (brs, bcs) = match work.form {
            Form::ProductTransposedB => (1, k),
            _ => (n, 1),
        };
        let (one, zero) = (T::ONE, T::ZERO);
        // SAFETY: the types are those of the header, the lengths those of the operands.
        Ok(unsafe {
            match work.op {
                "outer" => {
                    let f: Outer<T> = self.typed::<T, _>("outer")?;
                    repeat(clock, move || {
                        check(f(e, m, n, p.x, 1, p.y, 1, p.out, n, 1))
                    })
                }
                "ger" => {
                    let f: Ger<T> = self.typed::<T, _>("ger")?;
                    let alpha = T::of(1e-6);
                    repeat(clock, move || {
                        check(f(e, m, n, alpha, p.x, 1, p.y, 1, p.out, n, 1))
                    })
                }
                "lsq_grad" => {
                    let f: LsqGrad<T> = self.typed::<T, _>("lsq_grad")?;
                    repeat(clock, move || check(f(e, m, n, p.x, n, 1, p.y, p.z, p.out)))
                }
                "gemm_batched" => {
                    let f: GemmBatched<T> = self.typed::<T, _>("gemm_batched")?;
                    #[rustfmt::skip]
                    let run = move || check(f(
                        e, m, n, k, one, p.x, k, 1, p.y, n, 1, zero, p.out, n, 1,
                        batch, m * k, k * n, m * n,
                    ));
                    repeat(clock, run)
                }
                "gemm" => {
                    let f: Gemm<T> = self.typed::<T, _>("gemm")?;
                    #[rustfmt::skip]
                    let run = move || check(f(
                        e, m, n, k, one, p.x, ars, acs, p.y, brs, bcs, zero, p.out, n, 1,
                    ));
                    repeat(clock, run)
                }
                op => bail!("no call is known for {op}"),
            }
        })
    }
}

impl Drop for Diptych {
    fn drop(&mut self) {
        // SAFETY: no sampler is left; the pool was created by this library, or is NULL, which it allows.
        unsafe {
            if let Ok(destroy) = self.symbol::<PoolDestroy>("dpt_pool_destroy") {
                destroy(self.pool);
            }
        }
    }
}

/// Panics if a call failed: the operands of a bench are valid, so an error is a bug in this file.
#[inline(always)]
fn check(status: i32) {
    if status != 0 {
        fail(status);
    }
}

/// A function of its own: inlined, the status would be stored in every iteration.
#[cold]
fn fail(status: i32) -> ! {
    panic!("libdiptych refused a call: status {status}");
}
