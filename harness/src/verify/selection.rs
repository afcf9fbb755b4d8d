//! Checks that a partial capture contains exactly the selection, and estimates totals from a sample.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use superstep_analysis::estimate::{Stratum, estimate};
use superstep_analysis::run_summary::{Check, EstimatedTotal, Part, SelectionSummary};
use superstep_trace::{
    Capture, Launch, MIN_SAMPLED, Op, Recorded, SampleUnit, Selection, SiteTable, TraceError,
};

use super::counts::kind_of;
use super::{failed, passed};
use superstep_analysis::scan::{CaptureScan, launch_name};

const NAME: &str = "inside-selection";

/// Names of the quantities in [`Sums`].
const QUANTITIES: [&str; 6] = [
    "loads",
    "stores",
    "atomics",
    "bytes_loaded",
    "bytes_stored",
    "bytes_atomic",
];
type Sums = [u64; 6];

const NO_ESTIMATES: &str = "sums of individual CTAs need a trace; sample launches (--sample-launches), or remove --in-situ";

/// Compares the recorded accesses with the selection, and estimates totals from a sample.
pub fn check_selection(
    capture: &Capture,
    scan: &CaptureScan,
    selection: &Selection,
) -> Result<(Check, SelectionSummary), TraceError> {
    let sites = scan.sites;
    let ctas = match selection.is_by_cta() {
        true => cta_sums(capture)?,
        false => BTreeMap::new(),
    };
    let launch = (scan.launches.iter())
        .find(|scan| scan.recorded.is_nothing() && scan.thread_accesses() > 0);
    let mut seen = ctas.keys().copied().chain(in_transfers(capture));
    let stray = seen.find(|key| !selection.takes_cta(key.ctas, key.cta));
    let stray = stray.map(|key| {
        let (kernel, cta, ctas) = (sites.display_name(key.kernel), key.cta, key.ctas);
        format!("CTA {cta} of {ctas} of kernel {kernel}")
    });
    let wrong = (launch.map(|scan| launch_name(sites, scan.launch))).or(stray);
    let (launches, cta_part) = parts(scan, selection);
    let mut summary = SelectionSummary {
        selection: selection.clone(),
        launches,
        ctas: cta_part,
        scale_factor: 1.0,
        ..SelectionSummary::default()
    };
    if let Some(sample) = selection.sample {
        let (part, strata) = match sample.unit {
            SampleUnit::Launches => (launches, launch_strata(scan)),
            SampleUnit::Ctas => (cta_part, cta_strata(&ctas, scan, selection)),
        };
        summary.scale_factor = part.scope as f64 / part.recorded as f64;
        match sample.unit == SampleUnit::Ctas && scan.is_in_situ() {
            true => summary.no_estimates = Some(NO_ESTIMATES.to_owned()),
            false => summary.estimates = estimates(&strata, sites),
        }
    }
    let check = match wrong {
        Some(name) => failed(
            NAME,
            format!("{name} has accesses, although it should not have been recorded"),
        ),
        None => passed(NAME, summary.in_words()),
    };
    Ok((check, summary))
}

fn ctas_of(selection: &Selection, ctas: u64) -> (u64, u64) {
    let scope = (0..ctas).filter(|&cta| selection.is_cta_in_scope(cta));
    let selected = (0..ctas).filter(|&cta| selection.takes_cta(ctas, cta));
    (scope.count() as u64, selected.count() as u64)
}

fn parts(scan: &CaptureScan, selection: &Selection) -> (Part, Part) {
    let (mut launches, mut all_ctas) = (Part::default(), Part::default());
    // Caches the counts by number of CTAs.
    let mut counted: HashMap<u64, (u64, u64)> = HashMap::new();
    for scan in &scan.launches {
        let ctas = scan.launch.ctas();
        launches.program += 1;
        all_ctas.program += ctas;
        if scan.recorded == Recorded::OutOfScope {
            continue;
        }
        let count = || ctas_of(selection, ctas);
        let (scope, selected) = *counted.entry(ctas).or_insert_with(count);
        launches.scope += 1;
        all_ctas.scope += scope;
        if !scan.recorded.is_nothing() {
            launches.recorded += 1;
            all_ctas.recorded += selected;
        }
    }
    (launches, all_ctas)
}

/// Key of the CTAs with number `cta` in all launches of `kernel` with `ctas` CTAs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct CtaKey<'a> {
    ctas: u64,
    kernel: &'a str,
    cta: u64,
}

fn cta_sums(capture: &Capture) -> Result<BTreeMap<CtaKey<'_>, Sums>, TraceError> {
    let add_all = |sum: &mut Sums, more: Sums| {
        let sums = sum.iter_mut().zip(more);
        sums.for_each(|(sum, more)| *sum += more);
    };
    let sums = capture.par_fold(
        HashMap::<(u32, u64), Sums>::new,
        |sums, record, group| {
            let key = (record.number, u64::from(group.cta));
            let sum = sums.entry(key).or_default();
            if let Some(site) = capture.sites().get(group.site) {
                let accesses = group.lanes() as u64;
                let bytes = accesses * u64::from(group.width_bytes);
                add(sum, site.op, accesses, bytes);
            }
        },
        |mut a, b| {
            for (key, sums) in b {
                add_all(a.entry(key).or_default(), sums);
            }
            a
        },
    )?;
    let launches: Vec<_> = capture.launches().map(|record| record.launch).collect();
    let mut all = BTreeMap::new();
    for ((number, cta), sums) in sums {
        let launch = launches[number as usize];
        let (ctas, kernel) = (launch.ctas(), launch.kernel.as_str());
        add_all(all.entry(CtaKey { ctas, kernel, cta }).or_default(), sums);
    }
    Ok(all)
}

/// Returns the CTAs in transfers, which are the only CTAs known in situ, or nothing if transfers are between blocks.
fn in_transfers(capture: &Capture) -> impl Iterator<Item = CtaKey<'_>> {
    let launches: Vec<_> = capture.launches().map(|record| record.launch).collect();
    let is_single_cta = capture.header.cta_blocks.is_single_cta();
    let known = capture.launches().filter(move |_| is_single_cta);
    let received = known.flat_map(|record| record.received);
    let ctas = received.flat_map(|part| {
        [
            (part.source_launch, part.source_cta),
            (part.receiver_launch, part.receiver_cta),
        ]
    });
    ctas.filter_map(move |(launch, cta)| {
        let launch: &Launch = launches.get(launch as usize)?;
        Some(CtaKey {
            ctas: launch.ctas(),
            kernel: &launch.kernel,
            cta: cta.into(),
        })
    })
}

fn add(sums: &mut Sums, op: Op, accesses: u64, bytes: u64) {
    let kind = kind_of(op) as usize;
    sums[kind] += accesses;
    sums[kind + 3] += bytes;
}

/// Units of a stratum, with sums by kernel.
#[derive(Default)]
struct Units<'a> {
    population: u64,
    selected: u64,
    /// Units with accesses.
    values: HashMap<&'a str, Vec<(u64, Sums)>>,
}

/// Returns two strata per kernel: its first launches, which are always recorded, and the others.
fn launch_strata<'a>(scan: &CaptureScan<'a>) -> Vec<Units<'a>> {
    let mut strata: BTreeMap<(&str, bool), Units<'_>> = BTreeMap::new();
    let mut seen: HashMap<&str, u64> = HashMap::new();
    for (launch, number) in scan.launches.iter().zip(0..) {
        if launch.recorded == Recorded::OutOfScope {
            continue;
        }
        let kernel = launch.launch.kernel.as_str();
        let index = seen.entry(kernel).or_default();
        let stratum = (kernel, *index < MIN_SAMPLED);
        let units = strata.entry(stratum).or_default();
        *index += 1;
        units.population += 1;
        if launch.recorded.is_nothing() {
            continue;
        }
        units.selected += 1;
        let mut sums = launch.sums.map_or_else(Sums::default, |sums| {
            let [l, s, a] = [sums.loads, sums.stores, sums.atomics];
            [l.threads, s.threads, a.threads, l.bytes, s.bytes, a.bytes]
        });
        for (id, count) in &launch.sites {
            if let Some(site) = scan.sites.get(*id) {
                add(&mut sums, site.op, count.accesses, count.bytes);
            }
        }
        let values = units.values.entry(kernel).or_default();
        values.push((number, sums));
    }
    strata.into_values().collect()
}

/// Returns one stratum per launch size: a CTA is selected by a hash of its index and its launch's CTA count.
fn cta_strata<'a>(
    sums: &BTreeMap<CtaKey<'a>, Sums>,
    scan: &CaptureScan,
    selection: &Selection,
) -> Vec<Units<'a>> {
    let mut strata: BTreeMap<u64, Units<'_>> = BTreeMap::new();
    for scan in &scan.launches {
        if scan.recorded != Recorded::OutOfScope {
            let ctas = scan.launch.ctas();
            strata.entry(ctas).or_insert_with(|| {
                let (population, selected) = ctas_of(selection, ctas);
                Units {
                    population,
                    selected,
                    values: HashMap::new(),
                }
            });
        }
    }
    for (key, sums) in sums {
        if let Some(units) = strata.get_mut(&key.ctas) {
            let values = units.values.entry(key.kernel).or_default();
            values.push((key.cta, *sums));
        }
    }
    strata.into_values().collect()
}

fn estimates(strata: &[Units<'_>], sites: &SiteTable) -> Vec<EstimatedTotal> {
    let kernels = strata.iter().flat_map(|units| units.values.keys().copied());
    let kernels: BTreeSet<&str> = kernels.collect();
    let subjects = std::iter::once(None).chain(kernels.into_iter().map(Some));
    let mut all = Vec::new();
    for kernel in subjects {
        for (quantity, name) in QUANTITIES.into_iter().enumerate() {
            let strata = strata.iter().map(|units| units.stratum(kernel, quantity));
            let estimate = estimate(&strata.collect::<Vec<_>>());
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
    /// Returns one quantity of one kernel or of all kernels, with 0 for units without accesses.
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
        observed.resize((self.selected as usize).max(observed.len()), 0.0);
        // The sum of floating-point numbers depends on their order.
        observed.sort_unstable_by(f64::total_cmp);
        Stratum {
            population: self.population,
            observed,
        }
    }
}
