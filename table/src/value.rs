//! What a column can hold.

use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt32Array, UInt64Array};
use arrow_schema::DataType;
use std::sync::Arc;

/// A cell's type.
pub trait Value {
    /// Arrow's name of it.
    const TYPE: DataType;
    /// Whether cells may be empty.
    const IS_OPTIONAL: bool = false;

    /// Cells one below the other.
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;
}

macro_rules! values {
    ($($type:ty: $data:ident $array:ident;)*) => {$(
        impl Value for $type {
            const TYPE: DataType = DataType::$data;

            fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new($array::from(values.copied().collect::<Vec<_>>()))
            }
        }

        impl Value for Option<$type> {
            const TYPE: DataType = DataType::$data;
            const IS_OPTIONAL: bool = true;

            fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new($array::from(values.copied().collect::<Vec<_>>()))
            }
        }
    )*};
}
values! {
    bool: Boolean BooleanArray;
    u32: UInt32 UInt32Array;
    u64: UInt64 UInt64Array;
    f64: Float64 Float64Array;
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
