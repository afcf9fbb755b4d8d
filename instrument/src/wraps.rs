//! Indices into shared and local memory, whose addresses have 32 bits on a GPU.

use crate::ir::{Builder, Instruction, Module, Opcode::*, Type, Value, traits::*};
use crate::space::{Analysis, Fact, Space};

/// Makes indices that wrap at 32 bits lead where they do on a GPU. There, only the lower half of an address of shared or local memory
/// counts: an unsigned index of 32 bits that went below 0 becomes one of 64 bits near 2^32, and the address is still the one below. Here it
/// would be far away, so such an index is extended with its sign; modulo 2^32 that is the same. Of a constant index the lower half is.
///
/// On a GPU, LLVM's own addresses of shared and local memory are right; generic ones to such memory, which nvcc finds out across functions,
/// are not.
pub fn allow(module: &Module, cpu: bool) {
    let analysis = Analysis::of(module);
    let is_narrow = |pointer| {
        matches!(
            analysis.fact(pointer),
            Fact::Is(Space::Shared | Space::Local)
        )
    };
    for instruction in module.instructions() {
        if instruction.get_opcode() == GetElementPtr
            && instruction.ty().is_pointer_type()
            && (cpu || instruction.ty().address_space() == 0)
            && is_narrow(instruction.operand(0))
        {
            allow_in(instruction);
        }
    }
}

pub fn allow_in(address: Instruction) {
    let mut changed = false;
    for index in 1..address.operand_count() {
        if let Some(signed) = with_sign(address, address.operand(index)) {
            address.set_operand(index, signed.basic());
            changed = true;
        }
    }
    if changed {
        crate::ir::drop_address_promises(address);
    }
}

/// An index that is equal modulo 2^32 and whose upper half is a sign; none where `index` is so already, or nothing is known of it.
fn with_sign<'m>(at: Instruction<'m>, index: Value<'m>) -> Option<Value<'m>> {
    let builder = Builder::before(at);
    let ty = Type::int(64);
    if index.ty() != ty {
        return None;
    }
    if let Some(number) = index.constant_integer() {
        let signed = i64::from(number as i32) as u64;
        return (signed != number).then(|| ty.constant(signed));
    }
    match index.opcode()? {
        ZExt if index.operand(0).ty() == Type::int(32) => {
            let extension = index.as_instruction()?;
            (extension.get_non_negative_flag() == Ok(false))
                .then(|| builder.cast(SExt, index.operand(0), ty))
        }
        opcode @ (Add | Sub | Mul) => {
            let [left, right] = [0, 1].map(|n| index.operand(n));
            let signed = [left, right].map(|part| with_sign(at, part));
            if signed == [None, None] {
                return None;
            }
            let (left, right) = (signed[0].unwrap_or(left), signed[1].unwrap_or(right));
            Some(builder.binary(opcode, left, right))
        }
        Shl if index.operand(1).is_known() => {
            let value = with_sign(at, index.operand(0))?;
            Some(builder.binary(Shl, value, index.operand(1)))
        }
        _ => None,
    }
}
