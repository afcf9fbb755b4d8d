//! Shared and global memory are disjoint, which a processor's address spaces do not say: alias scopes tell LLVM. It would otherwise have to
//! prove that the CTA's shared memory is not known elsewhere, which a single `select` of two places prevents.

use crate::ir::{Function, Opcode, Scope, traits::*};

const GLOBAL: u32 = 1;
const SHARED: u32 = 3;

pub fn mark(function: Function) {
    let (global, shared) = (Scope::named("global"), Scope::named("shared"));
    for instruction in function.instructions() {
        let address = match instruction.get_opcode() {
            Opcode::Load => instruction.operand(0),
            Opcode::Store => instruction.operand(1),
            _ => continue,
        };
        match address.ty().address_space() {
            GLOBAL => instruction.set_scopes(global, shared),
            SHARED => instruction.set_scopes(shared, global),
            _ => {}
        }
    }
}
