//! A capture as tables: accesses, launches, sites, allocations and transfers.
//!
//! Tables refer to each other: `launch` is a row number in `launches`, and `site` and `allocation` are values of the
//! columns of the same names in `sites` and `allocations`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use superstep_analysis::analyse;
use superstep_analysis::communication::Options;
pub use superstep_table::Format;
use superstep_table::arrow_array::cast::AsArray as _;
use superstep_table::arrow_array::types::Int8Type;
use superstep_table::arrow_array::{RecordBatch, StringArray};
use superstep_table::{Row as _, Table, Writer, file, table, table_from};
use superstep_trace::{Allocation, AllocationKind, Capture, LaunchOutcome, LaunchRecord, Site};

use crate::accesses::Choice;
use crate::error::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableName {
    Accesses,
    Launches,
    Sites,
    Allocations,
    Transfers,
}

impl TableName {
    pub const ALL: [Self; 5] = [
        Self::Launches,
        Self::Sites,
        Self::Allocations,
        Self::Transfers,
        Self::Accesses,
    ];
}

table_from! {
    /// One launch.
    fn launches<'a>((record, capture, numbers), (LaunchRecord<'a>, &'a Capture, &'a HashMap<u64, u64>)) = "launches" {
        launch: u32 = "index in the order of the host's calls, from 0" => record.number;
        stream: u32 = "index of the stream, in order of first use" => record.launch.stream.0;
        superstep: u32 = "index within the stream, from 0" => record.launch.launch.0;
        kernel: String = "demangled name without parameters" =>
            capture.sites().display_name(&record.launch.kernel).to_owned();
        kernel_symbol: String = "mangled name" => record.launch.kernel.clone();
        parent: Option<u64> = "launch whose kernel started this one; empty if the host did" =>
            record.launch.parent.and_then(|parent| numbers.get(&parent).copied());
        grid_x: u32 ["CTAs"] = "CTAs in x" => record.launch.grid[0];
        grid_y: u32 ["CTAs"] = "CTAs in y" => record.launch.grid[1];
        grid_z: u32 ["CTAs"] = "CTAs in z" => record.launch.grid[2];
        block_x: u32 ["threads"] = "threads per CTA in x" => record.launch.block[0];
        block_y: u32 ["threads"] = "threads per CTA in y" => record.launch.block[1];
        block_z: u32 ["threads"] = "threads per CTA in z" => record.launch.block[2];
        static_shared_bytes: u64 ["bytes"] = "shared memory per CTA declared by the kernel" =>
            record.launch.static_shared_bytes;
        dynamic_shared_bytes: u64 ["bytes"] = "shared memory per CTA requested at launch" =>
            record.launch.dynamic_shared_bytes;
        thread_accesses: Option<u64> ["accesses"] = "recorded accesses; empty when the launch did not finish" =>
            record.end.map(|end| end.thread_accesses);
        elapsed_ns: Option<u64> ["ns"] = "running time, including tracing overhead; empty when the launch did not finish" =>
            record.end.map(|end| end.elapsed_ns);
        outcome: String = "completed, unfinished, or why it failed" => match record.end.map(|end| &end.outcome) {
            None => "unfinished".to_owned(),
            Some(LaunchOutcome::Completed) => "completed".to_owned(),
            Some(LaunchOutcome::Failed(reason)) => reason.clone(),
        };
    }
}

table_from! {
    /// One memory instruction.
    fn sites<'a>(site, &'a Site) = "sites" {
        site: u32 = "number of the memory instruction" => site.id.0;
        module: u32 = "number of its translation unit" => site.id.module();
        function: String = "mangled name of the function that contains it" => site.function.clone();
        file: String = "source file; empty if unknown" => site.file.clone();
        line: u32 = "source line, from 1; 0 when unknown" => site.line;
        column: u32 = "source column, from 1; 0 when unknown" => site.column;
        op: &'static str = "load, store or the atomic operation" => site.op.name();
        width_bytes: u32 ["bytes"] = "bytes accessed by one thread; 0 when that varies" => site.width_bytes;
        proof: &'static str = "how it is known to access global memory: proven or tested" => site.proof.name();
    }
}

table_from! {
    /// One allocation or device variable.
    fn allocations<'a>(allocation, &'a Allocation) = "allocations" {
        allocation: u32 = "number of the allocation" => allocation.id.0;
        kind: &'static str = "device, managed, pinned, array, imported (from another process) or symbol" =>
            kind_name(&allocation.kind);
        name: String = "name of the variable if known; otherwise # and the allocation's ordinal, the same in every run" =>
            allocation.name().map_or_else(|| allocation.key.to_string(), str::to_owned);
        file: String = "source file of the host's call; empty if unknown" =>
            allocation.place.as_ref().map(|at| at.file.clone()).unwrap_or_default();
        line: u32 = "line of that call, from 1; 0 when unknown" => allocation.place.as_ref().map_or(0, |at| at.line);
        address: u64 = "first byte" => allocation.address;
        bytes: u64 ["bytes"] = "size" => allocation.bytes;
        sequence: u64 = "position of the allocation among the host's calls" => allocation.sequence;
        freed_sequence: Option<u64> = "position of its release among the host's calls; empty when it was not freed" =>
            allocation.freed;
    }
}

table! {
    /// One access by a thread.
    pub(crate) struct AccessRow = "accesses" {
        launch: u32 = "launch that performed the access";
        site: u32 = "memory instruction";
        op: &'static str = "load, store or the atomic operation";
        cta: u32 = "linear index of the CTA: x + grid_x * (y + grid_y * z)";
        warp: u32 = "warp within the CTA";
        lane: u32 = "lane within the warp";
        sm: u32 = "multiprocessor (CUDA) or worker (CPU)";
        width_bytes: u32 ["bytes"] = "bytes accessed";
        address: u64 = "first byte";
        allocation: Option<u64> = "allocation that contains the address; empty when none does";
        offset: Option<u64> = "position in the allocation, in bytes";
    }
}

/// Writes a table of `capture` to `folder` and returns the path of the file. Accesses are streamed; the other tables
/// fit in memory.
pub fn write(
    capture: &Arc<Capture>,
    table: TableName,
    format: Format,
    folder: &Path,
) -> Result<PathBuf> {
    if table == TableName::Accesses {
        return accesses(capture, format, folder);
    }
    let table = in_memory(capture, table)?;
    Ok(table.write(format, &file(folder, table.name(), format))?)
}

/// Returns a table of `capture`. The table of accesses is returned without rows; read them with [`crate::accesses`].
pub fn in_memory(capture: &Capture, table: TableName) -> Result<Table> {
    Ok(match table {
        TableName::Launches => {
            let numbers = capture.launches();
            let numbers = numbers.map(|record| (record.launch.sequence, record.number.into()));
            let numbers = numbers.collect();
            launches((capture.launches()).map(|record| (record, capture, &numbers)))
        }
        TableName::Sites => sites(capture.sites().iter()),
        TableName::Allocations => allocations(capture.allocations()),
        TableName::Transfers => {
            let analysis = analyse(capture, Options::transfers())?;
            Table::of(&analysis.communication.transfers.to_vec()?)
        }
        TableName::Accesses => Table::of::<AccessRow>(&[]),
    })
}

fn kind_name(kind: &AllocationKind) -> &'static str {
    match kind {
        AllocationKind::Device => "device",
        AllocationKind::Managed => "managed",
        AllocationKind::Pinned => "pinned",
        AllocationKind::Array => "array",
        AllocationKind::Imported => "imported",
        AllocationKind::Symbol { .. } => "symbol",
    }
}

fn accesses(capture: &Arc<Capture>, format: Format, folder: &Path) -> Result<PathBuf> {
    let mut batches = crate::accesses::read(Arc::clone(capture), &Choice::default())?;
    let (path, schema) = (file(folder, AccessRow::TABLE, format), AccessRow::schema());
    let mut writer = Writer::create(format, &path, &schema)?;
    while let Some(batch) = batches.read()? {
        // Files store operations as text.
        let columns = batch.columns().iter().map(|column| {
            let names = column.as_dictionary_opt::<Int8Type>();
            match names.and_then(|names| names.downcast_dict::<StringArray>()) {
                Some(names) => Arc::new(names.into_iter().collect::<StringArray>()),
                None => Arc::clone(column),
            }
        });
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns.collect());
        writer.write(&batch.expect("the columns are those of the table"))?;
    }
    Ok(writer.finish()?)
}
