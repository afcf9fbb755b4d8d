//! Inserts calls to the probe's handler before the traced operations.

use crate::ir::{
    Builder, Call, Function, Instruction, IntPredicate::*, Module, Opcode, Type, Value, traits::*,
};
use crate::operation::{Guard, Lines, Width, memory_operations};
use crate::sites::TracedOperation;
use anyhow::Result;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use superstep_trace::{Backend, Op, SiteId};

/// The handler's function for accesses.
pub const HANDLER: &str = "__superstep_probe_access";
/// Additional functions of an aggregating handler, called at the entry and each exit of a function.
pub const BEGIN: &str = "__superstep_probe_begin";
pub const END: &str = "__superstep_probe_end";
/// Number of 64-bit counters that a function keeps for an aggregating handler.
const COUNTER_WORDS: usize = 24;
/// Wrapper around the handler for addresses that must be tested and widths that may be zero.
pub const TESTED: &str = "superstep.probe_access_tested";
/// CPU runtime function that tests whether an address is in device memory.
pub const CPU_TEST: &str = "__superstep_is_global";

/// Returns the maximum number of handler calls that a function may contain for them to be inlined. Fifty inlined calls
/// produce a megabyte of PTX, which takes ptxas minutes to compile; an aggregating handler's inlined part is short.
pub fn max_inlined_calls(is_aggregating: bool) -> usize {
    if is_aggregating { 127 } else { 31 }
}

/// Trace context and launch number, which a function passes to its probes.
pub type Context<'m> = [Value<'m>; 2];

fn no_context<'m>() -> Context<'m> {
    [Type::pointer(0).null(), Type::int(64).constant(0)]
}

/// Bit position of the operation in the site that is passed to an aggregating handler.
const OPERATION_SHIFT: u32 = 28;

/// Inserts a handler call before each operation. `contexts` contains the context of each function. An aggregating
/// handler receives the operation in the site's highest bits, and the function's counters.
pub fn insert<'m>(
    module: &'m Module,
    operations: &[TracedOperation<'m>],
    contexts: &HashMap<Function<'m>, Context<'m>>,
    backend: Backend,
    is_aggregating: bool,
) -> Result<()> {
    let (pointer, i64t, i32t) = (Type::pointer(0), Type::int(64), Type::int(32));
    let mut signature = Type::void().function(&[pointer, i64t, i32t, pointer, i32t]);
    if is_aggregating {
        signature = signature.with_parameters(&[pointer]);
    }
    let handler = module.declare(HANDLER, signature);
    let mut guarded = None;
    let mut counters = HashMap::new();
    for traced in operations {
        let builder = Builder::before(traced.instruction);
        let Some(access) = access(module, &builder, traced)? else {
            continue;
        };
        let function = traced.instruction.parent_function();
        let context = contexts.get(&function).copied();
        let context = context.unwrap_or_else(no_context);
        let mut site = traced.id.0;
        if is_aggregating {
            site |= u32::from(access.op.code()) << OPERATION_SHIFT;
        }
        let site = i32t.constant(u64::from(site));
        let mut arguments = context.to_vec();
        arguments.extend([site, access.address, access.width_bytes]);
        if is_aggregating {
            let insert = || insert_counters(module, function, context);
            arguments.push(*counters.entry(function).or_insert_with(insert));
        }
        if traced.tested || access.may_be_empty {
            let guarded = *guarded.get_or_insert_with(|| define_guarded(module, handler, backend));
            arguments.push(Type::int(1).constant(u64::from(traced.tested)));
            builder.call(guarded, &arguments);
        } else {
            builder.call(handler, &arguments);
        }
        // In copies of an always-inlined function, LLVM may remove accesses along with their calls.
        if !function.has_attribute("alwaysinline") {
            traced.instruction.add_sites(&[traced.id]);
        }
    }
    Ok(())
}

/// Inserts code after each of these CTA barriers, to record in the trace that a thread has passed a grid barrier.
pub fn mark_grid_barriers<'m>(
    module: &'m Module,
    barriers: &HashSet<Instruction<'m>>,
    contexts: &HashMap<Function<'m>, Context<'m>>,
) {
    let i32t = Type::int(32);
    let site = i32t.constant(u64::from(SiteId::GRID_BARRIER.0));
    for barrier in barriers {
        let context = contexts.get(&barrier.parent_function()).copied();
        let [pointer, launch] = context.unwrap_or_else(no_context);
        let null = Type::pointer(0).null();
        let arguments = [pointer, launch, site, null, i32t.constant(0)];
        let after = barrier.next().expect("a barrier is not a terminator");
        Builder::before(after).call_named(module, HANDLER, Type::void(), &arguments);
    }
}

/// Adds a function's counters, which the handler initialises, and passes them to the handler at each of the
/// function's exits.
fn insert_counters<'m>(
    module: &'m Module,
    function: Function<'m>,
    context: Context<'m>,
) -> Value<'m> {
    let ends: Vec<_> = (function.instructions().into_iter())
        .filter(|instruction| match instruction.as_call() {
            Some(call) => ends_thread(call),
            None => instruction.get_opcode() == Opcode::Return,
        })
        .collect();
    let at_entry = Builder::at_entry(function);
    let counters = at_entry.alloca(Type::int(64).array(COUNTER_WORDS));
    let arguments = [context[0], context[1], counters.value()];
    at_entry.call_named(module, BEGIN, Type::void(), &arguments);
    for last in ends {
        Builder::before(last).call_named(module, END, Type::void(), &arguments);
    }
    counters.value()
}

/// Returns whether a call may terminate the thread with PTX's `exit`.
fn ends_thread(call: Call) -> bool {
    let assembly = call.callee().inline_assembly();
    call.function_name() == "llvm.nvvm.exit"
        || assembly.is_some_and(|(text, _)| {
            let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
            words.any(|word| word == "exit")
        })
}

pub struct Access<'m> {
    pub op: Op,
    pub address: Value<'m>,
    pub width_bytes: Value<'m>,
    /// Whether the access may be 0 bytes wide.
    pub may_be_empty: bool,
}

/// Computes an access at the builder's position. Examines the instruction again, because `context::extend` has replaced
/// parameters and calls since it was first examined.
pub fn access<'m>(
    module: &'m Module,
    builder: &Builder<'m>,
    traced: &TracedOperation<'m>,
) -> Result<Option<Access<'m>>> {
    let operations = memory_operations(module, traced.instruction, true)?;
    let Some(operation) = operations.get(traced.index) else {
        return Ok(None);
    };
    let mut width_bytes = match operation.width {
        Width::Fixed(bytes) => Type::int(32).constant(u64::from(bytes)),
        Width::Varies(length) => saturate(builder, length),
    };
    if let Some(Guard { value, zero }) = operation.guard {
        let predicate = if zero { EQ } else { NE };
        let is_executed = builder.compare(predicate, value, value.ty().constant(0));
        width_bytes = builder.select(is_executed, width_bytes, Type::int(32).constant(0));
    }
    let mut address = builder.to_generic(operation.pointer);
    if operation.offset_bytes != 0 {
        address = builder.offset(address, operation.offset_bytes as u64);
    }
    if let Some(lines) = operation.lines {
        address = builder.offset_by(address, piece_offset(module, builder, lines));
    }
    Ok(Some(Access {
        op: operation.op,
        address,
        width_bytes,
        may_be_empty: matches!(operation.width, Width::Varies(_)) || operation.guard.is_some(),
    }))
}

/// Links a handler's file. Functions for which `is_handler` is true are inlined, except into functions that call one of
/// them more than `max_calls` times.
pub fn link_handler(
    module: &mut Module,
    file: &Path,
    max_calls: usize,
    is_handler: impl Fn(&str) -> bool,
) -> Result<()> {
    // Linked functions come after the existing ones.
    let existing = module.defined_functions().len();
    module.link("inserting the calls", file, |_| {})?;
    for function in module.defined_functions().into_iter().skip(existing) {
        let name = function.name();
        if name == crate::defined::GROUP {
            continue;
        }
        function.make_internal();
        if is_handler(&name) {
            function.remove_attribute("noinline");
            function.set_attribute("alwaysinline");
            keep_calls_in_crowded_functions(function, max_calls);
        }
    }
    Ok(())
}

fn keep_calls_in_crowded_functions(handler: Function, max_calls: usize) {
    let mut calls: HashMap<Function, Vec<Call>> = HashMap::new();
    for call in handler.callers() {
        calls.entry(call.parent_function()).or_default().push(call);
    }
    let crowded = calls.into_values().filter(|calls| calls.len() > max_calls);
    crowded
        .flatten()
        .for_each(|call| call.set_attribute("noinline"));
}

fn piece_offset<'m>(module: &'m Module, builder: &Builder<'m>, lines: Lines<'m>) -> Value<'m> {
    let Lines { tile, stride } = lines;
    let long = Type::int(64);
    let number = |value: u32| long.constant(u64::from(value));
    let lane = module.intrinsic("llvm.nvvm.read.ptx.sreg.laneid", &[]);
    let lane = builder.cast(Opcode::ZExt, builder.call(lane, &[]).value(), long);
    let position = builder.binary(Opcode::Mul, lane, number(tile.piece_bytes()));
    let line = builder.binary(Opcode::UDiv, position, number(tile.line_bytes()));
    let in_line = builder.binary(Opcode::URem, position, number(tile.line_bytes()));
    let stride = match stride {
        Some(stride) => builder.resize(stride, 64, false),
        None => number(tile.line()),
    };
    let bits = builder.binary(Opcode::Mul, stride, number(tile.element.bits()));
    let bytes = builder.binary(Opcode::LShr, bits, number(3));
    let before = builder.binary(Opcode::Mul, line, bytes);
    builder.binary(Opcode::Add, before, in_line)
}

/// Converts a length to 32 bits, saturating at 4 GiB - 1.
fn saturate<'m>(builder: &Builder<'m>, length: Value<'m>) -> Value<'m> {
    let i32t = Type::int(32);
    if length.ty() == i32t {
        return length;
    }
    let largest = length.ty().constant(u64::from(u32::MAX));
    let fits = builder.compare(ULT, length, largest);
    let clamped = builder.select(fits, length, largest);
    builder.cast(Opcode::Trunc, clamped, i32t)
}

/// Defines `if (width != 0 && (!test || is_global(address))) handler(…)` as a function, which is inlined later.
fn define_guarded<'m>(module: &'m Module, handler: Function<'m>, backend: Backend) -> Function<'m> {
    let signature = handler.signature().with_parameters(&[Type::int(1)]);
    let function = module.add_function(TESTED, signature);
    function.make_internal();
    function.set_attribute("alwaysinline");
    let [check, test, trace, done] =
        ["check", "test", "trace", "done"].map(|name| function.append_block(name));
    let arguments = function.parameters();
    let (address, width, test_it) = (arguments[3], arguments[4], arguments[arguments.len() - 1]);

    let b = Builder::at_end(check);
    let empty = b.compare(EQ, width, Type::int(32).constant(0));
    b.branch_if(empty, done, test);

    let b = Builder::at_end(test);
    let is_global = match backend {
        Backend::Cuda => {
            let intrinsic = module.intrinsic("llvm.nvvm.isspacep.global", &[]);
            b.call(intrinsic, &[address]).value()
        }
        Backend::Cpu => {
            let byte = Type::int(8);
            let answer = b.call_named(module, CPU_TEST, byte, &[address]);
            b.compare(NE, answer.value(), byte.constant(0))
        }
    };
    let known = b.binary(Opcode::Xor, test_it, Type::int(1).constant(1));
    let traced = b.binary(Opcode::Or, known, is_global);
    b.branch_if(traced, trace, done);

    let b = Builder::at_end(trace);
    b.call(handler, &arguments[..arguments.len() - 1]);
    b.branch(done);
    Builder::at_end(done).return_void();
    function
}
