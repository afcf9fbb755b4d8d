//! The transfer function: what an instruction's pointer is, given what its operands are.

use super::{Fact, Memory, Space, join};
use crate::ir::{Function, Opcode, Value, ValueKind};
use crate::mutation;
use inkwell::llvm_sys::LLVMTypeKind;

/// What the transfer function asks of the analysis that uses it.
///
/// A value can hold several pointers: a struct in registers does. Each is a *part*, numbered in the order of
/// [`crate::ir::Type::pointers`]; a pointer, and a vector of pointers, has part 0 only.
pub(super) trait Facts {
    /// What is known so far of a part of an instruction or a parameter.
    fn known(&self, value: Value, part: u32) -> Fact;
    /// What is known so far of a part of the result of calling the defined function `callee`.
    fn result(&self, call: Value, callee: Function, part: u32) -> Fact;
    /// What is known of pointers in memory.
    fn memory(&self) -> Memory;

    /// What is known of any pointer.
    fn fact(&self, pointer: Value) -> Fact {
        self.part(pointer, 0)
    }

    /// What is known of a part of any value.
    fn part(&self, value: Value, part: u32) -> Fact {
        let ty = value.ty();
        let aggregate = matches!(
            ty.kind(),
            LLVMTypeKind::LLVMStructTypeKind | LLVMTypeKind::LLVMArrayTypeKind
        );
        if !aggregate && let Some(fact) = Space::from_number(ty.address_space()) {
            return fact;
        }
        match value.kind() {
            ValueKind::LLVMInstructionValueKind | ValueKind::LLVMArgumentValueKind => {
                self.known(value, part)
            }
            _ => constant(value, part),
        }
    }

    /// The transfer function for the instructions that define pointers (the set *POp* of Rieber 2017).
    fn transfer(&self, instruction: Value, part: u32) -> Fact {
        let operand = |index: u32| self.part(instruction.operand(index), part);
        match instruction.opcode() {
            Some(Opcode::LLVMAlloca) if mutation::active("alloca-is-global") => {
                Fact::Is(Space::Global)
            }
            Some(Opcode::LLVMAlloca) => Fact::Is(Space::Local),
            Some(Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast) => {
                self.fact(instruction.operand(0))
            }
            Some(Opcode::LLVMFreeze) => operand(0),
            Some(Opcode::LLVMPHI) if mutation::active("phi-gives-up") => Fact::Mixed,
            Some(Opcode::LLVMPHI) if mutation::active("phi-last") => instruction
                .incoming()
                .last()
                .map_or(Fact::Unknown, |value| self.part(*value, part)),
            Some(Opcode::LLVMPHI) => instruction
                .incoming()
                .into_iter()
                .take(if mutation::active("phi-first") {
                    1
                } else {
                    usize::MAX
                })
                .fold(Fact::Unknown, |fact, value| {
                    join(fact, self.part(value, part))
                }),
            Some(Opcode::LLVMSelect) if mutation::active("select-first") => operand(1),
            Some(Opcode::LLVMSelect) if mutation::active("select-second") => operand(2),
            Some(Opcode::LLVMSelect) => join(operand(1), operand(2)),
            Some(Opcode::LLVMExtractValue) => {
                let whole = instruction.operand(0);
                let (place, _) = whole.ty().member_at(&instruction.indices());
                if mutation::active("first-member-for-all") {
                    return self.part(whole, 0);
                }
                self.part(whole, place + part)
            }
            Some(Opcode::LLVMInsertValue) if mutation::active("forget-inserted-member") => {
                operand(0)
            }
            Some(Opcode::LLVMInsertValue) => {
                let member = instruction.operand(1);
                let (place, ty) = instruction.ty().member_at(&instruction.indices());
                match part.checked_sub(place) {
                    Some(inside) if inside < ty.pointers() => self.part(member, inside),
                    _ => operand(0),
                }
            }
            Some(Opcode::LLVMExtractElement) => operand(0),
            // The elements of a vector are not told apart.
            Some(Opcode::LLVMInsertElement) if mutation::active("forget-inserted-element") => {
                operand(0)
            }
            Some(Opcode::LLVMInsertElement | Opcode::LLVMShuffleVector) => {
                join(operand(0), operand(1))
            }
            Some(Opcode::LLVMLoad | Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg) => {
                self.memory().read(self.fact(instruction.operand(0)))
            }
            Some(Opcode::LLVMCall) => self.called(instruction, part),
            Some(Opcode::LLVMIntToPtr) if mutation::active("number-is-global") => {
                Fact::Is(Space::Global)
            }
            Some(Opcode::LLVMIntToPtr) if shared_by_assembly(instruction.operand(0)) => {
                Fact::Is(Space::Shared)
            }
            _ => Fact::Mixed,
        }
    }

    /// What a call returns.
    fn called(&self, call: Value, part: u32) -> Fact {
        let Some(callee) = call.callee().as_function() else {
            if mutation::active("indirect-result-global") {
                return Fact::Is(Space::Global);
            }
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
        } else if mutation::active("result-global") {
            Fact::Is(Space::Global)
        } else {
            self.result(call, callee, part)
        }
    }
}

/// What is known of a part of a constant.
fn constant(value: Value, part: u32) -> Fact {
    match value.kind() {
        ValueKind::LLVMUndefValueValueKind
        | ValueKind::LLVMPoisonValueKind
        | ValueKind::LLVMConstantPointerNullValueKind
        | ValueKind::LLVMConstantAggregateZeroValueKind => Fact::Unknown,
        ValueKind::LLVMConstantStructValueKind | ValueKind::LLVMConstantArrayValueKind => {
            let mut before = 0;
            for member in value.operands() {
                let count = member.ty().pointers();
                if part < before + count {
                    return constant(member, part - before);
                }
                before += count;
            }
            Fact::Mixed
        }
        ValueKind::LLVMConstantVectorValueKind => (value.operands().into_iter())
            .fold(Fact::Unknown, |fact, element| {
                join(fact, constant(element, 0))
            }),
        _ if value.ty().is_pointer() => constant_pointer(value),
        _ => Fact::Mixed,
    }
}

/// Whether a number is the address of shared memory that inline PTX gives: `cvta.shared`, as cooperative groups write it.
fn shared_by_assembly(number: Value) -> bool {
    number.opcode() == Some(Opcode::LLVMCall)
        && (number.callee().inline_assembly())
            .is_some_and(|(template, _)| template.contains("cvta.shared.u64 $0,"))
}

/// What is known of a constant pointer.
fn constant_pointer(pointer: Value) -> Fact {
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
        ValueKind::LLVMGlobalVariableValueKind if mutation::active("literal-is-constant") => {
            Fact::Is(Space::Constant)
        }
        // NVPTX places what the IR leaves in the generic space (string literals) in global memory.
        ValueKind::LLVMGlobalVariableValueKind => Fact::Is(Space::Global),
        ValueKind::LLVMConstantExprValueKind => match pointer.opcode() {
            Some(Opcode::LLVMAddrSpaceCast | Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast) => {
                constant(pointer.operand(0), 0)
            }
            _ => Fact::Mixed,
        },
        _ => Fact::Mixed,
    }
}

/// What a parameter is that no call decides: those of kernels, and those passed by value.
pub(super) fn own_parameter(function: Function, index: u32) -> Option<Fact> {
    if function.is_kernel() {
        return Some(Fact::Is(if mutation::active("by-value-is-global") {
            Space::Global
        } else if function.is_by_value(index) {
            Space::Parameter
        } else if mutation::active("drop-kernel-parameter") {
            Space::Local
        } else {
            Space::Global
        }));
    }
    let copied = if mutation::active("copied-argument-is-global") {
        Space::Global
    } else {
        Space::Local
    };
    function.is_by_value(index).then_some(Fact::Is(copied))
}
