//! Functions and basic blocks.

use super::value::kind_of_value;
use super::{Builder, Call, Global, Instruction, Module, Type, Value, c_string, context};
use llvm_sys::prelude::LLVMBasicBlockRef;
use llvm_sys::{core::*, debuginfo::*};
use std::marker::PhantomData;

/// Calling convention of a CUDA kernel in NVPTX IR.
const PTX_KERNEL: u32 = 71;

kind_of_value! {
    Function is a Global
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block<'m>(LLVMBasicBlockRef, PhantomData<&'m Module>);

impl<'m> Block<'m> {
    /// # Safety
    /// `raw` is a block of a function of the thread's module, alive for `'m`.
    pub(super) unsafe fn new(raw: LLVMBasicBlockRef) -> Self {
        Block(raw, PhantomData)
    }

    pub(super) fn raw(self) -> LLVMBasicBlockRef {
        self.0
    }

    pub fn value(self) -> Value<'m> {
        // SAFETY: a block that is alive is a value, too.
        unsafe { Value::new(LLVMBasicBlockAsValue(self.0)) }
    }

    /// The block that a value is, as the target of a branch.
    pub(super) fn of(value: Value<'m>) -> Option<Self> {
        // SAFETY: a value that is alive; only one that is a block is taken for one.
        unsafe {
            let is_block = LLVMValueIsBasicBlock(value.raw()) != 0;
            is_block.then(|| Block::new(LLVMValueAsBasicBlock(value.raw())))
        }
    }

    pub fn name(self) -> String {
        self.value().name()
    }

    pub fn instructions(self) -> Vec<Instruction<'m>> {
        // SAFETY: a block that is alive; its list holds instructions and does not change here.
        unsafe {
            super::list(
                LLVMGetFirstInstruction(self.0),
                LLVMGetNextInstruction,
                Instruction::new,
            )
        }
    }

    /// The last instruction, which says where control goes; `None` while the block is being built.
    pub fn terminator(self) -> Option<Instruction<'m>> {
        // SAFETY: a block that is alive; null when it has no such instruction.
        unsafe { super::optional(LLVMGetBasicBlockTerminator(self.0), Instruction::new) }
    }

    /// The blocks that the terminator may go to, once for each way.
    pub fn successors(self) -> Vec<Block<'m>> {
        let Some(terminator) = self.terminator() else {
            return Vec::new();
        };
        // SAFETY: a terminator; the index stays below the number of its successors.
        unsafe {
            (0..LLVMGetNumSuccessors(terminator.raw()))
                .map(|i| Block::new(LLVMGetSuccessor(terminator.raw(), i)))
                .collect()
        }
    }

    /// Moves what stands behind `instruction`, which is one of this block, into a new block of its own, and goes there. No
    /// phi may name this block: it would name the wrong one.
    pub fn split_after(self, instruction: Instruction<'m>) {
        assert_eq!(instruction.parent_block(), self);
        let function = instruction.parent_function();
        let rest = function.append_block(&format!("{}.rest", self.name()));
        let builder = Builder::at_end(rest);
        while let Some(next) = instruction.next() {
            next.detach();
            builder.insert_instruction(next);
        }
        Builder::at_end(self).branch(rest);
    }

    /// Moves what stands before `instruction`, which is one of this block, into a new block, to which all that led here leads
    /// now. Nothing leads from there to this block yet.
    pub fn split_before(self, instruction: Instruction<'m>) -> Block<'m> {
        assert_eq!(instruction.parent_block(), self);
        let head = instruction
            .parent_function()
            .append_block(&format!("{}.head", self.name()));
        let jumps: Vec<Instruction> = (self.value().users().into_iter())
            .filter_map(Value::as_instruction)
            .collect();
        for jump in jumps {
            // SAFETY: what uses a block, and is an instruction, is a terminator; the index stays below the number of its successors.
            unsafe {
                for index in 0..LLVMGetNumSuccessors(jump.raw()) {
                    if LLVMGetSuccessor(jump.raw(), index) == self.0 {
                        LLVMSetSuccessor(jump.raw(), index, head.0);
                    }
                }
            }
        }
        // SAFETY: two blocks of one function.
        unsafe { LLVMMoveBasicBlockBefore(head.0, self.0) };
        let builder = Builder::at_end(head);
        for earlier in self.instructions() {
            if earlier == instruction {
                break;
            }
            earlier.detach();
            builder.insert_instruction(earlier);
        }
        head
    }
}

impl<'m> Function<'m> {
    pub fn signature(self) -> Type {
        self.value_type()
    }

    /// Whether LLVM itself defines the function.
    pub fn is_intrinsic(self) -> bool {
        // SAFETY: a function that is alive.
        unsafe { LLVMGetIntrinsicID(self.raw()) != 0 }
    }

    /// Whether the function is a CUDA kernel.
    pub fn is_kernel(self) -> bool {
        // SAFETY: a function that is alive.
        unsafe { LLVMGetFunctionCallConv(self.raw()) == PTX_KERNEL }
    }

    pub fn set_convention(self, convention: u32) {
        // SAFETY: a function that is alive.
        unsafe { LLVMSetFunctionCallConv(self.raw(), convention) }
    }

    pub fn parameters(self) -> Vec<Value<'m>> {
        // SAFETY: a function that is alive; the index stays below the number of its parameters.
        unsafe {
            (0..LLVMCountParams(self.raw()))
                .map(|i| Value::new(LLVMGetParam(self.raw(), i)))
                .collect()
        }
    }

    /// Its blocks, in layout order.
    pub fn blocks(self) -> Vec<Block<'m>> {
        // SAFETY: a function that is alive; its list of blocks does not change here.
        unsafe {
            super::list(
                LLVMGetFirstBasicBlock(self.raw()),
                LLVMGetNextBasicBlock,
                Block::new,
            )
        }
    }

    /// Its instructions, in layout order.
    pub fn instructions(self) -> Vec<Instruction<'m>> {
        let blocks = self.blocks().into_iter();
        blocks.flat_map(Block::instructions).collect()
    }

    pub fn calls(self) -> impl Iterator<Item = Call<'m>> {
        let instructions = self.instructions().into_iter();
        instructions.filter_map(|i| i.as_call())
    }

    /// The calls that call it, not those that only pass its address on.
    pub fn callers(self) -> impl Iterator<Item = Call<'m>> {
        let users = self.using_instructions().into_iter();
        users
            .filter_map(|i| i.as_call())
            .filter(move |call| call.function() == Some(self))
    }

    /// Whether it is used in another way than by calling it.
    pub fn is_address_taken(self) -> bool {
        let mut callers = self.callers();
        callers.any(|call| call.arguments().contains(&self.value()))
            || self.callers().count() < self.users().len()
    }

    /// Adds an empty block at the end.
    pub fn append_block(self, name: &str) -> Block<'m> {
        let name = c_string(name);
        // SAFETY: a function of the thread's context; the name ends with a NUL.
        unsafe {
            let block = LLVMAppendBasicBlockInContext(context(), self.raw(), name.as_ptr());
            Block::new(block)
        }
    }

    /// Moves the body, names, attributes and debug information into `target`, whose parameters begin with those of `self`, and
    /// puts `target` wherever `self` is used.
    pub fn move_body_to(self, module: &'m Module, target: Function<'m>) {
        for block in self.blocks() {
            // SAFETY: the block is taken out of its function before it is appended to the other one: it belongs to one at any
            // time, but for the moment between, in which no handle is used.
            unsafe {
                LLVMRemoveBasicBlockFromParent(block.0);
                LLVMAppendExistingBasicBlock(target.raw(), block.0);
            }
        }
        for (old, new) in self.parameters().into_iter().zip(target.parameters()) {
            let name = old.name();
            assert_eq!(old.ty(), new.ty());
            // SAFETY: two parameters of one type (asserted). What uses a parameter is an instruction or metadata, which no
            // handle points to: nothing that is *alive* is freed.
            unsafe { LLVMReplaceAllUsesWith(old.raw(), new.raw()) }
            old.set_name("");
            new.set_name(&name);
        }
        // SAFETY: two functions; the description, when there is one, moves from one to the other.
        unsafe {
            let subprogram = LLVMGetSubprogram(self.raw());
            if !subprogram.is_null() {
                LLVMSetSubprogram(target.raw(), subprogram);
                LLVMSetSubprogram(self.raw(), std::ptr::null_mut());
            }
        }
        self.copy_properties_to(target);
        let name = self.name();
        self.set_name("");
        target.set_name(&name);
        module.supersede(*self, *target);
    }

    /// Gives `target`, whose parameters begin with those of `self`, the attributes, convention and linkage of `self`.
    pub(super) fn copy_properties_to(self, target: Function<'m>) {
        for index in self.attribute_indices() {
            for attribute in self.attributes_at(index) {
                target.add_attribute_at(index, attribute);
            }
        }
        // SAFETY: two functions that are alive.
        unsafe {
            LLVMSetFunctionCallConv(target.raw(), LLVMGetFunctionCallConv(self.raw()));
            LLVMSetLinkage(target.raw(), LLVMGetLinkage(self.raw()));
            LLVMSetVisibility(target.raw(), LLVMGetVisibility(self.raw()));
        }
    }
}
