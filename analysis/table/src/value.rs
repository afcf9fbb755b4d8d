//! Types of cells, and columns of them.

use crate::declare::Row;
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, StringBuilder, UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};

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

enum Column {
    Bool(BooleanBuilder),
    U32(UInt32Builder),
    U64(UInt64Builder),
    F64(Float64Builder),
    Text(StringBuilder),
}

impl Column {
    fn new(data: &DataType) -> Self {
        match data {
            DataType::Boolean => Self::Bool(BooleanBuilder::new()),
            DataType::UInt32 => Self::U32(UInt32Builder::new()),
            DataType::UInt64 => Self::U64(UInt64Builder::new()),
            DataType::Float64 => Self::F64(Float64Builder::new()),
            _ => Self::Text(StringBuilder::new()),
        }
    }

    fn append(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::Bool(column), Cell::Bool(value)) => column.append_value(value),
            (Self::U32(column), Cell::U32(value)) => column.append_value(value),
            (Self::U64(column), Cell::U64(value)) => column.append_option(value),
            (Self::F64(column), Cell::F64(value)) => column.append_option(value),
            (Self::Text(column), Cell::Text(value)) => column.append_value(value),
            _ => unreachable!("fields and cells come from the same declaration"),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        let builder: &mut dyn ArrayBuilder = match self {
            Self::Bool(column) => column,
            Self::U32(column) => column,
            Self::U64(column) => column,
            Self::F64(column) => column,
            Self::Text(column) => column,
        };
        builder.finish()
    }
}

/// Returns a column of values.
pub fn column<V: Value>(values: &[V]) -> ArrayRef {
    let mut column = Column::new(&V::TYPE);
    for value in values {
        column.append(value.cell());
    }
    column.finish()
}

/// Turns rows into a batch. Only the rows' cells depend on the type of the table, which keeps the generated code small.
pub struct Batch {
    schema: SchemaRef,
    columns: Vec<Column>,
}

/// Number of rows whose cells are collected before they are added to the columns.
const ROWS_AT_ONCE: usize = 1 << 10;

impl Batch {
    pub fn of<'a, R: Row + 'a>(rows: impl IntoIterator<Item = &'a R>) -> RecordBatch {
        let mut batch = Self::new(R::schema());
        let mut cells = Vec::new();
        for (number, row) in rows.into_iter().enumerate() {
            if number % ROWS_AT_ONCE == 0 {
                batch.append(&mut cells);
            }
            row.cells(&mut cells);
        }
        batch.append(&mut cells);
        batch.finish()
    }

    fn new(schema: SchemaRef) -> Self {
        let fields = schema.fields().iter();
        let columns = fields.map(|field| Column::new(field.data_type())).collect();
        Self { schema, columns }
    }

    /// Moves the cells of whole rows to the columns.
    fn append(&mut self, cells: &mut Vec<Cell<'_>>) {
        let count = self.columns.len();
        for (number, column) in self.columns.iter_mut().enumerate() {
            for &cell in cells.iter().skip(number).step_by(count) {
                column.append(cell);
            }
        }
        cells.clear();
    }

    fn finish(mut self) -> RecordBatch {
        let arrays = self.columns.iter_mut().map(Column::finish).collect();
        RecordBatch::try_new(self.schema, arrays)
            .expect("fields and cells come from the same declaration")
    }
}
