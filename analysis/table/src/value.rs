//! Types of column values.

use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt32Array, UInt64Array};
use arrow_schema::DataType;
use std::sync::Arc;

/// Type of the cells in a column.
pub trait Value {
    const TYPE: DataType;
    const IS_OPTIONAL: bool = false;

    /// Returns a column of these values.
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;
}

macro_rules! values {
    ($($type:ty: $data:ident $array:ident $is_optional:literal;)*) => {$(
        impl Value for $type {
            const TYPE: DataType = DataType::$data;
            const IS_OPTIONAL: bool = $is_optional;

            fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new($array::from(values.copied().collect::<Vec<_>>()))
            }
        }
    )*};
}
values! {
    bool: Boolean BooleanArray false;
    u32: UInt32 UInt32Array false;
    u64: UInt64 UInt64Array false;
    f64: Float64 Float64Array false;
    Option<u64>: UInt64 UInt64Array true;
    Option<f64>: Float64 Float64Array true;
}

macro_rules! texts {
    ($($type:ty),*) => {$(
        impl Value for $type {
            const TYPE: DataType = DataType::Utf8;

            fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new(StringArray::from_iter_values(values))
            }
        }
    )*};
}
texts!(String, &'static str);
