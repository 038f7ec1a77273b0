//! Functions called with CPython's fast convention: their tables, and the parsing of arguments.
//!
//! PyO3's own functions would add about 20 ns to a call, a third of what an `add` of four numbers takes.

use std::cell::UnsafeCell;
use std::ffi::{CString, c_char};
use std::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use crate::exchange;

/// The most parameters of a function.
pub const MAX: usize = 9;

/// The arguments of a call in the order of the parameters; null for one that is not given, or is None and that is the
/// default.
pub type Arguments = [*mut PyObject; MAX];

/// The parameters of a function, read from its signature when the module is first imported.
pub struct Parameters(UnsafeCell<Table>);

// SAFETY: written once a process, under the GIL, before the function can be called.
unsafe impl Sync for Parameters {}

struct Table {
    function: &'static str,
    /// Interned names.
    names: [*mut PyObject; MAX],
    count: usize,
    /// How many can be given by position.
    positional: usize,
    /// Whether a parameter must be given.
    required: [bool; MAX],
    /// Whether None means that a parameter is not given.
    optional: [bool; MAX],
    /// What CPython calls. Null before the module is first imported; never freed, as modules share it.
    definition: *mut ffi::PyMethodDef,
}

/// A function as data.
pub struct Function {
    pub name: &'static str,
    /// As in Python, without parentheses and defaults other than literals.
    pub signature: &'static str,
    pub doc: &'static str,
    pub parameters: &'static Parameters,
    pub call: ffi::PyCFunctionFastWithKeywords,
}

impl Parameters {
    pub const fn new() -> Self {
        Self(UnsafeCell::new(Table {
            function: "",
            names: [ptr::null_mut(); MAX],
            count: 0,
            positional: 0,
            required: [false; MAX],
            optional: [false; MAX],
            definition: ptr::null_mut(),
        }))
    }

    /// Returns the definition of the function; a second import of the module gets that of the first.
    ///
    /// # Safety
    /// The GIL is held.
    unsafe fn definition(&self, function: &Function) -> PyResult<*mut ffi::PyMethodDef> {
        // SAFETY: the GIL is held.
        let existing = unsafe { (*self.0.get()).definition };
        if existing.is_null() {
            let definition = function.define()?;
            // SAFETY: there is no definition yet, so nobody can call the function and use its parameters.
            unsafe {
                self.read(function.name, function.signature);
                (*self.0.get()).definition = definition;
            }
            return Ok(definition);
        }
        Ok(existing)
    }

    /// Reads a signature like `x, y, *, out=None`.
    ///
    /// # Safety
    /// The GIL is held, and nobody uses the parameters yet.
    unsafe fn read(&self, function: &'static str, signature: &str) {
        // SAFETY: the caller's.
        let table = unsafe { &mut *self.0.get() };
        table.function = function;
        table.positional = usize::MAX;
        for part in signature.split(", ") {
            if part == "*" {
                table.positional = table.count;
                continue;
            }
            let name = part.split('=').next().unwrap_or(part);
            // SAFETY: a string with a length; interned names live as long as the interpreter.
            unsafe {
                let mut object =
                    ffi::PyUnicode_FromStringAndSize(name.as_ptr().cast(), name.len() as isize);
                ffi::PyUnicode_InternInPlace(&mut object);
                table.names[table.count] = object;
            }
            table.required[table.count] = !part.contains('=');
            table.optional[table.count] = part.ends_with("=None");
            table.count += 1;
        }
        table.positional = table.positional.min(table.count);
    }

    /// Sorts the arguments of a call by parameter.
    ///
    /// # Safety
    /// The arguments of a fast call.
    #[inline(always)]
    pub unsafe fn parse(
        &self,
        args: *const *mut PyObject,
        given: isize,
        keywords: *mut PyObject,
    ) -> PyResult<Arguments> {
        exchange::begin_call();
        // SAFETY: written before the first call.
        let table = unsafe { &*self.0.get() };
        let given = given as usize;
        if given > table.positional {
            return Err(table.too_many(given));
        }
        let mut found: Arguments = [ptr::null_mut(); MAX];
        for (i, slot) in found.iter_mut().enumerate().take(given) {
            // SAFETY: `args` has `given` positional arguments.
            *slot = unsafe { *args.add(i) };
        }
        if !keywords.is_null() {
            // SAFETY: a tuple of names, with a value for each behind the positional arguments.
            unsafe { table.keywords(&mut found, args.add(given), keywords) }?;
        }
        // SAFETY: None is immortal or at least alive.
        let none = unsafe { ffi::Py_None() };
        for (i, slot) in found.iter_mut().enumerate().take(table.count) {
            if table.required[i] {
                if slot.is_null() {
                    return Err(table.missing(i));
                }
            } else if *slot == none && table.optional[i] {
                *slot = ptr::null_mut();
            }
        }
        Ok(found)
    }
}

impl Table {
    /// # Safety
    /// `names` is a tuple of strings, `values` has as many elements.
    #[inline(always)]
    unsafe fn keywords(
        &self,
        found: &mut Arguments,
        values: *const *mut PyObject,
        names: *mut PyObject,
    ) -> PyResult<()> {
        // SAFETY: the caller's.
        unsafe {
            for i in 0..ffi::PyTuple_Size(names) {
                let name = ffi::PyTuple_GetItem(names, i);
                let place = match self.names[..self.count].iter().position(|n| *n == name) {
                    Some(place) => place,
                    None => self.find(name)?,
                };
                if !found[place].is_null() {
                    return Err(self.twice(place));
                }
                found[place] = *values.offset(i);
            }
        }
        Ok(())
    }

    /// Finds a name that is not interned.
    ///
    /// # Safety
    /// `name` is a string.
    #[cold]
    unsafe fn find(&self, name: *mut PyObject) -> PyResult<usize> {
        Python::attach(|py| {
            // SAFETY: a string object.
            let name = unsafe { Bound::from_borrowed_ptr(py, name) }.to_string();
            match (0..self.count).find(|i| self.name(*i) == name) {
                Some(place) => Ok(place),
                None => Err(PyTypeError::new_err(format!(
                    "{}() got an unexpected keyword argument '{name}'",
                    self.function
                ))),
            }
        })
    }

    fn name(&self, i: usize) -> String {
        // SAFETY: interned strings, alive.
        Python::attach(|py| unsafe { Bound::from_borrowed_ptr(py, self.names[i]) }.to_string())
    }

    #[cold]
    fn too_many(&self, given: usize) -> PyErr {
        let all: Vec<String> = (0..self.count).map(|i| self.name(i)).collect();
        let (positional, keywords) = all.split_at(self.positional);
        let mut text = format!(
            "{}() takes at most {} positional ({}) but {given} were given",
            self.function,
            self.positional,
            positional.join(", ")
        );
        if !keywords.is_empty() {
            text += &format!("; by keyword: {}", keywords.join(", "));
        }
        PyTypeError::new_err(text)
    }

    #[cold]
    fn missing(&self, i: usize) -> PyErr {
        PyTypeError::new_err(format!(
            "{}() missing required argument '{}' (pos {})",
            self.function,
            self.name(i),
            i + 1
        ))
    }

    #[cold]
    fn twice(&self, i: usize) -> PyErr {
        PyTypeError::new_err(format!(
            "{}() got multiple values for argument '{}'",
            self.function,
            self.name(i)
        ))
    }
}

/// Defines functions: `name(SIGNATURE) = BODY, DOC`, where the body is a `unsafe fn(&str, &Arguments) ->
/// PyResult<*mut PyObject>` that returns a new reference.
macro_rules! functions {
    ($($(#[doc = $doc:literal])* $name:ident($signature:literal) => $body:expr;)*) => {
        /// The functions of this family.
        pub const FUNCTIONS: &[$crate::arguments::Function] = &[$({
            static PARAMETERS: $crate::arguments::Parameters = $crate::arguments::Parameters::new();

            unsafe extern "C" fn call(
                _module: *mut pyo3::ffi::PyObject,
                args: *const *mut pyo3::ffi::PyObject,
                given: isize,
                keywords: *mut pyo3::ffi::PyObject,
            ) -> *mut pyo3::ffi::PyObject {
                // SAFETY: the interpreter calls this with the arguments of a fast call, and holds the GIL.
                unsafe {
                    let result = match PARAMETERS.parse(args, given, keywords) {
                        Ok(arguments) => ($body)(stringify!($name), &arguments),
                        Err(error) => Err(error),
                    };
                    match result {
                        Ok(object) => object,
                        Err(error) => $crate::arguments::set(error),
                    }
                }
            }
            $crate::arguments::Function {
                name: stringify!($name),
                signature: $signature,
                doc: concat!($($doc, "\n"),*),
                parameters: &PARAMETERS,
                call,
            }
        }),*];
    };
}
pub(crate) use functions;

/// Sets the exception of a call that failed, and returns null.
///
/// # Safety
/// The GIL is held.
#[cold]
#[inline(never)]
pub unsafe fn set(error: PyErr) -> *mut PyObject {
    Python::attach(|py| error.restore(py));
    ptr::null_mut()
}

impl Function {
    /// Makes the definition, which lives as long as the process.
    fn define(&self) -> PyResult<*mut ffi::PyMethodDef> {
        let doc = format!(
            "{}({})\n--\n\n{}",
            self.name,
            self.signature,
            dedent(self.doc)
        );
        let leak = |text: &str| -> PyResult<*const c_char> { Ok(CString::new(text)?.into_raw()) };
        Ok(Box::into_raw(Box::new(ffi::PyMethodDef {
            ml_name: leak(self.name)?,
            ml_meth: ffi::PyMethodDefPointer {
                PyCFunctionFastWithKeywords: self.call,
            },
            ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
            ml_doc: leak(&doc)?,
        })))
    }
}

/// Adds functions to the module.
pub fn add_to(module: &Bound<'_, PyModule>, functions: &[Function]) -> PyResult<()> {
    let py = module.py();
    let package = pyo3::types::PyString::intern(py, "diptych");
    for function in functions {
        // SAFETY: the GIL is held, and the definition lives for ever.
        let object = unsafe {
            let definition = function.parameters.definition(function)?;
            let object = ffi::PyCFunction_NewEx(definition, ptr::null_mut(), package.as_ptr());
            Bound::from_owned_ptr_or_err(py, object)?
        };
        module.add(function.name, object)?;
    }
    Ok(())
}

/// Takes the space after `///` from each line.
fn dedent(doc: &str) -> String {
    let lines: Vec<&str> = doc
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    lines.join("\n")
}
