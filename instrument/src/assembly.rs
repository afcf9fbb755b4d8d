//! Makes inline PTX say what it does to memory.
//!
//! Clang takes asm for code that computes its results from its operands, and neither writes nor reads memory, unless the source says
//! `volatile` or names memory as clobbered. Headers forget to: Clang's own vector atomics do, and so do loads of half-precision numbers in
//! CUDA's. LLVM would leave out such asm when nothing uses its results, and move loads across stores.

use crate::ir::{Attribute, Module};
use crate::ptx::{Effect, Effects};

/// Makes every piece of inline PTX in `module` say what its text does, and leaves out what does nothing that is used: no site may stand at
/// what a backend would leave out later. Returns the places of those that act and said that they do not, each as a line.
pub fn declare(module: &Module) -> Vec<String> {
    let mut undeclared = Vec::new();
    let functions = module.defined_functions().into_iter();
    for call in functions.flat_map(|function| function.calls()) {
        let Some((template, _)) = call.callee().inline_assembly() else {
            continue;
        };
        // Without the attribute, it may do anything.
        if call.assembly_has_effects() || !call.has_attribute("memory") {
            continue;
        }
        let Effects { effect, jumps } = Effects::of(&template);
        if effect != Effect::Acts && !jumps && call.users().is_empty() {
            call.erase();
            continue;
        }
        match effect {
            Effect::None => {}
            Effect::Reads => {
                call.clobber_memory(false);
                call.remove_attribute("memory");
                call.add_attribute(Attribute::OnlyReads);
            }
            Effect::Acts => {
                undeclared.push(format!("{}\n", call.location()));
                call.clobber_memory(true);
                call.remove_attribute("memory");
            }
        }
    }
    undeclared
}
