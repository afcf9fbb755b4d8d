//! The step function: the loops over a CTA's threads, one for each region.

use super::body::{Body, Ids};
use super::columns::{self, Columns};
use super::regions::Region;
use crate::cpu::kernels::{CpuKernel, load_arguments};
use crate::cpu::{COORDINATES, thread_address, thread_field};
use crate::ir::{
    Block, Builder, Function, IntPredicate::*, Module, Opcode::*, Type, Value, traits::*,
};
use std::mem::offset_of;
use superstep_abi::cpu::{DIVERGED, SuperstepThread};

/// Row lengths that get specialised loops: powers of two that are common tile widths, and too short for a loop of
/// unknown trip count to benefit from vectorisation.
const SHORT_ROWS: [u32; 4] = [4, 8, 16, 32];
/// Maximum total number of instructions in regions with specialised loops.
const MAX_INSTRUCTIONS: usize = 400;

/// Creates the step function of a kernel with these regions, and returns its name. If the last thread is not after the
/// first, the range wraps around at the end of the CTA. If `traced` is set, the function stores the start of each
/// lane's log.
pub fn make<'m>(
    module: &'m Module,
    kernel: &CpuKernel,
    body: &Body,
    regions: &[Region<'m>],
    traced: bool,
) -> String {
    let (pointer, i32t) = (Type::pointer(0), Type::int(32));
    let name = format!("superstep.step.{}", kernel.name);
    let ty = i32t.function(&[pointer, pointer, i32t, i32t, i32t]);
    let function = module.add_function(&name, ty);
    function.make_internal();
    function.set_attribute("nounwind");
    let [list, frame, region, first, last] = function.parameters()[..] else {
        unreachable!("its type has five parameters");
    };
    let builder = Builder::at_end(function.append_block("enter"));
    let arguments = load_arguments(&builder, kernel.function(module), list);
    let triple =
        |first: usize| [0, 4, 8].map(|offset| thread_field(module, &builder, i32t, first + offset));
    let [_, ntid, ctaid, nctaid] = COORDINATES;
    let zero = i32t.constant(0);
    let ids = Ids {
        frame,
        thread: zero,
        groups: [[zero; 3], triple(ntid), triple(ctaid), triple(nctaid)],
    };
    let log_starts = offset_of!(SuperstepThread, log_starts);
    let log_starts = traced.then(|| thread_field(module, &builder, pointer, log_starts));
    let never = function.append_block("never");
    Builder::at_end(never).unreachable();
    let start = Start::new(&builder, first, last);
    let code = Code {
        module,
        function,
        body,
        arguments: &arguments,
        ids,
        start: &start,
        row_length: None,
        log_starts,
    };
    let columns: Vec<Option<Columns>> = (regions.iter())
        // Logged accesses cannot be vectorised.
        .map(|region| (!traced).then(|| columns::split(module, region)).flatten())
        .collect();
    let choose = |code: &Code<'_, 'm>| {
        let chosen = function.append_block("choose");
        let loops: Vec<(u64, Block)> = (0..)
            .zip(regions.iter().zip(&columns))
            .map(|(number, (region, columns))| (number, code.add_loop(region, columns.as_ref())))
            .collect();
        let builder = Builder::at_end(chosen);
        match loops[..] {
            [(_, block)] => builder.branch(block),
            _ => builder.switch(region, never, &loops),
        }
        chosen
    };
    // The range usually starts at thread 0, whose coordinates need no division.
    let [locate, located] = ["locate", "located"].map(|name| function.append_block(name));
    let is_first = builder.compare(EQ, first, zero);
    builder.branch_if(is_first, located, locate);
    let builder = Builder::at_end(locate);
    let [width, height, depth] = ids.groups[1];
    let row = builder.binary(UDiv, first, width);
    (start.x).set(&builder, builder.binary(URem, first, width));
    (start.y).set(&builder, builder.binary(URem, row, height));
    (start.z).set(&builder, builder.binary(UDiv, row, height));
    builder.branch(located);
    let mut builder = Builder::at_end(located);
    let wraps = builder.compare(ULE, last, first);
    let layer = builder.binary(Mul, width, height);
    let all = builder.binary(Mul, layer, depth);
    (start.last).set(&builder, builder.select(wraps, all, last));
    (start.rest).set(&builder, builder.select(wraps, last, zero));
    if !traced && may_have_short_rows(regions) {
        let bounds = builder.binary(Or, first, last);
        for length in SHORT_ROWS {
            let row = i32t.constant(u64::from(length));
            let row_length = Some(length);
            let mut code = Code { row_length, ..code };
            code.ids.groups[1][0] = row;
            let has_width = builder.compare(EQ, width, row);
            let rest = builder.binary(And, bounds, i32t.constant(u64::from(length) - 1));
            let is_whole = builder.compare(EQ, rest, zero);
            let fits = builder.binary(And, has_width, is_whole);
            let otherwise = function.append_block("otherwise");
            builder.branch_if(fits, choose(&code), otherwise);
            builder = Builder::at_end(otherwise);
        }
    }
    builder.branch(choose(&code));
    name
}

/// Returns whether a CTA is likely to have several rows, each shorter than a few vectors.
fn may_have_short_rows(regions: &[Region]) -> bool {
    let sizes = regions.iter().map(|it| it.function.instructions().len());
    let has_rows = |region: &Region| {
        let y = Ids::of(region.function).groups[0][1];
        !y.using_instructions().is_empty()
    };
    sizes.sum::<usize>() <= MAX_INSTRUCTIONS && regions.iter().any(has_rows)
}

/// A 32-bit local variable; optimisation turns it into a register.
struct Variable<'m>(Value<'m>);

impl<'m> Variable<'m> {
    fn new(builder: &Builder<'m>, value: Value<'m>) -> Self {
        let slot = builder.alloca(Type::int(32)).value();
        builder.store(value, slot);
        Variable(slot)
    }

    fn get(&self, builder: &Builder<'m>) -> Value<'m> {
        builder.load(Type::int(32), self.0)
    }

    fn set(&self, builder: &Builder<'m>, value: Value<'m>) {
        builder.store(value, self.0);
    }
}

struct Start<'m> {
    /// Index and coordinates of the first thread of a row (the threads with the same y and z).
    thread: Variable<'m>,
    x: Variable<'m>,
    y: Variable<'m>,
    z: Variable<'m>,
    last: Variable<'m>,
    rest: Variable<'m>,
    /// Number of threads in the row that have run.
    index: Variable<'m>,
    /// Bitwise AND and OR of the threads' next regions; equal if the threads stay together.
    all: Variable<'m>,
    any: Variable<'m>,
}

impl<'m> Start<'m> {
    /// Starts at thread `first`, whose coordinates are assumed to be 0.
    fn new(builder: &Builder<'m>, first: Value<'m>, last: Value<'m>) -> Self {
        let i32t = Type::int(32);
        let zero = i32t.constant(0);
        let variable = |value| Variable::new(builder, value);
        Start {
            thread: variable(first),
            x: variable(zero),
            y: variable(zero),
            z: variable(zero),
            last: variable(last),
            rest: variable(zero),
            index: variable(zero),
            all: variable(i32t.constant(u64::from(u32::MAX))),
            any: variable(zero),
        }
    }
}

struct Row<'a, 'm> {
    region: &'a Region<'m>,
    /// Index and column of the first thread.
    first: Value<'m>,
    x: Value<'m>,
    count: Value<'m>,
    /// Runs after the row.
    then: Block<'m>,
}

struct Code<'a, 'm> {
    module: &'m Module,
    function: Function<'m>,
    body: &'a Body,
    arguments: &'a [Value<'m>],
    ids: Ids<'m>,
    start: &'a Start<'m>,
    /// Length of all rows, if known; in that case, all rows are complete.
    row_length: Option<u32>,
    log_starts: Option<Value<'m>>,
}

impl<'m> Code<'_, 'm> {
    fn add_loop(&self, region: &Region<'m>, columns: Option<&Columns<'m>>) -> Block<'m> {
        let [row, row_end, round, done] =
            ["row", "row_end", "round", "done"].map(|name| self.function.append_block(name));
        let start = self.start;
        let i32t = Type::int(32);
        let one = i32t.constant(1);

        // One loop per row, so that x increases by one in each iteration, as vectorisation requires.
        let b = Builder::at_end(row);
        let first = start.thread.get(&b);
        let (x, count) = if self.row_length.is_some() {
            (i32t.constant(0), self.ids.groups[1][0])
        } else {
            let x = start.x.get(&b);
            let left = b.binary(Sub, start.last.get(&b), first);
            let room = b.binary(Sub, self.ids.groups[1][0], x);
            let is_shorter = b.compare(ULT, left, room);
            (x, b.select(is_shorter, left, room))
        };
        start.index.set(&b, i32t.constant(0));
        let threads = Row {
            region,
            first,
            x,
            count,
            then: row_end,
        };
        let begin = match (columns, self.row_length) {
            (None, _) => self.add_threads(&threads, region.function, count, row_end),
            (Some(columns), Some(length)) => self.add_known_parts(&threads, columns, length),
            (Some(columns), None) => self.add_parts(&threads, columns),
        };
        b.branch(begin);

        let b = Builder::at_end(row_end);
        let (y, z) = (start.y.get(&b), start.z.get(&b));
        let next = b.sum_without_overflow(first, count);
        start.thread.set(&b, next);
        start.x.set(&b, i32t.constant(0));
        let next_y = b.binary(Add, y, one);
        let is_layer_end = b.compare(EQ, next_y, self.ids.groups[1][1]);
        let following_y = b.select(is_layer_end, i32t.constant(0), next_y);
        start.y.set(&b, following_y);
        let next_z = b.binary(Add, z, one);
        start.z.set(&b, b.select(is_layer_end, next_z, z));
        let continues = b.compare(ULT, next, start.last.get(&b));
        b.branch_if(continues, row, round);

        let b = Builder::at_end(round);
        let (rest, zero) = (start.rest.get(&b), i32t.constant(0));
        for coordinate in [&start.thread, &start.x, &start.y, &start.z, &start.rest] {
            coordinate.set(&b, zero);
        }
        start.last.set(&b, rest);
        let is_end = b.compare(EQ, rest, zero);
        b.branch_if(is_end, done, row);

        let b = Builder::at_end(done);
        match region.exits[..] {
            [next] => b.return_value(i32t.constant(u64::from(next))),
            _ => {
                let (all, any) = (start.all.get(&b), start.any.get(&b));
                let is_uniform = b.compare(EQ, all, any);
                let diverged = i32t.constant(u64::from(DIVERGED));
                b.return_value(b.select(is_uniform, all, diverged));
            }
        }
        row
    }

    /// Adds the loop in which the threads of a row, from the current thread to `end`, run `callee`.
    fn add_threads(
        &self,
        row: &Row<'_, 'm>,
        callee: Function<'m>,
        end: Value<'m>,
        then: Block<'m>,
    ) -> Block<'m> {
        let thread = self.function.append_block("thread");
        let b = Builder::at_end(thread);
        let after = self.add_thread(&b, row, callee);
        let continues = b.compare(ULT, after, end);
        b.branch_if(continues, thread, then);
        thread
    }

    /// Adds the code for a row of known length with special columns; the threads in these columns run outside the loops.
    fn add_known_parts(&self, row: &Row<'_, 'm>, columns: &Columns<'m>, length: u32) -> Block<'m> {
        let i32t = Type::int(32);
        let is_special = |column: &u32| columns.special.contains(column);
        let mut then = row.then;
        let mut end = length;
        while end > 0 {
            let last = end - 1;
            let others = (0..end).rev().take_while(|column| !is_special(column));
            let first = others.last().unwrap_or(last);
            let part = self.function.append_block("part");
            let b = Builder::at_end(part);
            let index = &self.start.index;
            index.set(&b, i32t.constant(u64::from(first)));
            if is_special(&last) {
                self.add_thread(&b, row, row.region.function);
                b.branch(then);
            } else {
                let end = i32t.constant(u64::from(end));
                b.branch(self.add_threads(row, columns.others, end, then));
            }
            (then, end) = (part, first);
        }
        then
    }

    /// Adds the code for a row of unknown length with special columns.
    fn add_parts(&self, row: &Row<'_, 'm>, columns: &Columns<'m>) -> Block<'m> {
        let [part, rest, single] =
            ["part", "rest", "single"].map(|name| self.function.append_block(name));
        let index = &self.start.index;

        // Runs the threads before the next special column.
        let b = Builder::at_end(part);
        let current = index.get(&b);
        let column = b.sum_without_overflow(row.x, current);
        let mut end = row.count;
        for special in &columns.special {
            let special = Type::int(32).constant(u64::from(*special));
            let position = b.binary(Sub, special, row.x);
            let is_ahead = b.compare(UGE, special, column);
            let is_nearer = b.compare(ULT, position, end);
            let is_next = b.binary(And, is_ahead, is_nearer);
            end = b.select(is_next, position, end);
        }
        let others = self.add_threads(row, columns.others, end, rest);
        let is_other = b.compare(ULT, current, end);
        b.branch_if(is_other, others, single);

        let b = Builder::at_end(rest);
        index.set(&b, end);
        let is_all = b.compare(EQ, end, row.count);
        b.branch_if(is_all, row.then, single);

        let b = Builder::at_end(single);
        let after = self.add_thread(&b, row, row.region.function);
        let continues = b.compare(ULT, after, row.count);
        b.branch_if(continues, part, row.then);
        part
    }

    /// Adds a call to `callee`, a version of the region, for the current thread of a row; returns the number of the
    /// row's threads that have run.
    fn add_thread(&self, b: &Builder<'m>, row: &Row<'_, 'm>, callee: Function<'m>) -> Value<'m> {
        let start = self.start;
        let index = start.index.get(b);
        // A CTA has at most 1024 threads.
        let thread = b.sum_without_overflow(row.first, index);
        let mut ids = Ids { thread, ..self.ids };
        let x = b.sum_without_overflow(row.x, index);
        ids.groups[0] = [x, start.y.get(b), start.z.get(b)];
        self.enter_thread(b, &ids);
        let arguments = [self.arguments, &ids.values()].concat();
        let next = b.call(callee, &arguments).value();
        if row.region.exits.len() > 1 {
            let all = b.binary(And, start.all.get(b), next);
            start.all.set(b, all);
            let any = b.binary(Or, start.any.get(b), next);
            start.any.set(b, any);
            let wide = b.cast(ZExt, ids.thread, Type::int(64));
            let bytes = b.binary(Mul, wide, Type::int(64).constant(4));
            b.store(next, b.offset_by(self.ids.frame, bytes));
        }
        let after = b.sum_without_overflow(index, Type::int(32).constant(1));
        start.index.set(b, after);
        after
    }

    fn enter_thread(&self, b: &Builder<'m>, ids: &Ids<'m>) {
        let (module, i32t) = (self.module, Type::int(32));
        let set = |value: Value<'m>, field: usize| {
            b.store(value, thread_address(module, b, field));
        };
        let lane = || b.binary(And, ids.thread, i32t.constant(31));
        if !self.body.is_repeatable {
            set(ids.thread, offset_of!(SuperstepThread, thread));
        }
        if self.body.needs_thread_block {
            for (value, index) in ids.groups[0].into_iter().zip(0..) {
                set(value, COORDINATES[0] + 4 * index);
            }
            set(lane(), offset_of!(SuperstepThread, lane));
            let warp = b.binary(LShr, ids.thread, i32t.constant(5));
            set(warp, offset_of!(SuperstepThread, warp));
        }
        if let Some(starts) = self.log_starts {
            let wide = b.cast(ZExt, lane(), Type::int(64));
            let bytes = b.binary(Mul, wide, Type::int(64).constant(8));
            let cursor = offset_of!(SuperstepThread, log_cursor);
            let cursor = thread_field(module, b, Type::pointer(0), cursor);
            b.store(cursor, b.offset_by(starts, bytes));
        }
    }
}
