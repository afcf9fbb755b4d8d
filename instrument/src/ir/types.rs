//! Types.

use super::value::Value;
use inkwell::llvm_sys::{
    LLVMTypeKind,
    core::*,
    prelude::LLVMTypeRef,
    target::{LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMStoreSizeOfType},
};

/// A type of the module's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type(pub(super) LLVMTypeRef);

impl Type {
    /// Kind of the type.
    pub fn kind(self) -> LLVMTypeKind {
        // SAFETY: valid handle (folder's invariant).
        unsafe { LLVMGetTypeKind(self.0) }
    }

    /// Whether this is a pointer (not a vector of pointers).
    pub fn is_pointer(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMPointerTypeKind
    }

    /// Whether this is an integer.
    pub fn is_integer(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMIntegerTypeKind
    }

    /// Whether this is `void`.
    pub fn is_void(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMVoidTypeKind
    }

    /// Whether values of this type are made of several members.
    pub fn is_struct(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMStructTypeKind
    }

    /// Whether values of this type hold a pointer somewhere.
    pub fn holds_pointer(self) -> bool {
        match self.kind() {
            LLVMTypeKind::LLVMPointerTypeKind => true,
            LLVMTypeKind::LLVMVectorTypeKind | LLVMTypeKind::LLVMArrayTypeKind => {
                self.element().holds_pointer()
            }
            LLVMTypeKind::LLVMStructTypeKind => self.members().into_iter().any(Type::holds_pointer),
            _ => false,
        }
    }

    /// How many pointers a value of this type holds, each told apart by its place; a vector of pointers counts as one.
    pub fn pointers(self) -> u32 {
        match self.kind() {
            LLVMTypeKind::LLVMPointerTypeKind => 1,
            LLVMTypeKind::LLVMVectorTypeKind => self.element().pointers(),
            LLVMTypeKind::LLVMArrayTypeKind => {
                // SAFETY: valid handle of an array type.
                let length = unsafe { LLVMGetArrayLength2(self.0) };
                (self.element().pointers())
                    .saturating_mul(u32::try_from(length).unwrap_or(u32::MAX))
            }
            LLVMTypeKind::LLVMStructTypeKind => {
                self.members().into_iter().map(Type::pointers).sum()
            }
            _ => 0,
        }
    }

    /// Where the member that `indices` lead to stands among the [`Type::pointers`] of this type, and its type.
    pub fn member_at(self, indices: &[u32]) -> (u32, Type) {
        let (mut place, mut ty) = (0, self);
        for &index in indices {
            if ty.is_struct() {
                let members = ty.members();
                place += members[..index as usize]
                    .iter()
                    .map(|m| m.pointers())
                    .sum::<u32>();
                ty = members[index as usize];
            } else {
                ty = ty.element();
                place += index * ty.pointers();
            }
        }
        (place, ty)
    }

    /// Address space of a pointer, or of the pointers of a vector.
    pub fn address_space(self) -> u32 {
        // SAFETY: valid handle; callers ask pointers and vectors of them only.
        unsafe { LLVMGetPointerAddressSpace(self.0) }
    }

    /// Element type of an array or vector.
    pub fn element(self) -> Type {
        // SAFETY: valid handle; callers ask arrays and vectors only.
        Type(unsafe { LLVMGetElementType(self.0) })
    }

    /// Member types of a struct.
    pub fn members(self) -> Vec<Type> {
        // SAFETY: valid handle of a struct; the index stays below the member count.
        unsafe {
            let count = LLVMCountStructElementTypes(self.0);
            (0..count)
                .map(|i| Type(LLVMStructGetTypeAtIndex(self.0, i)))
                .collect()
        }
    }

    /// Parameter types of a function type.
    pub fn parameters(self) -> Vec<Type> {
        // SAFETY: valid handle of a function type; LLVM fills exactly `count` entries.
        unsafe {
            let count = LLVMCountParamTypes(self.0) as usize;
            let mut types = vec![std::ptr::null_mut(); count];
            LLVMGetParamTypes(self.0, types.as_mut_ptr());
            types.into_iter().map(Type).collect()
        }
    }

    /// Result type of a function type.
    pub fn result(self) -> Type {
        // SAFETY: valid handle of a function type.
        Type(unsafe { LLVMGetReturnType(self.0) })
    }

    /// Whether a function type takes further arguments.
    pub fn is_variadic(self) -> bool {
        // SAFETY: valid handle of a function type.
        unsafe { LLVMIsFunctionVarArg(self.0) != 0 }
    }

    /// A function type with this result.
    pub fn function(self, parameters: &[Type], variadic: bool) -> Type {
        let mut raw: Vec<_> = parameters.iter().map(|t| t.0).collect();
        // SAFETY: valid handles; LLVM copies the list.
        Type(unsafe {
            LLVMFunctionType(
                self.0,
                raw.as_mut_ptr(),
                raw.len() as u32,
                i32::from(variadic),
            )
        })
    }

    /// An array type of `count` elements of this type.
    pub fn array(self, count: u64) -> Type {
        // SAFETY: valid handle.
        Type(unsafe { LLVMArrayType2(self.0, count) })
    }

    /// The integer `value` of this integer type.
    pub fn constant(self, value: u64) -> Value {
        // SAFETY: valid handle of an integer type.
        Value(unsafe { LLVMConstInt(self.0, value, 0) })
    }

    /// The integer `value` of this integer type, or a vector of it.
    pub fn splat(self, value: u64) -> Value {
        if self.kind() != LLVMTypeKind::LLVMVectorTypeKind {
            return self.constant(value);
        }
        // SAFETY: valid handle of a vector of integers; LLVM copies the list.
        unsafe {
            let element = self.element().constant(value);
            let mut list = vec![element.0; LLVMGetVectorSize(self.0) as usize];
            Value(LLVMConstVector(list.as_mut_ptr(), list.len() as u32))
        }
    }

    /// Bits of an integer type, or of the elements of a vector of integers.
    pub fn scalar_bits(self) -> u32 {
        if self.kind() == LLVMTypeKind::LLVMVectorTypeKind {
            return self.element().scalar_bits();
        }
        // SAFETY: valid handle; callers ask integers only.
        unsafe { LLVMGetIntTypeWidth(self.0) }
    }

    /// The zero value of this type.
    pub fn null(self) -> Value {
        // SAFETY: valid handle.
        Value(unsafe { LLVMConstNull(self.0) })
    }

    /// The undefined value of this type.
    pub fn undef(self) -> Value {
        // SAFETY: valid handle.
        Value(unsafe { LLVMGetUndef(self.0) })
    }
}

impl super::Module {
    /// `void`.
    pub fn void(&self) -> Type {
        // SAFETY: the context lives as long as the module.
        Type(unsafe { LLVMVoidTypeInContext(self.context()) })
    }

    /// An integer of `bits` bits.
    pub fn int(&self, bits: u32) -> Type {
        // SAFETY: as above.
        Type(unsafe { LLVMIntTypeInContext(self.context(), bits) })
    }

    /// A floating-point number of 32 or 64 bits.
    pub fn float(&self, bits: u32) -> Type {
        // SAFETY: as above.
        Type(unsafe {
            if bits == 32 {
                LLVMFloatTypeInContext(self.context())
            } else {
                LLVMDoubleTypeInContext(self.context())
            }
        })
    }

    /// A pointer into `address_space`.
    pub fn pointer(&self, address_space: u32) -> Type {
        // SAFETY: as above.
        Type(unsafe { LLVMPointerTypeInContext(self.context(), address_space) })
    }

    /// An unnamed struct.
    pub fn structure(&self, members: &[Type]) -> Type {
        let mut raw: Vec<_> = members.iter().map(|t| t.0).collect();
        // SAFETY: valid handles; LLVM copies the list.
        Type(unsafe {
            LLVMStructTypeInContext(self.context(), raw.as_mut_ptr(), raw.len() as u32, 0)
        })
    }

    /// A constant struct.
    pub fn constant_struct(&self, members: &[Value]) -> Value {
        let mut raw: Vec<_> = members.iter().map(|v| v.0).collect();
        // SAFETY: valid handles; LLVM copies the list.
        Value(unsafe {
            LLVMConstStructInContext(self.context(), raw.as_mut_ptr(), raw.len() as u32, 0)
        })
    }

    /// A constant array.
    pub fn constant_array(&self, element: Type, values: &[Value]) -> Value {
        let mut raw: Vec<_> = values.iter().map(|v| v.0).collect();
        // SAFETY: valid handles; LLVM copies the list.
        Value(unsafe { LLVMConstArray2(element.0, raw.as_mut_ptr(), raw.len() as u64) })
    }

    /// Bytes that a value of `ty` occupies when it is stored.
    pub fn store_size_bytes(&self, ty: Type) -> u64 {
        // SAFETY: the data layout belongs to the module; the type is sized (it is loaded or stored).
        unsafe { LLVMStoreSizeOfType(LLVMGetModuleDataLayout(self.raw()), ty.0) }
    }

    /// Bytes that a global variable of `ty` occupies.
    pub fn allocated_size_bytes(&self, ty: Type) -> u64 {
        // SAFETY: as above.
        unsafe { LLVMABISizeOfType(LLVMGetModuleDataLayout(self.raw()), ty.0) }
    }
}
