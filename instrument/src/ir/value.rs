//! Values: constants, arguments, instructions, functions, variables.

use super::{Call, Function, Instruction, Location, Module, Type, c_string, message, text};
pub use llvm_sys::{LLVMLinkage as Linkage, LLVMOpcode as Opcode, LLVMValueKind as ValueKind};
use llvm_sys::{LLVMThreadLocalMode, comdat::LLVMSetComdat, core::*, prelude::LLVMValueRef};
use std::marker::PhantomData;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value<'m>(LLVMValueRef, PhantomData<&'m Module>);

/// A kind of value that can do all that its base can.
macro_rules! kind_of_value {
    ($(#[$about:meta])* $name:ident is a $base:ident) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name<'m>($base<'m>);

        impl<'m> $name<'m> {
            /// # Safety
            /// `raw` is a value of this kind, alive for `'m`.
            pub(super) unsafe fn new(raw: llvm_sys::prelude::LLVMValueRef) -> Self {
                // SAFETY: the caller vouches for the narrower kind, and so for the wider one.
                Self(unsafe { $base::new(raw) })
            }
        }

        impl<'m> std::ops::Deref for $name<'m> {
            type Target = $base<'m>;

            fn deref(&self) -> &$base<'m> {
                &self.0
            }
        }
    };
}
pub(super) use kind_of_value;

kind_of_value! {
    /// A function or a variable.
    Global is a Value
}

kind_of_value! {
    /// A global variable; as a value it is the variable's address.
    Variable is a Global
}

impl<'m> Value<'m> {
    /// # Safety
    /// `raw` is a value of the thread's module or context, alive for `'m`.
    pub(super) unsafe fn new(raw: LLVMValueRef) -> Self {
        Value(raw, PhantomData)
    }

    pub(super) fn raw(self) -> LLVMValueRef {
        self.0
    }

    /// Any kind of value as what it is in general.
    pub fn value(self) -> Value<'m> {
        self
    }

    pub fn kind(self) -> ValueKind {
        // SAFETY: a value that is alive.
        unsafe { LLVMGetValueKind(self.0) }
    }

    pub fn ty(self) -> Type {
        // SAFETY: a value that is alive; its type lives in the context.
        unsafe { Type::new(LLVMTypeOf(self.0)) }
    }

    pub fn as_instruction(self) -> Option<Instruction<'m>> {
        (self.kind() == ValueKind::LLVMInstructionValueKind)
            // SAFETY: the kind was just checked.
            .then(|| unsafe { Instruction::new(self.0) })
    }

    pub fn as_call(self) -> Option<Call<'m>> {
        let instruction = self.as_instruction()?;
        (instruction.operation() == Opcode::LLVMCall)
            // SAFETY: the operation was just checked.
            .then(|| unsafe { Call::new(self.0) })
    }

    pub fn as_function(self) -> Option<Function<'m>> {
        (self.kind() == ValueKind::LLVMFunctionValueKind)
            // SAFETY: the kind was just checked.
            .then(|| unsafe { Function::new(self.0) })
    }

    pub fn as_variable(self) -> Option<Variable<'m>> {
        (self.kind() == ValueKind::LLVMGlobalVariableValueKind)
            // SAFETY: the kind was just checked.
            .then(|| unsafe { Variable::new(self.0) })
    }

    /// Type of what the first index of a `getelementptr` counts.
    pub fn gep_type(self) -> Type {
        assert_eq!(self.opcode(), Some(Opcode::LLVMGetElementPtr));
        // SAFETY: the operation was just checked; the type lives in the context.
        unsafe { Type::new(LLVMGetGEPSourceElementType(self.0)) }
    }

    /// The function of which this is a parameter, and which one it is.
    pub fn as_parameter(self) -> Option<(Function<'m>, u32)> {
        if self.kind() != ValueKind::LLVMArgumentValueKind {
            return None;
        }
        // SAFETY: the kind was just checked; a parameter belongs to a function as long as it lives.
        let function = unsafe { Function::new(LLVMGetParamParent(self.0)) };
        let index = function.parameters().iter().position(|p| *p == self)?;
        Some((function, index as u32))
    }

    /// Operation of an instruction or constant expression.
    pub fn opcode(self) -> Option<Opcode> {
        if let Some(instruction) = self.as_instruction() {
            return Some(instruction.operation());
        }
        (self.kind() == ValueKind::LLVMConstantExprValueKind)
            // SAFETY: the kind was just checked.
            .then(|| unsafe { LLVMGetConstOpcode(self.0) })
    }

    /// The value's name; empty when it has none.
    pub fn name(self) -> String {
        let mut length = 0;
        // SAFETY: a value that is alive lends its name and says how long it is.
        unsafe { text(LLVMGetValueName2(self.0, &mut length), length) }
    }

    pub fn set_name(self, name: &str) {
        let name = c_string(name);
        // SAFETY: a value that is alive; LLVM copies as many bytes as it is told.
        unsafe { LLVMSetValueName2(self.0, name.as_ptr(), name.count_bytes()) }
    }

    pub fn print(self) -> String {
        // SAFETY: a value that is alive; LLVM hands the message over.
        unsafe { message(LLVMPrintValueToString(self.0)) }
    }

    pub fn operand_count(self) -> u32 {
        use ValueKind::*;
        if matches!(
            self.kind(),
            LLVMArgumentValueKind
                | LLVMInlineAsmValueKind
                | LLVMBasicBlockValueKind
                | LLVMMetadataAsValueValueKind
        ) {
            return 0;
        }
        // SAFETY: every value of another kind has a list of operands.
        unsafe { LLVMGetNumOperands(self.0) as u32 }
    }

    /// Operand `index`. Metadata, which may be freed at any time, is handed out as a poison value of its type.
    pub fn operand(self, index: u32) -> Value<'m> {
        let count = self.operand_count();
        assert!(index < count, "operand {index} of {count}");
        // SAFETY: the index is below the number of operands. An operand is null only in a function without personality, say,
        // and then refused; it is of this module, and no metadata, so it is alive.
        unsafe {
            let operand = LLVMGetOperand(self.0, index);
            assert!(!operand.is_null(), "operand {index} is none");
            if LLVMGetValueKind(operand) == ValueKind::LLVMMetadataAsValueValueKind {
                return Value::new(LLVMGetPoison(LLVMTypeOf(operand)));
            }
            Value::new(operand)
        }
    }

    pub fn operands(self) -> Vec<Value<'m>> {
        (0..self.operand_count()).map(|i| self.operand(i)).collect()
    }

    /// Whether this is a constant that is made of others.
    pub fn is_compound_constant(self) -> bool {
        matches!(
            self.kind(),
            ValueKind::LLVMConstantExprValueKind
                | ValueKind::LLVMConstantStructValueKind
                | ValueKind::LLVMConstantArrayValueKind
                | ValueKind::LLVMConstantVectorValueKind
        )
    }

    /// What such a constant is made of; nothing, if it is none.
    pub fn constant_parts(self) -> Vec<Value<'m>> {
        if self.is_compound_constant() {
            self.operands()
        } else {
            Vec::new()
        }
    }

    /// Every user, once for each use.
    pub fn users(self) -> Vec<Value<'m>> {
        // SAFETY: the uses of a value that is alive form a list, which does not change here; users are values of its module.
        unsafe {
            let first = LLVMGetFirstUse(self.0);
            super::list(first, LLVMGetNextUse, |one| Value::new(LLVMGetUser(one)))
        }
    }

    /// The instructions among the users, once for each use.
    pub fn using_instructions(self) -> Vec<Instruction<'m>> {
        let users = self.users().into_iter();
        users.filter_map(Value::as_instruction).collect()
    }

    /// Whether the value is known before the program runs.
    pub fn is_constant(self) -> bool {
        // SAFETY: a value that is alive.
        unsafe { LLVMIsConstant(self.0) != 0 }
    }

    /// The low 64 bits of a constant integer.
    pub fn constant_integer(self) -> Option<u64> {
        (self.kind() == ValueKind::LLVMConstantIntValueKind)
            // SAFETY: the kind was just checked.
            .then(|| unsafe { LLVMConstIntGetZExtValue(self.0) })
    }

    /// A constant string of C's, without the NUL that ends it.
    pub fn constant_text(self) -> Option<String> {
        if self.kind() != ValueKind::LLVMConstantDataArrayValueKind {
            return None;
        }
        // SAFETY: the kind was just checked; LLVM lends the bytes of one that is a string, and says how many.
        unsafe {
            let mut length = 0;
            (LLVMIsConstantString(self.0) != 0).then(|| {
                let bytes = LLVMGetAsString(self.0, &mut length);
                let whole = text(bytes, length);
                whole.strip_suffix('\0').unwrap_or(&whole).to_owned()
            })
        }
    }

    /// A constant number of a floating-point type.
    pub fn constant_number(self) -> Option<f64> {
        let mut loses = 0;
        (self.kind() == ValueKind::LLVMConstantFPValueKind)
            // SAFETY: the kind was just checked; LLVM writes one number.
            .then(|| unsafe { LLVMConstRealGetDouble(self.0, &mut loses) })
    }

    /// Template and constraints, when the value is inline assembly.
    pub fn inline_assembly(self) -> Option<(String, String)> {
        if self.kind() != ValueKind::LLVMInlineAsmValueKind {
            return None;
        }
        let (mut of_template, mut of_constraints) = (0, 0);
        // SAFETY: the kind was just checked; LLVM lends each text and says how long it is.
        unsafe {
            let template = LLVMGetInlineAsmAsmString(self.0, &mut of_template);
            let constraints = LLVMGetInlineAsmConstraintString(self.0, &mut of_constraints);
            Some((
                text(template, of_template),
                text(constraints, of_constraints),
            ))
        }
    }

    /// Checks that it is a variable, or an alloca: what has an alignment, beside accesses.
    fn expect_memory(self) {
        let is_variable = self.kind() == ValueKind::LLVMGlobalVariableValueKind;
        assert!(is_variable || self.opcode() == Some(Opcode::LLVMAlloca));
    }

    /// Alignment of a variable, or of what an alloca makes room for.
    pub fn alignment_bytes(self) -> u32 {
        self.expect_memory();
        // SAFETY: a value that has an alignment, as was just checked.
        unsafe { LLVMGetAlignment(self.0) }
    }

    /// Sets the alignment of a variable, or of what an alloca makes room for.
    pub fn set_alignment_bytes(self, bytes: u32) {
        self.expect_memory();
        assert!(bytes.is_power_of_two());
        // SAFETY: a value that has an alignment, as was just checked, and a power of two (asserted).
        unsafe { LLVMSetAlignment(self.0, bytes) }
    }

    /// Where an instruction stands in the source.
    pub fn location(self) -> Location {
        self.as_instruction().map(Location::of).unwrap_or_default()
    }
}

impl<'m> Global<'m> {
    /// Type of the value that a variable holds, or of a function.
    pub fn value_type(self) -> Type {
        // SAFETY: a global that is alive; its type lives in the context.
        unsafe { Type::new(LLVMGlobalGetValueType(self.raw())) }
    }

    pub fn is_declaration(self) -> bool {
        // SAFETY: a global that is alive.
        unsafe { LLVMIsDeclaration(self.raw()) != 0 }
    }

    pub fn linkage(self) -> Linkage {
        // SAFETY: a global that is alive.
        unsafe { LLVMGetLinkage(self.raw()) }
    }

    /// Sets the linkage; local ones lose what only visible symbols may have.
    pub fn set_linkage(self, linkage: Linkage) {
        use Linkage::{LLVMInternalLinkage, LLVMPrivateLinkage};
        // SAFETY: a global that is alive; functions and variables may have a comdat, and may have none.
        unsafe {
            LLVMSetLinkage(self.raw(), linkage);
            if matches!(linkage, LLVMInternalLinkage | LLVMPrivateLinkage) {
                LLVMSetComdat(self.raw(), std::ptr::null_mut());
            }
        }
    }

    pub fn make_internal(self) {
        self.set_linkage(Linkage::LLVMInternalLinkage);
    }
}

impl<'m> Variable<'m> {
    pub fn initializer(self) -> Option<Value<'m>> {
        // SAFETY: a variable that is alive; null when it has no initial value.
        unsafe { super::optional(LLVMGetInitializer(self.raw()), Value::new) }
    }

    pub fn set_initializer(self, value: Value<'m>) {
        assert!(value.is_constant() && value.ty() == self.value_type());
        // SAFETY: a variable and a constant of one module (*one module*), of one type (asserted).
        unsafe { LLVMSetInitializer(self.raw(), value.0) }
    }

    /// Makes it exist once for each thread, in code that a program may load while it runs.
    pub fn set_thread_local(self) {
        // SAFETY: a variable that is alive.
        unsafe {
            LLVMSetThreadLocalMode(self.raw(), LLVMThreadLocalMode::LLVMGeneralDynamicTLSModel);
        }
    }

    /// Whether it exists once for each thread.
    pub fn is_thread_local(self) -> bool {
        // SAFETY: a variable that is alive.
        unsafe { LLVMIsThreadLocal(self.raw()) != 0 }
    }

    /// Its address as a constant generic pointer.
    pub fn as_generic_constant(self) -> Value<'m> {
        if self.ty().address_space() == 0 {
            return self.value();
        }
        // SAFETY: a constant address and a pointer type of another address space; the new constant names the variable and
        // goes no sooner.
        unsafe { Value::new(LLVMConstAddrSpaceCast(self.raw(), Type::pointer(0).raw())) }
    }

    /// Whether the host may write it before a program runs.
    pub fn is_externally_initialized(self) -> bool {
        // SAFETY: a variable that is alive.
        unsafe { LLVMIsExternallyInitialized(self.raw()) != 0 }
    }

    pub fn is_never_written(self) -> bool {
        // SAFETY: a variable that is alive.
        unsafe { LLVMIsGlobalConstant(self.raw()) != 0 }
    }

    /// Marks it as never written, or not.
    pub fn set_constant(self, constant: bool) {
        // SAFETY: a variable that is alive.
        unsafe { LLVMSetGlobalConstant(self.raw(), i32::from(constant)) }
    }
}
