//! Types of cells, and columns of them.

use crate::declare::Row;
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, StringBuilder, UInt32Builder, UInt64Builder,
    make_builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;

/// Type of the cells in a column.
pub trait Value {
    const TYPE: DataType;
    const IS_OPTIONAL: bool = false;

    fn cell(&self) -> Cell<'_>;
}

#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    Bool(bool),
    U32(u32),
    U64(Option<u64>),
    F64(Option<f64>),
    Text(&'a str),
}

macro_rules! values {
    ($($type:ty: $data:ident $is_optional:literal $cell:expr;)*) => {$(
        impl Value for $type {
            const TYPE: DataType = DataType::$data;
            const IS_OPTIONAL: bool = $is_optional;

            fn cell(&self) -> Cell<'_> {
                let cell: fn(&Self) -> Cell<'_> = $cell;
                cell(self)
            }
        }
    )*};
}
values! {
    bool: Boolean false |&value| Cell::Bool(value);
    u32: UInt32 false |&value| Cell::U32(value);
    u64: UInt64 false |&value| Cell::U64(Some(value));
    f64: Float64 false |&value| Cell::F64(Some(value));
    Option<u64>: UInt64 true |&value| Cell::U64(value);
    Option<f64>: Float64 true |&value| Cell::F64(value);
    String: Utf8 false |value| Cell::Text(value);
    &'static str: Utf8 false |value| Cell::Text(value);
}

/// Appends a cell to the builder of its column.
fn append(column: &mut dyn ArrayBuilder, cell: Cell<'_>) {
    fn typed<B: ArrayBuilder>(column: &mut dyn ArrayBuilder) -> &mut B {
        let column = column.as_any_mut().downcast_mut();
        column.expect("fields and cells come from the same declaration")
    }
    match cell {
        Cell::Bool(value) => typed::<BooleanBuilder>(column).append_value(value),
        Cell::U32(value) => typed::<UInt32Builder>(column).append_value(value),
        Cell::U64(value) => typed::<UInt64Builder>(column).append_option(value),
        Cell::F64(value) => typed::<Float64Builder>(column).append_option(value),
        Cell::Text(value) => typed::<StringBuilder>(column).append_value(value),
    }
}

/// Returns a column of values.
pub fn column<V: Value>(values: &[V]) -> ArrayRef {
    let mut column = make_builder(&V::TYPE, values.len());
    for value in values {
        append(&mut *column, value.cell());
    }
    column.finish()
}

/// Number of rows whose cells are collected before they are added to the columns.
const ROWS_AT_ONCE: usize = 1 << 10;

/// Turns rows into a batch. Cells are added to columns by code that does not depend on the type of the table, which keeps
/// the generated code small.
pub fn batch<'a, R: Row + 'a>(rows: impl IntoIterator<Item = &'a R>) -> RecordBatch {
    let schema = R::schema();
    let fields = schema.fields().iter();
    let mut columns: Vec<_> = fields
        .map(|field| make_builder(field.data_type(), 0))
        .collect();
    let mut cells = Vec::new();
    for (number, row) in rows.into_iter().enumerate() {
        if number % ROWS_AT_ONCE == 0 {
            append_rows(&mut columns, &mut cells);
        }
        row.cells(&mut cells);
    }
    append_rows(&mut columns, &mut cells);
    let arrays = columns.iter_mut().map(|column| column.finish());
    RecordBatch::try_new(schema, arrays.collect())
        .expect("fields and cells come from the same declaration")
}

/// Moves the cells of whole rows to the columns.
fn append_rows(columns: &mut [Box<dyn ArrayBuilder>], cells: &mut Vec<Cell<'_>>) {
    let count = columns.len();
    for (number, column) in columns.iter_mut().enumerate() {
        for &cell in cells.iter().skip(number).step_by(count) {
            append(&mut **column, cell);
        }
    }
    cells.clear();
}
