//! Copying a function, which LLVM's C interface leaves to its users.

use super::traits::*;
use super::{Block, Builder, Function, Instruction, Module, Opcode, Value, ext};
use inkwell::values::PhiValue;
use std::collections::HashMap;

pub type Copies<'m> = HashMap<Value<'m>, Value<'m>>;

/// A copy of the function under another name, internal to the module, and the copies of its values. The copy has the original's
/// attributes, but no debug description of its own: its instructions keep their source positions.
pub fn duplicate<'m>(
    function: Function<'m>,
    module: &'m Module,
    name: &str,
) -> (Function<'m>, Copies<'m>) {
    let copy = module.add_function(name, function.signature());
    function.copy_properties_to(copy);
    copy.make_internal();
    let parameters = function.parameters().into_iter();
    let mut values = parameters.zip(copy.parameters()).collect();
    append_copies(copy, &function.get_basic_blocks(), &mut values, &|_| false);
    (copy, values)
}

/// Adds copies of `blocks`, which go to each other only, to `function`. `values` has the copies of values that are defined elsewhere,
/// and gets those of the blocks' instructions. Instructions that `left_out` picks are not copied: `values` needs a substitute for each,
/// and a block without its terminator gets another one from the caller.
pub fn append_copies<'m>(
    function: Function<'m>,
    blocks: &[Block<'m>],
    values: &mut Copies<'m>,
    left_out: &dyn Fn(Instruction<'m>) -> bool,
) -> HashMap<Block<'m>, Block<'m>> {
    let copies = blocks.iter();
    let copies: HashMap<Block, Block> = copies
        .map(|block| (*block, function.append_block(&block.name())))
        .collect();
    let mut made = Vec::new();
    for block in blocks {
        let builder = Builder::at_end(copies[block]);
        for original in block.get_instructions().filter(|it| !left_out(*it)) {
            // The blocks of a phi cannot be exchanged afterwards: it is made anew and filled in `connect`.
            let copy = if original.get_opcode() == Opcode::Phi {
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

fn connect<'m>(
    original: Instruction<'m>,
    copy: Instruction<'m>,
    values: &Copies<'m>,
    blocks: &HashMap<Block<'m>, Block<'m>>,
) {
    if let Ok(phi) = PhiValue::try_from(copy) {
        for (value, block) in original.incoming() {
            let value = values.get(&value).copied().unwrap_or(value);
            phi.add_incoming(&[(&value.basic(), blocks[&block])]);
        }
        return;
    }
    for (index, operand) in original.indexed_operands() {
        if let Some(value) = values.get(&operand) {
            copy.set_operand(index, value.basic());
        }
    }
    if copy.is_terminator() {
        for (index, target) in (0..).zip(ext::successors(original)) {
            ext::set_successor(copy, index, blocks[&target]);
        }
    }
}
