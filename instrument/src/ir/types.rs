//! Types.

use super::{Value, context};
pub use llvm_sys::LLVMTypeKind as TypeKind;
use llvm_sys::{core::*, prelude::LLVMTypeRef};

/// A type of the thread's context, which lives as long as the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type(LLVMTypeRef);

/// Methods that compare the kind.
macro_rules! is_kind {
    ($($(#[$about:meta])* $name:ident: $($kind:ident)|+,)+) => {$(
        $(#[$about])*
        pub fn $name(self) -> bool {
            matches!(self.kind(), $(TypeKind::$kind)|+)
        }
    )+};
}

impl Type {
    /// # Safety
    /// `raw` is a type of the thread's context.
    pub(super) unsafe fn new(raw: LLVMTypeRef) -> Self {
        Type(raw)
    }

    pub(super) fn raw(self) -> LLVMTypeRef {
        self.0
    }

    pub fn void() -> Type {
        // SAFETY: the context is alive.
        unsafe { Type(LLVMVoidTypeInContext(context())) }
    }

    pub fn int(bits: u32) -> Type {
        assert!((1..1 << 23).contains(&bits));
        // SAFETY: the context is alive; LLVM has integers of that many bits (asserted).
        unsafe { Type(LLVMIntTypeInContext(context(), bits)) }
    }

    /// A floating-point number of 16 bits (IEEE's).
    pub fn half() -> Type {
        // SAFETY: the context is alive.
        unsafe { Type(LLVMHalfTypeInContext(context())) }
    }

    /// A floating-point number of 32 bits.
    pub fn float() -> Type {
        // SAFETY: the context is alive.
        unsafe { Type(LLVMFloatTypeInContext(context())) }
    }

    /// A floating-point number of 64 bits.
    pub fn double() -> Type {
        // SAFETY: the context is alive.
        unsafe { Type(LLVMDoubleTypeInContext(context())) }
    }

    pub fn pointer(address_space: u32) -> Type {
        // SAFETY: the context is alive.
        unsafe { Type(LLVMPointerTypeInContext(context(), address_space)) }
    }

    pub fn structure(members: &[Type]) -> Type {
        let mut raw: Vec<_> = members.iter().map(|t| t.sized().0).collect();
        let (list, count) = (raw.as_mut_ptr(), raw.len() as u32);
        // SAFETY: types of this context that can be members (asserted); LLVM copies as many as it is told.
        unsafe { Type(LLVMStructTypeInContext(context(), list, count, 0)) }
    }

    pub fn kind(self) -> TypeKind {
        // SAFETY: a type that is alive.
        unsafe { LLVMGetTypeKind(self.0) }
    }

    /// The type itself, after a check that its kind is among these.
    fn expect(self, kinds: &[TypeKind]) -> Type {
        let kind = self.kind();
        assert!(kinds.contains(&kind), "{kind:?} is none of {kinds:?}");
        self
    }

    /// The type itself, after a check that values of it can be in memory.
    pub(super) fn sized(self) -> Type {
        // SAFETY: a type that is alive.
        assert!(unsafe { LLVMTypeIsSized(self.0) } != 0);
        self
    }

    is_kind! {
        /// Whether this is a pointer (not a vector of pointers).
        is_pointer: LLVMPointerTypeKind,
        is_integer: LLVMIntegerTypeKind,
        is_void: LLVMVoidTypeKind,
        is_struct: LLVMStructTypeKind,
        is_vector: LLVMVectorTypeKind,
        /// Whether this is the type of metadata that a call takes as an argument.
        is_metadata: LLVMMetadataTypeKind,
        is_floating_point: LLVMHalfTypeKind | LLVMBFloatTypeKind | LLVMFloatTypeKind | LLVMDoubleTypeKind,
    }

    /// The element of a vector, or the type itself.
    pub fn scalar(self) -> Type {
        match self.is_vector() {
            true => self.element(),
            false => self,
        }
    }

    /// How many pointers a value of this type holds, each told apart by its place; a vector of pointers counts as one.
    pub fn pointers(self) -> u32 {
        match self.kind() {
            TypeKind::LLVMPointerTypeKind => 1,
            TypeKind::LLVMVectorTypeKind => self.element().pointers(),
            TypeKind::LLVMArrayTypeKind => {
                // SAFETY: the kind was just checked.
                let length = unsafe { LLVMGetArrayLength2(self.0) };
                (self.element().pointers())
                    .saturating_mul(u32::try_from(length).unwrap_or(u32::MAX))
            }
            TypeKind::LLVMStructTypeKind => self.members().into_iter().map(Type::pointers).sum(),
            _ => 0,
        }
    }

    /// Where the member that `indices` lead to stands among the [`Type::pointers`] of this type, and its type.
    pub fn member_at(self, indices: &[u32]) -> (u32, Type) {
        let (mut place, mut ty) = (0, self);
        for &index in indices {
            if ty.is_struct() {
                let members = ty.members();
                let before = members[..index as usize].iter();
                place += before.map(|m| m.pointers()).sum::<u32>();
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
        let pointer = self.scalar().expect(&[TypeKind::LLVMPointerTypeKind]);
        // SAFETY: the kind was just checked.
        unsafe { LLVMGetPointerAddressSpace(pointer.0) }
    }

    /// Element type of an array or vector.
    pub fn element(self) -> Type {
        self.expect(&[
            TypeKind::LLVMArrayTypeKind,
            TypeKind::LLVMVectorTypeKind,
            TypeKind::LLVMScalableVectorTypeKind,
        ]);
        // SAFETY: the kind was just checked.
        unsafe { Type(LLVMGetElementType(self.0)) }
    }

    pub fn members(self) -> Vec<Type> {
        self.expect(&[TypeKind::LLVMStructTypeKind]);
        // SAFETY: the kind was just checked; the index stays below the number of members.
        unsafe {
            (0..LLVMCountStructElementTypes(self.0))
                .map(|i| Type(LLVMStructGetTypeAtIndex(self.0, i)))
                .collect()
        }
    }

    pub fn parameters(self) -> Vec<Type> {
        self.expect(&[TypeKind::LLVMFunctionTypeKind]);
        // SAFETY: the kind was just checked; LLVM fills as many entries as it said that there are.
        unsafe {
            let mut types = vec![std::ptr::null_mut(); LLVMCountParamTypes(self.0) as usize];
            LLVMGetParamTypes(self.0, types.as_mut_ptr());
            types.into_iter().map(Type).collect()
        }
    }

    pub fn result(self) -> Type {
        self.expect(&[TypeKind::LLVMFunctionTypeKind]);
        // SAFETY: the kind was just checked.
        unsafe { Type(LLVMGetReturnType(self.0)) }
    }

    /// A function type with this result.
    pub fn function(self, parameters: &[Type]) -> Type {
        self.function_of(parameters, false)
    }

    /// A function type with `more` parameters behind its own.
    pub fn with_parameters(self, more: &[Type]) -> Type {
        let parameters = [&self.parameters(), more].concat();
        // SAFETY: `parameters` has just found it to be a function type.
        let variadic = unsafe { LLVMIsFunctionVarArg(self.0) != 0 };
        self.result().function_of(&parameters, variadic)
    }

    fn function_of(self, parameters: &[Type], variadic: bool) -> Type {
        let mut raw: Vec<_> = parameters.iter().map(|t| t.0).collect();
        // SAFETY: types of this context; LLVM copies as many as it is told.
        unsafe {
            let (types, count) = (raw.as_mut_ptr(), raw.len() as u32);
            Type(LLVMFunctionType(self.0, types, count, i32::from(variadic)))
        }
    }

    /// An array type of `count` elements of this type.
    pub fn array(self, count: u64) -> Type {
        // SAFETY: a type of which there can be arrays (asserted).
        unsafe { Type(LLVMArrayType2(self.sized().0, count)) }
    }

    /// A vector type of `count` integers of this type.
    pub fn vector(self, count: u32) -> Type {
        self.expect(&[TypeKind::LLVMIntegerTypeKind]);
        // SAFETY: a type of which there can be vectors (asserted).
        unsafe { Type(LLVMVectorType(self.0, count)) }
    }

    /// Elements of a vector type.
    pub fn vector_length(self) -> u32 {
        self.expect(&[TypeKind::LLVMVectorTypeKind]);
        // SAFETY: the kind was just checked.
        unsafe { LLVMGetVectorSize(self.0) }
    }

    /// The integer `value` of this integer type.
    pub fn constant(self, value: u64) -> Value<'static> {
        self.expect(&[TypeKind::LLVMIntegerTypeKind]);
        // SAFETY: the kind was just checked; numbers live in the context.
        unsafe { Value::new(LLVMConstInt(self.0, value, 0)) }
    }

    /// The integer `value` of this integer type, or a vector of it.
    pub fn splat(self, value: u64) -> Value<'static> {
        if !self.is_vector() {
            return self.constant(value);
        }
        let element = self.element().constant(value);
        // SAFETY: a vector type, of which LLVM copies as many elements as it has; vectors of numbers live in the context.
        unsafe {
            let mut list = vec![element.raw(); self.vector_length() as usize];
            Value::new(LLVMConstVector(list.as_mut_ptr(), list.len() as u32))
        }
    }

    /// Bits of an integer type, or of the elements of a vector of integers.
    pub fn scalar_bits(self) -> u32 {
        let integer = self.scalar().expect(&[TypeKind::LLVMIntegerTypeKind]);
        // SAFETY: the kind was just checked.
        unsafe { LLVMGetIntTypeWidth(integer.0) }
    }

    pub fn null(self) -> Value<'static> {
        // SAFETY: types of values in memory have a zero (asserted), which lives in the context.
        unsafe { Value::new(LLVMConstNull(self.sized().0)) }
    }

    pub fn undef(self) -> Value<'static> {
        // SAFETY: types of values in memory have such a value (asserted), which lives in the context.
        unsafe { Value::new(LLVMGetUndef(self.sized().0)) }
    }

    pub(super) fn poison(self) -> Value<'static> {
        // SAFETY: LLVM makes one for every type; it lives in the context.
        unsafe { Value::new(LLVMGetPoison(self.0)) }
    }
}
