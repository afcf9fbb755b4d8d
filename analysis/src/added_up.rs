//! Groups of numbers that are added up field by field.

/// Lets values of a type be added to each other by these fields.
macro_rules! added_up {
    ($type:ty: $($field:ident),+) => {
        impl std::ops::AddAssign for $type {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)+
            }
        }
    };
}
