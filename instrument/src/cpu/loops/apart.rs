//! Shared and global memory lie apart, which a processor's address spaces do not say: LLVM is told for each access. Otherwise
//! it has to find out that nobody else knows where the CTA's shared memory lies, and a single `select` of two places hides that.

use crate::ir::{Function, Opcode, Scope, traits::*};

const GLOBAL: u32 = 1;
const SHARED: u32 = 3;

/// Marks loads and stores whose address space is known.
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
