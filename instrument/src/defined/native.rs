//! Kernels as they were, beside those with the probe, so that a launch can do without it and runs at native speed.

use super::reached_from;
use crate::ir::{Function, Linkage, Module, Opcode, Value};
use std::collections::{BTreeMap, HashMap, HashSet};
use superstep_trace::probe::{KernelSlots, NATIVE_SUFFIX};

/// Copies each kernel that reaches a place of the probe, with the device functions between it and the places, and says so in
/// `kernels`. A kernel that calls through pointers stays alone: what they lead to has the probe.
pub fn keep(
    module: &Module,
    kernels: &mut BTreeMap<String, KernelSlots>,
    probed: &HashSet<Function>,
) {
    let leading = leading_to(module, probed);
    let mut wanted: HashSet<Function> = HashSet::new();
    for kernel in module.defined_functions() {
        let Some(slots) = kernels.get_mut(&kernel.name()).filter(|s| s.count > 0) else {
            continue;
        };
        let reached = reached_from(module, kernel);
        if !reached
            .iter()
            .any(|function| calls_through_pointers(*function))
        {
            slots.native = true;
            wanted.extend(reached.intersection(&leading));
        }
    }
    let mut copies: HashMap<Function, Function> = HashMap::new();
    for function in module.defined_functions() {
        if wanted.contains(&function) {
            let name = format!("{}{NATIVE_SUFFIX}", function.name());
            let (copy, _) = function.duplicate(module, &name);
            if function.is_kernel() {
                module.set_linkage(copy.value(), Linkage::LLVMExternalLinkage);
            }
            copies.insert(function, copy);
        }
    }
    for copy in copies.values() {
        for call in calls(*copy) {
            if let Some(callee) = call.callee().as_function().and_then(|f| copies.get(&f)) {
                call.set_callee(*callee);
            }
        }
    }
}

/// Functions with places, and those that call them, directly or not.
fn leading_to(module: &Module, probed: &HashSet<Function>) -> HashSet<Function> {
    let mut callers: HashMap<Function, Vec<Function>> = HashMap::new();
    for function in module.defined_functions() {
        for callee in calls(function).filter_map(|call| call.callee().as_function()) {
            callers.entry(callee).or_default().push(function);
        }
    }
    let (mut leading, mut pending) = (probed.clone(), probed.iter().copied().collect::<Vec<_>>());
    while let Some(function) = pending.pop() {
        for caller in callers.get(&function).into_iter().flatten() {
            if leading.insert(*caller) {
                pending.push(*caller);
            }
        }
    }
    leading
}

fn calls(function: Function) -> impl Iterator<Item = Value> {
    let instructions = function.instructions().into_iter();
    instructions.filter(|i| i.opcode() == Some(Opcode::LLVMCall))
}

fn calls_through_pointers(function: Function) -> bool {
    calls(function).any(|call| {
        let callee = call.callee();
        callee.as_function().is_none() && callee.inline_assembly().is_none()
    })
}
