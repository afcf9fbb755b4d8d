//! Groups log entries (CPU backend). If a handler runs once per warp, each lane writes a log
//! (`probes/include/superstep/probe.h`). Consecutive places between which no other lane can run form a *run*. A run has
//! one entry, with the site of the first place and a payload for each place. Lanes that reach the first place together
//! reach all places together, so the runtime compares and groups lanes only once per run.

use super::places::{Place, Subject};
use crate::ir::{Instruction, traits::*};
use std::collections::HashMap;
use superstep_trace::ProbeSpec;
use superstep_trace::probe::OncePer;

/// Maximum number of places in a run: the entry, including its head, must fit into a thread's initial log.
const MAX_PLACES: usize = 62;
/// Function `u64 *(u64 head, u32 words)`, which reserves an entry and returns the address of its payloads.
pub const RESERVE: &str = "__superstep_probe_reserve";

/// Returns whether a place can be part of a run. An access cannot: its guard and width may be known only at run time.
pub fn can_be_in_run(spec: &ProbeSpec, place: &Place) -> bool {
    spec.points[place.site.point as usize].once_per == OncePer::Warp
        && !matches!(place.subject, Subject::Access(_))
}

/// Stores the number of followers in the first place of each run.
pub fn mark(spec: &ProbeSpec, places: &mut [Place]) {
    for places in places.chunk_by_mut(|a, b| a.anchor.parent_block() == b.anchor.parent_block()) {
        let instructions = places[0].anchor.parent_block().instructions();
        let numbers: HashMap<Instruction, usize> = instructions.iter().copied().zip(0..).collect();
        let at = |place: &Place| numbers.get(&place.anchor).copied().unwrap_or(usize::MAX);
        if !places.is_sorted_by_key(at) {
            // Entries would overlap, so each place logs separately.
            continue;
        }
        let runs = places.chunk_by_mut(|place, next| {
            let between = || instructions[at(place)..at(next)].iter().copied();
            can_be_in_run(spec, place) && can_be_in_run(spec, next) && !between().any(may_yield)
        });
        for run in runs.flat_map(|run| run.chunks_mut(MAX_PLACES)) {
            run[0].site.followers = run.len() as u32 - 1;
        }
    }
}

/// Returns whether other lanes may run, or the same thread may log, during an instruction.
fn may_yield(instruction: Instruction) -> bool {
    let Some(call) = instruction.as_call() else {
        return false;
    };
    call.get_called_fn_value().is_none_or(|callee| {
        // Barriers and warp operations are convergent, as are reads of special registers, which do not wait.
        let name = callee.name();
        let is_operation = name.starts_with("llvm.nvvm.") && !name.contains(".read.ptx.sreg.");
        !callee.is_intrinsic() || is_operation && callee.has_attribute("convergent")
    })
}
