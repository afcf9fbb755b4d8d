//! Accesses as record batches. Multiple threads decode chunks directly into columns, a few batches ahead of the reader.

mod columns;
mod memory;

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use superstep_analysis::{SiteOps, needs_accesses};
use superstep_table::Row as _;
use superstep_table::arrow_array::{
    ArrayRef, RecordBatch, RecordBatchReader, StringArray, UInt32Array,
};
use superstep_table::arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use superstep_trace::{Capture, ChunkRef, CtaRange, GroupBuffer, LaunchRecord, Op, Pattern};

use crate::error::{ExportError, Result};
use crate::tables::AccessRow;
use columns::{Columns, Pools};

/// Maximum number of rows in a batch: about 3 MB of memory.
const BATCH_ROWS: usize = 1 << 16;

/// Maximum total size of decoded batches waiting to be read; each chunk being decoded may always queue at least one.
const QUEUED_BYTES: usize = 64 << 20;

/// Maximum number of chunks per thread that are decoded ahead of the reader.
const CHUNKS_AHEAD: usize = 2;

/// Size of a row with all columns.
const ROW_BYTES: usize = 53;

/// Number of allocations cached while a chunk is decoded: sites alternate, and each usually uses only one.
const RESOLVERS: usize = 8;

/// Selection of accesses and columns to read.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    pub launches: Option<BTreeSet<u32>>,
    /// Pattern for the mangled or demangled kernel name.
    pub kernel: Option<Pattern>,
    /// CTAs by linear index; empty selects all.
    pub ctas: Vec<CtaRange>,
    /// Names of the columns, which are always returned in table order; `None` selects all.
    pub columns: Option<Vec<String>>,
    /// Number of decoding threads; `None` uses one per core.
    pub threads: Option<NonZero<usize>>,
}

/// Returns the columns of the table `accesses`. The column `op` is dictionary-encoded, with one byte per row.
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

/// A batch from one chunk; the last message is `None` or an error.
type Message = Result<Option<RecordBatch>>;

/// The index of a launch, and one of its chunks.
type Task = (u32, ChunkRef);

/// Iterator over the selected accesses, by launch and then in file order.
pub struct AccessBatches {
    schema: SchemaRef,
    chunks: Receiver<Receiver<Message>>,
    current: Option<Receiver<Message>>,
    chunks_left: usize,
}

struct Shared {
    capture: Arc<Capture>,
    ops: SiteOps,
    tasks: Vec<Task>,
    /// Index of the next task, and the channel that delivers chunks in task order. The channel's capacity limits how
    /// far ahead the threads run.
    next: Mutex<(usize, SyncSender<Receiver<Message>>)>,
    ctas: Vec<CtaRange>,
    schema: SchemaRef,
    columns: Vec<usize>,
    dictionary: ArrayRef,
    queued_batches: usize,
    pools: Pools,
}

/// Starts reading. Fails under the same conditions as [`check`].
pub fn read(capture: Arc<Capture>, choice: &Choice) -> Result<AccessBatches> {
    let (schema, columns, tasks) = select(&capture, choice)?;
    let threads = choice.threads.map_or_else(
        || thread::available_parallelism().map_or(1, NonZero::get),
        NonZero::get,
    );
    let threads = threads.min(tasks.len());
    let chunks_ahead = CHUNKS_AHEAD * threads;
    let (sender, chunks) = sync_channel(chunks_ahead);
    // The chunks ahead, the one being read, and the one waiting for space in the channel.
    let queues = chunks_ahead + 2;
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
        queued_batches: (QUEUED_BYTES / (BATCH_ROWS * ROW_BYTES) / queues).max(1),
        pools: Pools::default(),
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

/// Validates a choice. Fails if the capture has no accesses or lacks a chosen launch, kernel or column.
pub fn check(capture: &Capture, choice: &Choice) -> Result<()> {
    select(capture, choice).map(drop)
}

fn select(capture: &Capture, choice: &Choice) -> Result<(SchemaRef, Vec<usize>, Vec<Task>)> {
    needs_accesses(capture, "the table `accesses`")?;
    let (schema, columns) = select_columns(choice.columns.as_deref())?;
    Ok((schema, columns, tasks(capture, choice)?))
}

fn select_columns(names: Option<&[String]>) -> Result<(SchemaRef, Vec<usize>)> {
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
    let projected = all.project(&columns).expect("the columns exist");
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
                _ => vec![format!("launches 0 to {}", launches - 1)],
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
            tasks.extend(record.chunks.iter().map(|&chunk| (record.number, chunk)));
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
        let batch = self.read().transpose()?;
        Some(batch.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl AccessBatches {
    /// Returns the next batch; `None` at the end, and after an error.
    pub fn read(&mut self) -> Result<Option<RecordBatch>> {
        while self.chunks_left > 0 {
            let current = self.current.take();
            let Ok(chunk) = current.map_or_else(|| self.chunks.recv(), Ok) else {
                self.chunks_left = 0;
                return Err(ExportError::LostThread);
            };
            match chunk.recv().unwrap_or(Err(ExportError::LostThread)) {
                Ok(Some(batch)) => {
                    self.current = Some(chunk);
                    return Ok(Some(batch));
                }
                Ok(None) => self.chunks_left -= 1,
                Err(error) => {
                    self.chunks_left = 0;
                    return Err(error);
                }
            }
        }
        Ok(None)
    }
}

impl RecordBatchReader for AccessBatches {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

impl Shared {
    /// Returns the next chunk and the sender for its batches; `None` when no chunk is left or the receiver is gone.
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
        while let Some(((number, chunk), sender)) = self.task() {
            // Tasks come in launch order.
            while record.as_ref().is_none_or(|it| it.number < number) {
                match launches.next() {
                    Some(next) => record = Some(next),
                    None => return,
                }
            }
            let Some(record) = &record else { return };
            let decoded = self.decode(&chunk, record, &mut buffer, &sender);
            if sender.send(decoded.map(|()| None)).is_err() {
                return;
            }
        }
    }

    fn decode(
        &self,
        chunk: &ChunkRef,
        record: &LaunchRecord,
        buffer: &mut GroupBuffer,
        sender: &SyncSender<Message>,
    ) -> Result<()> {
        let mut resolvers: [_; RESOLVERS] = std::array::from_fn(|_| record.allocations.resolver());
        let launch: ArrayRef = Arc::new(UInt32Array::from(vec![record.number; BATCH_ROWS]));
        let mut columns = Columns::new(&self.columns, &self.pools);
        let mut outcome = Ok(());
        let mut is_read = true;
        self.capture.read_chunk(chunk, buffer, |group| {
            let cta = |range: &CtaRange| (range.first..=range.last).contains(&group.cta);
            if !is_read || !(self.ctas.is_empty() || self.ctas.iter().any(cta)) {
                return;
            }
            match self.ops.op(group.site) {
                Ok(op) => {
                    let resolver = &mut resolvers[group.site.0 as usize % RESOLVERS];
                    columns.push(group, op, resolver);
                }
                Err(error) => {
                    (outcome, is_read) = (Err(error), false);
                    return;
                }
            }
            if columns.is_full() {
                let batch = self.batch(&mut columns, &launch);
                is_read = sender.send(Ok(Some(batch))).is_ok();
            }
        })?;
        outcome?;
        if !columns.is_empty() && is_read {
            // If the reader is gone, sending the next message fails as well.
            drop(sender.send(Ok(Some(self.batch(&mut columns, &launch)))));
        }
        Ok(())
    }

    fn batch(&self, columns: &mut Columns, launch: &ArrayRef) -> RecordBatch {
        let full = std::mem::replace(columns, Columns::new(&self.columns, &self.pools));
        let arrays = full.arrays(launch, &self.dictionary, &self.columns);
        RecordBatch::try_new(self.schema.clone(), arrays).expect("the arrays match the schema")
    }
}
