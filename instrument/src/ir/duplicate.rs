//! Copies functions, because LLVM's C API cannot.

use super::traits::*;
use super::{Block, Builder, Function, Instruction, Module, Opcode, Value, ext};
use inkwell::values::PhiValue;
use std::collections::HashMap;

pub type Copies<'m> = HashMap<Value<'m>, Value<'m>>;

/// Copies a function under another name, with internal linkage, and returns the copy and the copies of its values. The
/// copy has the original's attributes but no subprogram; its instructions keep their source positions.
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

/// Adds copies of `blocks`, which branch only to each other, to `function`. `values` maps values that are defined
/// elsewhere to their copies; the blocks' instructions are added to it. Instructions for which `is_omitted` is true are
/// not copied: `values` must have a substitute for each, and the caller must add missing terminators.
pub fn append_copies<'m>(
    function: Function<'m>,
    blocks: &[Block<'m>],
    values: &mut Copies<'m>,
    is_omitted: &dyn Fn(Instruction<'m>) -> bool,
) -> HashMap<Block<'m>, Block<'m>> {
    let copies = blocks.iter();
    let copies: HashMap<Block, Block> = copies
        .map(|block| (*block, function.append_block(&block.name())))
        .collect();
    let mut pairs = Vec::new();
    for block in blocks {
        let builder = Builder::at_end(copies[block]);
        for original in block.get_instructions().filter(|it| !is_omitted(*it)) {
            // The incoming blocks of a phi cannot be changed, so `connect` fills in a new one.
            let copy = if original.get_opcode() == Opcode::Phi {
                builder.phi(original.ty())
            } else {
                builder.repeat(original)
            };
            values.insert(original.value(), copy.value());
            pairs.push((original, copy));
        }
    }
    for (original, copy) in pairs {
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
