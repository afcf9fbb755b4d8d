//! Rows of a table, column by column, on their way into a file.

use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers below 2^32.
    U32,
    /// Numbers below 2^64.
    U64,
    /// The same, or nothing.
    OptionalU64,
    /// Floating-point numbers, or nothing.
    OptionalF64,
    /// UTF-8 text.
    Text,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    pub name: &'a str,
    pub kind: Kind,
    pub note: &'a str,
}

pub const fn column<'a>(name: &'a str, kind: Kind, note: &'a str) -> Column<'a> {
    Column { name, kind, note }
}

/// A table: its file name without extension, and its columns.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'a> {
    /// File name without extension.
    pub table: &'a str,
    pub columns: &'a [Column<'a>],
}

/// Declares a table: its constant, its name, and a line for each column with its kind and what it means.
macro_rules! schema {
    ($constant:ident $table:literal: $($name:ident $kind:ident $note:literal,)*) => {
        const $constant: $crate::batch::Schema<'static> = $crate::batch::Schema {
            table: $table,
            columns: &[$($crate::batch::column(
                stringify!($name),
                $crate::batch::Kind::$kind,
                $note,
            )),*],
        };
    };
}
pub(crate) use schema;

/// Text that is often the same.
pub type Text = Cow<'static, str>;

#[derive(Debug)]
pub enum Values {
    /// For [`Kind::U32`].
    U32(Vec<u32>),
    /// For [`Kind::U64`].
    U64(Vec<u64>),
    /// For [`Kind::OptionalU64`].
    OptionalU64(Vec<Option<u64>>),
    /// For [`Kind::OptionalF64`].
    OptionalF64(Vec<Option<f64>>),
    /// For [`Kind::Text`].
    Text(Vec<Text>),
}

#[derive(Clone, Debug)]
pub enum Value {
    /// For [`Kind::U32`].
    U32(u32),
    /// For [`Kind::U64`].
    U64(u64),
    /// For [`Kind::OptionalU64`].
    OptionalU64(Option<u64>),
    /// For [`Kind::OptionalF64`].
    OptionalF64(Option<f64>),
    /// For [`Kind::Text`].
    Text(Text),
}

/// Rows that are written together.
#[derive(Debug)]
pub struct Batch {
    /// One entry for each column of the schema.
    pub values: Vec<Values>,
    rows: usize,
}

impl Batch {
    pub fn new(schema: &Schema<'_>) -> Self {
        let empty = |column: &Column<'_>| match column.kind {
            Kind::U32 => Values::U32(Vec::new()),
            Kind::U64 => Values::U64(Vec::new()),
            Kind::OptionalU64 => Values::OptionalU64(Vec::new()),
            Kind::OptionalF64 => Values::OptionalF64(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
        };
        Self {
            values: schema.columns.iter().map(empty).collect(),
            rows: 0,
        }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends a row.
    ///
    /// # Panics
    /// When `row` does not have the schema's kinds: that is a mistake in this library, and every table has a test.
    pub fn push(&mut self, row: impl IntoIterator<Item = Value, IntoIter: ExactSizeIterator>) {
        let row = row.into_iter();
        let columns = self.values.len();
        assert_eq!(columns, row.len(), "a row has one value for each column");
        for (values, value) in self.values.iter_mut().zip(row) {
            match (values, value) {
                (Values::U32(values), Value::U32(value)) => values.push(value),
                (Values::U64(values), Value::U64(value)) => values.push(value),
                (Values::OptionalU64(values), Value::OptionalU64(value)) => values.push(value),
                (Values::OptionalF64(values), Value::OptionalF64(value)) => values.push(value),
                (Values::Text(values), Value::Text(value)) => values.push(value),
                (values, value) => unreachable!("{value:?} in a column of {values:?}"),
            }
        }
        self.rows += 1;
    }

    /// The value in `column` at `row`.
    pub fn value(&self, column: usize, row: usize) -> Value {
        match &self.values[column] {
            Values::U32(values) => Value::U32(values[row]),
            Values::U64(values) => Value::U64(values[row]),
            Values::OptionalU64(values) => Value::OptionalU64(values[row]),
            Values::OptionalF64(values) => Value::OptionalF64(values[row]),
            Values::Text(values) => Value::Text(values[row].clone()),
        }
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::U32(value)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::U64(value)
    }
}

impl From<Option<u64>> for Value {
    fn from(value: Option<u64>) -> Self {
        Self::OptionalU64(value)
    }
}

impl From<&'static str> for Value {
    fn from(value: &'static str) -> Self {
        Self::Text(Cow::Borrowed(value))
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(Cow::Owned(value))
    }
}

/// A row's values, each converted.
macro_rules! row {
    ($($value:expr),* $(,)?) => { [$($crate::batch::Value::from($value)),*] };
}
pub(crate) use row;
