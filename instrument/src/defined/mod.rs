//! User-defined probes: inserts calls to their handlers at the places that the probes name. A handler's bitcode has
//! functions with fixed names and types, which the build generates around the user's code. Fields are local variables of
//! the function that contains the site, so they are usually in registers; they are written to memory at each return.

mod classes;
mod insert;
mod native;
mod places;
mod runs;

use crate::context;
use crate::ir::{Function, Machine, Module, traits::*};
use crate::probe::link_handler;
use crate::reach::reach;
use crate::sites::SiteOptions;
use anyhow::{Context as _, Result};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use superstep_trace::probe::{At, KernelSlots};
use superstep_trace::{DefinedProbe, ProbeSpec};

/// Maximum number of handler calls that are inlined into a function; with more, ptxas takes too long.
const MAX_INLINED_CALLS: usize = 256;
/// Function that the CPU runtime calls for the lanes of a warp that have reached a place together.
pub const GROUP: &str = "superstep_group";

pub fn insert(
    module: &mut Module,
    spec: &ProbeSpec,
    options: SiteOptions,
    machine: &Machine,
    cuda: bool,
) -> Result<DefinedProbe> {
    if (spec.points.iter()).any(|point| point.at.contains(&At::Branch)) {
        // Code generation turns a switch into conditional branches, and the probe is called at each of them.
        let passes = "function(lower-switch)";
        module.run_passes("lowering switches", passes, machine)?;
    }
    let mut places = places::find(module, spec, options)?;
    if !cuda {
        runs::mark(spec, &mut places);
    }
    let sites = places.iter().map(|place| place.site.clone()).collect();
    let mut kernels = kernel_slots(module, &places);
    let probed: HashSet<Function> = places.iter().map(|place| place.function()).collect();
    native::keep(module, &mut kernels, &probed);
    let (contexts, rebuilt) = context::extend(module, &probed, cuda);
    for place in &mut places {
        place.follow(&rebuilt);
    }
    insert::insert(module, spec, options.module_index, &places, &contexts, cuda);
    module.verify("inserting the probe")?;
    Ok(DefinedProbe {
        spec: spec.clone(),
        sites,
        kernels,
    })
}

pub fn finish(module: &mut Module, handler: &Path, machine: &Machine) -> Result<()> {
    let is_handler = |name: &str| name.starts_with("superstep_");
    link_handler(module, handler, MAX_INLINED_CALLS, is_handler).context(
        "the probe's handler and the program define the same names; rename those in the handler",
    )?;
    let passes = "always-inline,function(lower-constant-intrinsics,sroa,early-cse),globaldce";
    module.run_passes("linking the probe's handler", passes, machine)
}

/// Returns the range of slots that each kernel can reach, directly or through its callees.
fn kernel_slots(module: &Module, places: &[places::Place]) -> BTreeMap<String, KernelSlots> {
    let functions: Vec<Function> = places.iter().map(|place| place.function()).collect();
    let slots_of = |kernel| {
        let reached = reached_from(module, kernel);
        let is_reached = |function: &Function| reached.contains(function);
        let first = functions.iter().position(is_reached).unwrap_or(0);
        let last = functions.iter().rposition(is_reached);
        KernelSlots {
            first: first as u32,
            count: last.map_or(0, |last| last + 1 - first) as u32,
            native: false,
        }
    };
    let kernels = module.kernels().into_iter();
    kernels.map(|f| (f.name(), slots_of(f))).collect()
}

fn reached_from<'m>(module: &'m Module, kernel: Function<'m>) -> HashSet<Function<'m>> {
    reach([kernel], |function| {
        // An indirect call may reach any function.
        if function.calls().any(|call| call.is_indirect()) {
            let mut callees = module.defined_functions();
            callees.retain(|f| !f.is_kernel());
            return callees;
        }
        function.callees()
    })
}
