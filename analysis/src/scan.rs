//! One pass over all accesses of a capture: counts of each site, digests, and whether every access is possible at all.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use superstep_trace::digest::Hasher;
use superstep_trace::{
    AccessGroup, Capture, GroupBuffer, Launch, LaunchDigest, LaunchEnd, LaunchRecord, LaunchSums,
    Recorded, Resolver, SiteId, SiteTable, TraceError,
};

/// Executions and bytes of one site in one launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SiteCount {
    pub accesses: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone)]
pub struct LaunchScan<'a> {
    pub launch: &'a Launch,
    pub recorded: Recorded,
    pub end: Option<&'a LaunchEnd>,
    /// Order-independent digest of its accesses.
    pub digest: LaunchDigest,
    /// Counts by site, ascending; sites that were not executed are left out.
    pub sites: Vec<(SiteId, SiteCount)>,
    /// Sums, where the launch was aggregated in place of being recorded: then `sites` is empty.
    pub sums: Option<&'a LaunchSums>,
}

impl LaunchScan<'_> {
    /// Accesses that were found or added up, each lane counted.
    pub fn thread_accesses(&self) -> u64 {
        (self.sums).map_or(self.digest.thread_accesses, LaunchSums::thread_accesses)
    }
}

/// Kinds of [`CaptureScan::violations`].
pub const OUTSIDE_GRID: usize = 0;
pub const OUTSIDE_ALLOCATIONS: usize = 1;
/// A site or a width that no table knows.
pub const UNKNOWN_SITES: usize = 2;
/// Behind the end of an allocation, in its last page.
pub const BEHIND_ALLOCATIONS: usize = 3;

/// Number of access groups with a problem, and the first one.
#[derive(Debug, Clone, Default)]
pub struct Violation {
    pub groups: u64,
    /// The first one: its place in the capture, and in words.
    pub first: Option<((u32, usize), String)>,
}

#[derive(Debug, Clone)]
pub struct CaptureScan<'a> {
    pub sites: &'a SiteTable,
    /// Every launch in the order of the host's calls.
    pub launches: Vec<LaunchScan<'a>>,
    pub violations: [Violation; 4],
    pub digest: LaunchDigest,
}

impl CaptureScan<'_> {
    /// Whether accesses were added up while kernels ran, and none was recorded.
    pub fn is_in_situ(&self) -> bool {
        self.launches.iter().any(|launch| launch.sums.is_some())
    }

    /// Whether threads wait for each other by accesses to memory, whose number differs from run to run.
    pub fn has_waits(&self) -> bool {
        self.sites.iter().any(|site| site.waits)
    }
}

struct Place<'a> {
    record: LaunchRecord<'a>,
    found: Mutex<Found>,
}

type SiteCounts = Vec<Vec<SiteCount>>;

#[derive(Clone, Default)]
struct Found {
    digest: LaunchDigest,
    sites: SiteCounts,
    violations: [Violation; 4],
}

/// Reads every access of `capture`, on all cores.
pub fn scan(capture: &Capture) -> Result<CaptureScan<'_>, TraceError> {
    let sites = capture.sites();
    let nothing = Found {
        sites: no_counts(sites),
        ..Found::default()
    };
    let places: Vec<Place> = (capture.launches())
        .map(|record| Place {
            record,
            found: Mutex::new(nothing.clone()),
        })
        .collect();
    let chunks: Vec<_> = (places.iter())
        .flat_map(|place| {
            (0..)
                .zip(place.record.chunks)
                .map(move |chunk| (place, chunk))
        })
        .collect();
    (chunks.par_iter()).try_for_each_init(
        GroupBuffer::default,
        |buffer, (place, (number, chunk))| {
            let mut reader = ChunkScan::new(&place.record, *number, sites, nothing.clone());
            capture.read_chunk(chunk, buffer, |group| reader.add(group))?;
            let found = reader.finish();
            let mut all = place.found.lock().unwrap_or_else(PoisonError::into_inner);
            all.merge(found);
            Ok(())
        },
    )?;
    let mut scan = CaptureScan {
        sites,
        launches: Vec::new(),
        violations: Default::default(),
        digest: LaunchDigest::default(),
    };
    for Place { record, found } in places {
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let counts = sites.iter().filter_map(|site| {
            let count = *count_of(&found.sites, site.id)?;
            (count.accesses > 0).then_some((site.id, count))
        });
        scan.launches.push(LaunchScan {
            sites: counts.collect(),
            digest: found.digest,
            recorded: record.recorded,
            end: record.end,
            launch: record.launch,
            sums: record.sums,
        });
        scan.digest += found.digest;
        merge(&mut scan.violations, found.violations);
    }
    Ok(scan)
}

fn no_counts(sites: &SiteTable) -> SiteCounts {
    let mut counts = SiteCounts::new();
    for site in sites.iter() {
        let (module, local) = (site.id.module() as usize, site.id.local() as usize);
        counts.resize_with(counts.len().max(module + 1), Vec::new);
        let length = counts[module].len().max(local + 1);
        counts[module].resize(length, SiteCount::default());
    }
    counts
}

fn count_of(counts: &SiteCounts, site: SiteId) -> Option<&SiteCount> {
    counts
        .get(site.module() as usize)?
        .get(site.local() as usize)
}

struct ChunkScan<'a> {
    name: GroupName<'a>,
    number: usize,
    ctas: u64,
    threads: u64,
    resolver: Resolver<'a>,
    hasher: Hasher<'a>,
    found: Found,
}

impl<'a> ChunkScan<'a> {
    fn new(
        record: &'a LaunchRecord<'a>,
        number: usize,
        sites: &'a SiteTable,
        nothing: Found,
    ) -> Self {
        let launch = record.launch;
        Self {
            name: GroupName { record, sites },
            number,
            ctas: launch.ctas(),
            threads: launch.threads_per_cta(),
            resolver: record.allocations.resolver(),
            hasher: Hasher::new(record, sites),
            found: nothing,
        }
    }

    fn add(&mut self, group: &AccessGroup) {
        self.hasher.add(group);
        let (name, ctas, threads) = (self.name, self.ctas, self.threads);
        let key = (name.record.number, self.number);
        let outside = self.outside(group);
        let violations = &mut self.found.violations;
        let counts = self.found.sites.get_mut(group.site.module() as usize);
        let count = counts.and_then(|counts| counts.get_mut(group.site.local() as usize));
        match (count, name.sites.get(group.site)) {
            (Some(count), Some(site)) => {
                let lanes = group.lanes() as u64;
                count.accesses += lanes;
                count.bytes += lanes * u64::from(group.width_bytes);
                if site.width_bytes != 0 && site.width_bytes != group.width_bytes {
                    violations[UNKNOWN_SITES].note(key, || {
                        format!("{}: {} bytes wide", name.access(group), group.width_bytes)
                    });
                }
            }
            _ => violations[UNKNOWN_SITES].note(key, || {
                let launch = launch_name(name.sites, name.record.launch);
                format!("{launch}: site {} is in no module's table", group.site)
            }),
        }
        let last_thread =
            u64::from(group.warp) * 32 + u64::from(31 - group.mask.leading_zeros().min(31));
        if u64::from(group.cta) >= ctas || last_thread >= threads {
            violations[OUTSIDE_GRID].note(key, || {
                let (access, cta) = (name.access(group), group.cta);
                format!("{access}: CTA {cta}, thread {last_thread}, in a grid of {ctas} CTAs of {threads} threads")
            });
        }
        if let Some(address) = outside {
            // The first byte of an access may be inside the allocation.
            let last = address.saturating_add(u64::from(group.width_bytes).max(1) - 1);
            let kind = match name.record.allocations.is_behind(last) {
                true => BEHIND_ALLOCATIONS,
                false => OUTSIDE_ALLOCATIONS,
            };
            violations[kind].note(key, || {
                let (access, cta, warp) = (name.access(group), group.cta, group.warp);
                format!("{access}: address {address:#x} (CTA {cta}, warp {warp}) lies in no live allocation")
            });
        }
    }

    /// The first address of `group` that does not lie in a live allocation with its whole width.
    fn outside(&mut self, group: &AccessGroup) -> Option<u64> {
        let addresses = group.active_addresses();
        let width = u64::from(group.width_bytes).max(1) - 1;
        let (low, high) = (addresses.iter().min()?, addresses.iter().max()?);
        let resolver = &mut self.resolver;
        let mut is_inside = |address, last: u64| {
            let allocation = resolver.find(address);
            allocation.is_some_and(|it| it.offset_of(last.saturating_add(width)).is_some())
        };
        // Nearly always a group stays in one allocation.
        if is_inside(*low, *high) {
            return None;
        }
        let mut addresses = addresses.iter().copied();
        addresses.find(|&address| !is_inside(address, address))
    }

    fn finish(mut self) -> Found {
        self.found.digest = self.hasher.finish();
        self.found
    }
}

/// Name of an access group in messages.
#[derive(Clone, Copy)]
struct GroupName<'a> {
    record: &'a LaunchRecord<'a>,
    sites: &'a SiteTable,
}

impl GroupName<'_> {
    fn access(self, group: &AccessGroup) -> String {
        let launch = launch_name(self.sites, self.record.launch);
        format!("{launch}, {}", site_name(self.sites, group.site))
    }
}

impl Found {
    fn merge(&mut self, other: Found) {
        self.digest += other.digest;
        let counts = self.sites.iter_mut().flatten();
        for (count, other) in counts.zip(other.sites.iter().flatten()) {
            count.accesses += other.accesses;
            count.bytes += other.bytes;
        }
        merge(&mut self.violations, other.violations);
    }
}

fn merge(violations: &mut [Violation; 4], others: [Violation; 4]) {
    for (violation, other) in violations.iter_mut().zip(others) {
        violation.groups += other.groups;
        violation.first = match (violation.first.take(), other.first) {
            (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
            (a, b) => a.or(b),
        };
    }
}

impl Violation {
    fn note(&mut self, key: (u32, usize), text: impl FnOnce() -> String) {
        self.groups += 1;
        self.first.get_or_insert_with(|| (key, text()));
    }
}

pub fn launch_name(sites: &SiteTable, launch: &Launch) -> String {
    format!(
        "launch {} of stream {} ({})",
        launch.launch,
        launch.stream,
        sites.display_name(&launch.kernel)
    )
}

pub fn site_name(sites: &SiteTable, id: SiteId) -> String {
    match sites.get(id) {
        Some(site) => format!("site {id} ({} at {}:{})", site.op, site.file, site.line),
        None => format!("site {id}"),
    }
}
