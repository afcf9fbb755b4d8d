//! Passes the trace context to callees (CUDA): kernels and the device functions that need it get two trailing
//! parameters.
//!
//! The runtime appends the two arguments when it launches a kernel, so the user's source does not change. A device
//! function gets them if it or one of its callees has a probe. All functions whose address is taken are changed
//! together with all indirect calls, so that pointers to these functions stay interchangeable.

use crate::ir::{Builder, Call, Function, Instruction, Module, Type, Value, traits::*};
use crate::probe::Context;
use crate::reach::reach;
use std::collections::{HashMap, HashSet};

/// Map from replaced calls to their replacements.
pub type Rebuilt<'m> = HashMap<Value<'m>, Call<'m>>;

/// Returns the instruction, or the call that replaced it.
pub fn current<'m>(instruction: Instruction<'m>, rebuilt: &Rebuilt<'m>) -> Instruction<'m> {
    let call = rebuilt.get(&instruction.value());
    call.map_or(instruction, |call| call.instruction())
}

/// Adds the parameters to the functions in `probed`, their callers, and functions that may be called indirectly.
/// Returns each function's context and the replaced calls, or, for the CPU backend, only removes promises.
pub fn extend<'m>(
    module: &'m Module,
    probed: &HashSet<Function<'m>>,
    cuda: bool,
) -> (HashMap<Function<'m>, Context<'m>>, Rebuilt<'m>) {
    if !cuda {
        forget_all_memory_promises(module);
        return Default::default();
    }
    let defined = module.defined_functions();
    let calls_indirectly = |f: &Function| f.calls().any(|call| call.is_indirect());
    // Code cannot call addresses in `llvm.used` and the like, so only indirect calls matter.
    let indirect = defined.iter().any(calls_indirectly);
    let needs = |f: &&Function| {
        f.is_kernel()
            || probed.contains(f)
            || indirect && (f.is_address_taken() || calls_indirectly(f))
    };
    let extended = with_callers(defined.iter().filter(needs).copied().collect());
    let extra = [Type::pointer(0), Type::int(64)];
    let (mut contexts, mut rebuilt) = (HashMap::new(), HashMap::new());
    for function in defined.into_iter().filter(|f| extended.contains(f)) {
        let target = module.add_function("", function.signature().with_parameters(&extra));
        function.move_body_to(module, target);
        forget_memory_promises(target);
        let parameters = target.parameters();
        let [.., pointer, launch] = parameters[..] else {
            continue;
        };
        pointer.rename("superstep.context");
        launch.rename("superstep.launch");
        contexts.insert(target, [pointer, launch]);
    }
    for (function, context) in &contexts {
        for call in function.calls() {
            // A call to an extended function still has that function's old type.
            let passes_on = match call.callee().as_function() {
                Some(callee) => contexts.contains_key(&callee),
                None => indirect && call.is_indirect(),
            };
            if passes_on {
                rebuilt.insert(call.value(), rebuild_call(call, *context, &extra));
            }
        }
    }
    (contexts, rebuilt)
}

/// Returns the functions and all their direct and transitive callers.
pub fn with_callers<'m>(functions: HashSet<Function<'m>>) -> HashSet<Function<'m>> {
    reach(functions, |function| {
        function.callers().map(|call| call.parent_function())
    })
}

/// Attributes that no longer hold once a function writes trace records: a record contains the address, which captures
/// the pointer.
const PROMISES: &str = "memory nosync nofree willreturn captures nocallback";

fn forget_memory_promises(function: Function) {
    for name in PROMISES.split(' ').chain(["speculatable", "norecurse"]) {
        function.remove_attribute(name);
    }
}

/// Removes the promises about memory from all functions and calls, for the CPU backend, which adds no parameters.
fn forget_all_memory_promises(module: &Module) {
    for function in module.defined_functions() {
        forget_memory_promises(function);
        for call in function.calls() {
            if call.defined_function().is_some() {
                forget_call_promises(call);
            }
        }
    }
}

fn forget_call_promises(call: Call) {
    (PROMISES.split(' ')).for_each(|name| call.remove_attribute(name));
}

fn rebuild_call<'m>(call: Call<'m>, context: Context<'m>, extra: &[Type]) -> Call<'m> {
    let mut arguments = call.arguments();
    arguments.extend(context);
    let signature = call.called_type().with_parameters(extra);
    let rebuilt = Builder::before(call).call_pointer(signature, call.callee(), &arguments);
    call.copy_properties_to(rebuilt);
    forget_call_promises(rebuilt);
    call.replace_with(rebuilt.value());
    rebuilt
}
