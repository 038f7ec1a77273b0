//! The two safe forms of a reduction: of a vector, and of each row of a matrix.

/// Defines both forms: with the type parameters `generics`, the type `O` of results that are elements, the path or type
/// `via` whose functions they call, the columns of the table, and the documentation of each form.
macro_rules! forms {
    ([$($generics:tt)*] ($O:ty) $via:tt $name:ident $rows:ident [$($ddof:ident)?] $out:ident
        [$(#[$vector_doc:meta])*] [$(#[$rows_doc:meta])*]) => {
        $(#[$vector_doc])*
        pub fn $name<'x, $($generics)*>(
            exec: &Exec<'_>, x: impl Into<VecRef<'x, T>> $(, $ddof: i64)?
        ) -> Result<forms!(@result $out $O)> {
            let x = x.into();
            let (n, (p, inc)) = (x.elements() as i64, x.vector());
            let mut out = Default::default();
            // SAFETY: the view has as many elements as it says.
            unsafe { forms!(@call $via $name (exec, n, p, inc, $($ddof,)? &mut out))? };
            Ok(forms!(@converted $out out))
        }

        $(#[$rows_doc])*
        pub fn $rows<'o, $($generics)*>(
            exec: &Exec<'_>, x: MatRef<'_, T>, $($ddof: i64,)? out: impl Into<VecMut<'o, forms!(@output $out $O)>>,
        ) -> Result<()> {
            let mut out = out.into();
            if out.elements() != x.rows() {
                return Err(Error::ShapeMismatch { arg: "out" });
            }
            let (m, n) = (x.rows() as i64, x.cols() as i64);
            let (rs, cs, inc) = (x.rs() as i64, x.cs() as i64, out.inc() as i64);
            // SAFETY: the views have as many elements as they say.
            unsafe { forms!(@call $via $rows (exec, m, n, x.ptr(), rs, cs, $($ddof,)? out.ptr(), inc)) }
        }
    };
    (@call [$module:ident] $name:ident $arguments:tt) => { $module::$name $arguments };
    (@call [$($path:tt)*] $name:ident $arguments:tt) => { <$($path)*>::$name $arguments };
    // The type of the result of a vector form.
    (@result element $O:ty) => { $O };
    (@result $count_or_index:ident $O:ty) => { usize };
    // Its conversion from the value that was written.
    (@converted element $value:ident) => { $value };
    (@converted $count_or_index:ident $value:ident) => {{
        let index: i64 = $value;
        index as usize
    }};
    // The element type of the output of a form for rows.
    (@output element $O:ty) => { $O };
    (@output $count_or_index:ident $O:ty) => { i64 };
}
pub(super) use forms;
