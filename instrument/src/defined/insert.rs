//! Inserts the calls to a probe's handlers, and the fields of its sites.

use super::places::{Place, Subject};
use super::runs::{self, RESERVE};
use crate::ir::{Builder, Function, Instruction, Module, Opcode::*, Type, Value, traits::*};
use crate::probe::{Context, access};
use std::collections::HashMap;
use std::ops::Range;
use superstep_trace::ProbeSpec;
use superstep_trace::probe::{At, FieldsIn, OncePer};

/// CPU runtime function that returns the context of the current launch.
const CPU_CONTEXT: &str = "__superstep_probe_context";

struct Handlers<'m> {
    points: Vec<Function<'m>>,
    begin: Function<'m>,
    flush: Function<'m>,
}

impl<'m> Handlers<'m> {
    fn declare(module: &'m Module, spec: &ProbeSpec) -> Self {
        let (pointer, i64t, i32t, i1t) =
            (Type::pointer(0), Type::int(64), Type::int(32), Type::int(1));
        let arguments = [pointer, pointer, i32t, i32t, i32t, i64t, i32t, i1t];
        let points = spec.points.iter().enumerate().map(|(index, point)| {
            let result = if point.replaces { i64t } else { Type::void() };
            let name = format!("superstep_point_{index}");
            module.declare(&name, result.function(&arguments))
        });
        let flush = Type::void().function(&[pointer, i32t, pointer, i1t]);
        Handlers {
            points: points.collect(),
            begin: module.declare("superstep_begin", Type::void().function(&[pointer])),
            flush: module.declare("superstep_flush", flush),
        }
    }
}

pub fn insert<'m>(
    module: &'m Module,
    spec: &ProbeSpec,
    module_index: u32,
    places: &[Place<'m>],
    contexts: &HashMap<Function<'m>, Context<'m>>,
    cuda: bool,
) {
    let handlers = Handlers::declare(module, spec);
    let mut first = 0;
    for places in places.chunk_by(|a, b| a.function() == b.function()) {
        let function = places[0].function();
        FunctionProbe {
            module,
            spec,
            handlers: &handlers,
            function,
            first_site: module_index << 16 | first,
            places,
            cuda,
        }
        .insert(contexts.get(&function));
        first += places.len() as u32;
    }
}

struct FunctionProbe<'a, 'm> {
    module: &'m Module,
    spec: &'a ProbeSpec,
    handlers: &'a Handlers<'m>,
    function: Function<'m>,
    first_site: u32,
    places: &'a [Place<'m>],
    cuda: bool,
}

impl<'m> FunctionProbe<'_, 'm> {
    fn insert(&self, context: Option<&Context<'m>>) {
        let module = self.module;
        let (pointer, i32t) = (Type::pointer(0), Type::int(32));
        // Collect the returns before inserting code.
        let returns: Vec<Instruction> = (self.function.get_basic_blocks().into_iter())
            .filter_map(|block| block.get_terminator())
            .filter(|end| end.get_opcode() == Return)
            .collect();
        // Collect the readers of replaced values before inserting code that reads the old values.
        let readers: Vec<Vec<Instruction>> = (self.places.iter())
            .map(|place| match place.subject {
                Subject::Value(value) => value.using_instructions(),
                _ => Vec::new(),
            })
            .collect();
        let entry = Builder::at_entry(self.function);
        let bytes = self.spec.fields_bytes();
        let fields: Vec<Option<Value>> = (self.places.iter())
            .map(|place| {
                let point = &self.spec.points[place.site.point as usize];
                let per_warp = point.once_per == OncePer::Warp;
                let in_memory = per_warp && (!self.cuda || self.spec.fields_in == FieldsIn::Memory);
                (bytes > 0 && !in_memory).then(|| {
                    let memory = entry.alloca(Type::int(8).array(bytes as usize));
                    memory.set_alignment_bytes(8);
                    memory.value()
                })
            })
            .collect();
        let context = match context {
            Some([pointer, _]) => *pointer,
            None => entry.call_named(module, CPU_CONTEXT, pointer, &[]).value(),
        };
        let begin = self.handlers.begin;
        for memory in fields.iter().flatten() {
            entry.call(begin, &[*memory]);
        }
        let site = |index: usize| i32t.constant(u64::from(self.first_site) + index as u64);
        let mut log = (pointer.null(), 0..0);
        for (index, (place, memory)) in self.places.iter().zip(&fields).enumerate() {
            if !self.cuda && runs::can_be_in_run(self.spec, place) {
                self.log(place, u64::from(self.first_site) + index as u64, &mut log);
                continue;
            }
            let memory = memory.unwrap_or(pointer.null());
            self.call(place, &readers[index], context, memory, site(index));
        }
        let once = Type::int(1).constant(u64::from(self.function.is_kernel()));
        let flush = self.handlers.flush;
        for end in returns {
            let builder = Builder::before(end);
            for (index, memory) in fields.iter().enumerate() {
                if let Some(memory) = memory {
                    builder.call(flush, &[context, site(index), *memory, once]);
                }
            }
        }
    }

    /// Logs a place's payload. `log` holds the address of the current entry's payloads and the indices of those not
    /// yet written.
    fn log(&self, place: &Place<'m>, site: u64, log: &mut (Value<'m>, Range<u64>)) {
        let builder = Builder::before(place.anchor);
        let payload = payload(&builder, place);
        if log.1.is_empty() {
            let count = 1 + u64::from(place.site.followers);
            // Entries have an even number of words.
            let words = Type::int(32).constant((1 + count).next_multiple_of(2));
            let head = Type::int(64).constant(u64::from(logged_width(place)) << 32 | site);
            let pointer = Type::pointer(0);
            let reserved = builder.call_named(self.module, RESERVE, pointer, &[head, words]);
            *log = (reserved.value(), 0..count);
        }
        let (payloads, remaining) = log;
        if let Some(index) = remaining.next() {
            builder.store(payload, builder.offset(*payloads, 8 * index));
        }
    }

    fn call(
        &self,
        place: &Place<'m>,
        readers: &[Instruction<'m>],
        context: Value<'m>,
        fields: Value<'m>,
        site: Value<'m>,
    ) {
        let (i64t, i32t, i1t) = (Type::int(64), Type::int(32), Type::int(1));
        let builder = Builder::before(place.anchor);
        let mut payload = payload(&builder, place);
        let mut width = i32t.constant(u64::from(logged_width(place)));
        let mut test = i1t.constant(0);
        if let Subject::Access(traced) = place.subject {
            let Ok(Some(access)) = access(self.module, &builder, &traced) else {
                return;
            };
            payload = builder.cast(PtrToInt, access.address, i64t);
            width = access.width_bytes;
            test = i1t.constant(u64::from(traced.tested));
        }
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
        let point = place.site.point as usize;
        let result = builder.call(self.handlers.points[point], &arguments);
        if let Subject::Value(value) = place.subject
            && self.spec.points[point].replaces
        {
            let replaced = builder.with_bits(result.value(), value.ty());
            for reader in readers {
                reader.replace_operand(value.value(), replaced);
            }
        }
    }
}

fn payload<'m>(builder: &Builder<'m>, place: &Place<'m>) -> Value<'m> {
    match place.subject {
        Subject::Condition => builder.cast(ZExt, place.anchor.operand(0), Type::int(64)),
        Subject::Value(value) => builder.resize(builder.bits_of(value.value()), 64, false),
        Subject::Place | Subject::Access(_) => Type::int(64).constant(0),
    }
}

fn logged_width(place: &Place) -> u32 {
    match place.site.at {
        At::Block => 0, // the site's width is the number of instructions
        _ => place.site.width,
    }
}
