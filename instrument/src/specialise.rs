//! Function specialisation (Cooper, Hall and Kennedy): creates a copy of a device function for each calling context.
//!
//! Rieber 2017, figure 5.6: with `copy(shared, global)` and `copy(global, shared)` in one kernel, every access in
//! `copy` is undecidable; in `copy_0` and `copy_1`, every access is proven.

use crate::ir::{Function, Module, Value, duplicate, traits::*};
use crate::space::{Context, Contexts};
use std::collections::HashMap;
use superstep_trace::display_name;

#[derive(Debug, Default)]
pub struct Copies {
    pub added: u64,
    /// Calling context of each copied function, keyed by the function's name in the module, in the notation of
    /// Rieber 2017: `copy_0(global, shared)`.
    pub contexts: HashMap<String, String>,
}

pub fn specialise<'m>(module: &'m Module, contexts: &Contexts<'m>) -> Copies {
    let mut copies: HashMap<Context, (Function, HashMap<Value, Value>)> = HashMap::new();
    let mut counts = HashMap::<Function, usize>::new();
    let mut result = Copies::default();
    for context in &contexts.reached {
        let count = counts.entry(context.0).or_insert(0);
        // The first context keeps the original. Kernels and functions whose address is taken are reached first, so they
        // are never replaced.
        let copy = if *count == 0 {
            (context.0, HashMap::new())
        } else {
            result.added += 1;
            let name = format!("{}.copy_{count}", context.0.name());
            duplicate(context.0, module, &name)
        };
        let spaces: Vec<&str> = context.1.iter().map(|fact| fact.name()).collect();
        let name = display_name(&context.0.name());
        let description = format!("{name}_{count}({})", spaces.join(", "));
        result.contexts.insert(copy.0.name(), description);
        *count += 1;
        copies.insert(context.clone(), copy);
    }
    for ((context, call), target) in &contexts.targets {
        let (Some((_, values)), Some((callee, _))) = (copies.get(context), copies.get(target))
        else {
            continue;
        };
        let call = match values.get(&call.value()) {
            Some(copy) => copy.as_call(),
            None => Some(*call),
        };
        if let Some(call) = call.filter(|call| call.get_called_fn_value() != Some(*callee)) {
            call.set_callee(*callee);
        }
    }
    for (function, _) in counts.iter().filter(|(_, count)| **count == 1) {
        result.contexts.remove(&function.name());
    }
    result
}
