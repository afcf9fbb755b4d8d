//! Keeps a copy of each kernel without the probe, for launches at native speed.

use super::reached_from;
use crate::context::with_callers;
use crate::ir::{Function, Linkage, Module, duplicate, traits::*};
use std::collections::{BTreeMap, HashMap, HashSet};
use superstep_trace::probe::{KernelSlots, NATIVE_SUFFIX};

/// Copies each kernel that reaches a probe point, with the device functions between it and the probe points, and
/// records in `kernels` that it has a copy. A kernel with indirect calls is not copied, because their callees have the
/// probe.
pub fn keep<'m>(
    module: &'m Module,
    kernels: &mut BTreeMap<String, KernelSlots>,
    probed: &HashSet<Function<'m>>,
) {
    let leads_to_probe_point = with_callers(probed.clone());
    let mut to_copy: HashSet<Function> = HashSet::new();
    for kernel in module.defined_functions() {
        let Some(slots) = kernels.get_mut(&kernel.name()).filter(|s| s.count > 0) else {
            continue;
        };
        let reached = reached_from(module, kernel);
        let mut calls = reached.iter().flat_map(|function| function.calls());
        if !calls.any(|call| call.is_indirect()) {
            slots.native = true;
            to_copy.extend(reached.intersection(&leads_to_probe_point));
        }
    }
    let mut copies: HashMap<Function, Function> = HashMap::new();
    for function in module.defined_functions() {
        if to_copy.contains(&function) {
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
