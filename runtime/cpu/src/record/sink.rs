//! From the logs of a warp into the capture or what is added up in its place, with a check of every address on the way.

use crate::exec::job::Job;
use crate::record::in_situ::Adding;
use crate::record::merge::{LANES, LogEntry, merge_warp};
use crate::record::probed::Handling;
use crate::runtime::session;
use superstep_trace::{AccessGroup, ChunkBuilder, LaunchId, SiteId};

/// Where a worker's access groups go.
pub struct Sink {
    chunk: ChunkBuilder,
    adding: Adding,
    group: AccessGroup,
    accesses: u64,
    bad_addresses: u64,
    first_bad: Option<(SiteId, u64)>,
    /// Behind the end of an allocation, where a GPU lets it pass.
    first_behind: Option<(SiteId, u64)>,
    /// The range of global memory that held the last group.
    range: (u64, u64),
    /// What calling a defined probe's handler takes.
    handling: Handling,
}

impl Sink {
    /// An empty sink for worker `worker`.
    pub fn new(worker: u32) -> Self {
        Sink {
            chunk: ChunkBuilder::new(LaunchId(0)),
            adding: Adding::default(),
            group: AccessGroup {
                sm: worker,
                ..AccessGroup::EMPTY
            },
            accesses: 0,
            bad_addresses: 0,
            first_bad: None,
            first_behind: None,
            range: (0, 0),
            handling: Handling::default(),
        }
    }

    pub fn begin(&mut self, job: &Job) {
        self.chunk.restart(job.active.launch.launch);
        (
            self.accesses,
            self.bad_addresses,
            self.first_bad,
            self.first_behind,
            self.range,
        ) = (0, 0, None, None, (0, 0));
        if let Some(probed) = &job.probed {
            self.handling.begin(probed);
        }
    }

    /// Merges the logs of warp `warp` of CTA `cta`. Without a capture they are dropped.
    pub fn merge(&mut self, job: &Job, cta: u64, warp: u32, lanes: &[&[LogEntry]; LANES]) {
        let Sink {
            chunk,
            adding,
            group,
            accesses,
            bad_addresses,
            first_bad,
            first_behind,
            range,
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
            *accesses += group.lanes() as u64;
            if !lies_in(group, *range) {
                let mut bad = check(job, group, range);
                bad.retain(|&address| {
                    let behind = crate::memory::is_behind(address);
                    let first = if behind {
                        &mut *first_behind
                    } else {
                        &mut *first_bad
                    };
                    first.get_or_insert((group.site, address));
                    !behind
                });
                *bad_addresses += bad.len() as u64;
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

    /// Ends a launch: writes what is left and reports.
    pub fn finish(&mut self, job: &Job) {
        if let Some(running) = &job.running {
            self.adding.finish(running);
        }
        session().write_chunk(&job.active, &mut self.chunk);
        job.add_accesses(self.accesses);
        if let Some((site, address)) = self.first_bad {
            session().bad_addresses(self.bad_addresses);
            let count = self.bad_addresses;
            session().warning(format_args!(
                "kernel {}: {count} accesses lie outside of every allocation, the first of them {} at {address:#x}, {}",
                job.kernel.display_name,
                describe_site(site),
                crate::memory::locate(address),
            ));
        }
        if let Some((site, address)) = self.first_behind {
            session().warning(format_args!(
                "kernel {}: {} goes beyond an allocation, at {address:#x}, {}; a GPU lets that pass",
                job.kernel.display_name,
                describe_site(site),
                crate::memory::locate(address),
            ));
        }
    }
}

/// Whether all bytes of a group lie in `range`.
fn lies_in(group: &AccessGroup, range: (u64, u64)) -> bool {
    let (low, high) = group
        .active_addresses()
        .iter()
        .fold((u64::MAX, 0), |(low, high), &address| {
            (low.min(address), high.max(address))
        });
    low >= range.0 && high.saturating_add(u64::from(group.width_bytes)) <= range.1
}

/// Looks each address of a group up and leaves the range of the last good one in `range`. Returns the first byte of each access that lies
/// outside.
#[cold]
fn check(job: &Job, group: &AccessGroup, range: &mut (u64, u64)) -> Vec<u64> {
    let mut bad = Vec::new();
    for &address in group.active_addresses() {
        let end = address.saturating_add(u64::from(group.width_bytes));
        // Mostly a group lies in one range, and only not in that of the group before.
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

/// A site for people: "load of 4 bytes at stencil.cu:12".
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
