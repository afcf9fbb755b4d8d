//! Keeps a copy of each kernel without the probe, for launches at native speed.

use super::reached_from;
use crate::context::leading_to;
use crate::ir::{Function, Linkage, Module, duplicate, traits::*};
use std::collections::{BTreeMap, HashMap, HashSet};
use superstep_trace::probe::{KernelSlots, NATIVE_SUFFIX};

/// Copies each kernel that reaches one of the probe's places, with the device functions between it and the places, and
/// records that in `kernels`. A kernel with indirect calls is not copied, because their callees have the probe.
pub fn keep<'m>(
    module: &'m Module,
    kernels: &mut BTreeMap<String, KernelSlots>,
    probed: &HashSet<Function<'m>>,
) {
    let leading = leading_to(probed.clone());
    let mut wanted: HashSet<Function> = HashSet::new();
    for kernel in module.defined_functions() {
        let Some(slots) = kernels.get_mut(&kernel.name()).filter(|s| s.count > 0) else {
            continue;
        };
        let reached = reached_from(module, kernel);
        let mut calls = reached.iter().flat_map(|function| function.calls());
        if !calls.any(|call| call.is_indirect()) {
            slots.native = true;
            wanted.extend(reached.intersection(&leading));
        }
    }
    let mut copies: HashMap<Function, Function> = HashMap::new();
    for function in module.defined_functions() {
        if wanted.contains(&function) {
            let name = format!("{}{NATIVE_SUFFIX}", function.name());
            let (copy, _) = duplicate(function, module, &name);
            if function.is_kernel() {
                copy.set_linkage(Linkage::External);
            }
            copies.insert(function, copy);
        }
    }
    for copy in copies.values() {
        for call in copy.calls() {
            if let Some(callee) = call.get_called_fn_value().and_then(|f| copies.get(&f)) {
                call.set_callee(*callee);
            }
        }
    }
}
