//! Function specialisation (Cooper, Hall and Kennedy): one copy of a device function for each way it is called.
//!
//! The thesis' figure 5.6: `copy(shared, global)` and `copy(global, shared)` in one kernel make every access of `copy`
//! undecidable; as `copy_0` and `copy_1` both are proven.

use crate::ir::{Function, Module, Value};
use crate::mutation;
use crate::space::{Context, Contexts};
use std::collections::HashMap;

/// Clones what needs cloning and redirects the calls. Returns the number of clones.
pub fn specialise(module: &Module, contexts: &Contexts) -> usize {
    let mut copies: HashMap<Context, (Function, HashMap<Value, Value>)> = HashMap::new();
    let mut used = HashMap::<Function, usize>::new();
    let mut clones = 0;
    for context in &contexts.reached {
        let copy = used.entry(context.0).or_insert(0);
        // The first way a function is called keeps the original: kernels and functions whose address is taken are
        // reached before anything else, so those are never replaced.
        let made = if *copy == 0 {
            (context.0, HashMap::new())
        } else {
            clones += 1;
            context
                .0
                .duplicate(module, &format!("{}.copy_{copy}", context.0.name()))
        };
        *copy += 1;
        copies.insert(context.clone(), made);
    }
    for ((context, call), target) in &contexts.targets {
        let (Some((_, values)), Some((callee, _))) = (copies.get(context), copies.get(target))
        else {
            continue;
        };
        let call = values.get(call).copied().unwrap_or(*call);
        if call.callee() != callee.value() && !mutation::active("skip-clone") {
            call.set_callee(*callee);
        }
    }
    clones
}
