//! Inserting a probe's calls, and the fields of its sites.

use super::places::{Place, Subject, value_bits};
use super::runs::{self, RESERVE};
use crate::ir::{Builder, Function, Module, Opcode, Type, Value};
use crate::operation::{Guard, Width, memory_operations};
use crate::probe::{Context, only_if, saturate};
use inkwell::llvm_sys::LLVMTypeKind;
use std::collections::HashMap;
use superstep_trace::ProbeSpec;
use superstep_trace::probe::{At, FieldsIn, OncePer};

/// The CPU runtime's answer to "which launch is this?".
const CPU_CONTEXT: &str = "__superstep_probe_context";

/// The functions of the handler's file.
struct Handlers {
    points: Vec<Function>,
    begin: Function,
    flush: Function,
}

impl Handlers {
    fn declare(module: &Module, spec: &ProbeSpec) -> Self {
        let (pointer, i64t, i32t, i1t) = (
            module.pointer(0),
            module.int(64),
            module.int(32),
            module.int(1),
        );
        let arguments = [pointer, pointer, i32t, i32t, i32t, i64t, i32t, i1t];
        let points = spec.points.iter().enumerate().map(|(index, point)| {
            let result = if point.replaces { i64t } else { module.void() };
            module.declare(
                &format!("superstep_point_{index}"),
                result.function(&arguments, false),
            )
        });
        Handlers {
            points: points.collect(),
            begin: module.declare("superstep_begin", module.void().function(&[pointer], false)),
            flush: module.declare(
                "superstep_flush",
                module
                    .void()
                    .function(&[pointer, i32t, pointer, i1t], false),
            ),
        }
    }
}

/// Inserts the calls of all places. `contexts` says what each function passes on (CUDA).
pub fn insert(
    module: &Module,
    spec: &ProbeSpec,
    module_index: u32,
    places: &[Place],
    contexts: &HashMap<Function, Context>,
    cuda: bool,
) {
    let handlers = Handlers::declare(module, spec);
    let mut first = 0;
    while let Some(place) = places.get(first) {
        let function = place.function();
        let count = places[first..]
            .iter()
            .take_while(|place| place.function() == function)
            .count();
        FunctionProbe {
            module,
            spec,
            handlers: &handlers,
            function,
            first_site: module_index << 16 | first as u32,
            places: &places[first..first + count],
            cuda,
        }
        .insert(contexts.get(&function));
        first += count;
    }
}

/// The entry of the run that is being inserted.
#[derive(Default)]
struct RunLog {
    /// Where its payloads go.
    next: Option<Value>,
    offset_bytes: u64,
    payloads_left: u64,
}

struct FunctionProbe<'a> {
    module: &'a Module,
    spec: &'a ProbeSpec,
    handlers: &'a Handlers,
    function: Function,
    first_site: u32,
    places: &'a [Place],
    cuda: bool,
}

impl FunctionProbe<'_> {
    fn insert(&self, context: Option<&Context>) {
        let module = self.module;
        let (pointer, i32t) = (module.pointer(0), module.int(32));
        // Before anything is inserted: what is inserted has no returns.
        let returns: Vec<Value> = (self.function.blocks().into_iter())
            .filter_map(|block| block.terminator())
            .filter(|end| end.opcode() == Some(Opcode::LLVMRet))
            .collect();
        // Who reads a value that is replaced: what is inserted reads the old one.
        let readers: Vec<Vec<Value>> = (self.places.iter())
            .map(|place| match place.subject {
                Subject::Value(value) => value.users(),
                _ => Vec::new(),
            })
            .collect();
        let entry = Builder::at_entry(module, self.function);
        let bytes = self.spec.fields_bytes();
        let fields: Vec<Option<Value>> = (self.places.iter())
            .map(|place| {
                let of_warp = self.spec.points[place.site.point as usize].once_per == OncePer::Warp;
                let elsewhere = of_warp && (!self.cuda || self.spec.fields_in == FieldsIn::Memory);
                (bytes > 0 && !elsewhere).then(|| {
                    let memory = entry.alloca(module.int(8).array(bytes));
                    memory.set_alignment_bytes(8);
                    memory
                })
            })
            .collect();
        let context = match context {
            Some(context) => context.pointer,
            None => {
                let ask = module.declare(CPU_CONTEXT, pointer.function(&[], false));
                entry.call(ask.ty(), ask.value(), &[])
            }
        };
        let begin = self.handlers.begin;
        for memory in fields.iter().flatten() {
            entry.call(begin.ty(), begin.value(), &[*memory]);
        }
        let site = |index: usize| i32t.constant(u64::from(self.first_site) + index as u64);
        let mut log = RunLog::default();
        for (index, (place, memory)) in self.places.iter().zip(&fields).enumerate() {
            if !self.cuda && runs::takes_part(self.spec, place) {
                self.log(place, u64::from(self.first_site) + index as u64, &mut log);
                continue;
            }
            let memory = memory.unwrap_or(pointer.null());
            self.call(place, &readers[index], context, memory, site(index));
        }
        let once = module.int(1).constant(u64::from(self.function.is_kernel()));
        let flush = self.handlers.flush;
        for end in returns {
            let builder = Builder::before(module, end);
            for (index, memory) in fields.iter().enumerate() {
                if let Some(memory) = memory {
                    let arguments = [context, site(index), *memory, once];
                    builder.call(flush.ty(), flush.value(), &arguments);
                }
            }
        }
    }

    /// Writes a place's payload into the entry of its run, for which the run's first place makes room.
    fn log(&self, place: &Place, site: u64, log: &mut RunLog) {
        let module = self.module;
        let builder = Builder::before(module, place.anchor);
        let (payload, _) = self.subject(&builder, place);
        if log.payloads_left == 0 {
            let (i64t, i32t) = (module.int(64), module.int(32));
            let reserve = module.declare(RESERVE, module.pointer(0).function(&[i64t, i32t], false));
            let count = 1 + u64::from(place.site.followers);
            // Entries are pairs of words.
            let words = (1 + count).next_multiple_of(2);
            let head = i64t.constant(u64::from(logged_width(place)) << 32 | site);
            let arguments = [head, i32t.constant(words)];
            log.next = Some(builder.call(reserve.ty(), reserve.value(), &arguments));
            (log.payloads_left, log.offset_bytes) = (count, 0);
        }
        if let Some(first) = log.next {
            builder.store(payload, builder.offset(module, first, log.offset_bytes));
        }
        log.payloads_left -= 1;
        log.offset_bytes += 8;
    }

    /// The payload and the width of a place that is no access.
    fn subject(&self, builder: &Builder, place: &Place) -> (Value, Value) {
        let module = self.module;
        let (i64t, i32t) = (module.int(64), module.int(32));
        let payload = match place.subject {
            Subject::Condition(condition) => builder.cast(Opcode::LLVMZExt, condition, i64t),
            Subject::Value(value) => to_bits(module, builder, value),
            Subject::Place | Subject::Access { .. } => i64t.constant(0),
        };
        (payload, i32t.constant(u64::from(logged_width(place))))
    }

    fn call(&self, place: &Place, readers: &[Value], context: Value, fields: Value, site: Value) {
        let module = self.module;
        let (i64t, i32t, i1t) = (module.int(64), module.int(32), module.int(1));
        let builder = Builder::before(module, place.anchor);
        let (mut payload, mut width) = self.subject(&builder, place);
        let mut test = i1t.constant(0);
        if let Subject::Access {
            instruction,
            index,
            tested,
        } = place.subject
        {
            let Some((address, bytes)) = access(module, &builder, instruction, index) else {
                return;
            };
            payload = builder.cast(Opcode::LLVMPtrToInt, address, i64t);
            width = bytes;
            test = i1t.constant(u64::from(tested));
        }
        let handler = self.handlers.points[place.site.point as usize];
        let arguments = [
            context,
            fields,
            site,
            i32t.constant(u64::from(place.site.line)),
            i32t.constant(u64::from(place.site.operation)),
            payload,
            width,
            test,
        ];
        if let (Subject::Value(value), true) = (
            place.subject,
            self.spec.points[place.site.point as usize].replaces,
        ) {
            let result = builder.call(handler.ty(), handler.value(), &arguments);
            let replaced = from_bits(module, &builder, result, value.ty());
            for reader in readers {
                replace_in(*reader, value, replaced);
            }
        } else {
            builder.call(handler.ty(), handler.value(), &arguments);
        }
    }
}

/// What a handler is told as the width of a place that is no access.
fn logged_width(place: &Place) -> u32 {
    // A block's site has its number of instructions there.
    if place.site.at == At::Block {
        0
    } else {
        place.site.width
    }
}

fn replace_in(user: Value, old: Value, new: Value) {
    for index in 0..user.operand_count() {
        if user.operand(index) == old {
            user.set_operand(index, new);
        }
    }
}

/// Address and bytes of an access, as values at the builder's place.
fn access(
    module: &Module,
    builder: &Builder,
    instruction: Value,
    index: usize,
) -> Option<(Value, Value)> {
    // Asked again, not remembered: handing the context on has rebuilt parameters and calls since.
    let operations = memory_operations(module, instruction, true).ok()?;
    let operation = operations.get(index).copied()?;
    let i32t = module.int(32);
    let width = match operation.width {
        Width::Fixed(bytes) => i32t.constant(u64::from(bytes)),
        Width::Varies(length) => saturate(module, builder, length),
    };
    let width = match operation.guard {
        Some(guard @ Guard { .. }) => only_if(module, builder, guard, width),
        None => width,
    };
    let address = builder.to_generic(module, operation.pointer);
    let address = match operation.offset_bytes {
        0 => address,
        bytes => builder.offset(module, address, bytes as u64),
    };
    Some((address, width))
}

/// The bits of a scalar, with zeroes above.
fn to_bits(module: &Module, builder: &Builder, value: Value) -> Value {
    let i64t = module.int(64);
    let ty = value.ty();
    let whole = match ty.kind() {
        LLVMTypeKind::LLVMPointerTypeKind => {
            return builder.cast(Opcode::LLVMPtrToInt, value, i64t);
        }
        LLVMTypeKind::LLVMIntegerTypeKind => value,
        _ => builder.cast(Opcode::LLVMBitCast, value, module.int(value_bits(value))),
    };
    if whole.ty() == i64t {
        whole
    } else {
        builder.cast(Opcode::LLVMZExt, whole, i64t)
    }
}

/// The scalar of type `ty` that has these bits.
fn from_bits(module: &Module, builder: &Builder, bits: Value, ty: Type) -> Value {
    let narrow = |width: u32| {
        if width == 64 {
            bits
        } else {
            builder.cast(Opcode::LLVMTrunc, bits, module.int(width))
        }
    };
    match ty.kind() {
        LLVMTypeKind::LLVMPointerTypeKind => builder.cast(Opcode::LLVMIntToPtr, bits, ty),
        LLVMTypeKind::LLVMIntegerTypeKind => narrow(ty.scalar_bits()),
        LLVMTypeKind::LLVMDoubleTypeKind => builder.cast(Opcode::LLVMBitCast, bits, ty),
        LLVMTypeKind::LLVMFloatTypeKind => builder.cast(Opcode::LLVMBitCast, narrow(32), ty),
        _ => builder.cast(Opcode::LLVMBitCast, narrow(16), ty),
    }
}
