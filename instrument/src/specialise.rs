//! Function specialisation (Cooper, Hall and Kennedy): one copy of a device function for each way it is called.
//!
//! Rieber 2017, figure 5.6: `copy(shared, global)` and `copy(global, shared)` in one kernel make every access of `copy`
//! undecidable; as `copy_0` and `copy_1` both are proven.

use crate::ir::{Function, Module, Value, duplicate, traits::*};
use crate::space::{Context, Contexts};
use std::collections::HashMap;
use superstep_trace::display_name;

#[derive(Debug, Default)]
pub struct Copies {
    pub added: usize,
    /// For each function of which there are several, by its name in the module: the way in which it is called, such as
    /// `copy_0(global, shared)`. The numbers and the notation are those of Rieber 2017.
    pub ways: HashMap<String, String>,
}

pub fn specialise<'m>(module: &'m Module, contexts: &Contexts<'m>) -> Copies {
    let mut copies: HashMap<Context, (Function, HashMap<Value, Value>)> = HashMap::new();
    let mut used = HashMap::<Function, usize>::new();
    let mut result = Copies::default();
    for context in &contexts.reached {
        let copy = used.entry(context.0).or_insert(0);
        // The first way a function is called keeps the original: kernels and functions whose address is taken are
        // reached before anything else, so those are never replaced.
        let made = if *copy == 0 {
            (context.0, HashMap::new())
        } else {
            result.added += 1;
            duplicate(
                context.0,
                module,
                &format!("{}.copy_{copy}", context.0.name()),
            )
        };
        let spaces: Vec<&str> = context.1.iter().map(|fact| fact.name()).collect();
        let name = display_name(&context.0.name());
        let way = format!("{name}_{copy}({})", spaces.join(", "));
        result.ways.insert(made.0.name(), way);
        *copy += 1;
        copies.insert(context.clone(), made);
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
    for (function, _) in used.iter().filter(|(_, ways)| **ways == 1) {
        result.ways.remove(&function.name());
    }
    result
}
