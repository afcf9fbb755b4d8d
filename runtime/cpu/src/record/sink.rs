//! Writes the logs of a warp into the capture, or aggregates them, after a check of every address.

use crate::exec::job::Job;
use crate::record::in_situ::Adding;
use crate::record::merge::{LANES, LogEntry, merge_warp};
use crate::record::probed::Handling;
use crate::runtime::session;
use superstep_trace::{AccessGroup, ChunkBuilder, LaunchId, SiteId};

pub struct Sink {
    chunk: ChunkBuilder,
    adding: Adding,
    group: AccessGroup,
    launch: OfLaunch,
    handling: Handling,
}

#[derive(Default)]
struct OfLaunch {
    accesses: u64,
    bad_addresses: u64,
    first_bad: Option<(SiteId, u64)>,
    /// After the end of an allocation, where a GPU lets it pass.
    first_behind: Option<(SiteId, u64)>,
    /// The range of global memory that contained the last group.
    range: (u64, u64),
}

impl Sink {
    pub fn new(worker: u32) -> Self {
        Sink {
            chunk: ChunkBuilder::new(LaunchId(0)),
            adding: Adding::default(),
            group: AccessGroup {
                sm: worker,
                ..AccessGroup::EMPTY
            },
            launch: OfLaunch::default(),
            handling: Handling::default(),
        }
    }

    pub fn begin(&mut self, job: &Job) {
        self.chunk.restart(job.active.launch.launch);
        self.launch = OfLaunch::default();
        if let Some(probed) = &job.probed {
            self.handling.begin(probed);
        }
    }

    /// Merges the logs of a warp. Without a capture they are dropped.
    pub fn merge(&mut self, job: &Job, cta: u64, warp: u32, lanes: &[&[LogEntry]; LANES]) {
        let Sink {
            chunk,
            adding,
            group,
            launch,
            handling,
        } = self;
        if job.probe_logs {
            if job.probed.is_some() {
                handling.merge(lanes);
            }
            return;
        }
        (group.cta, group.warp) = (cta as u32, warp);
        let is_recorded = job.active.writer.is_some() && session().shadow().is_none();
        merge_warp(lanes, group, |group| {
            launch.accesses += group.lanes() as u64;
            if !lies_in(group, launch.range) {
                let mut bad = check(job, group, &mut launch.range);
                bad.retain(|&address| {
                    let behind = crate::memory::is_behind(address);
                    let first = if behind {
                        &mut launch.first_behind
                    } else {
                        &mut launch.first_bad
                    };
                    first.get_or_insert((group.site, address));
                    !behind
                });
                launch.bad_addresses += bad.len() as u64;
            }
            if let Some(running) = &job.running {
                adding.group(running, group);
            }
            if is_recorded {
                chunk.push(group);
                if chunk.is_full() {
                    session().write_chunk(&job.active, chunk);
                }
            }
        });
    }

    pub fn finish(&mut self, job: &Job) {
        if let Some(running) = &job.running {
            self.adding.accumulator.finish(running);
        }
        session().write_chunk(&job.active, &mut self.chunk);
        let launch = &self.launch;
        job.add_accesses(launch.accesses);
        if let Some((site, address)) = launch.first_bad {
            let count = launch.bad_addresses;
            session().bad_addresses(count);
            session().warning(format_args!(
                "kernel {}: {count} accesses lie outside of every allocation, the first of them {} at {address:#x}, {}",
                job.kernel.display_name,
                describe_site(site),
                crate::memory::locate(address),
            ));
        }
        if let Some((site, address)) = launch.first_behind {
            session().warning(format_args!(
                "kernel {}: {} goes beyond an allocation, at {address:#x}, {}; a GPU lets that pass",
                job.kernel.display_name,
                describe_site(site),
                crate::memory::locate(address),
            ));
        }
    }
}

fn lies_in(group: &AccessGroup, range: (u64, u64)) -> bool {
    let (low, high) = group
        .active_addresses()
        .iter()
        .fold((u64::MAX, 0), |(low, high), &address| {
            (low.min(address), high.max(address))
        });
    low >= range.0 && high.saturating_add(u64::from(group.width_bytes)) <= range.1
}

/// Looks up each address of a group; sets `range` to that of the last good one. Returns the first bad byte of each other access.
#[cold]
fn check(job: &Job, group: &AccessGroup, range: &mut (u64, u64)) -> Vec<u64> {
    let mut bad = Vec::new();
    for &address in group.active_addresses() {
        let end = address.saturating_add(u64::from(group.width_bytes));
        // A group is mostly in one range.
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
    match session().registry().site(site) {
        Some(site) if site.line > 0 => format!(
            "{} of {} bytes at {}:{}",
            site.op, site.width_bytes, site.file, site.line
        ),
        Some(site) => format!(
            "{} of {} bytes in {}",
            site.op, site.width_bytes, site.function
        ),
        None => format!("site {site}"),
    }
}
