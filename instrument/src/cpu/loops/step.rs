//! The step function: the loops over a CTA's threads, one for each region.

use super::DIVERGED;
use super::body::{Body, Ids};
use super::columns::{self, Columns};
use super::regions::Region;
use crate::cpu::kernels::{CpuKernel, load_arguments};
use crate::cpu::{offset, thread_address, thread_field};
use crate::ir::{Block, Builder, Function, Linkage, Module, Opcode, Type, Value};
use inkwell::llvm_sys::LLVMIntPredicate;

/// Makes the step function of a kernel with these regions. `traced`: the logs of a warp's lanes lie one behind the other,
/// and where each begins is noted.
pub fn make(
    module: &Module,
    kernel: &CpuKernel,
    body: &Body,
    regions: &[Region],
    traced: bool,
) -> Function {
    let (pointer, i32t) = (module.pointer(0), module.int(32));
    let name = format!("superstep.step.{}", kernel.name);
    let ty = i32t.function(&[pointer, pointer, i32t, i32t, i32t], false);
    let function = module.add_function(&name, ty);
    module.set_linkage(function.value(), Linkage::LLVMInternalLinkage);
    function.add_attribute("nounwind");
    let parameters = function.parameters();
    let (list, frame, region, first, last) = (
        parameters[0],
        parameters[1],
        parameters[2],
        parameters[3],
        parameters[4],
    );
    let builder = Builder::at_end(module, function.append_block("enter"));
    let arguments = load_arguments(module, &builder, kernel, list);
    let three =
        |first: u64| [0, 4, 8].map(|more| thread_field(module, &builder, i32t, first + more));
    let (ntid, ctaid, nctaid) = (
        three(offset::NTID),
        three(offset::CTAID),
        three(offset::NCTAID),
    );
    let zero = i32t.constant(0);
    let start = Start {
        thread: Variable::new(&builder, i32t, first),
        x: Variable::new(&builder, i32t, zero),
        y: Variable::new(&builder, i32t, zero),
        z: Variable::new(&builder, i32t, zero),
        index: Variable::new(&builder, i32t, zero),
        all: Variable::new(&builder, i32t, i32t.constant(u64::from(u32::MAX))),
        any: Variable::new(&builder, i32t, zero),
    };
    let log_starts = traced.then(|| thread_field(module, &builder, pointer, offset::LOG_STARTS));
    // Mostly the first thread of all comes first, and nothing has to be divided.
    let [locate, choose] = ["locate", "choose"].map(|name| function.append_block(name));
    let is_first = builder.compare(LLVMIntPredicate::LLVMIntEQ, first, zero);
    builder.branch_if(is_first, choose, locate);
    let builder = Builder::at_end(module, locate);
    let row = builder.binary(Opcode::LLVMUDiv, first, ntid[0]);
    let column = builder.binary(Opcode::LLVMURem, first, ntid[0]);
    start.x.set(&builder, column);
    let row_of_layer = builder.binary(Opcode::LLVMURem, row, ntid[1]);
    start.y.set(&builder, row_of_layer);
    let layer = builder.binary(Opcode::LLVMUDiv, row, ntid[1]);
    start.z.set(&builder, layer);
    builder.branch(choose);
    let builder = Builder::at_end(module, choose);
    let code = Code {
        module,
        function,
        body,
        arguments,
        frame,
        last,
        ntid,
        ctaid,
        nctaid,
        start,
        log_starts,
        notes_thread: !body.is_repeatable,
    };
    let never = function.append_block("never");
    Builder::at_end(module, never).unreachable();
    let loops: Vec<(u64, Block)> = (0..)
        .zip(regions)
        .map(|(number, region)| {
            // Accesses that are logged one by one are not made several at a time.
            let columns = (!traced).then(|| columns::split(module, region)).flatten();
            (number, code.add_loop(region, columns.as_ref()))
        })
        .collect();
    match loops[..] {
        [(_, only)] => builder.branch(only),
        _ => builder.switch(region, never, &loops),
    }
    function
}

/// A local variable; optimisation turns it into a register.
struct Variable {
    place: Value,
    ty: Type,
}

impl Variable {
    fn new(builder: &Builder, ty: Type, value: Value) -> Self {
        let place = builder.alloca(ty);
        builder.store(value, place);
        Variable { place, ty }
    }

    fn get(&self, builder: &Builder) -> Value {
        builder.load(self.ty, self.place)
    }

    fn set(&self, builder: &Builder, value: Value) {
        builder.store(value, self.place);
    }
}

/// Where the loops are.
struct Start {
    /// Number and coordinates of the first thread of a row (of threads with the same y and z).
    thread: Variable,
    x: Variable,
    y: Variable,
    z: Variable,
    /// Threads of the row that ran.
    index: Variable,
    /// And and or of all that comes next: the same when the threads stay together.
    all: Variable,
    any: Variable,
}

/// A row of threads.
struct Row {
    /// Number and column of its first thread.
    first: Value,
    x: Value,
    /// Threads of it that run.
    count: Value,
}

struct Code<'a> {
    module: &'a Module,
    function: Function,
    body: &'a Body,
    arguments: Vec<Value>,
    frame: Value,
    last: Value,
    ntid: [Value; 3],
    ctaid: [Value; 3],
    nctaid: [Value; 3],
    start: Start,
    log_starts: Option<Value>,
    notes_thread: bool,
}

impl Code<'_> {
    /// The loops of one region, and the block where they begin.
    fn add_loop(&self, region: &Region, columns: Option<&Columns>) -> Block {
        let [row, row_end, done] =
            ["row", "row_end", "done"].map(|name| self.function.append_block(name));
        let (module, start) = (self.module, &self.start);
        let i32t = module.int(32);
        let one = i32t.constant(1);

        // A row in a loop of its own: its coordinates grow by one, as vectors need it.
        let b = Builder::at_end(module, row);
        let (first, x) = (start.thread.get(&b), start.x.get(&b));
        let left = b.binary(Opcode::LLVMSub, self.last, first);
        let room = b.binary(Opcode::LLVMSub, self.ntid[0], x);
        let is_shorter = b.compare(LLVMIntPredicate::LLVMIntULT, left, room);
        let count = b.select(is_shorter, left, room);
        start.index.set(&b, i32t.constant(0));
        let of_row = Row { first, x, count };
        let begin = match columns {
            None => self.add_threads(region, region.function, &of_row, count, row_end),
            Some(columns) => self.add_parts(region, columns, &of_row, row_end),
        };
        b.branch(begin);

        let b = Builder::at_end(module, row_end);
        let (y, z) = (start.y.get(&b), start.z.get(&b));
        let next = b.sum_without_overflow(first, count);
        start.thread.set(&b, next);
        start.x.set(&b, i32t.constant(0));
        let next_y = b.binary(Opcode::LLVMAdd, y, one);
        let is_layer_end = b.compare(LLVMIntPredicate::LLVMIntEQ, next_y, self.ntid[1]);
        start
            .y
            .set(&b, b.select(is_layer_end, i32t.constant(0), next_y));
        let next_z = b.binary(Opcode::LLVMAdd, z, one);
        start.z.set(&b, b.select(is_layer_end, next_z, z));
        let goes_on = b.compare(LLVMIntPredicate::LLVMIntULT, next, self.last);
        b.branch_if(goes_on, row, done);

        let b = Builder::at_end(module, done);
        match region.exits[..] {
            [next] => b.return_value(i32t.constant(u64::from(next))),
            _ => {
                let (all, any) = (start.all.get(&b), start.any.get(&b));
                let together = b.compare(LLVMIntPredicate::LLVMIntEQ, all, any);
                let diverged = i32t.constant(u64::from(DIVERGED));
                b.return_value(b.select(together, all, diverged));
            }
        }
        row
    }

    /// The loop over the threads of a row from the present one up to `end`, which run `callee`.
    fn add_threads(
        &self,
        region: &Region,
        callee: Function,
        row: &Row,
        end: Value,
        then: Block,
    ) -> Block {
        let thread = self.function.append_block("thread");
        let b = Builder::at_end(self.module, thread);
        let after = self.add_thread(&b, region, callee, row);
        let goes_on = b.compare(LLVMIntPredicate::LLVMIntULT, after, end);
        b.branch_if(goes_on, thread, then);
        thread
    }

    /// The same for a row of which some threads run by themselves.
    fn add_parts(&self, region: &Region, columns: &Columns, row: &Row, row_end: Block) -> Block {
        let [part, behind, single] =
            ["part", "behind", "single"].map(|name| self.function.append_block(name));
        let (module, index) = (self.module, &self.start.index);
        let compare = |b: &Builder, predicate, left, right| b.compare(predicate, left, right);
        use LLVMIntPredicate::{LLVMIntEQ, LLVMIntUGE, LLVMIntULT};

        // Up to the next that runs by itself.
        let b = Builder::at_end(module, part);
        let now = index.get(&b);
        let column = b.sum_without_overflow(row.x, now);
        let mut end = row.count;
        for special in &columns.special {
            let special = module.int(32).constant(u64::from(*special));
            let place = b.binary(Opcode::LLVMSub, special, row.x);
            let comes = compare(&b, LLVMIntUGE, special, column);
            let is_nearer = compare(&b, LLVMIntULT, place, end);
            let is_next = b.binary(Opcode::LLVMAnd, comes, is_nearer);
            end = b.select(is_next, place, end);
        }
        let others = self.add_threads(region, columns.others, row, end, behind);
        let is_other = compare(&b, LLVMIntULT, now, end);
        b.branch_if(is_other, others, single);

        let b = Builder::at_end(module, behind);
        index.set(&b, end);
        let is_all = compare(&b, LLVMIntEQ, end, row.count);
        b.branch_if(is_all, row_end, single);

        let b = Builder::at_end(module, single);
        let after = self.add_thread(&b, region, region.function, row);
        let goes_on = compare(&b, LLVMIntULT, after, row.count);
        b.branch_if(goes_on, part, row_end);
        part
    }

    /// The present thread of a row, which runs `callee`, a version of `region`; gives the number of threads that ran.
    fn add_thread(&self, b: &Builder, region: &Region, callee: Function, row: &Row) -> Value {
        let (module, start) = (self.module, &self.start);
        let index = start.index.get(b);
        let ids = Ids {
            frame: self.frame,
            // A CTA has at most 1024 threads.
            thread: b.sum_without_overflow(row.first, index),
            tid: [
                b.sum_without_overflow(row.x, index),
                start.y.get(b),
                start.z.get(b),
            ],
            ntid: self.ntid,
            ctaid: self.ctaid,
            nctaid: self.nctaid,
        };
        self.enter_thread(b, &ids);
        let mut arguments = self.arguments.clone();
        arguments.extend(ids.values());
        let next = b.call(callee.ty(), callee.value(), &arguments);
        if region.exits.len() > 1 {
            let all = b.binary(Opcode::LLVMAnd, start.all.get(b), next);
            start.all.set(b, all);
            let any = b.binary(Opcode::LLVMOr, start.any.get(b), next);
            start.any.set(b, any);
            let wide = b.cast(Opcode::LLVMZExt, ids.thread, module.int(64));
            let bytes = b.binary(Opcode::LLVMMul, wide, module.int(64).constant(4));
            b.store(next, b.offset_by(module, self.frame, bytes));
        }
        let after = b.sum_without_overflow(index, module.int(32).constant(1));
        start.index.set(b, after);
        after
    }

    /// Tells the runtime which thread runs now.
    fn enter_thread(&self, b: &Builder, ids: &Ids) {
        let (module, i32t) = (self.module, self.module.int(32));
        let set = |value: Value, field: u64| {
            b.store(value, thread_address(module, b, field));
        };
        let lane = || b.binary(Opcode::LLVMAnd, ids.thread, i32t.constant(31));
        if self.notes_thread {
            set(ids.thread, offset::THREAD);
        }
        if self.body.needs_thread_block {
            for (value, index) in ids.tid.into_iter().zip(0..) {
                set(value, offset::TID + 4 * index);
            }
            set(lane(), offset::LANE);
            let warp = b.binary(Opcode::LLVMLShr, ids.thread, i32t.constant(5));
            set(warp, offset::WARP);
        }
        if let Some(starts) = self.log_starts {
            let wide = b.cast(Opcode::LLVMZExt, lane(), module.int(64));
            let bytes = b.binary(Opcode::LLVMMul, wide, module.int(64).constant(8));
            let cursor = thread_field(module, b, module.pointer(0), offset::LOG_CURSOR);
            b.store(cursor, b.offset_by(module, starts, bytes));
        }
    }
}
