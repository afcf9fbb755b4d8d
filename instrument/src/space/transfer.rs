//! The transfer function: what an instruction's pointer is, given what its operands are.

use super::{Fact, Memory, Space, join};
use crate::ir::{Call, Function, Instruction, Opcode, TypeKind, Value, ValueKind};

/// What the transfer function asks of the analysis that uses it.
///
/// A value can hold several pointers: a struct in registers does. Each is a *part*, numbered in the order of
/// [`crate::ir::Type::pointers`]; a pointer, and a vector of pointers, has part 0 only.
pub(super) trait Facts<'m> {
    /// What is known so far of a part of an instruction or a parameter.
    fn known(&self, value: Value<'m>, part: u32) -> Fact;
    /// What is known so far of a part of the result of calling the defined function `callee`.
    fn result(&self, call: Call<'m>, callee: Function<'m>, part: u32) -> Fact;
    /// What is known of pointers in memory.
    fn memory(&self) -> Memory;

    /// What is known of any pointer.
    fn fact(&self, pointer: Value<'m>) -> Fact {
        self.part(pointer, 0)
    }

    /// What is known of a part of any value.
    fn part(&self, value: Value<'m>, part: u32) -> Fact {
        let ty = value.ty();
        let aggregate = matches!(
            ty.kind(),
            TypeKind::LLVMStructTypeKind | TypeKind::LLVMArrayTypeKind
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
    fn transfer(&self, instruction: Instruction<'m>, part: u32) -> Fact {
        let operand = |index: u32| self.part(instruction.operand(index), part);
        match instruction.operation() {
            Opcode::LLVMAlloca => Fact::Is(Space::Local),
            Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast => {
                self.fact(instruction.operand(0))
            }
            Opcode::LLVMFreeze => operand(0),
            Opcode::LLVMPHI => instruction
                .incoming()
                .into_iter()
                .fold(Fact::Unknown, |fact, (value, _)| {
                    join(fact, self.part(value, part))
                }),
            Opcode::LLVMSelect => join(operand(1), operand(2)),
            Opcode::LLVMExtractValue => {
                let whole = instruction.operand(0);
                let (place, _) = whole.ty().member_at(&instruction.indices());
                self.part(whole, place + part)
            }
            Opcode::LLVMInsertValue => {
                let member = instruction.operand(1);
                let (place, ty) = instruction.ty().member_at(&instruction.indices());
                match part.checked_sub(place) {
                    Some(inside) if inside < ty.pointers() => self.part(member, inside),
                    _ => operand(0),
                }
            }
            Opcode::LLVMExtractElement => operand(0),
            // The elements of a vector are not told apart.
            Opcode::LLVMInsertElement | Opcode::LLVMShuffleVector => join(operand(0), operand(1)),
            Opcode::LLVMLoad | Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg => {
                self.memory().read(self.fact(instruction.operand(0)))
            }
            Opcode::LLVMIntToPtr if shared_by_assembly(instruction.operand(0)) => {
                Fact::Is(Space::Shared)
            }
            _ => match instruction.as_call() {
                Some(call) => self.called(call, part),
                None => Fact::Mixed,
            },
        }
    }

    fn called(&self, call: Call<'m>, part: u32) -> Fact {
        let Some(callee) = call.function() else {
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
        } else if name == "malloc" {
            Fact::Is(Space::Global)
        } else if callee.is_declaration() {
            Fact::Mixed
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
    let call = number.as_call();
    call.and_then(|call| call.callee().inline_assembly())
        .is_some_and(|(template, _)| template.contains("cvta.shared.u64 $0,"))
}

/// What is known of a constant pointer.
fn constant_pointer(pointer: Value) -> Fact {
    if let Some(fact) = Space::from_number(pointer.ty().address_space()) {
        return fact;
    }
    match (pointer.kind(), pointer.opcode()) {
        // NVPTX places what the IR leaves in the generic space (string literals) in global memory.
        (ValueKind::LLVMGlobalVariableValueKind, _) => Fact::Is(Space::Global),
        (
            ValueKind::LLVMConstantExprValueKind,
            Some(Opcode::LLVMAddrSpaceCast | Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast),
        ) => constant(pointer.operand(0), 0),
        _ => Fact::Mixed,
    }
}

/// What a parameter is that no call decides: those of kernels, and those passed by value.
pub(super) fn own_parameter(function: Function, index: u32) -> Option<Fact> {
    match (function.is_kernel(), function.is_by_value(index)) {
        (true, true) => Some(Fact::Is(Space::Parameter)),
        (true, false) => Some(Fact::Is(Space::Global)),
        (false, true) => Some(Fact::Is(Space::Local)),
        (false, false) => None,
    }
}
