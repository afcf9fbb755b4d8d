//! Computes the counts in `run.json` from scans.

use std::collections::HashMap;

use superstep_analysis::run_summary::{ByteCounts, KernelSummary, ThreadCounts};
use superstep_trace::{Op, Site};

use superstep_analysis::scan::{CaptureScan, SiteCount};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    pub launches: u64,
    pub ctas: u64,
    pub threads: ThreadCounts,
    pub bytes: ByteCounts,
    pub kernels: Vec<KernelSummary>,
}

impl Totals {
    /// Adds another process's totals; kernels are identified by name.
    pub fn add(&mut self, other: &Totals) {
        self.launches += other.launches;
        self.ctas += other.ctas;
        self.threads += other.threads;
        self.bytes += other.bytes;
        for kernel in &other.kernels {
            let mut known = self.kernels.iter_mut();
            match known.find(|known| known.name == kernel.name) {
                Some(known) => *known += kernel.clone(),
                None => self.kernels.push(kernel.clone()),
            }
        }
    }
}

/// Returns the totals of a scan. An atomic is neither a load nor a store.
pub fn totals(scan: &CaptureScan) -> Totals {
    totals_of(scan, |_| true)
}

/// Returns the totals of the sites that execute the same number of times in every run.
pub fn steady_totals(scan: &CaptureScan) -> Totals {
    totals_of(scan, Site::is_steady)
}

fn totals_of(scan: &CaptureScan, is_counted: fn(&Site) -> bool) -> Totals {
    let sites = scan.sites;
    let mut totals = Totals::default();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for launch in &scan.launches {
        let kernel = launch.launch.kernel.as_str();
        let number = *numbers.entry(kernel).or_insert_with(|| {
            let name = sites.display_name(kernel).to_owned();
            totals.kernels.push(KernelSummary {
                name,
                ..KernelSummary::default()
            });
            totals.kernels.len() - 1
        });
        let summary = &mut totals.kernels[number];
        summary.launches += 1;
        summary.ctas += launch.launch.ctas();
        if let Some(sums) = launch.sums {
            summary.loads += sums.loads.threads;
            summary.stores += sums.stores.threads;
            summary.atomics += sums.atomics.threads;
            summary.bytes.loaded += sums.loads.bytes;
            summary.bytes.stored += sums.stores.bytes;
            summary.bytes.atomic += sums.atomics.bytes;
        }
        for (id, count) in &launch.sites {
            if let Some(site) = sites.get(*id).filter(|site| is_counted(site)) {
                add(summary, site.op, *count);
            }
        }
    }
    for kernel in &totals.kernels {
        totals.launches += kernel.launches;
        totals.ctas += kernel.ctas;
        totals.threads.loads += kernel.loads;
        totals.threads.stores += kernel.stores;
        totals.threads.atomics += kernel.atomics;
        totals.bytes += kernel.bytes;
    }
    totals
}

/// Returns whether the averages per launch are equal.
pub fn same_each_launch(a: &KernelSummary, b: &KernelSummary) -> bool {
    let counts = |kernel: &KernelSummary| {
        let bytes = kernel.bytes;
        [
            kernel.ctas,
            kernel.loads,
            kernel.stores,
            kernel.atomics,
            bytes.loaded,
            bytes.stored,
            bytes.atomic,
        ]
    };
    let times = |count: u64, launches: u64| u128::from(count) * u128::from(launches);
    a.name == b.name
        && (counts(a).into_iter().zip(counts(b)))
            .all(|(x, y)| times(x, b.launches) == times(y, a.launches))
}

fn add(summary: &mut KernelSummary, op: Op, count: SiteCount) {
    let (accesses, bytes) = match op {
        Op::Load => (&mut summary.loads, &mut summary.bytes.loaded),
        Op::Store => (&mut summary.stores, &mut summary.bytes.stored),
        _ => (&mut summary.atomics, &mut summary.bytes.atomic),
    };
    *accesses += count.accesses;
    *bytes += count.bytes;
}
