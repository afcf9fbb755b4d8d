//! The transfer function: what an instruction's pointer is, given what its operands are.

use super::{Fact, Memory, Space, join};
use crate::ir::{Function, Opcode, Value, ValueKind};
use crate::mutation;

/// What the transfer function asks of the analysis that uses it.
pub(super) trait Facts {
    /// What is known so far of an instruction or a parameter.
    fn known(&self, value: Value) -> Fact;
    /// What is known so far of the result of calling the defined function `callee`.
    fn result(&self, call: Value, callee: Function) -> Fact;
    /// What is known of pointers in memory.
    fn memory(&self) -> Memory;

    /// What is known of any pointer.
    fn fact(&self, pointer: Value) -> Fact {
        if let Some(fact) = Space::from_number(pointer.ty().address_space()) {
            return fact;
        }
        match pointer.kind() {
            ValueKind::LLVMInstructionValueKind | ValueKind::LLVMArgumentValueKind => {
                self.known(pointer)
            }
            _ => constant(pointer),
        }
    }

    /// The thesis' transfer function for the instructions that define pointers (its set *POp*).
    fn transfer(&self, instruction: Value) -> Fact {
        match instruction.opcode() {
            Some(Opcode::LLVMAlloca) => Fact::Is(Space::Local),
            Some(
                Opcode::LLVMGetElementPtr
                | Opcode::LLVMBitCast
                | Opcode::LLVMAddrSpaceCast
                | Opcode::LLVMFreeze,
            ) => self.fact(instruction.operand(0)),
            Some(Opcode::LLVMPHI) => instruction
                .incoming()
                .into_iter()
                .take(if mutation::active("phi-first") {
                    1
                } else {
                    usize::MAX
                })
                .fold(Fact::Unknown, |fact, value| join(fact, self.fact(value))),
            Some(Opcode::LLVMSelect) if mutation::active("select-first") => {
                self.fact(instruction.operand(1))
            }
            Some(Opcode::LLVMSelect) => join(
                self.fact(instruction.operand(1)),
                self.fact(instruction.operand(2)),
            ),
            Some(Opcode::LLVMLoad | Opcode::LLVMAtomicRMW) => {
                self.memory().read(self.fact(instruction.operand(0)))
            }
            Some(Opcode::LLVMCall) => self.called(instruction),
            Some(Opcode::LLVMIntToPtr) if mutation::active("number-is-global") => {
                Fact::Is(Space::Global)
            }
            _ => Fact::Mixed,
        }
    }

    /// What a call returns.
    fn called(&self, call: Value) -> Fact {
        let Some(callee) = call.callee().as_function() else {
            return Fact::Mixed;
        };
        let name = callee.name();
        let passes_through = [
            "llvm.launder.invariant.group",
            "llvm.strip.invariant.group",
            "llvm.ptrmask",
        ];
        if passes_through.iter().any(|prefix| name.starts_with(prefix)) {
            self.fact(call.operand(0))
        } else if name == "malloc" && mutation::active("drop-malloc") {
            Fact::Is(Space::Local)
        } else if name == "malloc" {
            Fact::Is(Space::Global)
        } else if callee.is_declaration() {
            Fact::Mixed
        } else {
            self.result(call, callee)
        }
    }
}

/// What is known of a constant pointer.
fn constant(pointer: Value) -> Fact {
    if pointer.kind() == ValueKind::LLVMGlobalVariableValueKind
        && pointer.ty().address_space() == 1
        && mutation::active("drop-global-variable")
    {
        return Fact::Is(Space::Local);
    }
    if let Some(fact) = Space::from_number(pointer.ty().address_space()) {
        return fact;
    }
    match pointer.kind() {
        ValueKind::LLVMConstantPointerNullValueKind
        | ValueKind::LLVMUndefValueValueKind
        | ValueKind::LLVMPoisonValueKind => Fact::Unknown,
        // NVPTX places what the IR leaves in the generic space (string literals) in global memory.
        ValueKind::LLVMGlobalVariableValueKind => Fact::Is(Space::Global),
        ValueKind::LLVMConstantExprValueKind => match pointer.opcode() {
            Some(Opcode::LLVMAddrSpaceCast | Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast) => {
                constant(pointer.operand(0))
            }
            _ => Fact::Mixed,
        },
        _ => Fact::Mixed,
    }
}

/// What a parameter is that no call decides: those of kernels, and those passed by value.
pub(super) fn own_parameter(function: Function, index: u32) -> Option<Fact> {
    if function.is_kernel() {
        return Some(Fact::Is(if function.is_by_value(index) {
            Space::Parameter
        } else if mutation::active("drop-kernel-parameter") {
            Space::Local
        } else {
            Space::Global
        }));
    }
    function
        .is_by_value(index)
        .then_some(Fact::Is(Space::Local))
}
