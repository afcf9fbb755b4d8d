//! Converts `memtrace-v1` files to a capture.

use super::{Item, Reader, Record};
use crate::error::{Result, TraceError};
use crate::{
    AccessGroup, Backend, CaptureWriter, ChunkBuilder, Event, Header, KernelInfo, Launch,
    LaunchEnd, LaunchId, LaunchOutcome, ModuleTable, Op, Outcome, Probe, Proof, Site, SiteId,
    StreamId, WARP_LANES,
};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

/// Writes a capture into `folder` with the launches and accesses of `files`, one file per stream.
///
/// The format has no threads, source lines or allocations. The capture therefore has a site for each kernel, operation
/// and width, the smallest grid that contains its CTAs, no allocations, and meaningless lane numbers: up to 32
/// consecutive records of the same CTA, SM, operation and width become an access group of warp 0. Fails if the files
/// have more than 65536 different sites, or a grid has more than 2^32 CTAs.
pub fn import(files: &[(StreamId, &Path)], folder: &Path) -> Result<()> {
    let mut module = ModuleTable::new("memtrace-v1", Backend::Cuda, Probe::Trace);
    let mut sites = HashMap::new();
    let mut grids = Vec::new();
    for (_, path) in files {
        grids.push(survey(path, &mut module, &mut sites)?);
    }
    let capture = CaptureWriter::create(folder, &Header::new(Backend::Cuda))?;
    capture.module(&module)?;
    let names = files.iter().map(|(_, path)| path.display().to_string());
    let names = names.collect::<Vec<_>>().join(", ");
    let note = format!("imported from memtrace-v1: {names}");
    capture.event(&Event::Note(note))?;
    let mut sequence = 0;
    for ((stream, path), grids) in files.iter().zip(&grids) {
        import_stream(&capture, *stream, path, grids, &sites, &mut sequence)?;
    }
    capture.finish(&Outcome::Finished)
}

type Sites = HashMap<(String, Op, u32), SiteId>;

fn survey(path: &Path, module: &mut ModuleTable, sites: &mut Sites) -> Result<Vec<[u32; 3]>> {
    let (mut grids, mut kernel, mut last) = (Vec::new(), String::new(), None);
    let mut grid = [1u32; 3];
    let mut reader = Reader::open(path)?;
    while let Some(item) = reader.next() {
        match item? {
            Item::Launch(name) => {
                if !module.kernels.iter().any(|kernel| kernel.name == name) {
                    module.kernels.push(KernelInfo {
                        name: name.clone(),
                        display_name: name.clone(),
                        parameters: 0,
                    });
                }
                (kernel, last, grid) = (name, None, [1; 3]);
            }
            Item::Access(record) => {
                for (size, at) in grid.iter_mut().zip(record.cta) {
                    *size = at.checked_add(1).map_or(u32::MAX, |end| end.max(*size));
                }
                if last == Some((record.op, record.width_bytes)) {
                    continue;
                }
                last = Some((record.op, record.width_bytes));
                let key = (kernel.clone(), record.op, record.width_bytes);
                if let Entry::Vacant(entry) = sites.entry(key) {
                    let local = u16::try_from(module.sites.len()).map_err(|_| {
                        let reason = "more than 65536 kinds of access";
                        TraceError::damaged(path, reader.offset(), reason)
                    })?;
                    let id = SiteId::new(0, local);
                    module.sites.push(Site {
                        id,
                        function: kernel.clone(),
                        file: String::new(),
                        line: 0,
                        column: 0,
                        op: record.op,
                        width_bytes: record.width_bytes,
                        proof: Proof::Proven,
                        waits: false,
                    });
                    entry.insert(id);
                }
            }
            Item::End => {
                let ctas = grid.iter().map(|&size| u128::from(size)).product::<u128>();
                if grid[0] == u32::MAX || ctas > 1 << 32 {
                    let reason = format!("a grid of {grid:?} has more than 2^32 CTAs");
                    return Err(TraceError::damaged(path, reader.offset(), reason));
                }
                grids.push(grid);
            }
        }
    }
    Ok(grids)
}

fn import_stream(
    capture: &CaptureWriter,
    stream: StreamId,
    path: &Path,
    grids: &[[u32; 3]],
    sites: &Sites,
    sequence: &mut u64,
) -> Result<()> {
    let writer = capture.stream(stream)?;
    let (mut builder, mut group) = (ChunkBuilder::new(LaunchId(0)), AccessGroup::EMPTY);
    let (mut kernel, mut grid, mut next, mut accesses) = (String::new(), [1; 3], 0u32, 0);
    let mut last: Option<(Op, u32, SiteId)> = None;
    for item in Reader::open(path)? {
        match item? {
            Item::Launch(name) => {
                kernel = name;
                last = None;
                // If the file has changed since the survey, CTAs outside the grid get wrong numbers.
                grid = grids.get(next as usize).copied().unwrap_or([1; 3]);
                builder.restart(LaunchId(next));
                let launch = Launch {
                    sequence: *sequence,
                    stream,
                    launch: LaunchId(next),
                    kernel: kernel.clone(),
                    grid,
                    block: [WARP_LANES as u32, 1, 1],
                    ..Launch::default()
                };
                *sequence += 1;
                capture.event(&Event::Launch(launch))?;
            }
            Item::Access(record) => {
                let site = match last {
                    Some((op, width, site)) if (op, width) == (record.op, record.width_bytes) => {
                        site
                    }
                    _ => *sites
                        .get(&(kernel.clone(), record.op, record.width_bytes))
                        .ok_or_else(|| {
                            let reason = "the file changed while it was being imported";
                            TraceError::damaged(path, 0, reason)
                        })?,
                };
                last = Some((record.op, record.width_bytes, site));
                let cta = linear(&record, grid);
                let is_same_group = (group.site, group.cta, group.sm) == (site, cta, record.sm)
                    && group.lanes() < WARP_LANES;
                if !is_same_group || group.mask == 0 {
                    builder.push(&group);
                    if builder.is_full() {
                        writer.flush(&mut builder)?;
                    }
                    group = AccessGroup {
                        site,
                        cta,
                        sm: record.sm,
                        width_bytes: record.width_bytes,
                        ..AccessGroup::EMPTY
                    };
                }
                group.addresses[group.lanes()] = record.address;
                group.mask = group.mask << 1 | 1;
                accesses += 1;
            }
            Item::End => {
                builder.push(&group);
                group = AccessGroup::EMPTY;
                writer.flush(&mut builder)?;
                capture.event(&Event::LaunchEnd(LaunchEnd {
                    stream,
                    launch: LaunchId(next),
                    thread_accesses: accesses,
                    elapsed_ns: 0,
                    outcome: LaunchOutcome::Completed,
                }))?;
                accesses = 0;
                next += 1;
            }
        }
    }
    Ok(())
}

fn linear(record: &Record, grid: [u32; 3]) -> u32 {
    let [x, y, z] = record.cta;
    x.wrapping_add(grid[0].wrapping_mul(y.wrapping_add(grid[1].wrapping_mul(z))))
}
