//! The transfer function, which computes the fact about an instruction's pointer from the facts about its operands.

use super::{Fact, Memory, Space, join, returned};
use crate::children::returns_argument_buffer;
use crate::ir::{Call, Function, Instruction, Opcode::*, Value, ValueKind::*, traits::*};

/// The current facts of an analysis, and the transfer function on them.
///
/// A value, such as a struct in registers, can contain multiple pointers. Each is a *part*, numbered in the order of
/// [`crate::ir::Type::pointers`]; a pointer or a vector of pointers has only part 0.
pub(super) trait Facts<'m> {
    /// Returns the current fact about a part of an instruction or a parameter.
    fn known(&self, value: Value<'m>, part: u32) -> Fact;
    /// Returns the current fact about a part of this call's result; `callee` is a defined function.
    fn result(&self, call: Call<'m>, callee: Function<'m>, part: u32) -> Fact;
    fn memory(&self) -> Memory;

    /// Returns the facts about the parts of an instruction's value, and about the function's result if it returns one.
    /// The function's value represents its result.
    fn derive(&self, instruction: Instruction<'m>) -> Vec<(Value<'m>, u32, Fact)> {
        let value = instruction.value();
        let parts =
            (0..value.ty().pointers()).map(|part| (value, part, self.transfer(instruction, part)));
        let result = returned(instruction).map(|value| {
            let function = instruction.parent_function().value();
            let parts = 0..value.ty().pointers();
            parts.map(move |part| (function, part, self.part(value, part)))
        });
        parts.chain(result.into_iter().flatten()).collect()
    }

    fn part(&self, value: Value<'m>, part: u32) -> Fact {
        let ty = value.ty();
        if ty.pointers() == 0 {
            return Fact::Mixed; // an address that is passed to inline PTX as an integer
        }
        let is_array = ty.is_array_type();
        if !is_array
            && !ty.is_struct_type()
            && let Some(fact) = Space::from_number(ty.address_space())
        {
            return fact;
        }
        match value.kind() {
            LLVMInstructionValueKind | LLVMArgumentValueKind => self.known(value, part),
            _ => constant(value, part),
        }
    }

    /// Returns the fact about an instruction that defines a pointer (the set *POp* in Rieber 2017).
    fn transfer(&self, instruction: Instruction<'m>, part: u32) -> Fact {
        if let Some(parts) = forwarded_parts(instruction.value(), part) {
            let facts = parts.into_iter();
            let facts = facts.map(|(value, part)| self.part(value, part));
            return facts.fold(Fact::Unknown, join);
        }
        match instruction.get_opcode() {
            Alloca => Fact::Is(Space::Local),
            Load | AtomicRMW | AtomicCmpXchg => {
                self.memory().read(self.part(instruction.operand(0), 0))
            }
            IntToPtr if is_shared_address(instruction.operand(0)) => Fact::Is(Space::Shared),
            _ => match instruction.as_call() {
                Some(call) => self.call_result(call, part),
                None => Fact::Mixed,
            },
        }
    }

    fn call_result(&self, call: Call<'m>, part: u32) -> Fact {
        let Some(callee) = call.get_called_fn_value() else {
            return Fact::Mixed;
        };
        let name = callee.name();
        let transparent = [
            "llvm.launder.invariant.group",
            "llvm.strip.invariant.group",
            "llvm.ptrmask",
        ];
        if transparent.iter().any(|prefix| name.starts_with(prefix)) {
            self.part(call.operand(0), 0)
        } else if name == "malloc" {
            Fact::Is(Space::Global)
        } else if returns_argument_buffer(&name) {
            Fact::Is(Space::Parameter)
        } else if callee.is_declaration() {
            Fact::Mixed
        } else {
            self.result(call, callee, part)
        }
    }
}

/// Returns the parts of operands that become this part of a value, or `None` if the operation does not forward its
/// operands.
pub(super) fn forwarded_parts<'m>(value: Value<'m>, part: u32) -> Option<Vec<(Value<'m>, u32)>> {
    let indices = || value.as_instruction().map(Instruction::get_indices);
    let operands = match value.opcode()? {
        GetElementPtr | BitCast | AddrSpaceCast | Freeze | ExtractElement => {
            vec![value.operand(0)]
        }
        Phi => value.operands(),
        Select => vec![value.operand(1), value.operand(2)],
        // The elements of a vector are not distinguished.
        InsertElement | ShuffleVector => vec![value.operand(0), value.operand(1)],
        ExtractValue => {
            let aggregate = value.operand(0);
            let (first, _) = aggregate.ty().member_at(&indices()?);
            return Some(vec![(aggregate, first + part)]);
        }
        InsertValue => {
            let (first, ty) = value.ty().member_at(&indices()?);
            return Some(match part.checked_sub(first) {
                Some(index) if index < ty.pointers() => vec![(value.operand(1), index)],
                _ => vec![(value.operand(0), part)],
            });
        }
        _ => return None,
    };
    Some(operands.into_iter().map(|v| (v, part)).collect())
}

fn constant(value: Value, part: u32) -> Fact {
    match value.kind() {
        LLVMUndefValueValueKind
        | LLVMPoisonValueKind
        | LLVMConstantPointerNullValueKind
        | LLVMConstantAggregateZeroValueKind => Fact::Unknown,
        LLVMConstantStructValueKind | LLVMConstantArrayValueKind => {
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
        LLVMConstantVectorValueKind => (value.operands().into_iter())
            .fold(Fact::Unknown, |fact, element| {
                join(fact, constant(element, 0))
            }),
        _ if value.ty().is_pointer_type() => constant_pointer(value),
        _ => Fact::Mixed,
    }
}

/// Returns whether an integer is a shared-memory address from inline PTX (`cvta.shared`, used by cooperative groups).
fn is_shared_address(number: Value) -> bool {
    let call = number.as_call();
    call.and_then(|call| call.callee().inline_assembly())
        .is_some_and(|(template, _)| crate::ptx::returns_shared_address(&template))
}

fn constant_pointer(pointer: Value) -> Fact {
    if let Some(fact) = Space::from_number(pointer.ty().address_space()) {
        return fact;
    }
    match (pointer.kind(), pointer.opcode()) {
        // NVPTX places variables in the generic space (string literals) in global memory.
        (LLVMGlobalVariableValueKind, _) => Fact::Is(Space::Global),
        (LLVMConstantExprValueKind, Some(AddrSpaceCast | GetElementPtr | BitCast)) => {
            constant(pointer.operand(0), 0)
        }
        _ => Fact::Mixed,
    }
}

/// Returns the fact about a parameter that does not depend on calls: a parameter of a kernel, or one passed by value.
pub(super) fn fixed_parameter_fact(function: Function, index: u32) -> Option<Fact> {
    match (function.is_kernel(), function.is_by_value(index)) {
        (true, true) => Some(Fact::Is(Space::Parameter)),
        (true, false) => Some(Fact::Is(Space::Global)),
        (false, true) => Some(Fact::Is(Space::Local)),
        (false, false) => None,
    }
}
