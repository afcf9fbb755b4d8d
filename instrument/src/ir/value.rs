//! Values: constants, arguments, instructions, globals.

use super::{Block, Function, Type, c_string, message, text};
use inkwell::llvm_sys::{
    LLVMAtomicRMWBinOp, LLVMFastMathAllowContract, LLVMIntPredicate, core::*, prelude::LLVMValueRef,
};
pub use inkwell::llvm_sys::{LLVMOpcode as Opcode, LLVMValueKind as ValueKind};
use std::ffi::c_uint;

/// A value of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value(pub(super) LLVMValueRef);

impl Value {
    pub(super) fn from_raw(raw: LLVMValueRef) -> Option<Value> {
        (!raw.is_null()).then_some(Value(raw))
    }

    /// What the value is.
    pub fn kind(self) -> ValueKind {
        // SAFETY: valid handle (folder's invariant).
        unsafe { LLVMGetValueKind(self.0) }
    }

    /// Whether this is an instruction.
    pub fn is_instruction(self) -> bool {
        self.kind() == ValueKind::LLVMInstructionValueKind
    }

    /// Operation of an instruction or constant expression.
    pub fn opcode(self) -> Option<Opcode> {
        match self.kind() {
            ValueKind::LLVMInstructionValueKind => {
                // SAFETY: valid handle of an instruction.
                Some(unsafe { LLVMGetInstructionOpcode(self.0) })
            }
            ValueKind::LLVMConstantExprValueKind => {
                // SAFETY: valid handle of a constant expression.
                Some(unsafe { LLVMGetConstOpcode(self.0) })
            }
            _ => None,
        }
    }

    /// The value's type.
    pub fn ty(self) -> Type {
        // SAFETY: valid handle.
        Type(unsafe { LLVMTypeOf(self.0) })
    }

    /// The value's name; empty when it has none.
    pub fn name(self) -> String {
        let mut length = 0;
        // SAFETY: valid handle; the text is copied at once.
        let pointer = unsafe { LLVMGetValueName2(self.0, &mut length) };
        text(pointer, length)
    }

    /// Renames the value.
    pub fn set_name(self, name: &str) {
        let name = c_string(name);
        // SAFETY: valid handle; LLVM copies the name.
        unsafe { LLVMSetValueName2(self.0, name.as_ptr(), name.count_bytes()) }
    }

    /// The value as IR text.
    pub fn print(self) -> String {
        // SAFETY: valid handle; LLVM hands over the message.
        message(unsafe { LLVMPrintValueToString(self.0) })
    }

    /// Number of operands.
    pub fn operand_count(self) -> u32 {
        if matches!(
            self.kind(),
            ValueKind::LLVMArgumentValueKind
                | ValueKind::LLVMInlineAsmValueKind
                | ValueKind::LLVMBasicBlockValueKind
        ) {
            return 0;
        }
        // SAFETY: valid handle of a user.
        unsafe { LLVMGetNumOperands(self.0) as u32 }
    }

    /// Operand `index`.
    pub fn operand(self, index: u32) -> Value {
        // SAFETY: valid handle; callers stay below `operand_count`.
        Value(unsafe { LLVMGetOperand(self.0, index) })
    }

    /// All operands.
    pub fn operands(self) -> Vec<Value> {
        // A missing operand (null) appears for instance in functions without personality.
        (0..self.operand_count())
            // SAFETY: the index stays below the operand count.
            .filter_map(|i| Value::from_raw(unsafe { LLVMGetOperand(self.0, i) }))
            .collect()
    }

    /// Replaces operand `index`.
    pub fn set_operand(self, index: u32, value: Value) {
        // SAFETY: valid handles; callers stay below `operand_count`.
        unsafe { LLVMSetOperand(self.0, index, value.0) }
    }

    /// Every user, once for each use.
    pub fn users(self) -> Vec<Value> {
        let mut users = Vec::new();
        // SAFETY: the use list is not changed while it is walked.
        unsafe {
            let mut next = LLVMGetFirstUse(self.0);
            while !next.is_null() {
                users.push(Value(LLVMGetUser(next)));
                next = LLVMGetNextUse(next);
            }
        }
        users
    }

    /// Puts `other` wherever this value is used.
    pub fn replace_all_uses_with(self, other: Value) {
        // SAFETY: valid handles of values of one type.
        unsafe { LLVMReplaceAllUsesWith(self.0, other.0) }
    }

    /// Deletes an instruction that nothing uses any more.
    pub fn erase(self) {
        // SAFETY: valid handle of an instruction; the caller drops its copies (folder's invariant).
        unsafe { LLVMInstructionEraseFromParent(self.0) }
    }

    /// Deletes a global variable that nothing uses any more.
    pub fn erase_variable(self) {
        // SAFETY: valid handle of a global variable; the caller drops its copies (folder's invariant).
        unsafe { LLVMDeleteGlobal(self.0) }
    }

    /// The function, when the value is one.
    pub fn as_function(self) -> Option<Function> {
        (self.kind() == ValueKind::LLVMFunctionValueKind).then_some(Function(self.0))
    }

    /// The block that an instruction stands in.
    pub fn parent_block(self) -> Block {
        // SAFETY: valid handle of an instruction inside a block.
        Block(unsafe { LLVMGetInstructionParent(self.0) })
    }

    /// Type of what an alloca makes room for.
    pub fn alloca_type(self) -> Type {
        // SAFETY: valid handle of an alloca.
        Type(unsafe { LLVMGetAllocatedType(self.0) })
    }

    /// Whether a load or store is volatile.
    pub fn is_volatile(self) -> bool {
        // SAFETY: valid handle of a load or store.
        unsafe { LLVMGetVolatile(self.0) != 0 }
    }

    /// The function that an instruction or argument belongs to.
    pub fn parent_function(self) -> Function {
        // SAFETY: valid handle of an instruction inside a function, or of an argument.
        unsafe {
            if self.kind() == ValueKind::LLVMArgumentValueKind {
                Function(LLVMGetParamParent(self.0))
            } else {
                Function(LLVMGetBasicBlockParent(LLVMGetInstructionParent(self.0)))
            }
        }
    }

    /// The instruction behind this one in its block.
    pub fn next(self) -> Option<Value> {
        // SAFETY: valid handle of an instruction inside a block; null behind the last.
        Value::from_raw(unsafe { LLVMGetNextInstruction(self.0) })
    }

    /// What a call calls: a function, inline assembly, or a computed pointer.
    pub fn callee(self) -> Value {
        // SAFETY: valid handle of a call.
        Value(unsafe { LLVMGetCalledValue(self.0) })
    }

    /// Type of the function that a call calls.
    pub fn called_type(self) -> Type {
        // SAFETY: valid handle of a call.
        Type(unsafe { LLVMGetCalledFunctionType(self.0) })
    }

    /// Arguments of a call.
    pub fn arguments(self) -> Vec<Value> {
        // SAFETY: valid handle of a call; the arguments are its first operands.
        let count = unsafe { LLVMGetNumArgOperands(self.0) };
        (0..count).map(|i| self.operand(i)).collect()
    }

    /// Incoming values of a phi.
    pub fn incoming(self) -> Vec<Value> {
        // SAFETY: valid handle of a phi; the index stays below the count.
        unsafe {
            (0..LLVMCountIncoming(self.0))
                .map(|i| Value(LLVMGetIncomingValue(self.0, i)))
                .collect()
        }
    }

    /// Incoming blocks of a phi, in the order of [`Value::incoming`].
    pub fn incoming_blocks(self) -> Vec<Block> {
        // SAFETY: valid handle of a phi; the index stays below the count.
        unsafe {
            (0..LLVMCountIncoming(self.0))
                .map(|i| Block(LLVMGetIncomingBlock(self.0, i)))
                .collect()
        }
    }

    /// Makes a call call `callee`, which has the type of the present callee.
    pub fn set_callee(self, callee: Function) {
        // The callee is a call's last operand.
        self.set_operand(self.operand_count() - 1, callee.value());
    }

    /// Operation of an `atomicrmw`.
    pub fn atomic_operation(self) -> LLVMAtomicRMWBinOp {
        // SAFETY: valid handle of an `atomicrmw`.
        unsafe { LLVMGetAtomicRMWBinOp(self.0) }
    }

    /// Whether the value is known before the program runs.
    pub fn is_constant(self) -> bool {
        // SAFETY: valid handle.
        unsafe { LLVMIsConstant(self.0) != 0 }
    }

    /// How a comparison of integers (`icmp`) compares.
    pub fn integer_predicate(self) -> Option<LLVMIntPredicate> {
        (self.opcode() == Some(Opcode::LLVMICmp))
            // SAFETY: valid handle of an instruction of this kind.
            .then(|| unsafe { LLVMGetICmpPredicate(self.0) })
    }

    /// Value of a constant integer of at most 64 bits.
    pub fn constant_integer(self) -> Option<u64> {
        (self.kind() == ValueKind::LLVMConstantIntValueKind)
            // SAFETY: valid handle of a constant integer.
            .then(|| unsafe { LLVMConstIntGetZExtValue(self.0) })
    }

    /// Type of the value that a global variable holds, or of a function.
    pub fn value_type(self) -> Type {
        // SAFETY: valid handle of a global value.
        Type(unsafe { LLVMGlobalGetValueType(self.0) })
    }

    /// Initial value of a global variable.
    pub fn initializer(self) -> Option<Value> {
        // SAFETY: valid handle of a global variable.
        Value::from_raw(unsafe { LLVMGetInitializer(self.0) })
    }

    /// Sets the initial value of a global variable.
    pub fn set_initializer(self, value: Value) {
        // SAFETY: valid handles; the value has the variable's type.
        unsafe { LLVMSetInitializer(self.0, value.0) }
    }

    /// Whether a global value is only declared here.
    pub fn is_declaration(self) -> bool {
        // SAFETY: valid handle of a global value.
        unsafe { LLVMIsDeclaration(self.0) != 0 }
    }

    /// Makes a global variable thread-local with the initial-exec model's strongest form, local-exec.
    pub fn set_thread_local(self) {
        // SAFETY: valid handle of a global variable.
        unsafe {
            LLVMSetThreadLocal(self.0, 1);
            LLVMSetThreadLocalMode(
                self.0,
                inkwell::llvm_sys::LLVMThreadLocalMode::LLVMLocalExecTLSModel,
            );
        }
    }

    /// Whether a global variable exists once for each thread.
    pub fn is_thread_local(self) -> bool {
        // SAFETY: valid handle of a global variable.
        unsafe { LLVMIsThreadLocal(self.0) != 0 }
    }

    /// The address of a global variable as a constant generic pointer.
    pub fn as_generic_constant(self, module: &super::Module) -> Value {
        if self.ty().address_space() == 0 {
            return self;
        }
        // SAFETY: valid handles.
        Value(unsafe { LLVMConstAddrSpaceCast(self.0, module.pointer(0).0) })
    }

    /// Alignment of a global variable, alloca, load or store.
    pub fn alignment_bytes(self) -> u32 {
        // SAFETY: valid handle of a value that has an alignment.
        unsafe { LLVMGetAlignment(self.0) }
    }

    /// Sets the alignment of a global variable, alloca, load or store.
    pub fn set_alignment_bytes(self, bytes: u32) {
        // SAFETY: valid handle of a value that has an alignment; `bytes` is a power of two.
        unsafe { LLVMSetAlignment(self.0, bytes) }
    }

    /// Marks a global variable as constant or not.
    pub fn set_constant(self, constant: bool) {
        // SAFETY: valid handle of a global variable.
        unsafe { LLVMSetGlobalConstant(self.0, i32::from(constant)) }
    }

    /// Template and constraints, when the value is inline assembly.
    pub fn inline_assembly(self) -> Option<(String, String)> {
        if self.kind() != ValueKind::LLVMInlineAsmValueKind {
            return None;
        }
        let (mut template_length, mut constraint_length) = (0, 0);
        // SAFETY: valid handle of inline assembly; the texts are copied at once.
        unsafe {
            let template = LLVMGetInlineAsmAsmString(self.0, &mut template_length);
            let constraints = LLVMGetInlineAsmConstraintString(self.0, &mut constraint_length);
            Some((
                text(template, template_length),
                text(constraints, constraint_length),
            ))
        }
    }

    /// The way to a member that an `extractvalue` or `insertvalue` names.
    pub fn indices(self) -> Vec<u32> {
        // SAFETY: valid handle of such an instruction; LLVM lends as many numbers as it says, and they are copied at once.
        unsafe {
            let count = LLVMGetNumIndices(self.0) as usize;
            std::slice::from_raw_parts(LLVMGetIndices(self.0), count).to_vec()
        }
    }

    /// Source element type of a `getelementptr`.
    pub fn gep_element(self) -> Type {
        // SAFETY: valid handle of a `getelementptr` instruction or constant.
        Type(unsafe { LLVMGetGEPSourceElementType(self.0) })
    }

    /// Copies everything a call says about itself to `other`: attributes, convention, tail-call kind.
    pub fn copy_call_properties_to(self, other: Value) {
        // SAFETY: valid handles of calls; each attribute index exists in both (the argument lists only grow at the end).
        unsafe {
            LLVMSetInstructionCallConv(other.0, LLVMGetInstructionCallConv(self.0));
            LLVMSetTailCallKind(other.0, LLVMGetTailCallKind(self.0));
            let last = LLVMGetNumArgOperands(self.0);
            for index in (0..=last).chain([c_uint::MAX]) {
                let count = LLVMGetCallSiteAttributeCount(self.0, index) as usize;
                let mut attributes = vec![std::ptr::null_mut(); count];
                LLVMGetCallSiteAttributes(self.0, index, attributes.as_mut_ptr());
                for attribute in attributes {
                    LLVMAddCallSiteAttribute(other.0, index, attribute);
                }
            }
        }
    }

    /// Type of the copy that a call makes of what argument `index` points to, if it passes that by value.
    pub fn by_value_type(self, index: c_uint) -> Option<Type> {
        let kind = super::function::attribute_kind("byval");
        // SAFETY: valid handle of a call; an absent attribute is null, a present one holds a type.
        unsafe {
            let attribute = LLVMGetCallSiteEnumAttribute(self.0, index + 1, kind);
            (!attribute.is_null()).then(|| Type(LLVMGetTypeAttributeValue(attribute)))
        }
    }

    /// Adds the attribute `name` (one without a value) to a call.
    pub fn add_call_attribute(self, name: &str) {
        // SAFETY: valid handle of a call; the context is its own.
        unsafe {
            let context = LLVMGetTypeContext(LLVMTypeOf(self.0));
            let kind = super::function::attribute_kind(name);
            let attribute = LLVMCreateEnumAttribute(context, kind, 0);
            LLVMAddCallSiteAttribute(self.0, c_uint::MAX, attribute);
        }
    }

    /// Removes the attribute `name` of a call from the call itself, its result and its arguments.
    pub fn remove_call_attribute(self, name: &str) {
        let kind = super::function::attribute_kind(name);
        // SAFETY: valid handle of a call; removing an absent attribute does nothing.
        unsafe {
            for index in (0..=LLVMGetNumArgOperands(self.0)).chain([c_uint::MAX]) {
                LLVMRemoveCallSiteEnumAttribute(self.0, index, kind);
            }
        }
    }

    /// Whether a floating-point operation may be fused with its neighbours.
    pub fn allows_contraction(self) -> bool {
        // SAFETY: valid handle of an instruction; only those that can carry the flags are asked for them.
        unsafe {
            LLVMCanValueUseFastMathFlags(self.0) != 0
                && LLVMGetFastMathFlags(self.0) & LLVMFastMathAllowContract != 0
        }
    }

    /// Gives `other`, a new instruction of the same kind, this one's fast-math flags except that permission.
    pub fn copy_fast_math_but_contraction(self, other: Value) {
        // SAFETY: valid handles of floating-point instructions. A constant-folded `other` takes no flags.
        unsafe {
            if other.is_instruction() {
                LLVMSetFastMathFlags(
                    other.0,
                    LLVMGetFastMathFlags(self.0) & !LLVMFastMathAllowContract,
                );
            }
        }
    }

    /// Calling convention of a call.
    pub fn set_call_convention(self, convention: u32) {
        // SAFETY: valid handle of a call.
        unsafe { LLVMSetInstructionCallConv(self.0, convention) }
    }
}
