//! Failures, and the text that `dpt_last_error` returns.
use crate::status::{OK, dpt_status};
use crate::tensor::Tensors;
use core::ffi::c_char;
use diptych::Error;

/// An error of the library, of a C struct, or of the device.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(feature = "std"),
    expect(dead_code, reason = "a freestanding build has no error texts")
)]
pub(crate) enum Failure {
    Core(Error),
    UnknownEnum(&'static str),
    UnknownFlag(&'static str),
    BadStructSize(&'static str),
    #[cfg(not(feature = "gpu"))]
    NoDevice,
    #[cfg(feature = "gpu")]
    Device(diptych_gpu::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Core(error)
    }
}

#[cfg(feature = "gpu")]
impl From<diptych_gpu::Error> for Failure {
    fn from(error: diptych_gpu::Error) -> Self {
        match error {
            diptych_gpu::Error::Argument(error) => Failure::Core(error),
            error => Failure::Device(error),
        }
    }
}

/// Turns the result of the C function `name` into a status, and keeps the text of a failure.
#[inline(always)]
pub(crate) fn report(name: &'static str, result: Result<(), Failure>) -> dpt_status {
    match result {
        Ok(()) => OK,
        Err(failure) => {
            text::store(name, failure);
            failure.status()
        }
    }
}

/// As [`report`], for a call over tensors: the text also says what types and shapes they have, where one of them does not
/// fit.
///
/// # Safety
/// Each tensor is NULL or valid.
pub(crate) unsafe fn report_tensors(
    name: &'static str,
    result: Result<(), Failure>,
    tensors: Tensors<'_>,
) -> dpt_status {
    match result {
        Ok(()) => OK,
        Err(failure) => {
            // SAFETY: passed on from the caller.
            unsafe { text::store_with_tensors(name, failure, tensors) };
            failure.status()
        }
    }
}

/// Returns the text of the last failure on the calling thread: the function, the argument and what
/// is wrong, for example "dpt_clamp_f32: x is NULL but elements are needed there". A success does
/// not change it. It is "" if nothing has failed yet, and always in a freestanding build. The text
/// stays until the next failure on this thread, at most until the thread ends.
#[unsafe(no_mangle)]
pub extern "C" fn dpt_last_error() -> *const c_char {
    text::last()
}

#[cfg(not(feature = "std"))]
mod text {
    use super::{Failure, Tensors};
    use core::ffi::c_char;

    pub(super) fn store(_: &'static str, _: Failure) {}

    pub(super) unsafe fn store_with_tensors(_: &'static str, _: Failure, _: Tensors<'_>) {}

    pub(super) fn last() -> *const c_char {
        c"".as_ptr()
    }
}

#[cfg(feature = "std")]
mod text {
    use super::{Failure, Tensors};
    use crate::tensor::Described;
    use core::cell::RefCell;
    use core::ffi::c_char;
    use core::fmt::{self, Write};
    use diptych::Error;

    /// A C string of fixed size. It needs no allocation, so that it can also report a lack of memory.
    /// The bytes come first: the address of the struct is that of the string.
    #[repr(C)]
    struct Text {
        bytes: [u8; 256],
        len: usize,
    }

    impl Write for Text {
        /// Truncates the text; the last byte stays zero.
        fn write_str(&mut self, s: &str) -> fmt::Result {
            let free = self.bytes.iter_mut().take(255).skip(self.len);
            self.len += free.zip(s.bytes()).map(|(to, from)| *to = from).count();
            Ok(())
        }
    }

    // Const and without a destructor: no lazy initialisation, no allocation, usable while a thread ends, and nothing
    // to register with the loader, which may wait for a thread that is loading a library. (If this library was opened
    // at run time, the loader makes a thread's copy at the thread's first failure. The memory comes from the C library;
    // in old versions of glibc the first copy of all involves that wait.)
    thread_local! {
        static LAST: RefCell<Text> = const { RefCell::new(Text { bytes: [0; 256], len: 0 }) };
    }

    pub(super) fn last() -> *const c_char {
        LAST.with(|last| last.as_ptr().cast())
    }

    #[cold]
    #[inline(never)]
    pub(super) fn store(name: &'static str, failure: Failure) {
        write(format_args!("{name}: {}", Reason(failure)));
    }

    /// # Safety
    /// Each tensor is NULL or valid.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn store_with_tensors(
        name: &'static str,
        failure: Failure,
        tensors: Tensors<'_>,
    ) {
        match failure {
            Failure::Core(
                Error::ShapeMismatch { .. }
                | Error::TypeMismatch { .. }
                | Error::UnsupportedType { .. },
            ) => {
                // SAFETY: passed on from the caller.
                let tensors = unsafe { Described::new(tensors) };
                write(format_args!("{name}: {}{tensors}", Reason(failure)));
            }
            Failure::Core(Error::Unsupported { arg }) => write(format_args!(
                "{name}: {arg} has memory or strides that the call does not take"
            )),
            _ => store(name, failure),
        }
    }

    fn write(all: fmt::Arguments<'_>) {
        LAST.with(|last| {
            if let Ok(mut text) = last.try_borrow_mut() {
                text.bytes.fill(0);
                text.len = 0;
                // `write_str` never fails.
                let _ = text.write_fmt(all);
            }
        });
    }

    struct Reason(Failure);

    impl fmt::Display for Reason {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self.0 {
                Failure::UnknownEnum(arg) => write!(f, "{arg} has a value that is not known"),
                Failure::UnknownFlag(arg) => write!(f, "{arg} has a bit that is not known"),
                Failure::BadStructSize(arg) => write!(f, "{arg} is not the sizeof of the struct"),
                #[cfg(not(feature = "gpu"))]
                Failure::NoDevice => f.write_str("this build has no GPU support"),
                #[cfg(feature = "gpu")]
                Failure::Device(error) => write!(f, "{error}"),
                Failure::Core(error) => write!(f, "{error}"),
            }
        }
    }
}
