//! The declaration of a table.

use crate::value::{Cell, Value};
use arrow_schema::{Field, Schema, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) const TABLE: &str = "table";
pub(crate) const MEANING: &str = "meaning";
pub(crate) const UNIT: &str = "unit";

/// Columns that one or more tables share. Implemented by [`table!`](crate::table).
pub trait Columns {
    /// Returns the name, type, unit and meaning of each column.
    fn fields() -> Vec<Field>;

    /// Appends the cell of each column.
    fn cells<'a>(&'a self, cells: &mut Vec<Cell<'a>>);
}

/// A row of a table. Implemented by [`table!`](crate::table).
pub trait Row: Columns + Sized {
    /// Name of the table, and of its files without the extension.
    const TABLE: &'static str;
    /// Meaning of a row.
    const MEANING: &'static str;

    /// Returns the table's columns, with its name and meaning as metadata.
    fn schema() -> SchemaRef {
        let metadata = [(TABLE, Self::TABLE), (MEANING, Self::MEANING.trim())];
        Arc::new(Schema::new_with_metadata(Self::fields(), owned(metadata)))
    }
}

/// Declares a column; `name` may be a raw identifier.
pub fn field<V: Value>(name: &str, unit: &str, meaning: &str) -> Field {
    let name = name.trim_start_matches("r#");
    Field::new(name, V::TYPE, V::IS_OPTIONAL)
        .with_metadata(owned([(UNIT, unit), (MEANING, meaning)]))
}

pub(crate) fn owned<const N: usize>(pairs: [(&str, &str); N]) -> HashMap<String, String> {
    HashMap::from(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())))
}

/// Declares a row's type and its table:
///
/// ```
/// superstep_table::table! {
///     /// Each launch.
///     pub struct LaunchRow = "launches": Eq {
///         kernel: String = "demangled name without parameters";
///         stored_bytes: u64 ["bytes"] = "bytes of all stores";
///     }
/// }
/// ```
///
/// The doc comment gives the meaning of a row. Traits after the table's name are derived in addition to `Clone`,
/// `Debug`, `Default` and `PartialEq`. A column has a type that implements [`Value`], a unit (none for names and
/// counts) and a meaning. A field without a meaning is a group of columns; its type is declared in the same way but
/// without a table name.
#[macro_export]
macro_rules! table {
    ($(#[doc = $doc:literal])+ $(#[repr($repr:ident)])? $visibility:vis struct $row:ident = $table:literal $(: $($derived:path),+)? { $($fields:tt)* }) => {
        $crate::table! { $(#[doc = $doc])+ $(#[repr($repr)])? $visibility struct $row $(: $($derived),+)? { $($fields)* } }
        impl $crate::Row for $row {
            const TABLE: &'static str = $table;
            const MEANING: &'static str = concat!($($doc),+);
        }
    };
    ($(#[doc = $doc:literal])+ $(#[repr($repr:ident)])? $visibility:vis struct $row:ident $(: $($derived:path),+)? {
        $($(#[$attribute:meta])* $field:ident: $type:ty $([$unit:literal])? $(= $meaning:expr)?;)*
    }) => {
        $(#[doc = $doc])+
        $(#[repr($repr)])?
        #[derive(Clone, Debug, Default, PartialEq, $($($derived),+)?)]
        $visibility struct $row {
            $($(#[$attribute])* $visibility $field: $type,)*
        }
        impl $crate::Columns for $row {
            fn fields() -> Vec<$crate::arrow_schema::Field> {
                let mut fields = Vec::new();
                $($crate::table!(@field fields, $field, $type, [$($unit)?] $($meaning)?);)*
                fields
            }
            fn cells<'a>(&'a self, cells: &mut Vec<$crate::Cell<'a>>) {
                $($crate::table!(@cell cells, self.$field, $($meaning)?);)*
            }
        }
    };
    (@field $fields:ident, $field:ident, $type:ty, []) => {
        $fields.extend(<$type as $crate::Columns>::fields())
    };
    (@field $fields:ident, $field:ident, $type:ty, [$($unit:literal)?] $meaning:expr) => {
        $fields.push($crate::field::<$type>(stringify!($field), concat!($($unit)?), $meaning))
    };
    (@cell $cells:ident, $field:expr,) => {
        $crate::Columns::cells(&$field, $cells)
    };
    (@cell $cells:ident, $field:expr, $meaning:expr) => {
        $cells.push($crate::Value::cell(&$field))
    };
}

/// Declares a function that builds a table from items: `column: type [unit] = meaning => value;`.
#[macro_export]
macro_rules! table_from {
    ($(#[doc = $doc:literal])+ fn $name:ident<$life:lifetime>($item:pat, $source:ty) = $table:literal {
        $($column:ident: $type:ty $([$unit:literal])? = $meaning:expr => $value:expr;)+
    }) => {
        $(#[doc = $doc])+
        fn $name<$life>(items: impl IntoIterator<Item = $source>) -> $crate::Table {
            $crate::table! {
                $(#[doc = $doc])+
                struct Row = $table { $($column: $type $([$unit])? = $meaning;)+ }
            }
            items.into_iter().map(|$item| Row { $($column: $value),+ }).collect()
        }
    };
}
