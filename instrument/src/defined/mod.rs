//! Probes that users define: calls of their handlers at the places that they name.
//!
//! The handler's bitcode has functions of fixed names and types, which the harness generates around the user's code:
//! `superstep_point_<n>` for each point of the definition, `superstep_begin` and `superstep_flush` for a site's fields. Fields
//! live in the stack frame of the function that holds the site, and so in registers where there are enough of them; each return
//! of the function brings them into memory.

mod classes;
mod insert;
mod native;
mod places;
mod runs;

use crate::context;
use crate::ir::{Function, Linkage, Machine, Module, Opcode};
use crate::sites::SiteOptions;
use anyhow::{Context as _, Result};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use superstep_trace::probe::{At, KernelSlots};
use superstep_trace::{DefinedProbe, ProbeSpec};

/// Whose first calls are inlined, at most so many in a function: beyond, code would get too large for its compiler.
const INLINED_CALLS: usize = 256;
/// What the CPU runtime calls for the lanes of a warp that were at a place together.
pub const GROUP: &str = "superstep_group";

/// Inserts the probe and says where it went.
pub fn insert(
    module: &Module,
    spec: &ProbeSpec,
    options: SiteOptions,
    machine: &Machine,
    cuda: bool,
) -> Result<DefinedProbe> {
    if (spec.points.iter()).any(|point| point.at.contains(&At::Branch)) {
        // Code generation makes branches with a condition of a switch; those are what there is to watch.
        module.run_passes("function(lower-switch)", machine)?;
    }
    let mut places = places::find(module, spec, options)?;
    if !cuda {
        runs::mark(spec, &mut places);
    }
    let sites = places.iter().map(|place| place.site.clone()).collect();
    let mut kernels = kernel_slots(module, &places);
    let probed: HashSet<Function> = places.iter().map(places::Place::function).collect();
    native::keep(module, &mut kernels, &probed);
    let contexts = if cuda {
        let (contexts, rebuilt) = context::extend_functions(module, &probed);
        for place in &mut places {
            place.follow(&rebuilt);
        }
        contexts
    } else {
        context::forget_all_memory_promises(module);
        HashMap::new()
    };
    insert::insert(module, spec, options.module_index, &places, &contexts, cuda);
    module.verify("inserting the probe")?;
    Ok(DefinedProbe {
        spec: spec.clone(),
        sites,
        kernels,
    })
}

/// Links the handler in and inlines it.
pub fn finish(module: &Module, handler: &Path, machine: &Machine) -> Result<()> {
    let own: HashSet<_> = module.defined_functions().into_iter().collect();
    module
        .link(module.read_other(handler)?)
        .context("the probe's handler uses names that the program has too; rename them")?;
    for function in module
        .defined_functions()
        .into_iter()
        .filter(|f| !own.contains(f))
    {
        let name = function.name();
        if name != GROUP {
            module.set_linkage(function.value(), Linkage::LLVMInternalLinkage);
        }
        if name.starts_with("superstep_") && name != GROUP {
            function.remove_attribute("noinline");
            function.add_attribute("alwaysinline");
            keep_calls_in_crowded_functions(function);
        }
    }
    module.run_passes(
        "always-inline,function(lower-constant-intrinsics,sroa,early-cse),globaldce",
        machine,
    )?;
    module.verify("inlining the probe's handler")?;
    Ok(())
}

fn keep_calls_in_crowded_functions(function: Function) {
    let mut calls: HashMap<Function, Vec<_>> = HashMap::new();
    for user in function.value().users() {
        if user.opcode() == Some(Opcode::LLVMCall) {
            calls.entry(user.parent_function()).or_default().push(user);
        }
    }
    for call in calls
        .into_values()
        .filter(|calls| calls.len() > INLINED_CALLS)
        .flatten()
    {
        call.add_call_attribute("noinline");
    }
}

/// For each kernel the range of slots that it and what it calls can reach.
fn kernel_slots(module: &Module, places: &[places::Place]) -> BTreeMap<String, KernelSlots> {
    let mut by_function: HashMap<Function, Vec<u32>> = HashMap::new();
    for (slot, place) in places.iter().enumerate() {
        by_function
            .entry(place.function())
            .or_default()
            .push(slot as u32);
    }
    let kernels = module.defined_functions().into_iter();
    kernels
        .filter(|f| f.is_kernel())
        .map(|kernel| {
            let reached = reached_from(module, kernel);
            let slots: Vec<u32> = reached
                .iter()
                .filter_map(|f| by_function.get(f))
                .flatten()
                .copied()
                .collect();
            let first = slots.iter().copied().min().unwrap_or(0);
            let last = slots.iter().copied().max().map_or(0, |last| last + 1);
            let count = last.saturating_sub(first);
            let slots = KernelSlots {
                first,
                count,
                native: false,
            };
            (kernel.name(), slots)
        })
        .collect()
}

fn reached_from(module: &Module, kernel: Function) -> HashSet<Function> {
    let (mut reached, mut pending) = (HashSet::from([kernel]), vec![kernel]);
    while let Some(function) = pending.pop() {
        for call in function
            .instructions()
            .into_iter()
            .filter(|i| i.opcode() == Some(Opcode::LLVMCall))
        {
            let callees = match call.callee().as_function() {
                Some(callee) if callee.is_declaration() => Vec::new(),
                Some(callee) => vec![callee],
                None if call.callee().inline_assembly().is_some() => Vec::new(),
                // Nobody knows what an indirect call leads to.
                None => {
                    let all = module.defined_functions().into_iter();
                    all.filter(|f| !f.is_kernel()).collect()
                }
            };
            for callee in callees {
                if reached.insert(callee) {
                    pending.push(callee);
                }
            }
        }
    }
    reached
}
