//! Copying a function, which LLVM's C interface leaves to its users.

use super::{Block, Function, Linkage, Module, Opcode, Value};
use inkwell::llvm_sys::core::*;
use std::collections::HashMap;

impl Function {
    /// A copy of the function under another name, internal to the module, and which value of the copy stands for which
    /// of the original. The copy has the original's attributes, but no debug description of its own: its instructions
    /// keep their source positions.
    pub fn duplicate(self, module: &Module, name: &str) -> (Function, HashMap<Value, Value>) {
        let copy = module.add_function(name, self.ty());
        self.copy_properties_to(copy);
        module.set_linkage(copy.value(), Linkage::LLVMInternalLinkage);
        let mut values: HashMap<Value, Value> = self
            .parameters()
            .into_iter()
            .zip(copy.parameters())
            .collect();
        let blocks: HashMap<Block, Block> = self
            .blocks()
            .into_iter()
            .map(|block| (block, copy.append_block(&block.name())))
            .collect();
        for block in self.blocks() {
            for instruction in block.instructions() {
                values.insert(
                    instruction,
                    duplicate_into(module, instruction, blocks[&block]),
                );
            }
        }
        for block in self.blocks() {
            for original in block.instructions() {
                connect(original, values[&original], &values, &blocks);
            }
        }
        (copy, values)
    }
}

/// Adds a copy of `instruction`, still with the original's operands, at the end of `block`.
fn duplicate_into(module: &Module, instruction: Value, block: Block) -> Value {
    let builder = super::Builder::at_end(module, block);
    if instruction.opcode() == Some(Opcode::LLVMPHI) {
        // The blocks of a phi cannot be exchanged afterwards: it is made anew and filled in `connect`.
        return builder.phi(instruction.ty());
    }
    // SAFETY: valid handles; the copy has no parent until the builder inserts it.
    unsafe {
        let copy = LLVMInstructionClone(instruction.0);
        builder.insert_instruction(Value(copy));
        Value(copy)
    }
}

/// Makes the copy refer to copies.
fn connect(
    original: Value,
    copy: Value,
    values: &HashMap<Value, Value>,
    blocks: &HashMap<Block, Block>,
) {
    let mapped = |value: Value| values.get(&value).copied().unwrap_or(value);
    if original.opcode() == Some(Opcode::LLVMPHI) {
        for (value, block) in original
            .incoming()
            .into_iter()
            .zip(original.incoming_blocks())
        {
            let (mut value, mut block) = (mapped(value).0, blocks[&block].0);
            // SAFETY: valid handles; one value and one block are read.
            unsafe { LLVMAddIncoming(copy.0, &mut value, &mut block, 1) };
        }
        return;
    }
    for index in 0..original.operand_count() {
        let operand = original.operand(index);
        // SAFETY: valid handles; a block as a value is turned back into the block that it is.
        unsafe {
            if LLVMValueIsBasicBlock(operand.0) != 0 {
                let target = blocks[&Block(LLVMValueAsBasicBlock(operand.0))];
                LLVMSetOperand(copy.0, index, LLVMBasicBlockAsValue(target.0));
            } else {
                copy.set_operand(index, mapped(operand));
            }
        }
    }
}
