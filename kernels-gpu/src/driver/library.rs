//! A shared library that is loaded at run time. The loader's error message is never asked for: copying it would
//! allocate, and a failed allocation would end the process.

pub use imp::Library;

#[cfg(unix)]
mod imp {
    use core::ffi::{CStr, c_void};
    use core::mem::size_of;
    use core::ptr::NonNull;

    /// An open library, which is never closed.
    pub struct Library(NonNull<c_void>);

    impl Library {
        /// Opens a library; `None` if there is none of this name.
        ///
        /// # Safety
        /// Its constructors must be safe to run.
        pub unsafe fn open(name: &CStr) -> Option<Library> {
            // SAFETY: as the caller's.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
            check_null(handle).map(Library)
        }

        /// Looks up a function; `None` if the library has none of this name.
        ///
        /// # Safety
        /// `F` must be the type of a pointer to that function.
        pub unsafe fn get<F: Copy>(&self, name: &CStr) -> Option<F> {
            const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
            // SAFETY: an open library.
            let address = check_null(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })?;
            // SAFETY: as the caller's; the sizes are equal.
            Some(unsafe { core::mem::transmute_copy(&address) })
        }
    }

    /// Returns `None` for NULL, and then clears the loader's error state: the program's next `dlerror` must not report
    /// a failure of ours.
    fn check_null(pointer: *mut c_void) -> Option<NonNull<c_void>> {
        let pointer = NonNull::new(pointer);
        if pointer.is_none() {
            // SAFETY: clears the error state.
            unsafe { libc::dlerror() };
        }
        pointer
    }
}

#[cfg(not(unix))]
mod imp {
    use core::ffi::CStr;

    /// An open library, which is never closed.
    pub struct Library(core::mem::ManuallyDrop<libloading::Library>);

    impl Library {
        /// Opens a library; `None` if there is none of this name.
        ///
        /// # Safety
        /// Its constructors must be safe to run.
        pub unsafe fn open(name: &CStr) -> Option<Library> {
            // SAFETY: as the caller's.
            let library = unsafe { libloading::Library::new(name.to_str().ok()?) };
            library.ok().map(core::mem::ManuallyDrop::new).map(Library)
        }

        /// Looks up a function; `None` if the library has none of this name.
        ///
        /// # Safety
        /// `F` must be the type of a pointer to that function.
        pub unsafe fn get<F: Copy>(&self, name: &CStr) -> Option<F> {
            // SAFETY: as the caller's.
            let found = unsafe { self.0.get::<F>(name.to_bytes_with_nul()) };
            found.ok().map(|function| *function)
        }
    }
}
