//! The operations as `diptych::raw` has them, on either panel: a CPU, or the device panel's kernels on the
//! emulator. What a suite asks of one it can ask of the other.

use diptych::Exec;
pub use diptych::raw::RawEpilogue;
use diptych_emulator::Emulator;
pub use diptych_emulator::Error;

use crate::real::Dtype;

/// What a call says.
pub type Result<R> = core::result::Result<R, Error>;

/// Where calls run.
pub trait On {
    /// Makes the call of the panel that this is.
    fn run(
        &self,
        cpu: &mut dyn FnMut(&Exec<'_>) -> Result<()>,
        device: &mut dyn FnMut(&Emulator) -> Result<()>,
    ) -> Result<()>;
}

impl On for Exec<'_> {
    fn run(
        &self,
        cpu: &mut dyn FnMut(&Exec<'_>) -> Result<()>,
        _: &mut dyn FnMut(&Emulator) -> Result<()>,
    ) -> Result<()> {
        cpu(self)
    }
}

impl On for Emulator {
    fn run(
        &self,
        _: &mut dyn FnMut(&Exec<'_>) -> Result<()>,
        device: &mut dyn FnMut(&Emulator) -> Result<()>,
    ) -> Result<()> {
        device(self)
    }
}

/// One row per function: its arguments after the place where it runs.
macro_rules! functions {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {
        $(
            /// See `diptych::raw`.
            ///
            /// # Errors
            /// As there; and the emulator's faults.
            ///
            /// # Safety
            /// As there.
            #[allow(clippy::too_many_arguments)]
            pub unsafe fn $name<T: Dtype>(on: &dyn On, $($arg: $ty),*) -> Result<()> {
                on.run(
                    // SAFETY: as the caller's.
                    &mut |exec| Ok(unsafe { diptych::raw::$name(exec, $($arg),*) }?),
                    // SAFETY: as the caller's.
                    &mut |device| unsafe { diptych_gpu::raw::$name(device, $($arg),*) },
                )
            }
        )*

        /// The names of all of them, which both panels have.
        pub const FUNCTIONS: &[&str] = &[$(stringify!($name)),*];
    };
}

functions! {
    clamp(n: i64, x: *const T, lo: T, hi: T, out: *mut T);
    clamp_backward(n: i64, x: *const T, grad: *const T, lo: T, hi: T, out: *mut T);
    add(n: i64, x: *const T, y: *const T, out: *mut T);
    sub(n: i64, x: *const T, y: *const T, out: *mut T);
    mul(n: i64, x: *const T, y: *const T, out: *mut T);
    div(n: i64, x: *const T, y: *const T, out: *mut T);
    scale(n: i64, alpha: T, x: *const T, out: *mut T);
    axpy(n: i64, alpha: T, x: *const T, y: *mut T);
    square(n: i64, x: *const T, out: *mut T);
    fill(n: i64, value: T, out: *mut T);
    sum(n: i64, x: *const T, incx: i64, out: *mut T);
    sum_rows(m: i64, n: i64, x: *const T, rs: i64, cs: i64, out: *mut T, inc_out: i64);
    mean(n: i64, x: *const T, incx: i64, out: *mut T);
    mean_rows(m: i64, n: i64, x: *const T, rs: i64, cs: i64, out: *mut T, inc_out: i64);
    prod(n: i64, x: *const T, incx: i64, out: *mut T);
    prod_rows(m: i64, n: i64, x: *const T, rs: i64, cs: i64, out: *mut T, inc_out: i64);
    min(n: i64, x: *const T, incx: i64, out: *mut T);
    min_rows(m: i64, n: i64, x: *const T, rs: i64, cs: i64, out: *mut T, inc_out: i64);
    max(n: i64, x: *const T, incx: i64, out: *mut T);
    max_rows(m: i64, n: i64, x: *const T, rs: i64, cs: i64, out: *mut T, inc_out: i64);
    sumsq(n: i64, x: *const T, incx: i64, out: *mut T);
    sumsq_rows(m: i64, n: i64, x: *const T, rs: i64, cs: i64, out: *mut T, inc_out: i64);
    asum(n: i64, x: *const T, incx: i64, out: *mut T);
    asum_rows(m: i64, n: i64, x: *const T, rs: i64, cs: i64, out: *mut T, inc_out: i64);
    nrm2(n: i64, x: *const T, incx: i64, out: *mut T);
    nrm2_rows(m: i64, n: i64, x: *const T, rs: i64, cs: i64, out: *mut T, inc_out: i64);
    var(n: i64, x: *const T, incx: i64, ddof: i64, out: *mut T);
    var_rows(m: i64, n: i64, x: *const T, rs: i64, cs: i64, ddof: i64, out: *mut T, inc_out: i64);
    logsumexp(n: i64, x: *const T, incx: i64, out: *mut T);
    logsumexp_rows(m: i64, n: i64, x: *const T, rs: i64, cs: i64, out: *mut T, inc_out: i64);
    argmin(n: i64, x: *const T, incx: i64, out: *mut i64);
    argmin_rows(m: i64, n: i64, x: *const T, rs: i64, cs: i64, out: *mut i64, inc_out: i64);
    argmax(n: i64, x: *const T, incx: i64, out: *mut i64);
    argmax_rows(m: i64, n: i64, x: *const T, rs: i64, cs: i64, out: *mut i64, inc_out: i64);
    dot(n: i64, x: *const T, incx: i64, y: *const T, incy: i64, out: *mut T);
    outer(m: i64, n: i64, x: *const T, incx: i64, y: *const T, incy: i64, out: *mut T, rs: i64, cs: i64);
    ger(m: i64, n: i64, alpha: T, x: *const T, incx: i64, y: *const T, incy: i64, a: *mut T, rs: i64, cs: i64);
    gemm(m: i64, n: i64, k: i64, alpha: T, a: *const T, a_rs: i64, a_cs: i64, b: *const T, b_rs: i64, b_cs: i64, beta: T, c: *mut T, c_rs: i64, c_cs: i64);
    gemm_batched(m: i64, n: i64, k: i64, alpha: T, a: *const T, a_rs: i64, a_cs: i64, b: *const T, b_rs: i64, b_cs: i64, beta: T, c: *mut T, c_rs: i64, c_cs: i64, batch: i64, a_bs: i64, b_bs: i64, c_bs: i64);
    gemm_fused(m: i64, n: i64, k: i64, alpha: T, a: *const T, a_rs: i64, a_cs: i64, b: *const T, b_rs: i64, b_cs: i64, beta: T, c: *mut T, c_rs: i64, c_cs: i64, epilogue: &RawEpilogue<T>);
    mse_grad(n: i64, pred: *const T, target: *const T, grad: *mut T, loss: *mut T);
    lsq_grad(m: i64, n: i64, a: *const T, a_rs: i64, a_cs: i64, x: *const T, y: *const T, grad: *mut T);
}

/// Bytes of scratch memory that `size` asks for on a CPU; the emulator has its own.
fn workspace(on: &dyn On, size: impl Fn(&Exec<'_>) -> diptych::Result<usize>) -> Result<usize> {
    let mut bytes = 0;
    on.run(
        &mut |exec| {
            bytes = size(exec)?;
            Ok(())
        },
        &mut |_| Ok(()),
    )?;
    Ok(bytes)
}

/// See `diptych::raw`.
///
/// # Errors
/// As there.
pub fn gemm_workspace<T: Dtype>(on: &dyn On, m: i64, n: i64, k: i64) -> Result<usize> {
    workspace(on, |exec| diptych::raw::gemm_workspace::<T>(exec, m, n, k))
}

/// See `diptych::raw`.
///
/// # Errors
/// As there.
pub fn lsq_grad_workspace<T: Dtype>(on: &dyn On, m: i64, n: i64) -> Result<usize> {
    workspace(on, |exec| diptych::raw::lsq_grad_workspace::<T>(exec, m, n))
}
