//! Field-by-field addition of structs.

/// Implements `AddAssign` for a type by adding each listed field.
macro_rules! add_assign {
    ($type:ty: $($field:ident),+) => {
        impl std::ops::AddAssign for $type {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)+
            }
        }
    };
}
