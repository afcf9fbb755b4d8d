//! A capture as tables: accesses, launches, sites, allocations and transfers.
//!
//! Tables refer to each other: `launch` is the row number in `launches`, `site` the column of that name in `sites`, and
//! `allocation` that in `allocations`.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use superstep_analysis::communication::{Options, Transfer};
use superstep_analysis::{SiteOps, analyse};
use superstep_trace::{
    AllocationKind, Capture, ChunkRef, GroupBuffer, LaunchOutcome, LaunchRecord, Proof,
};

use crate::batch::{Batch, row, schema};
use crate::error::Result;
use crate::sink::{self, Rows};

/// Version of the tables' columns.
pub const SCHEMA_VERSION: u32 = 1;

/// Rows of a batch at most, but for the last group's: some 50 MB of memory each.
const BATCH_ROWS: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet, compressed with zstd.
    Parquet,
    Csv,
    Json,
}

impl Format {
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }
}

/// A table of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableName {
    /// One row for each thread's access.
    Accesses,
    /// One row for each launch.
    Launches,
    /// One row for each memory instruction.
    Sites,
    /// One row for each allocation and device variable.
    Allocations,
    /// One row for each pair of CTAs of two launches of which the second received bytes from the first.
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

schema! { LAUNCHES "launches":
    launch               U32         "number in the order of the host's calls, from 0",
    stream               U32         "number of the stream, in order of first use",
    superstep            U32         "number within the stream, from 0",
    kernel               Text        "demangled name without parameters",
    kernel_symbol        Text        "mangled name",
    grid_x               U32         "CTAs in x",
    grid_y               U32         "CTAs in y",
    grid_z               U32         "CTAs in z",
    block_x              U32         "threads of a CTA in x",
    block_y              U32         "threads of a CTA in y",
    block_z              U32         "threads of a CTA in z",
    static_shared_bytes  U64         "shared memory of a CTA that the kernel declares",
    dynamic_shared_bytes U64         "shared memory of a CTA asked for at launch",
    thread_accesses      OptionalU64 "accesses recorded; empty when the launch did not end",
    elapsed_ns           OptionalU64 "time it ran, traced; empty when the launch did not end",
    outcome              Text        "completed, unfinished, or why it failed",
}

schema! { SITES "sites":
    site        U32  "number of the memory instruction",
    module      U32  "number of its translation unit",
    function    Text "mangled name of the function that holds it",
    file        Text "source file; empty when unknown",
    line        U32  "source line, from 1; 0 when unknown",
    column      U32  "source column, from 1; 0 when unknown",
    op          Text "load, store or the atomic operation",
    width_bytes U32  "bytes accessed by one thread; 0 when that varies",
    proof       Text "proven or tested: how it is known to access global memory",
}

schema! { ALLOCATIONS "allocations":
    allocation     U32         "number of the allocation",
    kind           Text        "device, managed, pinned, array or symbol",
    name           Text        "name of a device variable, the same in every run; of others # and their ordinal",
    file           Text        "source file of the host's call; empty where it is not known",
    line           U32         "its line, from 1; 0 where it is not known",
    address        U64         "first byte",
    bytes          U64         "size",
    sequence       U64         "when it came to life, as position among the host's calls",
    freed_sequence OptionalU64 "when it was given back; empty when it was not",
}

schema! { TRANSFERS "transfers":
    source_launch   U32 "launch that wrote",
    source_cta      U32 "linear number of the CTA that wrote",
    receiver_launch U32 "launch that read",
    receiver_cta    U32 "linear number of the CTA that read",
    bytes           U64 "distinct bytes",
    count           U64 "distinct pairs of address and width",
}

schema! { ACCESSES "accesses":
    launch      U32         "launch that made it",
    site        U32         "memory instruction",
    op          Text        "load, store or the atomic operation",
    cta         U32         "linear number of the CTA: x + grid_x * (y + grid_y * z)",
    warp        U32         "warp within the CTA",
    lane        U32         "lane within the warp",
    sm          U32         "multiprocessor (CUDA) or worker (CPU)",
    width_bytes U32         "bytes accessed",
    address     U64         "first byte",
    allocation  OptionalU64 "allocation that holds the address; empty when none does",
    offset      OptionalU64 "position in the allocation, in bytes",
}

/// Writes a table of `capture` into `folder` and returns the file.
///
/// The table of accesses has one row for each thread's access and is streamed: memory is bounded by a batch of a
/// million rows. The others are as large as their rows; transfers need an analysis of the whole capture.
///
/// # Errors
/// The capture is damaged, or the file cannot be written; then there is none.
pub fn write(
    capture: &Capture,
    table: TableName,
    format: Format,
    folder: &Path,
) -> Result<PathBuf> {
    match table {
        TableName::Launches => launches(capture, Rows::create(format, folder, &LAUNCHES)?),
        TableName::Sites => sites(capture, Rows::create(format, folder, &SITES)?),
        TableName::Allocations => allocations(capture, Rows::create(format, folder, &ALLOCATIONS)?),
        TableName::Transfers => {
            let options = Options {
                transfers: true,
                ..Options::default()
            };
            let all = analyse(capture, options)?.communication.transfers;
            let all = all.to_vec()?;
            transfers(&all, Rows::create(format, folder, &TRANSFERS)?)
        }
        TableName::Accesses => accesses(capture, format, folder),
    }
}

fn launches(capture: &Capture, mut table: Rows) -> Result<PathBuf> {
    for LaunchRecord {
        number,
        launch,
        end,
        ..
    } in capture.launches()
    {
        let outcome = match end.map(|end| &end.outcome) {
            None => "unfinished".to_owned(),
            Some(LaunchOutcome::Completed) => "completed".to_owned(),
            Some(LaunchOutcome::Failed(reason)) => reason.clone(),
        };
        let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
        table.push(row![
            number,
            launch.stream.0,
            launch.launch.0,
            capture.sites().display_name(&launch.kernel).to_owned(),
            launch.kernel.clone(),
            gx,
            gy,
            gz,
            bx,
            by,
            bz,
            launch.static_shared_bytes,
            launch.dynamic_shared_bytes,
            end.map(|end| end.thread_accesses),
            end.map(|end| end.elapsed_ns),
            outcome,
        ])?;
    }
    table.finish()
}

fn sites(capture: &Capture, mut table: Rows) -> Result<PathBuf> {
    for site in capture.sites().iter() {
        table.push(row![
            site.id.0,
            site.id.module(),
            site.function.clone(),
            site.file.clone(),
            site.line,
            site.column,
            site.op.name(),
            site.width_bytes,
            match site.proof {
                Proof::Proven => "proven",
                Proof::Tested => "tested",
                Proof::GridBarrier => "grid_barrier",
            },
        ])?;
    }
    table.finish()
}

fn allocations(capture: &Capture, mut table: Rows) -> Result<PathBuf> {
    for allocation in capture.allocations() {
        let place = allocation.place.as_ref();
        let (file, line) = place.map_or(("", 0), |at| (at.file.as_str(), at.line));
        table.push(row![
            allocation.id.0,
            kind_name(&allocation.kind),
            allocation.key.to_string(),
            file.to_owned(),
            line,
            allocation.address,
            allocation.bytes,
            allocation.sequence,
            allocation.freed,
        ])?;
    }
    table.finish()
}

fn kind_name(kind: &AllocationKind) -> &'static str {
    match kind {
        AllocationKind::Device => "device",
        AllocationKind::Managed => "managed",
        AllocationKind::Pinned => "pinned",
        AllocationKind::Array => "array",
        AllocationKind::Symbol { .. } => "symbol",
    }
}

fn transfers(transfers: &[Transfer], mut table: Rows) -> Result<PathBuf> {
    for transfer in transfers {
        table.push(row![
            transfer.source_launch,
            transfer.source_cta,
            transfer.receiver_launch,
            transfer.receiver_cta,
            transfer.bytes,
            transfer.count,
        ])?;
    }
    table.finish()
}

/// Chunks are decoded in parallel, a few at a time, and written in the order of the launches.
fn accesses(capture: &Capture, format: Format, folder: &Path) -> Result<PathBuf> {
    let ops = SiteOps::new(capture.sites());
    let mut sink = sink::create(format, folder, &ACCESSES)?;
    for record in capture.launches() {
        for some in record.chunks.chunks(rayon::current_num_threads()) {
            let batches: Vec<Vec<Batch>> = some
                .par_iter()
                .map(|chunk| decode(capture, chunk, &record, &ops))
                .collect::<Result<_>>()?;
            for batch in batches.iter().flatten() {
                sink.write(batch)?;
            }
        }
    }
    sink.finish()
}

fn decode(
    capture: &Capture,
    chunk: &ChunkRef,
    record: &LaunchRecord,
    ops: &SiteOps,
) -> Result<Vec<Batch>> {
    let mut full = Vec::new();
    let mut batch = Batch::new(&ACCESSES);
    let mut resolver = record.allocations.resolver();
    let mut sites_known = Ok(());
    let mut buffer = GroupBuffer::default();
    capture.read_chunk(chunk, &mut buffer, |group| {
        let op = match ops.op(group.site) {
            Ok(op) => op,
            Err(error) => {
                sites_known = Err(error);
                return;
            }
        };
        if batch.rows() >= BATCH_ROWS {
            full.push(std::mem::replace(&mut batch, Batch::new(&ACCESSES)));
        }
        for (thread, address) in group.threads() {
            let allocation = resolver.find(address);
            batch.push(row![
                record.number,
                group.site.0,
                op.name(),
                group.cta,
                group.warp,
                thread % 32,
                group.sm,
                group.width_bytes,
                address,
                allocation.map(|allocation| u64::from(allocation.id.0)),
                allocation.map(|allocation| address - allocation.address),
            ]);
        }
    })?;
    sites_known?;
    full.push(batch);
    Ok(full)
}
