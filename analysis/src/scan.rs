//! One pass over all accesses in a capture: counts per site, digests, and checks that every access is valid.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::parallel::Pool;
use crate::sites::BySite;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use superstep_trace::digest::{Hasher, Known, address_range};
use superstep_trace::{
    AccessGroup, Allocation, Capture, GroupBuffer, Launch, LaunchDigest, LaunchEnd, LaunchRecord,
    LaunchSums, Recorded, Resolver, SiteId, SiteTable, TraceError,
};

/// Thread accesses at one site.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteCount {
    pub accesses: u64,
    pub bytes: u64,
}

impl SiteCount {
    /// Adds the accesses of a group.
    #[inline]
    pub fn add(&mut self, group: &AccessGroup) {
        let lanes = group.lanes() as u64;
        self.accesses += lanes;
        self.bytes += lanes * u64::from(group.width_bytes);
    }
}

crate::add_assign!(SiteCount: accesses, bytes);

impl BySite<SiteCount> {
    #[inline]
    pub(crate) fn add(&mut self, group: &AccessGroup) {
        match self.get_mut(group.site) {
            Some(count) => count.add(group),
            None => self.entry(group.site).add(group),
        }
    }

    /// Returns the sites that were executed, in ascending order.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (SiteId, SiteCount)> {
        let counts = self.iter().filter(|(_, count)| count.accesses > 0);
        counts.map(|(site, count)| (site, *count))
    }
}

#[derive(Debug, Clone)]
pub struct LaunchScan<'a> {
    pub launch: &'a Launch,
    pub recorded: Recorded,
    pub end: Option<&'a LaunchEnd>,
    /// Order-independent digest of the launch's accesses.
    pub digest: LaunchDigest,
    /// Counts for the sites that were executed, in ascending order of site.
    pub sites: Vec<(SiteId, SiteCount)>,
    /// Sums, if the run was in situ; in that case, `sites` is empty.
    pub sums: Option<&'a LaunchSums>,
}

impl LaunchScan<'_> {
    /// Returns the number of accesses, counted per lane.
    pub fn thread_accesses(&self) -> u64 {
        (self.sums).map_or(self.digest.thread_accesses, LaunchSums::thread_accesses)
    }
}

/// Indices into [`CaptureScan::violations`].
pub const OUTSIDE_GRID: usize = 0;
pub const OUTSIDE_ALLOCATIONS: usize = 1;
/// Sites or widths that are in no table.
pub const UNKNOWN_SITES: usize = 2;
/// Addresses past the end of an allocation, in its last page.
pub const PAST_ALLOCATIONS: usize = 3;

/// Number of access groups with a problem, and the first such group at each site.
#[derive(Debug, Clone, Default)]
pub struct Violation {
    pub groups: u64,
    /// Launch and chunk of the first group at each site, and a description of the problem.
    pub first: BTreeMap<SiteId, ((u32, usize), String)>,
}

#[derive(Debug, Clone)]
pub struct CaptureScan<'a> {
    pub sites: &'a SiteTable,
    /// All launches in the order of the host's calls.
    pub launches: Vec<LaunchScan<'a>>,
    pub violations: [Violation; 4],
    pub digest: LaunchDigest,
}

impl CaptureScan<'_> {
    /// Returns whether the run was in situ, without recorded accesses.
    pub fn is_in_situ(&self) -> bool {
        self.launches.iter().any(|launch| launch.sums.is_some())
    }

    /// Returns whether threads wait for each other through memory, so that the number of accesses varies between runs.
    pub fn has_waits(&self) -> bool {
        self.sites.iter().any(|site| site.waits)
    }
}

#[derive(Clone, Default)]
struct Found {
    digest: LaunchDigest,
    sites: BySite<SiteCount>,
    violations: [Violation; 4],
}

/// Reads every access in `capture`, on all cores.
pub fn scan(capture: &Capture) -> Result<CaptureScan<'_>, TraceError> {
    let scanner = Scanner::new(capture);
    let chunks: Vec<_> = (scanner.launches.iter())
        .flat_map(|(record, _)| (0..).zip(record.chunks).map(|chunk| (record.number, chunk)))
        .collect();
    (chunks.par_iter()).try_for_each_init(GroupBuffer::default, |buffer, (launch, chunk)| {
        let (number, chunk) = *chunk;
        scanner.chunk(*launch, number, |scan| {
            capture.read_chunk(chunk, buffer, |group| scan.add(group))
        })
    })?;
    Ok(scanner.finish())
}

/// Scans chunks on multiple threads.
pub(crate) struct Scanner<'a> {
    sites: &'a SiteTable,
    launches: Vec<(LaunchRecord<'a>, Mutex<Found>)>,
    empty: Found,
    known: Pool<Known>,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(capture: &'a Capture) -> Self {
        let sites = capture.sites();
        let mut empty = Found::default();
        for site in sites.iter() {
            empty.sites.entry(site.id);
        }
        let launches = capture.launches();
        Self {
            sites,
            launches: (launches.map(|record| (record, Mutex::new(empty.clone())))).collect(),
            empty,
            known: Pool::new(),
        }
    }

    /// Scans the accesses that `read` adds: those of chunk `number` of a launch.
    pub(crate) fn chunk<R>(
        &self,
        launch: u32,
        number: usize,
        read: impl FnOnce(&mut ChunkScan<'_>) -> R,
    ) -> R {
        let (record, all) = &self.launches[launch as usize];
        self.known.with(Known::default, |known| {
            let mut scan = ChunkScan::new(record, number, self.sites, self.empty.clone(), known);
            let result = read(&mut scan);
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.merge(scan.finish());
            result
        })
    }

    pub(crate) fn finish(self) -> CaptureScan<'a> {
        let mut scan = CaptureScan {
            sites: self.sites,
            launches: Vec::new(),
            violations: Default::default(),
            digest: LaunchDigest::default(),
        };
        for (record, found) in self.launches {
            let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
            scan.launches.push(LaunchScan {
                sites: found.sites.counted().collect(),
                digest: found.digest,
                recorded: record.recorded,
                end: record.end,
                launch: record.launch,
                sums: record.sums,
            });
            scan.digest += found.digest;
            merge(&mut scan.violations, found.violations);
        }
        scan
    }
}

pub(crate) struct ChunkScan<'a> {
    record: &'a LaunchRecord<'a>,
    sites: &'a SiteTable,
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
        empty: Found,
        known: &'a mut Known,
    ) -> Self {
        let launch = record.launch;
        Self {
            record,
            sites,
            number,
            ctas: launch.ctas(),
            threads: launch.threads_per_cta(),
            resolver: record.allocations.resolver(),
            hasher: Hasher::new(record, sites, known),
            found: empty,
        }
    }

    pub(crate) fn add(&mut self, group: &AccessGroup) {
        let is_repeated = self.hasher.add(group);
        if is_repeated && let Some(count) = self.found.sites.get_mut(group.site) {
            // The earlier group has passed all checks.
            count.add(group);
            return;
        }
        let (sites, ctas, threads) = (self.sites, self.ctas, self.threads);
        let launch = self.record.launch;
        let access = || {
            let (launch, site) = (launch_name(sites, launch), site_name(sites, group.site));
            format!("{launch}, {site}")
        };
        let key = (self.record.number, self.number);
        let outside = self.outside(group);
        let violations = &mut self.found.violations;
        let problems = |violations: &[Violation; 4]| -> u64 {
            violations.iter().map(|violation| violation.groups).sum()
        };
        let problems_before = problems(violations);
        match (self.found.sites.get_mut(group.site), sites.get(group.site)) {
            (Some(count), Some(site)) => {
                count.add(group);
                if site.width_bytes != 0 && site.width_bytes != group.width_bytes {
                    violations[UNKNOWN_SITES].record(key, group.site, || {
                        format!("{}: {} bytes wide", access(), group.width_bytes)
                    });
                }
            }
            _ => violations[UNKNOWN_SITES].record(key, group.site, || {
                let launch = launch_name(sites, launch);
                format!("{launch}: site {} is in no module's table", group.site)
            }),
        }
        let last_thread =
            u64::from(group.warp) * 32 + u64::from(31 - group.mask.leading_zeros().min(31));
        if u64::from(group.cta) >= ctas || last_thread >= threads {
            violations[OUTSIDE_GRID].record(key, group.site, || {
                let (access, cta) = (access(), group.cta);
                format!("{access}: CTA {cta}, thread {last_thread}, in a grid of {ctas} CTAs of {threads} threads")
            });
        }
        if let Some(address) = outside {
            // The first byte of an access may be inside the allocation.
            let last = address.saturating_add(u64::from(group.width_bytes).max(1) - 1);
            let kind = match self.record.allocations.is_in_last_page(last) {
                true => PAST_ALLOCATIONS,
                false => OUTSIDE_ALLOCATIONS,
            };
            let record = self.record;
            violations[kind].record(key, group.site, || {
                let (access, cta, warp) = (access(), group.cta, group.warp);
                let near = near(record, group, address);
                format!("{access}: address {address:#x} (CTA {cta}, warp {warp}) is in no live allocation, {near}")
            });
        }
        if problems(violations) > problems_before {
            self.hasher.forget(group);
        }
    }

    /// Returns the first address in `group` whose access is not entirely in a live allocation.
    fn outside(&mut self, group: &AccessGroup) -> Option<u64> {
        let addresses = group.active_addresses();
        let width = u64::from(group.width_bytes).max(1) - 1;
        let (low, high) = address_range(addresses)?;
        let resolver = &mut self.resolver;
        let mut is_inside = |address, last: u64| {
            let allocation = resolver.find(address);
            allocation.is_some_and(|it| it.offset_of(last.saturating_add(width)).is_some())
        };
        // A group nearly always accesses one allocation.
        if is_inside(low, high) {
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

impl Found {
    fn merge(&mut self, other: Found) {
        self.digest += other.digest;
        for (site, other) in other.sites.counted() {
            *self.sites.entry(site) += other;
        }
        merge(&mut self.violations, other.violations);
    }
}

/// Distance in bytes beyond which an allocation is considered unrelated to an address.
const NEAR_BYTES: u64 = 1 << 32;

/// Describes the allocation that an invalid access was probably meant for: the one other lanes access, or the nearest.
fn near(record: &LaunchRecord<'_>, group: &AccessGroup, address: u64) -> String {
    let mut lanes = group.active_addresses().iter();
    if let Some(used) = lanes.find_map(|&lane| record.allocations.find(lane)) {
        return format!("while other lanes of the warp access {}", in_words(used));
    }
    let distance = |it: &Allocation| match address.checked_sub(it.address) {
        Some(offset) => (offset.saturating_sub(it.bytes), "past"),
        None => (it.address - address, "before"),
    };
    let nearest = record.allocations.iter().min_by_key(|it| distance(it).0);
    match nearest.map(|it| (distance(it), it)) {
        Some(((bytes, side), it)) if bytes < NEAR_BYTES => {
            format!("{bytes} bytes {side} {}", in_words(it))
        }
        _ => "nor near one".to_owned(),
    }
}

fn in_words(allocation: &Allocation) -> String {
    let number = || format!("allocation {}", allocation.key);
    let name = allocation.name().map_or_else(number, str::to_owned);
    let place = allocation.place.as_ref();
    let place = place.map_or(String::new(), |place| format!(", allocated at {place}"));
    format!("{name} ({} bytes{place})", allocation.bytes)
}

fn merge(violations: &mut [Violation; 4], others: [Violation; 4]) {
    for (violation, other) in violations.iter_mut().zip(others) {
        violation.groups += other.groups;
        for (site, first) in other.first {
            let known = violation.first.entry(site).or_insert_with(|| first.clone());
            if first.0 < known.0 {
                *known = first;
            }
        }
    }
}

impl Violation {
    fn record(&mut self, key: (u32, usize), site: SiteId, text: impl FnOnce() -> String) {
        self.groups += 1;
        self.first.entry(site).or_insert_with(|| (key, text()));
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
