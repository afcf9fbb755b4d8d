//! Inserting calls of the probe's handler before the operations that it watches.

use crate::ir::{Builder, Function, Linkage, Module, Opcode, Value};
use crate::mutation;
use crate::operation::{Guard, Unsupported, Width, memory_operations};
use crate::sites::TracedOperation;
use inkwell::llvm_sys::LLVMIntPredicate;
use std::collections::HashMap;

/// The handler that every probe file defines.
pub const HANDLER: &str = "__superstep_probe_access";
/// Ours around it, for addresses that must be tested or widths that may be zero.
pub const TESTED: &str = "superstep.probe_access_tested";
/// The CPU runtime's answer to "is this address in device memory?".
pub const CPU_TEST: &str = "__superstep_is_global";

/// From this number of calls in one function on, the handler is called and not inlined. A traced kernel of some fifty
/// operations is a megabyte of PTX otherwise, over which ptxas takes minutes, and one of a few hundred
/// does not end.
const CROWDED_CALLS: usize = 32;

/// How a backend tells global addresses from others at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressTest {
    /// The GPU's own instruction.
    IsSpacePGlobal,
    /// A question to the CPU backend's runtime.
    CpuRuntime,
}

/// What a function hands to the probes inside it: the trace context and the number of the launch.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Pointer to the backend's trace context.
    pub pointer: Value,
    /// Number of the launch.
    pub launch: Value,
}

/// Puts a handler call before each operation. `contexts` says what each function passes on.
pub fn insert(
    module: &Module,
    operations: &[TracedOperation],
    contexts: &HashMap<Function, Context>,
    test: AddressTest,
) -> Result<(), Unsupported> {
    let (pointer, i64t, i32t) = (module.pointer(0), module.int(64), module.int(32));
    let ty = module
        .void()
        .function(&[pointer, i64t, i32t, pointer, i32t], false);
    let handler = module.declare(HANDLER, ty);
    let mut guarded = None;
    let none = Context {
        pointer: pointer.null(),
        launch: i64t.constant(0),
    };
    for traced in operations {
        // Asked again, not remembered: handing the context on has rebuilt parameters and calls since.
        let Some(operation) = memory_operations(module, traced.instruction, true)?
            .get(traced.index)
            .copied()
        else {
            continue;
        };
        let builder = Builder::before(module, traced.instruction);
        let context = contexts
            .get(&traced.instruction.parent_function())
            .copied()
            .unwrap_or(none);
        let width = match operation.width {
            Width::Fixed(bytes) => i32t.constant(u64::from(bytes)),
            Width::Varies(length) => saturate(module, &builder, length),
        };
        let width = match operation.guard {
            Some(guard) => only_if(module, &builder, guard, width),
            None => width,
        };
        let address = builder.to_generic(module, operation.pointer);
        let address = match operation.offset_bytes {
            0 => address,
            bytes => builder.offset(module, address, bytes as u64),
        };
        let site = i32t.constant(u64::from(traced.id.0));
        let mut arguments = vec![context.pointer, context.launch, site, address, width];
        let may_be_empty = matches!(operation.width, Width::Varies(_)) || operation.guard.is_some();
        if traced.tested || may_be_empty && !mutation::active("probe-empty-copy") {
            let guarded = *guarded.get_or_insert_with(|| define_guarded(module, handler, test));
            let test_it = traced.tested && !mutation::active("never-test");
            arguments.push(module.int(1).constant(u64::from(test_it)));
            builder.call(guarded.ty(), guarded.value(), &arguments);
        } else {
            builder.call(ty, handler.value(), &arguments);
            if mutation::active("probe-twice") {
                builder.call(ty, handler.value(), &arguments);
            }
        }
    }
    Ok(())
}

/// Keeps the calls of `handler`, which is inlined elsewhere, where there are very many of them.
pub fn keep_calls_in_crowded_functions(handler: Function) {
    let mut calls: HashMap<Function, Vec<Value>> = HashMap::new();
    for user in handler.value().users() {
        if user.opcode() == Some(Opcode::LLVMCall) {
            calls.entry(user.parent_function()).or_default().push(user);
        }
    }
    for call in calls
        .into_values()
        .filter(|calls| calls.len() >= CROWDED_CALLS)
        .flatten()
    {
        call.add_call_attribute("noinline");
    }
}

/// `width`, or 0 where the guard does not hold.
pub fn only_if(module: &Module, builder: &Builder, guard: Guard, width: Value) -> Value {
    let zero = guard.value.ty().constant(0);
    let predicate = if guard.zero {
        LLVMIntPredicate::LLVMIntEQ
    } else {
        LLVMIntPredicate::LLVMIntNE
    };
    let holds = builder.compare(predicate, guard.value, zero);
    builder.select(holds, width, module.int(32).constant(0))
}

/// A length as 32 bits: no thread copies 4 GiB at once, but if one did, the largest number says so.
pub fn saturate(module: &Module, builder: &Builder, length: Value) -> Value {
    let i32t = module.int(32);
    if length.ty() == i32t {
        return length;
    }
    let largest = length.ty().constant(u64::from(u32::MAX));
    let fits = builder.compare(LLVMIntPredicate::LLVMIntULT, length, largest);
    let limited = builder.select(fits, length, largest);
    builder.cast(Opcode::LLVMTrunc, limited, i32t)
}

/// `if (width != 0 && (!test || is_global(address))) handler(…)`, as a function that is inlined later.
fn define_guarded(module: &Module, handler: Function, test: AddressTest) -> Function {
    let mut parameters = handler.ty().parameters();
    parameters.push(module.int(1));
    let function = module.add_function(TESTED, module.void().function(&parameters, false));
    module.set_linkage(function.value(), Linkage::LLVMInternalLinkage);
    function.add_attribute("alwaysinline");
    let [check, ask, trace, done] =
        ["check", "ask", "trace", "done"].map(|name| function.append_block(name));
    let arguments = function.parameters();
    let (address, width, test_it) = (arguments[3], arguments[4], arguments[5]);

    let b = Builder::at_end(module, check);
    let empty = b.compare(
        LLVMIntPredicate::LLVMIntEQ,
        width,
        module.int(32).constant(0),
    );
    b.branch_if(empty, done, ask);

    let b = Builder::at_end(module, ask);
    let is_global = match test {
        AddressTest::IsSpacePGlobal => {
            let intrinsic = module.intrinsic("llvm.nvvm.isspacep.global", &[]);
            b.call(intrinsic.ty(), intrinsic.value(), &[address])
        }
        AddressTest::CpuRuntime => {
            let ask = module.declare(
                CPU_TEST,
                module.int(8).function(&[module.pointer(0)], false),
            );
            let answer = b.call(ask.ty(), ask.value(), &[address]);
            b.compare(
                LLVMIntPredicate::LLVMIntNE,
                answer,
                module.int(8).constant(0),
            )
        }
    };
    let known = b.binary(Opcode::LLVMXor, test_it, module.int(1).constant(1));
    let traced = b.binary(Opcode::LLVMOr, known, is_global);
    b.branch_if(traced, trace, done);

    let b = Builder::at_end(module, trace);
    b.call(handler.ty(), handler.value(), &arguments[..5]);
    b.branch(done);
    Builder::at_end(module, done).return_void();
    function
}
