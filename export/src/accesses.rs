//! Accesses as record batches: chunks are decoded straight into columns, on several threads, a few batches ahead of the reader.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use superstep_analysis::{SiteOps, needs_accesses};
use superstep_table::Row as _;
use superstep_table::arrow_array::types::Int8Type;
use superstep_table::arrow_array::{
    ArrayRef, DictionaryArray, Int8Array, RecordBatch, RecordBatchReader, StringArray, UInt32Array,
    UInt64Array,
};
use superstep_table::arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use superstep_trace::{
    AccessGroup, Capture, ChunkRef, CtaRange, GroupBuffer, LaunchRecord, Op, Pattern, Resolver,
    WARP_LANES,
};

use crate::error::{ExportError, Result};
use crate::tables::AccessRow;

/// Most rows of a batch: some 3 MB of memory.
const BATCH_ROWS: usize = 1 << 16;

/// Memory that decoded batches take at most before somebody reads them, apart from one batch for each thread.
const QUEUED_BYTES: usize = 64 << 20;

/// Bytes of a row with all columns.
const ROW_BYTES: usize = 53;

/// Which accesses to read, and what of them.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Launches by number; `None` takes all.
    pub launches: Option<BTreeSet<u32>>,
    /// Kernels by mangled or by readable name.
    pub kernel: Option<Pattern>,
    /// CTAs by linear number; empty takes all.
    pub ctas: Vec<CtaRange>,
    /// Columns by name; `None` takes all. They stand in the table's order.
    pub columns: Option<Vec<String>>,
    /// Threads that decode; `None` takes one for each core.
    pub threads: Option<NonZero<usize>>,
}

/// The columns of the table `accesses`. The operation is a dictionary: a byte a row.
pub fn schema() -> SchemaRef {
    let declared = AccessRow::schema();
    let fields = declared.fields().iter().map(|field| {
        let mut field = field.as_ref().clone();
        if field.name() == "op" {
            field.set_data_type(DataType::Dictionary(
                Box::new(DataType::Int8),
                Box::new(DataType::Utf8),
            ));
        }
        field
    });
    Arc::new(Schema::new_with_metadata(
        fields.collect::<Vec<_>>(),
        declared.metadata().clone(),
    ))
}

/// A message of a thread about one chunk; the last one of each is [`Message::End`], unless there was an error.
enum Message {
    Batch(RecordBatch),
    Failure(ExportError),
    End,
}

/// A chunk to be decoded.
#[derive(Clone, Copy)]
struct Task {
    launch: u32,
    chunk: ChunkRef,
}

/// Reads the accesses that were chosen, in the order of the launches and of the file.
pub struct AccessBatches {
    schema: SchemaRef,
    chunks: Receiver<Receiver<Message>>,
    current: Option<Receiver<Message>>,
    chunks_left: usize,
}

/// What the threads share.
struct Shared {
    capture: Arc<Capture>,
    ops: SiteOps,
    tasks: Vec<Task>,
    /// The next task, and who reads the chunks in the order of the tasks.
    next: Mutex<(usize, Sender<Receiver<Message>>)>,
    ctas: Vec<CtaRange>,
    schema: SchemaRef,
    /// Places of the wanted columns in the table.
    columns: Vec<usize>,
    dictionary: ArrayRef,
    queued_batches: usize,
}

/// Starts to read.
///
/// # Errors
/// The capture has no accesses, or there is no such launch, kernel or column.
pub fn read(capture: Arc<Capture>, choice: &Choice) -> Result<AccessBatches> {
    needs_accesses(&capture, "the table `accesses`")?;
    let (schema, columns) = chosen_columns(choice.columns.as_deref())?;
    let tasks = tasks(&capture, choice)?;
    let threads = choice.threads.map_or_else(
        || thread::available_parallelism().map_or(1, NonZero::get),
        NonZero::get,
    );
    let threads = threads.min(tasks.len());
    let (sender, chunks) = channel();
    let chunks_left = tasks.len();
    let names = Op::ALL.iter().map(|op| op.name());
    let shared = Arc::new(Shared {
        ops: SiteOps::new(capture.sites()),
        capture,
        tasks,
        next: Mutex::new((0, sender)),
        ctas: choice.ctas.clone(),
        schema: schema.clone(),
        columns,
        dictionary: Arc::new(StringArray::from_iter_values(names)),
        queued_batches: (QUEUED_BYTES / (BATCH_ROWS * ROW_BYTES) / threads.max(1)).max(2),
    });
    for _ in 0..threads {
        let shared = Arc::clone(&shared);
        thread::spawn(move || shared.work());
    }
    Ok(AccessBatches {
        schema,
        chunks,
        current: None,
        chunks_left,
    })
}

/// Whether [`read`] would start.
///
/// # Errors
/// Those of [`read`].
pub fn check(capture: &Capture, choice: &Choice) -> Result<()> {
    needs_accesses(capture, "the table `accesses`")?;
    chosen_columns(choice.columns.as_deref())?;
    tasks(capture, choice).map(drop)
}

fn chosen_columns(names: Option<&[String]>) -> Result<(SchemaRef, Vec<usize>)> {
    let all = schema();
    let Some(names) = names else {
        let columns = (0..all.fields().len()).collect();
        return Ok((all, columns));
    };
    let known: Vec<_> = all.fields().iter().map(|field| field.name()).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        return Err(ExportError::Choice {
            reason: format!("there is no column {unknown:?}"),
            known: known.into_iter().cloned().collect(),
        });
    }
    let columns: Vec<usize> = (0..known.len())
        .filter(|&at| names.contains(known[at]))
        .collect();
    let projected = all.project(&columns).expect("columns of the table");
    Ok((Arc::new(projected), columns))
}

fn tasks(capture: &Capture, choice: &Choice) -> Result<Vec<Task>> {
    let launches = capture.launches().count();
    if let Some(wanted) = &choice.launches
        && let Some(unknown) = wanted.iter().find(|&&number| number as usize >= launches)
    {
        return Err(ExportError::Choice {
            reason: format!("there is no launch {unknown}"),
            known: match launches {
                0 => Vec::new(),
                _ => vec![format!("0 to {}", launches - 1)],
            },
        });
    }
    let (mut tasks, mut kernels, mut is_known) = (Vec::new(), BTreeSet::new(), false);
    for record in capture.launches() {
        let symbol = &record.launch.kernel;
        let name = capture.sites().display_name(symbol);
        if let Some(pattern) = &choice.kernel {
            if !pattern.matches_function(symbol, name) {
                kernels.insert(name.to_owned());
                continue;
            }
            is_known = true;
        }
        let is_chosen = |numbers: &BTreeSet<u32>| numbers.contains(&record.number);
        if choice.launches.as_ref().is_none_or(is_chosen) {
            let launch = record.number;
            tasks.extend(record.chunks.iter().map(|&chunk| Task { launch, chunk }));
        }
    }
    if choice.kernel.is_some() && !is_known {
        return Err(ExportError::Choice {
            reason: "no kernel matches the pattern".to_owned(),
            known: kernels.into_iter().collect(),
        });
    }
    Ok(tasks)
}

impl Iterator for AccessBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let chunk = match &self.current {
                Some(chunk) => chunk,
                None if self.chunks_left == 0 => return None,
                None => match self.chunks.recv() {
                    Ok(chunk) => self.current.insert(chunk),
                    Err(_) => return self.fail(lost_thread()),
                },
            };
            match chunk.recv() {
                Ok(Message::Batch(batch)) => return Some(Ok(batch)),
                Ok(Message::End) => {
                    self.current = None;
                    self.chunks_left -= 1;
                }
                Ok(Message::Failure(error)) => return self.fail(Box::new(error)),
                Err(_) => return self.fail(lost_thread()),
            }
        }
    }
}

fn lost_thread() -> Box<dyn std::error::Error + Send + Sync> {
    "failed to read accesses: a thread that decoded them panicked".into()
}

impl AccessBatches {
    /// An error ends the reading.
    fn fail(
        &mut self,
        error: Box<dyn std::error::Error + Send + Sync>,
    ) -> Option<Result<RecordBatch, ArrowError>> {
        (self.current, self.chunks_left) = (None, 0);
        Some(Err(ArrowError::ExternalError(error)))
    }
}

impl RecordBatchReader for AccessBatches {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

impl Shared {
    /// The next chunk and where its batches go; `None` when there is no other, or nobody reads them.
    fn task(&self) -> Option<(Task, SyncSender<Message>)> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let task = *self.tasks.get(next.0)?;
        next.0 += 1;
        let (sender, receiver) = sync_channel(self.queued_batches);
        next.1.send(receiver).ok()?;
        Some((task, sender))
    }

    fn work(&self) {
        let mut buffer = GroupBuffer::default();
        let mut launches = self.capture.launches();
        let mut record: Option<LaunchRecord> = None;
        while let Some((task, sender)) = self.task() {
            // Tasks come in the order of the launches.
            while record.as_ref().is_none_or(|it| it.number < task.launch) {
                match launches.next() {
                    Some(next) => record = Some(next),
                    None => return,
                }
            }
            let Some(record) = &record else { return };
            let message = match self.decode(&task, record, &mut buffer, &sender) {
                Ok(()) => Message::End,
                Err(error) => Message::Failure(error),
            };
            if sender.send(message).is_err() {
                return;
            }
        }
    }

    fn decode(
        &self,
        task: &Task,
        record: &LaunchRecord,
        buffer: &mut GroupBuffer,
        sender: &SyncSender<Message>,
    ) -> Result<()> {
        let mut resolver = record.allocations.resolver();
        let launch: ArrayRef = Arc::new(UInt32Array::from(vec![record.number; BATCH_ROWS]));
        let mut columns = Columns::new(&self.columns);
        let mut outcome = Ok(());
        let mut is_read = true;
        self.capture.read_chunk(&task.chunk, buffer, |group| {
            let cta = |range: &CtaRange| (range.first..=range.last).contains(&group.cta);
            if !is_read || !(self.ctas.is_empty() || self.ctas.iter().any(cta)) {
                return;
            }
            match self.ops.op(group.site) {
                Ok(op) => columns.push(group, op, &mut resolver),
                Err(error) => {
                    (outcome, is_read) = (Err(error), false);
                    return;
                }
            }
            if columns.rows + WARP_LANES > BATCH_ROWS {
                let batch = self.batch(&mut columns, &launch);
                is_read = sender.send(Message::Batch(batch)).is_ok();
            }
        })?;
        outcome?;
        if columns.rows > 0 && is_read {
            // Nobody reads on: the next message finds that, too.
            drop(sender.send(Message::Batch(self.batch(&mut columns, &launch))));
        }
        Ok(())
    }

    fn batch(&self, columns: &mut Columns, launch: &ArrayRef) -> RecordBatch {
        let full = std::mem::replace(columns, Columns::new(&self.columns));
        let arrays = full.arrays(launch, &self.dictionary, &self.columns);
        RecordBatch::try_new(self.schema.clone(), arrays)
            .expect("the arrays are those of the schema")
    }
}

/// Places of the columns in the table.
mod place {
    pub const SITE: usize = 1;
    pub const OP: usize = 2;
    pub const CTA: usize = 3;
    pub const WARP: usize = 4;
    pub const LANE: usize = 5;
    pub const SM: usize = 6;
    pub const WIDTH: usize = 7;
    pub const ADDRESS: usize = 8;
    pub const ALLOCATION: usize = 9;
    pub const OFFSET: usize = 10;
    pub const ALL: usize = 11;
}

/// Columns of a batch while it grows. Those that nobody wants stay empty.
struct Columns {
    rows: usize,
    wanted: [bool; place::ALL],
    op: Vec<i8>,
    site: Vec<u32>,
    cta: Vec<u32>,
    warp: Vec<u32>,
    lane: Vec<u32>,
    sm: Vec<u32>,
    width_bytes: Vec<u32>,
    address: Vec<u64>,
    allocation: Vec<u64>,
    offset: Vec<u64>,
    /// Rows whose address no allocation holds.
    holes: Vec<usize>,
}

/// Appends `lanes` of 32 values. To copy all of them and to cut off the rest is a few instructions, whatever `lanes` is.
#[inline(always)]
fn append<T: Copy>(column: &mut Vec<T>, values: &[T; WARP_LANES], lanes: usize) {
    let rows = column.len() + lanes;
    column.extend_from_slice(values);
    column.truncate(rows);
}

impl Columns {
    fn new(columns: &[usize]) -> Self {
        let wanted = std::array::from_fn(|place| columns.contains(&place));
        fn room<T>(is_wanted: bool) -> Vec<T> {
            Vec::with_capacity(if is_wanted { BATCH_ROWS } else { 0 })
        }
        Self {
            rows: 0,
            wanted,
            op: room(wanted[place::OP]),
            site: room(wanted[place::SITE]),
            cta: room(wanted[place::CTA]),
            warp: room(wanted[place::WARP]),
            lane: room(wanted[place::LANE]),
            sm: room(wanted[place::SM]),
            width_bytes: room(wanted[place::WIDTH]),
            address: room(wanted[place::ADDRESS]),
            allocation: room(wanted[place::ALLOCATION]),
            offset: room(wanted[place::OFFSET]),
            holes: Vec::new(),
        }
    }

    #[inline]
    fn push(&mut self, group: &AccessGroup, op: Op, resolver: &mut Resolver) {
        let lanes = group.lanes();
        let same = |column: &mut Vec<u32>, place: usize, value: u32| {
            if self.wanted[place] {
                append(column, &[value; WARP_LANES], lanes);
            }
        };
        same(&mut self.site, place::SITE, group.site.0);
        same(&mut self.cta, place::CTA, group.cta);
        same(&mut self.warp, place::WARP, group.warp);
        same(&mut self.sm, place::SM, group.sm);
        same(&mut self.width_bytes, place::WIDTH, group.width_bytes);
        if self.wanted[place::OP] {
            append(&mut self.op, &[op.code() as i8 - 1; WARP_LANES], lanes);
        }
        if self.wanted[place::LANE] {
            append(&mut self.lane, &lanes_of(group.mask), lanes);
        }
        if self.wanted[place::ADDRESS] {
            append(&mut self.address, &group.addresses, lanes);
        }
        if self.wanted[place::ALLOCATION] || self.wanted[place::OFFSET] {
            self.place(group, resolver);
        }
        self.rows += lanes;
    }

    /// Allocations and offsets of a group's addresses; usually all lie in one allocation.
    #[inline]
    fn place(&mut self, group: &AccessGroup, resolver: &mut Resolver) {
        let lanes = group.lanes();
        let (mut ids, mut offsets) = ([0; WARP_LANES], [0; WARP_LANES]);
        let first = group.active_addresses().first();
        let first = first.and_then(|&address| resolver.find(address));
        if let Some(first) = first {
            ids = [u64::from(first.id.0); WARP_LANES];
            offsets = group.addresses.map(|at| at.wrapping_sub(first.address));
        }
        let is_inside = |first: &superstep_trace::Allocation| {
            offsets[..lanes].iter().all(|&offset| offset < first.bytes)
        };
        if !first.is_some_and(is_inside) {
            for (lane, &address) in group.active_addresses().iter().enumerate() {
                (ids[lane], offsets[lane]) = match resolver.find(address) {
                    Some(found) => (u64::from(found.id.0), address - found.address),
                    None => {
                        self.holes.push(self.rows + lane);
                        (0, 0)
                    }
                };
            }
        }
        if self.wanted[place::ALLOCATION] {
            append(&mut self.allocation, &ids, lanes);
        }
        if self.wanted[place::OFFSET] {
            append(&mut self.offset, &offsets, lanes);
        }
    }

    fn arrays(self, launch: &ArrayRef, dictionary: &ArrayRef, wanted: &[usize]) -> Vec<ArrayRef> {
        let rows = self.rows;
        let nulls = (!self.holes.is_empty()).then(|| {
            let mut is_there = vec![true; rows];
            self.holes.iter().for_each(|&row| is_there[row] = false);
            is_there
        });
        let optional = |values: Vec<u64>| -> ArrayRef {
            let nulls = nulls.clone().map(Into::into);
            Arc::new(UInt64Array::new(values.into(), nulls))
        };
        let number = |values: Vec<u32>| -> ArrayRef { Arc::new(UInt32Array::from(values)) };
        let op = Int8Array::from(self.op);
        let op = DictionaryArray::<Int8Type>::new(op, dictionary.clone());
        let all: [ArrayRef; place::ALL] = [
            launch.slice(0, rows),
            number(self.site),
            Arc::new(op),
            number(self.cta),
            number(self.warp),
            number(self.lane),
            number(self.sm),
            number(self.width_bytes),
            Arc::new(UInt64Array::from(self.address)),
            if self.wanted[place::ALLOCATION] {
                optional(self.allocation)
            } else {
                launch.slice(0, 0)
            },
            if self.wanted[place::OFFSET] {
                optional(self.offset)
            } else {
                launch.slice(0, 0)
            },
        ];
        wanted.iter().map(|&place| all[place].clone()).collect()
    }
}

/// The active lanes' numbers without gaps.
#[inline]
fn lanes_of(mask: u32) -> [u32; WARP_LANES] {
    let mut lanes = std::array::from_fn(|lane| lane as u32);
    if mask.wrapping_add(1) & mask != 0 {
        let mut rest = mask;
        for lane in &mut lanes[..mask.count_ones() as usize] {
            *lane = rest.trailing_zeros();
            rest &= rest.wrapping_sub(1);
        }
    }
    lanes
}
