//! Indices into shared and local memory, which have 32-bit addresses on a GPU.

use crate::ir::{Builder, Instruction, Module, Opcode::*, Type, Value, traits::*};
use crate::space::{Analysis, Fact, Space};

/// Makes indices that wrap at 32 bits have the same effect as on a GPU, which ignores the upper half of a shared or
/// local address. A wrapped unsigned 32-bit index becomes a 64-bit index near 2^32, which a GPU treats as negative.
/// Sign-extending such an index, or the lower half of a constant index, gives the same address modulo 2^32.
///
/// On a GPU, only generic addresses need this: LLVM computes addresses in the shared and local spaces in 32 bits.
/// nvcc infers the space of generic addresses across functions.
pub fn sign_extend(module: &Module, cpu: bool) {
    let analysis = Analysis::of(module);
    let narrow = [Space::Shared, Space::Local].map(Fact::Is);
    for instruction in module.instructions() {
        if instruction.get_opcode() == GetElementPtr
            && instruction.ty().is_pointer_type()
            && (cpu || instruction.ty().address_space() == 0)
            && narrow.contains(&analysis.fact(instruction.operand(0)))
        {
            sign_extend_in(instruction);
        }
    }
}

pub fn sign_extend_in(address: Instruction) {
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

/// Returns a sign-extended index that is equal to `index` modulo 2^32, or `None` if `index` is already sign-extended or
/// cannot be analysed.
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
