//! The attributes by which objects describe the arrays that they are.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{Class, raise};

/// An attribute that describes an array, of an argument of a function.
pub struct Attribute<'a> {
    pub function: &'a str,
    pub name: &'a str,
    pub attribute: &'static str,
}

impl Attribute<'_> {
    /// Refuses an attribute of which a part is not what it must be.
    pub fn read<T, E: Into<PyErr>>(&self, part: Result<T, E>) -> PyResult<T> {
        let Self {
            function,
            name,
            attribute,
        } = self;
        part.map_err(|error| {
            let error: PyErr = error.into();
            let text = format!("{function}: {attribute} of {name} cannot be read: {error}");
            raise(Class::Dtype, text)
        })
    }

    /// Returns an item of a dictionary; none for `None` too.
    pub fn get<T: for<'a, 'py> FromPyObject<'a, 'py>>(
        &self,
        interface: &Bound<'_, PyDict>,
        key: &str,
    ) -> PyResult<Option<T>> {
        let item = interface.get_item(key)?.filter(|value| !value.is_none());
        let item = item.map(|value| value.extract().map_err(Into::into));
        self.read::<_, PyErr>(item.transpose())
    }
}
