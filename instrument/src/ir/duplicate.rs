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
        copy.append_copies(module, &self.blocks(), &mut values, &|_| false);
        (copy, values)
    }

    /// Adds copies of `blocks`, which go to each other only. `values` says what stands for what is defined elsewhere, and
    /// gets what stands for their instructions. What `left_out` names is not copied: `values` has to know what stands for
    /// it, and a block whose terminator it is gets another one from the caller.
    pub fn append_copies(
        self,
        module: &Module,
        blocks: &[Block],
        values: &mut HashMap<Value, Value>,
        left_out: &dyn Fn(Value) -> bool,
    ) -> HashMap<Block, Block> {
        let copies: HashMap<Block, Block> = blocks
            .iter()
            .map(|block| (*block, self.append_block(&block.name())))
            .collect();
        let copied = |block: &Block| block.instructions().into_iter().filter(|i| !left_out(*i));
        for block in blocks {
            for instruction in copied(block) {
                let copy = duplicate_into(module, instruction, copies[block]);
                values.insert(instruction, copy);
            }
        }
        for original in blocks.iter().flat_map(copied) {
            connect(original, values[&original], values, &copies);
        }
        copies
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
