//! One pass over all accesses of a capture: counts of each site, digests, and whether every access is possible at all.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use superstep_report::run_summary::Check;
use superstep_trace::digest::Hasher;
use superstep_trace::{
    AccessGroup, Capture, GroupBuffer, Launch, LaunchDigest, LaunchEnd, LaunchOutcome,
    LaunchRecord, Proof, Recorded, Resolver, SiteId, SiteTable, TraceError,
};

use super::{failed, passed};

/// What one site did in one launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SiteCount {
    pub accesses: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone)]
pub struct LaunchScan<'a> {
    pub launch: &'a Launch,
    pub recorded: Recorded,
    /// `None` when it did not end.
    pub end: Option<&'a LaunchEnd>,
    /// Order-independent digest of its accesses.
    pub digest: LaunchDigest,
    /// Counts by site, ascending; sites that were not executed are left out.
    pub sites: Vec<(SiteId, SiteCount)>,
}

#[derive(Debug, Clone, Default)]
pub struct Violations {
    /// Access groups with a CTA or thread outside the launch's grid or block.
    pub outside_grid: Violation,
    /// Access groups with an address outside every live allocation.
    pub outside_allocations: Violation,
    /// Access groups whose site or width no table knows.
    pub unknown_sites: Violation,
}

/// How often something went wrong, and the first time it did.
#[derive(Debug, Clone, Default)]
pub struct Violation {
    /// Access groups concerned.
    pub groups: u64,
    /// The first one: its place in the capture, and in words.
    first: Option<((u32, usize), String)>,
}

#[derive(Debug, Clone)]
pub struct CaptureScan<'a> {
    /// Every launch in the order of the host's calls.
    pub launches: Vec<LaunchScan<'a>>,
    pub violations: Violations,
    pub digest: LaunchDigest,
}

/// A launch, and what was found in it so far.
struct Place<'a> {
    record: LaunchRecord<'a>,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    digest: LaunchDigest,
    sites: Vec<SiteCount>,
    violations: Violations,
}

/// Reads every access of `capture`, on all cores.
pub fn scan(capture: &Capture) -> Result<CaptureScan<'_>, TraceError> {
    let index = SiteIndex::new(capture.sites());
    let places: Vec<Place> = (capture.launches())
        .map(|record| Place {
            record,
            found: Mutex::default(),
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
            let mut reader = ChunkScan::new(&place.record, *number, capture.sites(), &index);
            capture.read_chunk(chunk, buffer, |group| reader.add(group))?;
            let found = reader.finish();
            place
                .found
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .merge(found);
            Ok(())
        },
    )?;
    Ok(collect(capture, places, &index))
}

fn collect<'a>(capture: &'a Capture, places: Vec<Place<'a>>, index: &SiteIndex) -> CaptureScan<'a> {
    let mut scan = CaptureScan {
        launches: Vec::new(),
        violations: Violations::default(),
        digest: LaunchDigest::default(),
    };
    for Place { record, found } in places {
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let sites = capture.sites().iter().filter_map(|site| {
            let count = found.sites.get(index.of(site.id)?)?;
            (count.accesses > 0).then_some((site.id, *count))
        });
        scan.launches.push(LaunchScan {
            sites: sites.collect(),
            digest: found.digest,
            recorded: record.recorded,
            end: record.end,
            launch: record.launch,
        });
        scan.digest += found.digest;
        scan.violations.merge(found.violations);
    }
    scan
}

struct SiteIndex {
    bases: Vec<usize>,
    lengths: Vec<usize>,
    length: usize,
}

impl SiteIndex {
    fn new(sites: &SiteTable) -> Self {
        let mut lengths: Vec<usize> = Vec::new();
        for site in sites.iter() {
            let (module, local) = (site.id.module() as usize, site.id.local() as usize);
            if lengths.len() <= module {
                lengths.resize(module + 1, 0);
            }
            lengths[module] = lengths[module].max(local + 1);
        }
        let mut length = 0;
        let mut bases = Vec::with_capacity(lengths.len());
        for count in &lengths {
            bases.push(length);
            length += count;
        }
        Self {
            bases,
            lengths,
            length,
        }
    }

    #[inline]
    fn of(&self, site: SiteId) -> Option<usize> {
        let (module, local) = (site.module() as usize, site.local() as usize);
        (local < *self.lengths.get(module)?).then(|| self.bases[module] + local)
    }
}

struct ChunkScan<'a> {
    record: &'a LaunchRecord<'a>,
    number: usize,
    ctas: u64,
    threads: u64,
    sites: &'a SiteTable,
    index: &'a SiteIndex,
    resolver: Resolver<'a>,
    hasher: Hasher<'a>,
    found: Found,
}

impl<'a> ChunkScan<'a> {
    fn new(
        record: &'a LaunchRecord<'a>,
        number: usize,
        sites: &'a SiteTable,
        index: &'a SiteIndex,
    ) -> Self {
        let launch = record.launch;
        Self {
            record,
            number,
            ctas: launch.ctas(),
            threads: launch.threads_per_cta(),
            sites,
            index,
            resolver: record.allocations.resolver(),
            hasher: Hasher::new(record, sites),
            found: Found {
                sites: vec![SiteCount::default(); index.length],
                ..Found::default()
            },
        }
    }

    fn add(&mut self, group: &AccessGroup) {
        self.hasher.add(group);
        let lanes = group.lanes() as u64;
        let mut in_allocations = true;
        let width = match (self.index.of(group.site), self.sites.get(group.site)) {
            (Some(slot), Some(site)) => {
                in_allocations = site.proof != Proof::GridBarrier;
                let count = &mut self.found.sites[slot];
                count.accesses += lanes;
                count.bytes += lanes * u64::from(group.width_bytes);
                site.width_bytes
            }
            _ => {
                let first = self.found.violations.unknown_sites.groups == 0;
                let text = first.then(|| {
                    format!(
                        "{}: site {} is in no module's table",
                        self.launch_name(),
                        group.site
                    )
                });
                self.found.violations.unknown_sites.note(self.key(), text);
                0
            }
        };
        if width != 0 && width != group.width_bytes {
            let first = self.found.violations.unknown_sites.groups == 0;
            let text = first.then(|| {
                format!(
                    "{}: {} bytes wide",
                    self.access_name(group),
                    group.width_bytes
                )
            });
            self.found.violations.unknown_sites.note(self.key(), text);
        }
        let last_thread =
            u64::from(group.warp) * 32 + u64::from(31 - group.mask.leading_zeros().min(31));
        if u64::from(group.cta) >= self.ctas || last_thread >= self.threads {
            let first = self.found.violations.outside_grid.groups == 0;
            let text = first.then(|| {
                let (access, ctas, threads) = (self.access_name(group), self.ctas, self.threads);
                format!("{access}: CTA {}, thread {last_thread}, in a grid of {ctas} CTAs of {threads} threads", group.cta)
            });
            self.found.violations.outside_grid.note(self.key(), text);
        }
        if in_allocations && let Some(address) = self.outside(group) {
            let first = self.found.violations.outside_allocations.groups == 0;
            let text = first.then(|| {
                let (access, cta, warp) = (self.access_name(group), group.cta, group.warp);
                format!("{access}: address {address:#x} (CTA {cta}, warp {warp}) lies in no live allocation")
            });
            self.found
                .violations
                .outside_allocations
                .note(self.key(), text);
        }
    }

    /// The first address of `group` that does not lie in a live allocation with its whole width.
    fn outside(&mut self, group: &AccessGroup) -> Option<u64> {
        let addresses = group.active_addresses();
        let width = u64::from(group.width_bytes).max(1) - 1;
        let (low, high) = (addresses.iter().min()?, addresses.iter().max()?);
        // Nearly always a group stays in one allocation.
        if self
            .resolver
            .find(*low)
            .is_some_and(|allocation| allocation.offset_of(high.saturating_add(width)).is_some())
        {
            return None;
        }
        addresses.iter().copied().find(|&address| {
            let allocation = self.resolver.find(address);
            allocation.is_none_or(|allocation| {
                allocation
                    .offset_of(address.saturating_add(width))
                    .is_none()
            })
        })
    }

    fn finish(mut self) -> Found {
        self.found.digest = self.hasher.finish();
        self.found
    }

    fn key(&self) -> (u32, usize) {
        (self.record.number, self.number)
    }

    fn launch_name(&self) -> String {
        launch_name(self.sites, self.record.launch)
    }

    fn access_name(&self, group: &AccessGroup) -> String {
        format!(
            "{}, {}",
            self.launch_name(),
            site_name(self.sites, group.site)
        )
    }
}

impl Found {
    fn merge(&mut self, other: Found) {
        self.digest += other.digest;
        if self.sites.is_empty() {
            self.sites = vec![SiteCount::default(); other.sites.len()];
        }
        for (count, other) in self.sites.iter_mut().zip(other.sites) {
            count.accesses += other.accesses;
            count.bytes += other.bytes;
        }
        self.violations.merge(other.violations);
    }
}

impl Violations {
    fn merge(&mut self, other: Violations) {
        self.outside_grid.merge(other.outside_grid);
        self.outside_allocations.merge(other.outside_allocations);
        self.unknown_sites.merge(other.unknown_sites);
    }
}

impl Violation {
    /// Notes one more; `text` is only there for the first one.
    fn note(&mut self, key: (u32, usize), text: Option<String>) {
        self.groups += 1;
        if let Some(text) = text {
            self.first.get_or_insert((key, text));
        }
    }

    fn merge(&mut self, other: Violation) {
        self.groups += other.groups;
        self.first = match (self.first.take(), other.first) {
            (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
            (a, b) => a.or(b),
        };
    }

    fn check(&self, name: &str, good: &str) -> Check {
        match &self.first {
            None => passed(name, good),
            Some((_, first)) => failed(
                name,
                format!("{} access groups; the first: {first}", self.groups),
            ),
        }
    }
}

impl CaptureScan<'_> {
    /// The per-launch invariants as checks.
    pub fn checks(&self, sites: &SiteTable) -> Vec<Check> {
        let violations = &self.violations;
        let accesses: u64 = self
            .launches
            .iter()
            .map(|launch| launch.digest.thread_accesses)
            .sum();
        let all = format!(
            "{accesses} thread accesses in {} launches",
            self.launches.len()
        );
        vec![
            violations.outside_grid.check("inside-grid", &all),
            violations
                .outside_allocations
                .check("inside-allocations", &all),
            violations.unknown_sites.check("known-sites", &all),
            self.launch_totals(sites),
        ]
    }

    fn launch_totals(&self, sites: &SiteTable) -> Check {
        const NAME: &str = "launch-totals";
        for scan in &self.launches {
            let name = launch_name(sites, scan.launch);
            let Some(end) = scan.end else {
                return failed(NAME, format!("{name}: it never ended"));
            };
            if let LaunchOutcome::Failed(why) = &end.outcome {
                return failed(NAME, format!("{name}: it failed: {why}"));
            }
            let (announced, read) = (end.thread_accesses, scan.digest.thread_accesses);
            if announced != read {
                let text =
                    format!("{name}: {announced} thread accesses announced, {read} in the capture");
                return failed(NAME, text);
            }
        }
        passed(NAME, format!("{} launches", self.launches.len()))
    }
}

/// How messages name a launch.
pub(super) fn launch_name(sites: &SiteTable, launch: &Launch) -> String {
    format!(
        "launch {} of stream {} ({})",
        launch.launch,
        launch.stream,
        sites.display_name(&launch.kernel)
    )
}

/// How messages name a site.
pub(super) fn site_name(sites: &SiteTable, id: SiteId) -> String {
    match sites.get(id) {
        Some(site) => format!("site {id} ({} at {}:{})", site.op, site.file, site.line),
        None => format!("site {id}"),
    }
}
