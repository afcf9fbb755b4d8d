//! Compares a case's capture with a verified trace of its program.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use superstep_analysis::communication::Options;
use superstep_analysis::scan::{
    self, LaunchScan, OUTSIDE_ALLOCATIONS, OUTSIDE_GRID, SiteCount, UNKNOWN_SITES,
};
use superstep_analysis::{Analysis, AnalysisError, analyse};
use superstep_build::failure::Failure;
use superstep_harness::{Order, capture_failure, in_situ_equal};
use superstep_trace::digest::{Hasher, Known};
use superstep_trace::{
    Capture, Chooser, GroupBuffer, LaunchDigest, LaunchId, LaunchOutcome, LaunchRecord, Op,
    Outcome, Recorded, Reproducibility, Selection, Site, SiteId, SiteTable, StreamId, TraceError,
};

type Sites = Vec<(SiteId, SiteCount)>;

/// The accesses of a launch, or of its recorded part.
#[derive(Clone, Default)]
struct LaunchAccesses {
    recorded: Recorded,
    digest: LaunchDigest,
    sites: Sites,
}

/// A verified trace of a whole program.
pub struct Reference {
    pub capture: Capture,
    reproducibility: Reproducibility,
    /// Accesses by launch, in host order.
    launches: Vec<LaunchAccesses>,
    /// Launches that a selection cannot distinguish: launches from CUDA graphs on a GPU.
    indistinguishable: HashSet<(StreamId, LaunchId)>,
    analysis: OnceCell<Analysis>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    pub problems: Vec<String>,
    pub killed: bool,
    pub complete: bool,
    pub launches: u64,
    pub accesses: u64,
    pub stored_bytes: u64,
    pub duration: Duration,
}

impl Verdict {
    pub fn wrong(problem: String) -> Self {
        Self {
            problems: vec![problem],
            ..Self::default()
        }
    }
}

impl Reference {
    pub fn new(capture: Capture, reproducibility: Reproducibility) -> Result<Self, Failure> {
        let scan = scan::scan(&capture).map_err(capture_failure)?;
        let launches = scan.launches.into_iter().map(|launch| LaunchAccesses {
            recorded: launch.recorded,
            digest: launch.digest,
            sites: launch.sites,
        });
        Ok(Self {
            launches: launches.collect(),
            capture,
            reproducibility,
            indistinguishable: HashSet::new(),
            analysis: OnceCell::new(),
        })
    }

    /// Sets the indistinguishable launches to those in `capture`, whose run skipped all others.
    pub fn set_indistinguishable(&mut self, capture: &Capture) {
        let recorded = capture
            .launches()
            .filter(|record| !record.recorded.is_nothing());
        self.indistinguishable = recorded.map(|record| key(&record)).collect();
    }

    /// Returns the expected content of a capture with `selection`, by launch.
    fn expected(
        &self,
        selection: &Selection,
    ) -> Result<HashMap<(StreamId, LaunchId), LaunchAccesses>, TraceError> {
        let (mut chooser, sites) = (Chooser::new(selection), self.capture.sites());
        let launches = self.capture.launches().zip(&self.launches);
        let entries = launches.map(|(record, whole)| {
            let kernel = record.launch.kernel.as_str();
            let display_name = || Some(sites.display_name(kernel).to_owned());
            let recorded = if self.indistinguishable.contains(&key(&record)) {
                selection.decide_unnumbered(kernel, display_name)
            } else {
                chooser.next(kernel, display_name)
            };
            let part = match recorded {
                Recorded::All => whole.clone(),
                Recorded::SelectedCtas => self.selected_ctas(&record, selection)?,
                Recorded::OutOfScope | Recorded::NotSampled => LaunchAccesses::default(),
            };
            Ok((key(&record), LaunchAccesses { recorded, ..part }))
        });
        entries.collect()
    }

    /// Returns the accesses of the selected CTAs of a launch.
    fn selected_ctas(
        &self,
        record: &LaunchRecord,
        selection: &Selection,
    ) -> Result<LaunchAccesses, TraceError> {
        let mut known = Known::default();
        let mut hasher = Hasher::new(record, self.capture.sites(), &mut known);
        let mut sites: BTreeMap<SiteId, SiteCount> = BTreeMap::new();
        let (mut buffer, ctas) = (GroupBuffer::default(), record.launch.ctas());
        for chunk in record.chunks {
            self.capture.read_chunk(chunk, &mut buffer, |group| {
                if selection.takes_cta(ctas, u64::from(group.cta)) {
                    hasher.add(group);
                    sites.entry(group.site).or_default().add(group);
                }
            })?;
        }
        Ok(LaunchAccesses {
            digest: hasher.finish(),
            sites: sites.into_iter().collect(),
            ..LaunchAccesses::default()
        })
    }

    fn analysis(&self) -> Result<&Analysis, AnalysisError> {
        match self.analysis.get() {
            Some(analysis) => Ok(analysis),
            None => {
                let analysis = analyse(&self.capture, Options::transfers())?;
                Ok(self.analysis.get_or_init(|| analysis))
            }
        }
    }

    /// Judges the capture of a run with `selection`; the run may have been killed. If the capture cannot be read,
    /// callers also count that as a problem, unless the user interrupted the reading.
    pub fn judge(
        &self,
        capture: &Capture,
        selection: &Selection,
        was_killed: bool,
    ) -> Result<Verdict, Failure> {
        let mut problems = Vec::new();
        if capture.damaged || !(was_killed || capture.complete) {
            problems.push(format!(
                "complete: {}, damaged: {}",
                capture.complete, capture.damaged
            ));
            problems.extend(capture.problems.iter().cloned());
        }
        if capture.complete && capture.outcome != Some(Outcome::Finished) {
            problems.push(format!("the outcome is {:?}", capture.outcome));
        }
        let requested = Some(selection).filter(|selection| !selection.is_everything());
        if capture.header.selection.as_ref() != requested {
            problems.push("the header has a different selection".to_owned());
        }
        let scan = scan::scan(capture).map_err(capture_failure)?;
        for kind in [OUTSIDE_GRID, OUTSIDE_ALLOCATIONS, UNKNOWN_SITES] {
            let first = scan.violations[kind].first.values().min();
            problems.extend(first.map(|(_, first)| first.clone()));
        }
        let expected = self.expected(selection).map_err(capture_failure)?;
        if capture.complete
            && self.reproducibility >= Reproducibility::Launches
            && scan.launches.len() != expected.len()
        {
            let (found, expected) = (scan.launches.len(), expected.len());
            problems.push(format!("{found} launches instead of {expected}"));
        }
        let mut whole_launches = 0;
        for launch in &scan.launches {
            let is_whole =
                matches!(launch.end, Some(end) if end.outcome == LaunchOutcome::Completed);
            whole_launches += u64::from(is_whole);
            let name = || scan::launch_name(scan.sites, launch.launch);
            if capture.complete && !is_whole {
                problems.push(format!("{}: it did not complete", name()));
            }
            let expected = expected.get(&(launch.launch.stream, launch.launch.launch));
            if let Some(problem) = self.launch(launch, expected, is_whole, scan.sites) {
                problems.push(format!("{}: {problem}", name()));
            }
        }
        // The communication of a partial trace cannot be derived from the whole trace.
        let is_whole = capture.complete && requested.is_none();
        let is_deterministic =
            self.reproducibility == Reproducibility::Digests && !has_waits(self.capture.sites());
        if capture.is_in_situ() && is_whole && is_deterministic {
            let in_situ = analyse(capture, Options::transfers()).map_err(capture_failure)?;
            let traced = self.analysis().map_err(capture_failure)?;
            let check = in_situ_equal(&in_situ, traced, capture.sites(), Order::Fixed);
            problems.extend((!check.ok).then_some(check.detail));
        }
        Ok(Verdict {
            problems,
            killed: was_killed,
            complete: capture.complete,
            launches: whole_launches,
            accesses: capture
                .launches()
                .map(|record| record.thread_accesses())
                .sum(),
            duration: duration(capture),
            stored_bytes: capture.stored_bytes().map_err(capture_failure)?,
        })
    }

    /// Returns what is wrong with a launch, if anything. Its records are complete if `is_whole`.
    fn launch(
        &self,
        found: &LaunchScan,
        expected: Option<&LaunchAccesses>,
        is_whole: bool,
        sites: &SiteTable,
    ) -> Option<String> {
        let accesses = found.thread_accesses();
        let announced = found.end.map(|end| end.thread_accesses);
        if let Some(announced) = announced.filter(|announced| *announced != accesses) {
            return Some(format!("{announced} accesses announced, {accesses} found"));
        }
        if found.recorded.is_nothing() && accesses > 0 {
            return Some(format!(
                "{accesses} accesses, although the launch is {:?}",
                found.recorded
            ));
        }
        if self.reproducibility < Reproducibility::Launches {
            return None;
        }
        let Some(expected) = expected else {
            return Some("the program has no such launch".to_owned());
        };
        // In the capture, the selection event follows the launch event.
        if found.recorded != expected.recorded && (is_whole || accesses > 0) {
            return Some(format!(
                "{:?} instead of {:?}",
                found.recorded, expected.recorded
            ));
        }
        if self.reproducibility < Reproducibility::Counts {
            return None;
        }
        if let Some(sums) = found.sums {
            let expected = tallies(&expected.sites, sites);
            let found = [sums.loads, sums.stores, sums.atomics].map(|tally| SiteCount {
                accesses: tally.threads,
                bytes: tally.bytes,
            });
            let mut pairs = found.iter().zip(&expected);
            let differ = pairs.any(|(found, expected)| differs(*found, *expected, is_whole));
            return (differ && !has_waits(sites))
                .then(|| format!("loads, stores, atomics: {found:?} instead of {expected:?}"));
        }
        let is_steady = |site: SiteId| sites.get(site).is_none_or(Site::is_steady);
        let counts = |sites: &Sites| -> BTreeMap<SiteId, SiteCount> {
            (sites.iter().copied())
                .filter(|(site, _)| is_steady(*site))
                .collect()
        };
        let (found_counts, expected_counts) = (counts(&found.sites), counts(&expected.sites));
        let all = found_counts.keys().chain(expected_counts.keys());
        for site in all {
            let count = |counts: &BTreeMap<_, _>| counts.get(site).copied().unwrap_or_default();
            let (found, expected) = (count(&found_counts), count(&expected_counts));
            if differs(found, expected, is_whole) {
                let name = scan::site_name(sites, *site);
                return Some(format!("{name}: {found:?} instead of {expected:?}"));
            }
        }
        let digests = [found.digest.words, expected.digest.words];
        (is_whole && self.reproducibility == Reproducibility::Digests && digests[0] != digests[1])
            .then(|| format!("digest {} instead of {}", found.digest, expected.digest))
    }
}

/// Returns the time from the start of a capture to its last event.
pub fn duration(capture: &Capture) -> Duration {
    let last = capture.replay().filter_map(|moment| moment.at_ns).max();
    Duration::from_nanos(last.unwrap_or(0))
}

fn key(record: &LaunchRecord) -> (StreamId, LaunchId) {
    (record.launch.stream, record.launch.launch)
}

/// Returns whether any CTAs wait for others. The number of polls depends on timing, and sums do not distinguish polls
/// from other loads.
fn has_waits(sites: &SiteTable) -> bool {
    sites.iter().any(|site| site.waits)
}

/// Returns the accesses and bytes of loads, stores and atomics.
fn tallies(counts: &Sites, sites: &SiteTable) -> [SiteCount; 3] {
    let mut sums = [SiteCount::default(); 3];
    for (site, count) in counts {
        let class = match sites.get(*site).map(|site| site.op) {
            Some(Op::Load) => 0,
            Some(Op::Store) => 1,
            _ => 2,
        };
        sums[class] += *count;
    }
    sums
}

/// Returns whether counts are wrong. The counts of a whole launch must match; those of a partial one may be lower.
fn differs(found: SiteCount, expected: SiteCount, is_whole: bool) -> bool {
    let is_at_most = found.accesses <= expected.accesses && found.bytes <= expected.bytes;
    found != expected && (is_whole || !is_at_most)
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
