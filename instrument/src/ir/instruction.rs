//! Instructions, and calls among them.

use super::value::kind_of_value;
use super::{Block, Function, Opcode, Type, Value, ValueKind};
use llvm_sys::{
    LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMFastMathAllowContract, LLVMInlineAsmDialect,
    LLVMIntPredicate,
};
use llvm_sys::{core::*, debuginfo::LLVMInstructionGetDebugLoc, prelude::LLVMMetadataRef};

kind_of_value! {
    /// An instruction. It stands in a block until it is erased.
    Instruction is a Value
}

kind_of_value! {
    /// A call: of a function, of inline assembly, or of a computed pointer.
    Call is a Instruction
}

impl<'m> Instruction<'m> {
    pub fn operation(self) -> Opcode {
        // SAFETY: an instruction that is alive.
        unsafe { LLVMGetInstructionOpcode(self.raw()) }
    }

    /// Checks that the operation is among these.
    fn expect(self, operations: &[Opcode]) {
        let found = self.operation();
        assert!(
            operations.contains(&found),
            "{found:?} is none of {operations:?}"
        );
    }

    /// The block that the instruction stands in.
    pub fn parent_block(self) -> Block<'m> {
        // SAFETY: an instruction that is alive; null when it stands in no block, which is refused.
        unsafe {
            let block = LLVMGetInstructionParent(self.raw());
            assert!(!block.is_null(), "the instruction was erased");
            Block::new(block)
        }
    }

    pub fn parent_function(self) -> Function<'m> {
        // SAFETY: the block is alive, and blocks stand in functions as long as they live.
        unsafe { Function::new(LLVMGetBasicBlockParent(self.parent_block().raw())) }
    }

    /// The instruction behind this one in its block.
    pub fn next(self) -> Option<Instruction<'m>> {
        self.parent_block();
        // SAFETY: the instruction stands in a block (checked); null behind the last.
        unsafe { super::optional(LLVMGetNextInstruction(self.raw()), Instruction::new) }
    }

    /// Replaces operand `index` by a value of its type.
    pub fn set_operand(self, index: u32, value: Value<'m>) {
        assert_eq!(self.operand(index).ty(), value.ty());
        // SAFETY: `operand` has found the index to be one; two values of one module (*one module*), of one type (asserted).
        unsafe { LLVMSetOperand(self.raw(), index, value.raw()) }
    }

    /// Puts `new` wherever `old` is an operand.
    pub fn replace_operand(self, old: Value<'m>, new: Value<'m>) {
        for index in 0..self.operand_count() {
            if self.operand(index) == old {
                self.set_operand(index, new);
            }
        }
    }

    /// Puts `other` wherever this value is used.
    pub fn replace_all_uses_with(self, other: Value<'m>) {
        assert!(self.value() != other && self.ty() == other.ty());
        // SAFETY: two different values (asserted) of one module (*one module*), of one type (asserted). What uses an
        // instruction is an instruction or metadata, which no handle points to: nothing that is *alive* is freed.
        unsafe { LLVMReplaceAllUsesWith(self.raw(), other.raw()) }
    }

    /// Puts `other` in the place of this instruction, under its name.
    pub fn replace_with(self, other: Value<'m>) {
        if !self.ty().is_void() {
            let name = self.name();
            self.replace_all_uses_with(other);
            self.set_name("");
            if !name.is_empty() {
                other.set_name(&name);
            }
        }
        self.erase();
    }

    /// Takes an instruction that nothing uses, and that does not end its block, out of it.
    pub fn erase(self) {
        assert!(Some(self) != self.parent_block().terminator());
        assert!(
            self.users().is_empty(),
            "erased while it is used: {}",
            self.print()
        );
        let ty = self.ty();
        if !ty.is_void() {
            // What debug information knows of the value goes, as when LLVM deletes an instruction.
            self.replace_all_uses_with(ty.poison());
        }
        for index in 0..self.operand_count() {
            let operand = self.operand(index);
            if !operand.ty().is_metadata() {
                self.set_operand(index, operand.ty().poison());
            }
        }
        // SAFETY: the instruction stands in a block (checked). It is taken out and never freed: handles of it stay *alive*.
        unsafe { LLVMInstructionRemoveFromParent(self.raw()) }
    }

    /// Type of what an alloca makes room for.
    pub fn alloca_type(self) -> Type {
        self.expect(&[Opcode::LLVMAlloca]);
        // SAFETY: the operation was just checked; the type lives in the context.
        unsafe { Type::new(LLVMGetAllocatedType(self.raw())) }
    }

    /// Whether a load or store is volatile.
    pub fn is_volatile(self) -> bool {
        self.expect(&[Opcode::LLVMLoad, Opcode::LLVMStore]);
        // SAFETY: the operation was just checked.
        unsafe { LLVMGetVolatile(self.raw()) != 0 }
    }

    /// Whether a load or store is atomic.
    pub fn is_atomic(self) -> bool {
        self.expect(&[Opcode::LLVMLoad, Opcode::LLVMStore]);
        // SAFETY: the operation was just checked.
        let ordering = unsafe { LLVMGetOrdering(self.raw()) };
        ordering != LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic
    }

    /// Makes a load or store one that the compiler neither drops nor repeats.
    pub fn make_volatile(self) {
        self.expect(&[Opcode::LLVMLoad, Opcode::LLVMStore]);
        // SAFETY: the operation was just checked.
        unsafe { LLVMSetVolatile(self.raw(), 1) }
    }

    /// Says of a load or a store that its address is a multiple of `bytes`, and promises no more.
    pub fn set_alignment(self, bytes: u32) {
        self.expect(&[Opcode::LLVMLoad, Opcode::LLVMStore]);
        assert!(bytes.is_power_of_two());
        // SAFETY: an operation that has an alignment, and a power of two (both were just checked).
        unsafe { LLVMSetAlignment(self.raw(), bytes) }
    }

    /// What the address of a load, a store or an atomic operation is said to be a multiple of.
    pub fn access_alignment_bytes(self) -> u32 {
        self.expect(&[
            Opcode::LLVMLoad,
            Opcode::LLVMStore,
            Opcode::LLVMAtomicRMW,
            Opcode::LLVMAtomicCmpXchg,
        ]);
        // SAFETY: an operation that has an alignment, as was just checked.
        unsafe { LLVMGetAlignment(self.raw()) }
    }

    /// Incoming values of a phi, and the blocks that they come from.
    pub fn incoming(self) -> Vec<(Value<'m>, Block<'m>)> {
        self.expect(&[Opcode::LLVMPHI]);
        // SAFETY: the operation was just checked; the index stays below the number of incoming values.
        unsafe {
            (0..LLVMCountIncoming(self.raw()))
                .map(|i| {
                    let value = Value::new(LLVMGetIncomingValue(self.raw(), i));
                    (value, Block::new(LLVMGetIncomingBlock(self.raw(), i)))
                })
                .collect()
        }
    }

    /// Adds an incoming value to a phi.
    pub(super) fn add_incoming(self, value: Value<'m>, block: Block<'m>) {
        self.expect(&[Opcode::LLVMPHI]);
        assert_eq!(self.ty(), value.ty());
        let (mut value, mut block) = (value.raw(), block.raw());
        // SAFETY: the operation was just checked, and so was the value's type; LLVM reads one value and one block.
        unsafe { LLVMAddIncoming(self.raw(), &mut value, &mut block, 1) }
    }

    pub fn atomic_operation(self) -> LLVMAtomicRMWBinOp {
        self.expect(&[Opcode::LLVMAtomicRMW]);
        // SAFETY: the operation was just checked.
        unsafe { LLVMGetAtomicRMWBinOp(self.raw()) }
    }

    /// How a comparison of integers (`icmp`) compares.
    pub fn integer_predicate(self) -> Option<LLVMIntPredicate> {
        (self.operation() == Opcode::LLVMICmp)
            // SAFETY: the operation was just checked.
            .then(|| unsafe { LLVMGetICmpPredicate(self.raw()) })
    }

    /// Whether a `zext` says of itself that its operand has no sign.
    pub fn is_never_negative(self) -> bool {
        self.expect(&[Opcode::LLVMZExt]);
        // SAFETY: the operation was just checked; it can carry the flag.
        unsafe { LLVMGetNNeg(self.raw()) != 0 }
    }

    /// Makes a `getelementptr` promise nothing of where it leads.
    pub fn drop_address_promises(self) {
        self.expect(&[Opcode::LLVMGetElementPtr]);
        // SAFETY: the operation was just checked.
        unsafe { LLVMGEPSetNoWrapFlags(self.raw(), 0) };
    }

    /// The way to a member that an `extractvalue` or `insertvalue` names.
    pub fn indices(self) -> Vec<u32> {
        self.expect(&[Opcode::LLVMExtractValue, Opcode::LLVMInsertValue]);
        // SAFETY: the operation was just checked; LLVM lends as many numbers as it says, and they are copied at once.
        unsafe {
            let count = LLVMGetNumIndices(self.raw()) as usize;
            std::slice::from_raw_parts(LLVMGetIndices(self.raw()), count).to_vec()
        }
    }

    /// Whether a floating-point operation may be fused with its neighbours.
    pub fn allows_contraction(self) -> bool {
        // SAFETY: only those that can carry the flags are asked for them.
        unsafe {
            LLVMCanValueUseFastMathFlags(self.raw()) != 0
                && LLVMGetFastMathFlags(self.raw()) & LLVMFastMathAllowContract != 0
        }
    }

    /// Gives `other`, unless it was folded to a constant, this one's fast-math flags except that permission.
    pub fn copy_fast_math_but_contraction(self, other: Value<'m>) {
        // SAFETY: only those that can carry the flags are asked for them, or get them.
        unsafe {
            if LLVMCanValueUseFastMathFlags(self.raw()) != 0
                && other.as_instruction().is_some()
                && LLVMCanValueUseFastMathFlags(other.raw()) != 0
            {
                let flags = LLVMGetFastMathFlags(self.raw());
                LLVMSetFastMathFlags(other.raw(), flags & !LLVMFastMathAllowContract);
            }
        }
    }

    /// A copy with the same operands, which stands nowhere yet.
    pub(super) fn detached_copy(self) -> Instruction<'m> {
        // SAFETY: an instruction that is alive; so is its copy, which nobody frees.
        unsafe { Instruction::new(LLVMInstructionClone(self.raw())) }
    }

    /// Takes the instruction out of its block, to stand elsewhere.
    pub(super) fn detach(self) {
        self.parent_block();
        // SAFETY: the instruction stands in a block (checked); it is not freed.
        unsafe { LLVMInstructionRemoveFromParent(self.raw()) }
    }

    /// The debug location, for instructions built in this one's place.
    pub(super) fn debug_location(self) -> LLVMMetadataRef {
        // SAFETY: an instruction that is alive; null without debug information.
        unsafe { LLVMInstructionGetDebugLoc(self.raw()) }
    }

    /// Says that this access touches memory of `own` and none of `other`.
    pub fn set_scopes(self, own: Scope, other: Scope) {
        let context = super::context();
        for (name, scope) in [("alias.scope", own), ("noalias", other)] {
            // SAFETY: an instruction, and lists of scopes, of the thread's context; the name's length is given.
            unsafe {
                let kind =
                    LLVMGetMDKindIDInContext(context, name.as_ptr().cast(), name.len() as u32);
                LLVMSetMetadata(self.raw(), kind, LLVMMetadataAsValue(context, scope.0));
            }
        }
    }
}

/// Memory apart from that of every other scope, as LLVM's analysis of aliases has it: a list of one scope.
#[derive(Clone, Copy)]
pub struct Scope(LLVMMetadataRef);

impl Scope {
    pub fn named(name: &str) -> Self {
        let context = super::context();
        // SAFETY: strings are given with their lengths, nodes with the number of their parts, all of the thread's context,
        // in which they live.
        unsafe {
            let text =
                |text: &str| LLVMMDStringInContext2(context, text.as_ptr().cast(), text.len());
            let node = |mut parts: Vec<LLVMMetadataRef>| {
                LLVMMDNodeInContext2(context, parts.as_mut_ptr(), parts.len())
            };
            // Named by strings, scopes of all modules are the same.
            let domain = node(vec![text("superstep.memory")]);
            Scope(node(vec![node(vec![text(name), domain])]))
        }
    }
}

impl<'m> Call<'m> {
    pub fn callee(self) -> Value<'m> {
        // SAFETY: a call that is alive calls a value of its module.
        unsafe { Value::new(LLVMGetCalledValue(self.raw())) }
    }

    /// The function that is called; `None` for inline assembly, computed pointers, and a function called as another type.
    pub fn function(self) -> Option<Function<'m>> {
        let function = self.callee().as_function();
        function.filter(|f| f.signature() == self.called_type())
    }

    /// The name of the function that is called; empty for inline assembly and computed pointers.
    pub fn function_name(self) -> String {
        self.function().map(|f| f.name()).unwrap_or_default()
    }

    /// The function that is called, if its body is here.
    pub fn defined_function(self) -> Option<Function<'m>> {
        self.function().filter(|f| !f.is_declaration())
    }

    /// Whether the call goes through a computed pointer.
    pub fn is_indirect(self) -> bool {
        self.function().is_none() && self.callee().inline_assembly().is_none()
    }

    /// Whether a piece of inline assembly does more than its results tell.
    pub fn assembly_has_effects(self) -> bool {
        let callee = self.callee();
        assert_eq!(callee.kind(), ValueKind::LLVMInlineAsmValueKind);
        // SAFETY: the kind was just checked.
        unsafe { LLVMGetInlineAsmHasSideEffects(callee.raw()) != 0 }
    }

    /// Makes a call of inline assembly one that LLVM keeps and leaves where it is among accesses to memory.
    pub fn keep_assembly(self) {
        const CLOBBER: &str = "~{memory}";
        let assembly = self.callee().inline_assembly();
        let (template, mut constraints) = assembly.expect("a call of inline assembly");
        if !constraints.contains(CLOBBER) {
            let comma = if constraints.is_empty() { "" } else { "," };
            constraints = format!("{constraints}{comma}{CLOBBER}");
        }
        let bytes = |text: &String| (text.as_ptr().cast(), text.len());
        let ((text, length), (list, of_list)) = (bytes(&template), bytes(&constraints));
        let ty = self.called_type().raw();
        let dialect = LLVMInlineAsmDialect::LLVMInlineAsmDialectATT;
        // SAFETY: texts of which LLVM copies as many bytes as it is told. But for a clobber they are those of the present callee, and so
        // is the type: the new one can be called in its place, which is the call's last operand.
        unsafe {
            let new = LLVMGetInlineAsm(ty, text, length, list, of_list, 1, 0, dialect, 0);
            LLVMSetOperand(self.raw(), self.operand_count() - 1, new);
        }
    }

    /// Type of the function that is called.
    pub fn called_type(self) -> Type {
        // SAFETY: a call that is alive; the type lives in the context.
        unsafe { Type::new(LLVMGetCalledFunctionType(self.raw())) }
    }

    pub fn arguments(self) -> Vec<Value<'m>> {
        // SAFETY: a call that is alive.
        let count = unsafe { LLVMGetNumArgOperands(self.raw()) };
        // The arguments are a call's first operands.
        (0..count).map(|i| self.operand(i)).collect()
    }

    /// Makes the call call `callee`, which has the type of the present callee.
    pub fn set_callee(self, callee: Function<'m>) {
        assert_eq!(self.called_type(), callee.value_type());
        // The callee is a call's last operand.
        self.set_operand(self.operand_count() - 1, callee.value());
    }

    /// Copies everything that the call says about itself to `other`, which passes at least as many arguments: attributes,
    /// convention, tail-call kind.
    pub fn copy_properties_to(self, other: Call<'m>) {
        // SAFETY: two calls that are alive.
        unsafe {
            LLVMSetInstructionCallConv(other.raw(), LLVMGetInstructionCallConv(self.raw()));
            LLVMSetTailCallKind(other.raw(), LLVMGetTailCallKind(self.raw()));
        }
        for index in self.attribute_indices() {
            for attribute in self.attributes_at(index) {
                other.add_attribute_at(index, attribute);
            }
        }
    }

    /// Takes over what `function`, which has as many parameters, says about how they are passed (`byval`, `zeroext`).
    pub fn pass_as(self, function: Function<'m>) {
        for index in 1..=function.parameters().len() as u32 {
            for attribute in function.attributes_at(index) {
                self.add_attribute_at(index, attribute);
            }
        }
    }

    pub fn set_convention(self, convention: u32) {
        // SAFETY: a call that is alive.
        unsafe { LLVMSetInstructionCallConv(self.raw(), convention) }
    }
}
