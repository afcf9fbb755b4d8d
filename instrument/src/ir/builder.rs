//! Building instructions.

use super::{Block, Function, Module, Type, Value};
use inkwell::llvm_sys::{LLVMIntPredicate, LLVMOpcode, core::*, prelude::LLVMBuilderRef};
use std::ffi::c_char;

const UNNAMED: *const c_char = c"".as_ptr();

/// A position in a function where instructions are added.
pub struct Builder(LLVMBuilderRef);

impl Drop for Builder {
    fn drop(&mut self) {
        // SAFETY: we own the builder.
        unsafe { LLVMDisposeBuilder(self.0) }
    }
}

impl Builder {
    /// A builder without a position.
    fn new(module: &Module) -> Self {
        // SAFETY: the context lives as long as the module.
        Builder(unsafe { LLVMCreateBuilderInContext(module.context()) })
    }

    /// Adds before `instruction`, with its source position.
    pub fn before(module: &Module, instruction: Value) -> Self {
        let builder = Self::new(module);
        // SAFETY: valid handle of an instruction inside a block.
        unsafe {
            LLVMPositionBuilderBefore(builder.0, instruction.0);
            LLVMSetCurrentDebugLocation2(builder.0, instruction.debug_location());
        }
        builder
    }

    /// Adds at the end of `block`.
    pub fn at_end(module: &Module, block: Block) -> Self {
        let builder = Self::new(module);
        // SAFETY: valid handle.
        unsafe { LLVMPositionBuilderAtEnd(builder.0, block.0) };
        builder
    }

    /// Adds at the start of `function`'s body, without a source position.
    pub fn at_entry(module: &Module, function: Function) -> Self {
        let builder = Self::new(module);
        if let Some(first) = function
            .blocks()
            .first()
            .and_then(|b| b.instructions().first().copied())
        {
            // SAFETY: valid handle; an entry block has no phis, so its first instruction is a legal place.
            unsafe { LLVMPositionBuilderBefore(builder.0, first.0) };
        }
        builder
    }

    /// Calls `callee`.
    pub fn call(&self, ty: Type, callee: Value, arguments: &[Value]) -> Value {
        let mut raw: Vec<_> = arguments.iter().map(|v| v.0).collect();
        // SAFETY: valid handles; the arguments fit the type (LLVM's verifier checks the module afterwards).
        Value(unsafe {
            LLVMBuildCall2(
                self.0,
                ty.0,
                callee.0,
                raw.as_mut_ptr(),
                raw.len() as u32,
                UNNAMED,
            )
        })
    }

    /// Loads a `ty` from `pointer`.
    pub fn load(&self, ty: Type, pointer: Value) -> Value {
        // SAFETY: valid handles.
        Value(unsafe { LLVMBuildLoad2(self.0, ty.0, pointer.0, UNNAMED) })
    }

    /// Stores `value` to `pointer`.
    pub fn store(&self, value: Value, pointer: Value) -> Value {
        // SAFETY: valid handles.
        Value(unsafe { LLVMBuildStore(self.0, value.0, pointer.0) })
    }

    /// `pointer + offset_bytes`.
    pub fn offset(&self, module: &Module, pointer: Value, offset_bytes: u64) -> Value {
        let mut index = [module.int(64).constant(offset_bytes).0];
        // SAFETY: valid handles.
        Value(unsafe {
            LLVMBuildInBoundsGEP2(
                self.0,
                module.int(8).0,
                pointer.0,
                index.as_mut_ptr(),
                1,
                UNNAMED,
            )
        })
    }

    /// The same `getelementptr` as the constant `like`, over new operands.
    pub fn gep_like(&self, like: Value, operands: &[Value]) -> Value {
        let mut indices: Vec<_> = operands[1..].iter().map(|v| v.0).collect();
        // SAFETY: valid handles; the operands have the types of those of `like`.
        Value(unsafe {
            LLVMBuildGEPWithNoWrapFlags(
                self.0,
                like.gep_element().0,
                operands[0].0,
                indices.as_mut_ptr(),
                indices.len() as u32,
                UNNAMED,
                LLVMGEPGetNoWrapFlags(like.0),
            )
        })
    }

    /// A cast.
    pub fn cast(&self, opcode: LLVMOpcode, value: Value, ty: Type) -> Value {
        // SAFETY: valid handles; the cast is one that LLVM knows for these types.
        Value(unsafe { LLVMBuildCast(self.0, opcode, value.0, ty.0, UNNAMED) })
    }

    /// `pointer`, which may be a number, in the generic address space.
    pub fn to_generic(&self, module: &Module, pointer: Value) -> Value {
        if !pointer.ty().is_pointer() {
            return self.cast(LLVMOpcode::LLVMIntToPtr, pointer, module.pointer(0));
        }
        if pointer.ty().address_space() == 0 {
            return pointer;
        }
        self.cast(LLVMOpcode::LLVMAddrSpaceCast, pointer, module.pointer(0))
    }

    /// A binary operation.
    pub fn binary(&self, opcode: LLVMOpcode, left: Value, right: Value) -> Value {
        // SAFETY: valid handles of one type that the operation takes.
        Value(unsafe { LLVMBuildBinOp(self.0, opcode, left.0, right.0, UNNAMED) })
    }

    /// A sum that exceeds neither the signed nor the unsigned numbers of its type.
    pub fn sum_without_overflow(&self, left: Value, right: Value) -> Value {
        let sum = self.binary(LLVMOpcode::LLVMAdd, left, right);
        if sum.is_instruction() {
            // SAFETY: valid handle of an addition.
            unsafe {
                LLVMSetNUW(sum.0, 1);
                LLVMSetNSW(sum.0, 1);
            }
        }
        sum
    }

    /// A floating-point value with its sign changed.
    pub fn negate(&self, value: Value) -> Value {
        // SAFETY: valid handle of a floating-point value.
        Value(unsafe { LLVMBuildFNeg(self.0, value.0, UNNAMED) })
    }

    /// An integer comparison.
    pub fn compare(&self, predicate: LLVMIntPredicate, left: Value, right: Value) -> Value {
        // SAFETY: valid handles of one integer type.
        Value(unsafe { LLVMBuildICmp(self.0, predicate, left.0, right.0, UNNAMED) })
    }

    /// A phi without incoming values.
    pub fn phi(&self, ty: Type) -> Value {
        // SAFETY: valid handle.
        Value(unsafe { LLVMBuildPhi(self.0, ty.0, UNNAMED) })
    }

    /// Inserts an instruction that stands nowhere yet.
    pub fn insert_instruction(&self, instruction: Value) {
        // SAFETY: valid handle of an instruction without a parent.
        unsafe { LLVMInsertIntoBuilder(self.0, instruction.0) }
    }

    /// A copy of `instruction` with the same operands.
    pub fn repeat(&self, instruction: Value) -> Value {
        // SAFETY: valid handle; the copy has no parent until it is inserted.
        let copy = Value(unsafe { LLVMInstructionClone(instruction.0) });
        self.insert_instruction(copy);
        copy
    }

    /// A conditional value.
    pub fn select(&self, condition: Value, then: Value, otherwise: Value) -> Value {
        // SAFETY: valid handles.
        Value(unsafe { LLVMBuildSelect(self.0, condition.0, then.0, otherwise.0, UNNAMED) })
    }

    /// `aggregate` with member `index` replaced.
    pub fn insert(&self, aggregate: Value, value: Value, index: u32) -> Value {
        // SAFETY: valid handles; the member has the value's type.
        Value(unsafe { LLVMBuildInsertValue(self.0, aggregate.0, value.0, index, UNNAMED) })
    }

    /// Copies `bytes` bytes from `source` to `target`, both of which `alignment_bytes` divides.
    pub fn copy(
        &self,
        module: &Module,
        target: Value,
        source: Value,
        bytes: u64,
        alignment_bytes: u32,
    ) {
        let length = module.int(64).constant(bytes);
        // SAFETY: valid handles of two pointers and an integer.
        unsafe {
            LLVMBuildMemCpy(
                self.0,
                target.0,
                alignment_bytes,
                source.0,
                alignment_bytes,
                length.0,
            )
        };
    }

    /// Stack memory for one `ty`.
    pub fn alloca(&self, ty: Type) -> Value {
        // SAFETY: valid handle of a sized type.
        Value(unsafe { LLVMBuildAlloca(self.0, ty.0, UNNAMED) })
    }

    /// Branches on `condition`.
    pub fn branch_if(&self, condition: Value, then: Block, otherwise: Block) {
        // SAFETY: valid handles.
        unsafe { LLVMBuildCondBr(self.0, condition.0, then.0, otherwise.0) };
    }

    /// Branches.
    pub fn branch(&self, target: Block) {
        // SAFETY: valid handle.
        unsafe { LLVMBuildBr(self.0, target.0) };
    }

    /// `pointer + offset_bytes`, an offset of 64 bits that is known when the program runs.
    pub fn offset_by(&self, module: &Module, pointer: Value, offset_bytes: Value) -> Value {
        let mut index = [offset_bytes.0];
        // SAFETY: valid handles.
        Value(unsafe {
            LLVMBuildInBoundsGEP2(
                self.0,
                module.int(8).0,
                pointer.0,
                index.as_mut_ptr(),
                1,
                UNNAMED,
            )
        })
    }

    /// Jumps to the block of the case that `value` equals, or to `otherwise`.
    pub fn switch(&self, value: Value, otherwise: Block, cases: &[(u64, Block)]) {
        // SAFETY: valid handles; the cases are constants of the value's type.
        unsafe {
            let switch = LLVMBuildSwitch(self.0, value.0, otherwise.0, cases.len() as u32);
            for (number, block) in cases {
                LLVMAddCase(switch, value.ty().constant(*number).0, block.0);
            }
        }
    }

    /// Returns `value`.
    pub fn return_value(&self, value: Value) {
        // SAFETY: valid handle of a value of the function's result type.
        unsafe { LLVMBuildRet(self.0, value.0) };
    }

    /// A place that is never reached.
    pub fn unreachable(&self) {
        // SAFETY: valid handle.
        unsafe { LLVMBuildUnreachable(self.0) };
    }

    /// Returns nothing.
    pub fn return_void(&self) {
        // SAFETY: the function returns nothing.
        unsafe { LLVMBuildRetVoid(self.0) };
    }
}
