//! Facts about pointers that are read from memory.

use super::sources::{has_only_global_addresses, only_global_pointers_reach_memory};
use super::{Analysis, Fact, Space};
use crate::ir::{Call, Function, Module, Opcode::*, Value, space, traits::*};
use crate::reach::reach;

/// Facts about pointers in memory, by address space. The host, which fills parameters, constants and buffers, has only
/// pointers to global memory, so the facts depend on what the module stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    parameters: Fact,
    constants: Fact,
    anywhere: Fact,
}

impl Memory {
    /// The facts if only pointers to global memory are stored.
    pub(super) const GLOBAL: Memory = Memory {
        parameters: Fact::Is(Space::Global),
        constants: Fact::Is(Space::Global),
        anywhere: Fact::Is(Space::Global),
    };

    /// Determines the facts for a module; `analysis` must have assumed [`Memory::GLOBAL`].
    pub(super) fn of<'m>(module: &'m Module, analysis: &Analysis<'m>) -> Memory {
        if only_global_pointers_reach_memory(module, analysis) {
            return Memory::GLOBAL;
        }
        let fact = |is_global| match is_global {
            true => Fact::Is(Space::Global),
            false => Fact::Mixed,
        };
        let constants_are_global = (module.variables().into_iter())
            .filter(|v| v.ty().address_space() == space::CONSTANT)
            .filter_map(|v| v.initial_value())
            .all(has_only_global_addresses);
        let mut kernels = module.kernels().into_iter();
        let parameters_are_global = kernels.all(leaves_parameters_unchanged);
        Memory {
            parameters: fact(parameters_are_global),
            constants: fact(constants_are_global),
            anywhere: Fact::Mixed,
        }
    }

    /// Returns the fact about a pointer that is read through a pointer with the fact `from`.
    pub(super) fn read(self, from: Fact) -> Fact {
        match from {
            Fact::Is(Space::Parameter) => self.parameters,
            Fact::Is(Space::Constant) => self.constants,
            _ => self.anywhere,
        }
    }
}

/// Returns whether a kernel only reads its by-value structures. It might write to them, since they are copies.
fn leaves_parameters_unchanged(kernel: Function) -> bool {
    (0..)
        .zip(kernel.parameters())
        .filter(|(index, _)| kernel.is_by_value(*index) && !kernel.is_read_only(*index))
        .all(|(_, parameter)| only_read(parameter, &|_| false))
}

/// Returns whether a function writes nothing through `pointer` or a pointer derived from it, not counting calls for
/// which `is_harmless` is true.
pub fn only_read(pointer: Value, is_harmless: &dyn Fn(Call) -> bool) -> bool {
    let mut only_read = true;
    reach([pointer], |value| {
        let mut derived = value.users();
        derived.retain(|user| match user.opcode() {
            Some(GetElementPtr | BitCast | AddrSpaceCast | Freeze | Phi | Select) => true,
            opcode => {
                let reads = matches!(opcode, Some(Load | ICmp));
                let call = user.as_call();
                let is_fine = |call| is_harmless(call) || call_only_reads(call, value);
                only_read &= reads || call.is_some_and(is_fine);
                false
            }
        });
        derived
    });
    only_read
}

fn call_only_reads(call: Call, pointer: Value) -> bool {
    let Some(callee) = call.get_called_fn_value() else {
        return false;
    };
    let name = callee.name();
    let copies = name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.");
    (0..)
        .zip(call.arguments())
        .filter(|(_, argument)| *argument == pointer)
        .all(|(index, _)| {
            copies && index == 1
                || name.starts_with("llvm.lifetime.")
                || call.by_value_type(index).is_some()
                || callee.is_read_only(index)
        })
}
