//! Tells LLVM by alias scopes that shared and global memory are disjoint, which x86's address spaces do not express. It could otherwise
//! rarely prove that the CTA's shared memory does not escape.

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
