//! Copying a function, which LLVM's C interface leaves to its users.

use super::{Block, Builder, Function, Instruction, Module, Opcode, Value};
use std::collections::HashMap;

impl<'m> Function<'m> {
    /// A copy of the function under another name, internal to the module, and which value of the copy stands for which
    /// of the original. The copy has the original's attributes, but no debug description of its own: its instructions
    /// keep their source positions.
    pub fn duplicate(
        self,
        module: &'m Module,
        name: &str,
    ) -> (Function<'m>, HashMap<Value<'m>, Value<'m>>) {
        let copy = module.add_function(name, self.signature());
        self.copy_properties_to(copy);
        copy.make_internal();
        let parameters = self.parameters().into_iter();
        let mut values = parameters.zip(copy.parameters()).collect();
        copy.append_copies(&self.blocks(), &mut values, &|_| false);
        (copy, values)
    }

    /// Adds copies of `blocks`, which go to each other only. `values` says what stands for what is defined elsewhere, and
    /// gets what stands for their instructions. What `left_out` names is not copied: `values` has to know what stands for
    /// it, and a block whose terminator it is gets another one from the caller.
    pub fn append_copies(
        self,
        blocks: &[Block<'m>],
        values: &mut HashMap<Value<'m>, Value<'m>>,
        left_out: &dyn Fn(Instruction<'m>) -> bool,
    ) -> HashMap<Block<'m>, Block<'m>> {
        let copies: HashMap<Block, Block> = blocks
            .iter()
            .map(|block| (*block, self.append_block(&block.name())))
            .collect();
        let mut made = Vec::new();
        for block in blocks {
            let builder = Builder::at_end(copies[block]);
            for original in block.instructions() {
                if left_out(original) {
                    continue;
                }
                // The blocks of a phi cannot be exchanged afterwards: it is made anew and filled in `connect`.
                let copy = if original.operation() == Opcode::LLVMPHI {
                    builder.phi(original.ty())
                } else {
                    builder.repeat(original)
                };
                values.insert(original.value(), copy.value());
                made.push((original, copy));
            }
        }
        for (original, copy) in made {
            connect(original, copy, values, &copies);
        }
        copies
    }
}

/// Makes the copy refer to copies.
fn connect<'m>(
    original: Instruction<'m>,
    copy: Instruction<'m>,
    values: &HashMap<Value<'m>, Value<'m>>,
    blocks: &HashMap<Block<'m>, Block<'m>>,
) {
    if original.operation() == Opcode::LLVMPHI {
        for (value, block) in original.incoming() {
            copy.add_incoming(values.get(&value).copied().unwrap_or(value), blocks[&block]);
        }
        return;
    }
    for (index, operand) in (0..).zip(original.operands()) {
        if let Some(target) = Block::of(operand) {
            copy.set_operand(index, blocks[&target].value());
        } else if let Some(value) = values.get(&operand) {
            copy.set_operand(index, *value);
        }
    }
}
