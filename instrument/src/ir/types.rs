//! Shorter constructors and queries for inkwell's types.

use super::traits::*;
use super::{Signature, Type, Value, context, ext};
use inkwell::types::{AnyType, BasicMetadataTypeEnum, BasicType, BasicTypeEnum, VectorType};
use std::num::NonZeroU32;

extension! {
    pub trait TypeExt for Type {
        fn void() -> Type {
            context().void_type().into()
        }

        fn int(bits: u32) -> Type {
            let bits = NonZeroU32::new(bits).expect("integers have bits");
            let ty = context().custom_width_int_type(bits);
            ty.expect("LLVM has integers of this width").into()
        }

        /// Returns IEEE's 16-bit floating-point type.
        fn half() -> Type {
            context().f16_type().into()
        }

        fn float() -> Type {
            context().f32_type().into()
        }

        fn double() -> Type {
            context().f64_type().into()
        }

        fn pointer(address_space: u32) -> Type {
            let space = address_space.try_into();
            context().ptr_type(space.expect("an address space")).into()
        }

        fn structure(members: &[Type]) -> Type {
            let members: Vec<BasicTypeEnum> = members.iter().map(|ty| ty.basic()).collect();
            context().struct_type(&members, false).into()
        }

        /// Converts to the type of a value that can be stored in memory.
        fn basic(self) -> BasicTypeEnum<'static> {
            BasicTypeEnum::try_from(self).expect("a type whose values fit in memory")
        }

        fn scalar(self) -> Type {
            if self.is_vector_type() {
                self.element()
            } else {
                self
            }
        }

        /// Returns the number of pointers in a value of this type; a vector of pointers counts as one.
        fn pointers(self) -> u32 {
            match self {
                Type::PointerType(_) => 1,
                Type::VectorType(_) => self.element().pointers(),
                Type::ArrayType(array) => {
                    self.element().pointers().saturating_mul(array.len())
                }
                Type::StructType(_) => self.members().into_iter().map(Type::pointers).sum(),
                _ => 0,
            }
        }

        /// Returns the number of [`TypeExt::pointers`] before the member at `indices`, and the member's type.
        fn member_at(self, indices: &[u32]) -> (u32, Type) {
            let (mut pointers, mut ty) = (0, self);
            for &index in indices {
                if ty.is_struct_type() {
                    let members = ty.members();
                    let before = members[..index as usize].iter();
                    pointers += before.map(|m| m.pointers()).sum::<u32>();
                    ty = members[index as usize];
                } else {
                    ty = ty.element();
                    pointers += index * ty.pointers();
                }
            }
            (pointers, ty)
        }

        fn address_space(self) -> u32 {
            ext::address_space(self.scalar().into_pointer_type())
        }

        fn element(self) -> Type {
            let element = match self {
                Type::ArrayType(array) => array.get_element_type(),
                Type::VectorType(vector) => vector.get_element_type(),
                Type::ScalableVectorType(vector) => vector.get_element_type(),
                other => panic!("{other:?} has no elements"),
            };
            element.as_any_type_enum()
        }

        fn members(self) -> Vec<Type> {
            let members = self.into_struct_type().get_field_types().into_iter();
            members.map(|ty| ty.as_any_type_enum()).collect()
        }

        /// Returns the width in bits of an integer type, or of an integer vector's elements.
        fn scalar_bits(self) -> u32 {
            self.scalar().into_int_type().get_bit_width()
        }

        /// Returns the size in bits of a number, a pointer, or a vector of either.
        fn bits(self) -> u32 {
            match self {
                Type::PointerType(_) => 64,
                Type::FloatType(float) => float.get_bit_width(),
                Type::VectorType(vector) => vector.get_size() * self.element().bits(),
                other => other.into_int_type().get_bit_width(),
            }
        }

        fn function(self, parameters: &[Type]) -> Signature {
            signature(self, parameters, false)
        }

        fn array(self, count: usize) -> Type {
            let count = u32::try_from(count).expect("an array with at most 2^32 elements");
            self.basic().array_type(count).into()
        }

        fn vector(self, count: u32) -> Type {
            self.into_int_type().vec_type(count).into()
        }

        fn constant(self, value: u64) -> Value<'static> {
            self.into_int_type().const_int(value, false).into()
        }

        /// Returns the constant `value` of this integer type, or a vector filled with it.
        fn splat(self, value: u64) -> Value<'static> {
            match self {
                Type::VectorType(vector) => {
                    let element = self.element().into_int_type().const_int(value, false);
                    VectorType::const_vector(&vec![element; vector.get_size() as usize]).into()
                }
                _ => self.constant(value),
            }
        }

        fn null(self) -> Value<'static> {
            self.basic().const_zero().value()
        }

        fn undef(self) -> Value<'static> {
            ext::undef(self.basic())
        }
    }
}

fn signature(result: Type, parameters: &[Type], variadic: bool) -> Signature {
    let parameters = parameters.iter().map(|ty| ty.basic().into());
    let parameters: Vec<BasicMetadataTypeEnum> = parameters.collect();
    match result {
        Type::VoidType(void) => void.fn_type(&parameters, variadic),
        result => result.basic().fn_type(&parameters, variadic),
    }
}

extension! {
    pub trait SignatureExt for Signature {
        /// Returns the types of the parameters, except metadata.
        fn parameters(self) -> Vec<Type> {
            let types = self.get_param_types().into_iter();
            let types = types.filter_map(|ty| BasicTypeEnum::try_from(ty).ok());
            types.map(|ty| ty.as_any_type_enum()).collect()
        }

        fn result(self) -> Type {
            let result = self.get_return_type();
            result.map_or_else(Type::void, |ty| ty.as_any_type_enum())
        }

        fn with_parameters(self, extra: &[Type]) -> Signature {
            let parameters = [&self.parameters(), extra].concat();
            signature(self.result(), &parameters, self.is_var_arg())
        }
    }
}
