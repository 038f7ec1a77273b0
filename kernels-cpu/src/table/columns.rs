//! Takes the rows of the table apart.

/// Passes columns of rows to a callback. `[callback { ARGUMENTS }] [COLUMN ...] ROWS` becomes
/// `callback! { { ARGUMENTS } VALUES }`, with the values of the first row in the order of the columns, then those of the
/// next. A row is `/// documentation` and `name { column: value, ... }`; its documentation is the column `doc`, as
/// `[#[doc = "..."] ...]`, and its name the column `name`. All rows have the same fields in the same order.
///
/// It goes through the columns, each time for all rows: `[done] [rest]` is a row whose values so far are `done`. If the
/// first field of `rest` is the selected column, its value is added to `done`. Then it becomes the last field.
/// So a name that is no column ends in an error about the recursion limit.
#[macro_export]
#[doc(hidden)]
macro_rules! select_columns {
    (@next [$callback:ident $arguments:tt] [] $([$($done:tt)*] $rest:tt)*) => {
        $callback! { $arguments $($($done)*)* }
    };
    (@next $to:tt [$selected:ident $($later:ident)*] $([$($done:tt)*] [$column:ident: $value:tt, $($rest:tt)*])*) => {
        $crate::if_same_column! { [$selected $($column)*]
            { @next $to [$($later)*] $([$($done)* $value] [$($rest)* $column: $value,])* }
            { @next $to [$selected $($later)*] $([$($done)*] [$($rest)* $column: $value,])* }
        }
    };
    ($to:tt $selected:tt $($(#[$($doc:tt)*])* $name:ident { $($column:ident: $value:tt),* })*) => {
        $crate::select_columns! { @next $to $selected
            $([] [doc: [$(#[$($doc)*])*], name: $name, $($column: $value,)*])*
        }
    };
}

/// Goes on with the first group of arguments of [`select_columns`] if all names are those of one column, otherwise with
/// the second. This is the list of all columns: a macro can compare a name only with one that it contains.
#[macro_export]
#[doc(hidden)]
macro_rules! if_same_column {
    ([doc $(doc)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([name $(name)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([family $(family)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([arguments $(arguments)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([roles $(roles)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([output $(output)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([mode $(mode)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([in_place $(in_place)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([rows $(rows)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([columns $(columns)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([ddof $(ddof)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([result $(result)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([folds $(folds)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([recipe $(recipe)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([empty $(empty)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([integers $(integers)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([statistics $(statistics)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ([facts $(facts)*] $then:tt $else:tt) => { $crate::select_columns! $then };
    ($names:tt $then:tt $else:tt) => { $crate::select_columns! $else };
}
