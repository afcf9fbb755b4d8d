//! Makes inline PTX do what it does for nvcc.
//!
//! nvcc leaves out asm that is not `volatile` when nothing uses its results, whatever its text does. What is used it neither merges nor moves
//! across accesses to memory, as Clang does with asm that says neither `volatile` nor that it changes memory. Clang's own headers have such
//! asm for functions that nvcc never leaves out: vector atomics, and loads with cache hints.

use crate::ir::{Call, Location, Module, traits::*};
use crate::ptx::Effect;

const DROPPABLE: &str = "superstep-droppable";

/// Keeps LLVM from drawing conclusions about inline PTX that says nothing of the memory that it accesses.
pub fn declare(module: &Module) {
    for (call, template) in pieces(module) {
        // Without the attribute, it may do anything.
        if call.callee().has_side_effects() || !call.has_attribute("memory") {
            continue;
        }
        let effect = Effect::of(&template);
        if effect == Effect::None || !Location::is_in_header_of_clang(call.instruction()) {
            call.set_text_attribute(DROPPABLE, "");
        }
        if effect != Effect::None {
            call.keep_assembly();
            call.remove_attribute("memory");
        }
    }
}

/// Drops what nvcc drops, so that no site is at code that a backend would drop later.
pub fn drop_unused(module: &Module) {
    for (call, _) in pieces(module) {
        if call.text_attribute(DROPPABLE).is_some() && call.users().is_empty() {
            call.erase();
        }
    }
}

fn pieces(module: &Module) -> impl Iterator<Item = (Call<'_>, String)> {
    let functions = module.defined_functions().into_iter();
    functions
        .flat_map(|function| function.calls())
        .filter_map(|call| {
            let (template, _) = call.callee().inline_assembly()?;
            Some((call, template))
        })
}
