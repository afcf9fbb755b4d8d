//! Handing the trace context on (CUDA): kernels and the device functions that need it get two trailing parameters.
//!
//! The runtime appends the two values when it launches a kernel, so nothing in the user's source changes. A device
//! function gets them if a probe stands in it or in something that it calls; functions whose address is taken are
//! changed all together, with every indirect call, so that pointers to them stay interchangeable.

use crate::ir::{Builder, Function, Module, Opcode, Type, Value};
use crate::probe::Context;
use crate::sites::TracedOperation;
use std::collections::{HashMap, HashSet};

/// Extends the functions that need it and returns the context that each can use. Operations that are calls follow them
/// to the calls that take their place.
pub fn extend(module: &Module, operations: &mut [TracedOperation]) -> HashMap<Function, Context> {
    let probed: HashSet<Function> = operations
        .iter()
        .map(|o| o.instruction.parent_function())
        .collect();
    let (contexts, rebuilt) = extend_functions(module, &probed);
    for operation in operations {
        if let Some(call) = rebuilt.get(&operation.instruction) {
            operation.instruction = *call;
        }
    }
    contexts
}

/// The same for the functions in `probed` and those that lead to them. Says too which call stands in which one's place.
pub fn extend_functions(
    module: &Module,
    probed: &HashSet<Function>,
) -> (HashMap<Function, Context>, HashMap<Value, Value>) {
    let extended = needing_context(module, probed);
    let extra = [module.pointer(0), module.int(64)];
    let (mut contexts, mut rebuilt) = (HashMap::new(), HashMap::new());
    for function in module
        .defined_functions()
        .into_iter()
        .filter(|f| extended.functions.contains(f))
    {
        let target = module.add_function("", longer(function.ty(), &extra));
        function.move_body_to(target);
        function.erase();
        forget_memory_promises(target);
        let parameters = target.parameters();
        let [.., pointer, launch] = parameters[..] else {
            continue;
        };
        pointer.set_name("superstep.context");
        launch.set_name("superstep.launch");
        contexts.insert(target, Context { pointer, launch });
    }
    for (function, context) in &contexts {
        for call in function
            .instructions()
            .into_iter()
            .filter(|i| i.opcode() == Some(Opcode::LLVMCall))
        {
            let target = call.callee();
            let passes_on = match target.as_function() {
                Some(callee) => contexts.contains_key(&callee),
                None => extended.indirect && target.inline_assembly().is_none(),
            };
            if passes_on {
                rebuilt.insert(call, rebuild_call(module, call, *context, &extra));
            }
        }
    }
    (contexts, rebuilt)
}

struct Extended {
    functions: HashSet<Function>,
    /// Whether indirect calls pass the context on.
    indirect: bool,
}

fn needing_context(module: &Module, probed: &HashSet<Function>) -> Extended {
    let defined = module.defined_functions();
    let mut callees: HashMap<Function, Vec<Function>> = HashMap::new();
    let (mut calls_indirectly, mut address_taken) = (HashSet::new(), HashSet::new());
    for function in &defined {
        for user in function.value().users() {
            if !(user.opcode() == Some(Opcode::LLVMCall) && user.callee() == function.value()) {
                address_taken.insert(*function);
            }
        }
        for call in function
            .instructions()
            .into_iter()
            .filter(|i| i.opcode() == Some(Opcode::LLVMCall))
        {
            match call.callee().as_function() {
                Some(callee) => callees.entry(*function).or_default().push(callee),
                None if call.callee().inline_assembly().is_none() => {
                    calls_indirectly.insert(*function);
                }
                None => {}
            }
        }
    }
    // Uses by `llvm.used` and the like are no addresses that code could call; indirect calls decide.
    let indirect = !calls_indirectly.is_empty();
    let mut functions: HashSet<Function> = defined
        .iter()
        .copied()
        .filter(|f| f.is_kernel() || probed.contains(f))
        .collect();
    if indirect {
        functions.extend(address_taken.iter().copied());
        functions.extend(calls_indirectly.iter().copied());
    }
    loop {
        let before = functions.len();
        for function in &defined {
            if callees
                .get(function)
                .is_some_and(|list| list.iter().any(|callee| functions.contains(callee)))
            {
                functions.insert(*function);
            }
        }
        if functions.len() == before {
            return Extended {
                functions,
                indirect,
            };
        }
    }
}

fn longer(ty: Type, extra: &[Type]) -> Type {
    let mut parameters = ty.parameters();
    parameters.extend(extra);
    ty.result().function(&parameters, ty.is_variadic())
}

/// Removes promises about memory that no longer hold once a function writes trace records, and those about captured
/// pointers: the address goes into the record.
fn forget_memory_promises(function: Function) {
    for name in [
        "memory",
        "nosync",
        "nofree",
        "willreturn",
        "speculatable",
        "captures",
        "nocallback",
        "norecurse",
    ] {
        function.remove_attribute(name);
    }
}

/// The same for functions that keep their parameters (the CPU backend).
pub fn forget_all_memory_promises(module: &Module) {
    for function in module.defined_functions() {
        forget_memory_promises(function);
        for call in function
            .instructions()
            .into_iter()
            .filter(|i| i.opcode() == Some(Opcode::LLVMCall))
        {
            if call
                .callee()
                .as_function()
                .is_some_and(|callee| !callee.is_declaration())
            {
                forget_call_promises(call);
            }
        }
    }
}

fn forget_call_promises(call: Value) {
    for name in [
        "memory",
        "nosync",
        "nofree",
        "willreturn",
        "captures",
        "nocallback",
    ] {
        call.remove_call_attribute(name);
    }
}

fn rebuild_call(module: &Module, call: Value, context: Context, extra: &[Type]) -> Value {
    let mut arguments = call.arguments();
    arguments.extend([context.pointer, context.launch]);
    let rebuilt = Builder::before(module, call).call(
        longer(call.called_type(), extra),
        call.callee(),
        &arguments,
    );
    call.copy_call_properties_to(rebuilt);
    forget_call_promises(rebuilt);
    if !call.ty().is_void() {
        let name = call.name();
        call.replace_all_uses_with(rebuilt);
        call.set_name("");
        rebuilt.set_name(&name);
    }
    call.erase();
    rebuilt
}
