//! A library that is loaded at run time. Copying the loader's text of a failure would take memory, and end
//! the process where there is none: so it is not asked for.

pub use imp::Library;

#[cfg(unix)]
mod imp {
    use core::ffi::{CStr, c_void};
    use core::mem::size_of;
    use core::ptr::NonNull;

    /// An open library; it stays open.
    pub struct Library(NonNull<c_void>);

    impl Library {
        /// Opens the library of that name, where there is one.
        ///
        /// # Safety
        /// It is made to be loaded.
        pub unsafe fn open(name: &CStr) -> Option<Library> {
            // SAFETY: as the caller's.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
            found(handle).map(Library)
        }

        /// The function of that name, where it has one.
        ///
        /// # Safety
        /// `F` is the type of a pointer to that function.
        pub unsafe fn get<F: Copy>(&self, name: &CStr) -> Option<F> {
            const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
            // SAFETY: an open library.
            let address = found(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })?;
            // SAFETY: as the caller's; the sizes are equal.
            Some(unsafe { core::mem::transmute_copy(&address) })
        }
    }

    /// Nothing is NULL; then the caller's next `dlerror` must not speak of this call.
    fn found(pointer: *mut c_void) -> Option<NonNull<c_void>> {
        let found = NonNull::new(pointer);
        if found.is_none() {
            // SAFETY: forgets the text.
            unsafe { libc::dlerror() };
        }
        found
    }
}

#[cfg(not(unix))]
mod imp {
    use core::ffi::CStr;

    /// An open library; it stays open.
    pub struct Library(core::mem::ManuallyDrop<libloading::Library>);

    impl Library {
        /// Opens the library of that name, where there is one.
        ///
        /// # Safety
        /// It is made to be loaded.
        pub unsafe fn open(name: &CStr) -> Option<Library> {
            // SAFETY: as the caller's.
            let library = unsafe { libloading::Library::new(name.to_str().ok()?) };
            library.ok().map(core::mem::ManuallyDrop::new).map(Library)
        }

        /// The function of that name, where it has one.
        ///
        /// # Safety
        /// `F` is the type of a pointer to that function.
        pub unsafe fn get<F: Copy>(&self, name: &CStr) -> Option<F> {
            // SAFETY: as the caller's.
            let found = unsafe { self.0.get::<F>(name.to_bytes_with_nul()) };
            found.ok().map(|function| *function)
        }
    }
}
