//! Gives inline PTX the meaning that it has under nvcc.
//!
//! nvcc removes asm that is not `volatile` when its results are unused, even if its text has side effects. Otherwise it
//! neither merges such asm nor moves it across memory accesses; Clang does both unless the asm is `volatile` or
//! clobbers memory. Clang's own headers implement functions that nvcc never removes (vector atomics, loads with cache
//! hints) with such asm.

use crate::ir::{Call, Location, Module, traits::*};
use crate::ptx::Effect;

const DROPPABLE: &str = "superstep-droppable";

/// Keeps LLVM from assuming that inline PTX without a memory clobber accesses no memory.
pub fn declare(module: &Module) {
    for (call, template) in inline_assembly(module) {
        // Without the attribute, LLVM makes no assumption.
        if call.callee().has_side_effects() || !call.has_attribute("memory") {
            continue;
        }
        let effect = Effect::of(&template);
        if effect == Effect::None || !Location::is_in_clang_header(call.instruction()) {
            call.set_text_attribute(DROPPABLE, "");
        }
        if effect != Effect::None {
            call.keep_assembly();
            call.remove_attribute("memory");
        }
    }
}

/// Removes the asm that nvcc removes, so that no site is in code that a backend would remove later.
pub fn drop_unused(module: &Module) {
    for (call, _) in inline_assembly(module) {
        if call.text_attribute(DROPPABLE).is_some() && call.users().is_empty() {
            call.erase();
        }
    }
}

fn inline_assembly(module: &Module) -> impl Iterator<Item = (Call<'_>, String)> {
    let calls = module.instructions().filter_map(|it| it.as_call());
    calls.filter_map(|call| Some((call, call.callee().inline_assembly()?.0)))
}
