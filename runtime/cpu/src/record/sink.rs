//! Checks every address in the logs of a warp, and writes the logs to the capture or aggregates them.

use crate::exec::job::Job;
use crate::memory;
use crate::record::merge::{LANES, LogEntry, merge_warp};
use crate::record::probed::Handling;
use crate::runtime::session;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use superstep_runtime_core::in_situ::{Accumulator, Running};
use superstep_trace::{AccessGroup, ChunkBuilder, LaunchId, Op, SiteId};

pub struct Sink {
    chunk: ChunkBuilder,
    aggregates: Aggregates,
    group: AccessGroup,
    launch: LaunchTotals,
    handling: Handling,
}

#[derive(Default)]
struct LaunchTotals {
    accesses: u64,
    bad_addresses: u64,
    first_bad: Option<(SiteId, u64)>,
    /// First access past the end of an allocation that would not fault on a GPU.
    first_in_tail: Option<(SiteId, u64)>,
    /// The range of global memory that contained the last group.
    range: (u64, u64),
}

impl Sink {
    pub fn new(worker: u32) -> Self {
        Sink {
            chunk: ChunkBuilder::new(LaunchId(0)),
            aggregates: Aggregates::default(),
            group: AccessGroup {
                sm: worker,
                ..AccessGroup::EMPTY
            },
            launch: LaunchTotals::default(),
            handling: Handling::default(),
        }
    }

    pub fn begin(&mut self, job: &Job) {
        self.chunk.restart(job.active.launch.launch);
        self.launch = LaunchTotals::default();
        if let Some(probed) = &job.probed {
            self.handling.begin(probed);
        }
    }

    /// Merges the logs of a warp; drops the result if nothing is captured.
    pub fn merge(&mut self, job: &Job, cta: u64, warp: u32, lanes: &[&[LogEntry]; LANES]) {
        if job.probe_logs {
            if job.probed.is_some() {
                self.handling.merge(lanes);
            }
            return;
        }
        let launch = &mut self.launch;
        (self.group.cta, self.group.warp) = (cta as u32, warp);
        let is_recorded = job.active.writer.is_some() && session().shadow().is_none();
        merge_warp(lanes, &mut self.group, |group| {
            launch.accesses += group.accesses() as u64;
            if !group.is_grid_barrier() && !is_within(group, launch.range) {
                let mut bad = check(job, group, &mut launch.range);
                bad.retain(|&address| {
                    let in_tail = memory::is_in_tail(address);
                    let first = match in_tail {
                        true => &mut launch.first_in_tail,
                        false => &mut launch.first_bad,
                    };
                    first.get_or_insert((group.site, address));
                    !in_tail
                });
                launch.bad_addresses += bad.len() as u64;
            }
            if let Some(running) = &job.running
                && !group.is_grid_barrier()
            {
                self.aggregates.group(running, group);
            }
            if is_recorded {
                self.chunk.push(group);
                if self.chunk.is_full() {
                    session().write_chunk(&job.active, &mut self.chunk);
                }
            }
        });
    }

    pub fn finish(&mut self, job: &Job) {
        if let Some(running) = &job.running {
            self.aggregates.accumulator.finish(running);
        }
        session().write_chunk(&job.active, &mut self.chunk);
        let (launch, kernel) = (&self.launch, &job.kernel.display_name);
        job.accesses.fetch_add(launch.accesses, Ordering::Relaxed);
        let describe = |(site, address)| (describe_site(site), address, memory::locate(address));
        if let Some((site, address, location)) = launch.first_bad.map(describe) {
            let count = launch.bad_addresses;
            session().bad_addresses(count);
            session().warning(format_args!(
                "kernel {kernel}: {count} accesses are outside any allocation; the first: {site} at {address:#x}, {location}"
            ));
        }
        if let Some((site, address, location)) = launch.first_in_tail.map(describe) {
            session().warning(format_args!(
                "kernel {kernel}: {site} extends past an allocation, at {address:#x}, {location}; a GPU allows this"
            ));
        }
    }
}

/// Aggregates that a worker collects instead of a trace.
#[derive(Default)]
struct Aggregates {
    accumulator: Accumulator,
    /// Operations of sites; `None` if no module has the site.
    ops: HashMap<SiteId, Option<Op>>,
    last: Option<(SiteId, Op)>,
}

impl Aggregates {
    fn group(&mut self, running: &Running, group: &AccessGroup) {
        let session = session();
        let (Some(shadow), Some(op)) = (session.shadow(), self.op(group.site)) else {
            return;
        };
        self.accumulator.group(shadow, running, op, group);
        if let Some(parts) = self.accumulator.take_early_parts() {
            session.parts(parts);
        }
    }

    fn op(&mut self, site: SiteId) -> Option<Op> {
        if let Some((last, op)) = self.last
            && last == site
        {
            return Some(op);
        }
        let op = *self.ops.entry(site).or_insert_with(|| {
            let found = session().registry().site(site);
            if found.is_none() {
                session().fault(format_args!(
                    "site {site} is not in any module's table, so its accesses are not aggregated; rebuild the program"
                ));
            }
            found.map(|site| site.op)
        });
        self.last = op.map(|op| (site, op));
        op
    }
}

fn is_within(group: &AccessGroup, range: (u64, u64)) -> bool {
    let addresses = group.active_addresses().iter();
    let (low, high) = addresses.fold((u64::MAX, 0), |(low, high), &address| {
        (low.min(address), high.max(address))
    });
    low >= range.0 && high.saturating_add(u64::from(group.width_bytes)) <= range.1
}

/// Looks up each address of a group; sets `range` to the range that contains the last valid address. Returns the first
/// bad byte of each bad access.
#[cold]
fn check(job: &Job, group: &AccessGroup, range: &mut (u64, u64)) -> Vec<u64> {
    let mut bad = Vec::new();
    for &address in group.active_addresses() {
        let end = address.saturating_add(u64::from(group.width_bytes));
        // A group is usually in one range.
        if range.0 <= address && end <= range.1 {
            continue;
        }
        let found = (job.ranges.find(address))
            .or_else(|| crate::device_calls::device_heap::range_of(address));
        match found {
            Some(found) if end <= found.1 => *range = found,
            Some(found) => bad.push(found.1),
            None => bad.push(address),
        }
    }
    bad
}

/// Describes a site: "load of 4 bytes at stencil.cu:12".
pub fn describe_site(site: SiteId) -> String {
    let Some(site) = session().registry().site(site) else {
        return format!("site {site}");
    };
    let place = match site.line {
        0 => format!("in {}", site.function),
        line => format!("at {}:{line}", site.file),
    };
    format!("{} of {} bytes {place}", site.op, site.width_bytes)
}
