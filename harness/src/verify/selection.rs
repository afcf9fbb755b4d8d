//! A capture of a part of the program: is it exactly the part that was asked for, and what does it say about the rest?

use std::collections::{BTreeMap, HashMap};

use superstep_analysis::estimate::{Stratum, estimate};
use superstep_report::run_summary::{Check, EstimatedTotal, Part, SelectionSummary};
use superstep_trace::{
    AccessGroup, Capture, Launch, Op, Recorded, SAMPLE_AT_LEAST, SampleUnit, Selection, SiteTable,
    TraceError,
};

use super::scan::{CaptureScan, launch_name};
use super::{failed, passed};

const NAME: &str = "inside-selection";

/// Names of the quantities, in the order of [`Sums`].
const QUANTITIES: [&str; 6] = [
    "loads",
    "stores",
    "atomics",
    "bytes_loaded",
    "bytes_stored",
    "bytes_atomic",
];
type Sums = [u64; 6];

/// What was asked for, if the capture is partial.
pub fn selection_of(capture: &Capture) -> Option<&Selection> {
    capture.header.selection.as_ref()
}

/// Holds the recorded accesses against the selection, and estimates totals where it is a sample.
pub fn check_selection(
    capture: &Capture,
    scan: &CaptureScan,
    selection: &Selection,
) -> Result<(Check, SelectionSummary), TraceError> {
    let sites = capture.sites();
    let launch = (scan.launches.iter())
        .find(|scan| scan.recorded.is_nothing() && scan.digest.thread_accesses > 0);
    let mut wrong = launch.map(|scan| {
        let name = launch_name(sites, scan.launch);
        format!("{name}: it should not have been recorded, but has accesses")
    });
    let by_cta = selection.is_by_cta();
    let ctas = if by_cta {
        cta_sums(capture)?
    } else {
        BTreeMap::new()
    };
    let stray = ctas
        .keys()
        .find(|key| !selection.takes_cta(key.ctas, key.cta));
    wrong = wrong.or(stray.map(|key| {
        let (kernel, cta, ctas) = (sites.display_name(key.kernel), key.cta, key.ctas);
        format!(
            "CTA {cta} of {ctas} of kernel {kernel}: it should not have been recorded, but has accesses"
        )
    }));
    let launches: Vec<_> = scan
        .launches
        .iter()
        .map(|scan| (scan.launch, scan.recorded))
        .collect();
    let (made, held) = parts(&launches, selection);
    let mut summary = SelectionSummary {
        selection: selection.clone(),
        launches: made,
        ctas: held,
        scale_factor: 1.0,
        estimates: Vec::new(),
    };
    if let Some(sample) = selection.sample {
        let part = match sample.unit {
            SampleUnit::Launches => made,
            SampleUnit::Ctas => held,
        };
        summary.scale_factor = part.scope as f64 / part.recorded as f64;
        let strata = match sample.unit {
            SampleUnit::Launches => launch_strata(scan, sites, &launches),
            SampleUnit::Ctas => cta_strata(&ctas, &launches, selection),
        };
        summary.estimates = estimates(&strata, sites);
    }
    let check = match wrong {
        Some(wrong) => failed(NAME, wrong),
        None => passed(NAME, summary.in_words()),
    };
    Ok((check, summary))
}

fn parts(launches: &[(&Launch, Recorded)], selection: &Selection) -> (Part, Part) {
    let (mut made, mut held) = (Part::default(), Part::default());
    // Counting CTAs one by one is only needed once for each size of grid.
    let mut counted: HashMap<u64, (u64, u64)> = HashMap::new();
    for (launch, recorded) in launches {
        let ctas = launch.ctas();
        made.program += 1;
        held.program += ctas;
        if *recorded == Recorded::OutOfScope {
            continue;
        }
        let (scope, taken) = *counted.entry(ctas).or_insert_with(|| {
            let in_scope = |&cta: &u64| selection.is_cta_in_scope(cta);
            let scope = (0..ctas).filter(in_scope).count() as u64;
            let taken = (0..ctas).filter(|&cta| selection.takes_cta(ctas, cta));
            (scope, taken.count() as u64)
        });
        made.scope += 1;
        held.scope += scope;
        match recorded {
            Recorded::All | Recorded::SelectedCtas => {
                made.recorded += 1;
                held.recorded += taken;
            }
            Recorded::NotSampled | Recorded::OutOfScope => {}
        }
    }
    (made, held)
}

/// A CTA number in all launches of a kernel with equally many CTAs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct CtaKey<'a> {
    ctas: u64,
    kernel: &'a str,
    cta: u64,
}

fn cta_sums(capture: &Capture) -> Result<BTreeMap<CtaKey<'_>, Sums>, TraceError> {
    let sums = capture.par_fold(
        HashMap::<(u32, u64), Sums>::new,
        |sums, record, group| {
            let key = (record.number, u64::from(group.cta));
            add(sums.entry(key).or_default(), capture.sites(), group);
        },
        |mut a, b| {
            for (key, sums) in b {
                let sum = a.entry(key).or_default();
                sum.iter_mut()
                    .zip(sums)
                    .for_each(|(sum, more)| *sum += more);
            }
            a
        },
    )?;
    let launches: Vec<_> = capture.launches().map(|record| record.launch).collect();
    let mut all = BTreeMap::new();
    for ((number, cta), sums) in sums {
        let launch = launches[number as usize];
        let (ctas, kernel) = (launch.ctas(), launch.kernel.as_str());
        let sum: &mut Sums = all.entry(CtaKey { ctas, kernel, cta }).or_default();
        sum.iter_mut()
            .zip(sums)
            .for_each(|(sum, more)| *sum += more);
    }
    Ok(all)
}

fn add(sums: &mut Sums, sites: &SiteTable, group: &AccessGroup) {
    if let Some(site) = sites.get(group.site) {
        let accesses = group.lanes() as u64;
        let class = class(site.op);
        sums[class] += accesses;
        sums[class + 3] += accesses * u64::from(group.width_bytes);
    }
}

fn class(op: Op) -> usize {
    match op {
        Op::Load => 0,
        Op::Store => 1,
        _ => 2,
    }
}

/// Units of one stratum: what each of them did, by kernel.
#[derive(Default)]
struct Units<'a> {
    population: u64,
    taken: u64,
    /// Only units that did something.
    values: HashMap<&'a str, Vec<(u64, Sums)>>,
}

/// By kernel: its first launches, which are always taken, and the others.
fn launch_strata<'a>(
    scan: &'a CaptureScan,
    sites: &SiteTable,
    launches: &[(&'a Launch, Recorded)],
) -> Vec<Units<'a>> {
    let mut strata: BTreeMap<(&str, bool), Units<'_>> = BTreeMap::new();
    let mut seen: HashMap<&str, u64> = HashMap::new();
    for (number, (launch, recorded)) in launches.iter().enumerate() {
        if *recorded == Recorded::OutOfScope {
            continue;
        }
        let index = seen.entry(&launch.kernel).or_default();
        let units = strata
            .entry((&launch.kernel, *index < SAMPLE_AT_LEAST))
            .or_default();
        *index += 1;
        units.population += 1;
        if recorded.is_nothing() {
            continue;
        }
        units.taken += 1;
        let mut sums = Sums::default();
        for (id, count) in &scan.launches[number].sites {
            if let Some(site) = sites.get(*id) {
                sums[class(site.op)] += count.accesses;
                sums[class(site.op) + 3] += count.bytes;
            }
        }
        let values = units.values.entry(&launch.kernel).or_default();
        values.push((number as u64, sums));
    }
    strata.into_values().collect()
}

/// By number of CTAs: the hash that takes a CTA depends on that and on the CTA's number alone.
fn cta_strata<'a>(
    sums: &BTreeMap<CtaKey<'a>, Sums>,
    launches: &[(&Launch, Recorded)],
    selection: &Selection,
) -> Vec<Units<'a>> {
    let mut strata: BTreeMap<u64, Units<'_>> = BTreeMap::new();
    for (launch, recorded) in launches {
        if *recorded != Recorded::OutOfScope {
            let ctas = launch.ctas();
            strata.entry(ctas).or_insert_with(|| {
                let in_scope = |&cta: &u64| selection.is_cta_in_scope(cta);
                let taken = (0..ctas).filter(|&cta| selection.takes_cta(ctas, cta));
                Units {
                    population: (0..ctas).filter(in_scope).count() as u64,
                    taken: taken.count() as u64,
                    values: HashMap::new(),
                }
            });
        }
    }
    for (key, sums) in sums {
        if let Some(units) = strata.get_mut(&key.ctas) {
            units
                .values
                .entry(key.kernel)
                .or_default()
                .push((key.cta, *sums));
        }
    }
    strata.into_values().collect()
}

fn estimates(strata: &[Units<'_>], sites: &SiteTable) -> Vec<EstimatedTotal> {
    let mut kernels: Vec<&str> = strata
        .iter()
        .flat_map(|units| units.values.keys().copied())
        .collect();
    kernels.sort_unstable();
    kernels.dedup();
    let subjects = std::iter::once(None).chain(kernels.into_iter().map(Some));
    let mut all = Vec::new();
    for kernel in subjects {
        for (quantity, name) in QUANTITIES.into_iter().enumerate() {
            let strata: Vec<_> = strata
                .iter()
                .map(|units| units.stratum(kernel, quantity))
                .collect();
            let estimate = estimate(&strata);
            if estimate.recorded > 0.0 {
                all.push(EstimatedTotal {
                    kernel: kernel.map(|kernel| sites.display_name(kernel).to_owned()),
                    quantity: name.to_owned(),
                    estimate,
                });
            }
        }
    }
    all
}

impl Units<'_> {
    /// One quantity of one kernel, or of all; units that did nothing count as 0.
    fn stratum(&self, kernel: Option<&str>, quantity: usize) -> Stratum {
        let mut by_unit: HashMap<u64, f64> = HashMap::new();
        for (name, values) in &self.values {
            if kernel.is_none_or(|kernel| kernel == *name) {
                for (unit, sums) in values {
                    *by_unit.entry(*unit).or_default() += sums[quantity] as f64;
                }
            }
        }
        let mut observed: Vec<f64> = by_unit.into_values().collect();
        observed.resize((self.taken as usize).max(observed.len()), 0.0);
        // Sums of floating-point numbers depend on the order.
        observed.sort_unstable_by(f64::total_cmp);
        Stratum {
            population: self.population,
            observed,
        }
    }
}
