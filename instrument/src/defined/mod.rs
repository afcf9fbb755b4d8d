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
use crate::ir::{Attribute, Function, Machine, Module};
use crate::probe::keep_calls_in_crowded_functions;
use crate::sites::SiteOptions;
use anyhow::{Context as _, Result};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use superstep_trace::probe::{At, KernelSlots};
use superstep_trace::{DefinedProbe, ProbeSpec};

/// Calls of a handler that are inlined in a function at most: with more, code would get too large for its compiler.
const INLINED_CALLS: usize = 256;
/// What the CPU runtime calls for the lanes of a warp that were at a place together.
pub const GROUP: &str = "superstep_group";

/// Inserts the probe and says where it went.
pub fn insert(
    module: &mut Module,
    spec: &ProbeSpec,
    options: SiteOptions,
    machine: &Machine,
    cuda: bool,
) -> Result<DefinedProbe> {
    if (spec.points.iter()).any(|point| point.at.contains(&At::Branch)) {
        // Code generation makes branches with a condition of a switch; those are what there is to watch.
        let passes = "function(lower-switch)";
        module.run_passes("dropping unreachable functions", passes, machine)?;
    }
    let defined = insert_calls(module, spec, options, cuda)?;
    module.verify("inserting the probe")?;
    Ok(defined)
}

fn insert_calls(
    module: &Module,
    spec: &ProbeSpec,
    options: SiteOptions,
    cuda: bool,
) -> Result<DefinedProbe> {
    let mut places = places::find(module, spec, options)?;
    if !cuda {
        runs::mark(spec, &mut places);
    }
    let sites = places.iter().map(|place| place.site.clone()).collect();
    let mut kernels = kernel_slots(module, &places);
    let probed: HashSet<Function> = places.iter().map(|place| place.function()).collect();
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
    Ok(DefinedProbe {
        spec: spec.clone(),
        sites,
        kernels,
    })
}

/// Links the handler in and inlines it.
pub fn finish(module: &mut Module, handler: &Path, machine: &Machine) -> Result<()> {
    // What is linked in stands behind what was there.
    let own = module.defined_functions().len();
    module
        .link("inserting the probe", handler, |_| {})
        .context("the probe's handler uses names that the program has too; rename them")?;
    for function in module.defined_functions().into_iter().skip(own) {
        let name = function.name();
        if name == GROUP {
            continue;
        }
        function.make_internal();
        if name.starts_with("superstep_") {
            function.remove_attribute("noinline");
            function.add_attribute(Attribute::AlwaysInline);
            keep_calls_in_crowded_functions(function, INLINED_CALLS);
        }
    }
    let passes = "always-inline,function(lower-constant-intrinsics,sroa,early-cse),globaldce";
    Ok(module.run_passes("linking the probe's handler", passes, machine)?)
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
    let kernels = module.kernels().into_iter();
    kernels
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

fn reached_from<'m>(module: &'m Module, kernel: Function<'m>) -> HashSet<Function<'m>> {
    let (mut reached, mut pending) = (HashSet::from([kernel]), vec![kernel]);
    while let Some(function) = pending.pop() {
        for call in function.calls() {
            let mut callees = Vec::from_iter(call.defined_function());
            if call.is_indirect() {
                // Nobody knows what it leads to.
                callees = module.defined_functions();
                callees.retain(|f| !f.is_kernel());
            }
            for callee in callees {
                if reached.insert(callee) {
                    pending.push(callee);
                }
            }
        }
    }
    reached
}
