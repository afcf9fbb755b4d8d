//! Checks whether the sums of in-situ runs are consistent, and whether they agree with a trace.

use std::collections::BTreeMap;

use superstep_analysis::communication::{Communication, Flow, Transfer, Volume};
use superstep_analysis::counts::{Counts, LaunchCounts};
use superstep_analysis::metrics::bounds::{QUANTITIES, Quantity};
use superstep_analysis::run_summary::Check;
use superstep_analysis::scan::launch_name;
use superstep_analysis::{Analysis, InSitu, VolumeBounds};
use superstep_trace::{Bounds, Capture, CtaBlocks, LaunchRecord, SiteTable};

use super::counts::Order;
use super::pairing::{Pairing, pairings};
use super::{failed, passed, warned};

/// Quantities that are exact in situ; [`QUANTITIES`] have bounds.
const EXACT: [Quantity; 2] = [
    ("loaded_bytes", |v| v.loaded_bytes),
    ("stored_bytes", |v| v.stored_bytes),
];
const RECEIVED_COUNT: &str = "received_count";

const CONSISTENT: &str = "sums-consistent";
const EQUAL: &str = "in-situ-equal";

/// Checks the sums of each launch against each other and the grid, and lists the checks that need a trace.
pub fn check_sums(capture: &Capture) -> [Check; 2] {
    let launches: Vec<LaunchRecord> = capture.launches().collect();
    let wrong = launches.iter().find_map(|record| {
        let why = contradiction(record, &launches)?;
        let name = launch_name(capture.sites(), record.launch);
        Some(format!("{name}: {why}"))
    });
    let consistent = match wrong {
        Some(why) => failed(CONSISTENT, why),
        None => passed(CONSISTENT, format!("{} launches", launches.len())),
    };
    let skipped = "accesses were added up while kernels ran; checks of individual accesses need a trace and were skipped: \
         inside-grid, inside-allocations, known-sites, the counts of each site, digests";
    [consistent, passed("in-situ", skipped)]
}

fn contradiction(record: &LaunchRecord, launches: &[LaunchRecord]) -> Option<String> {
    let sums = record.sums?;
    let loaded = sums.loaded;
    let classes = loaded.communicated
        + loaded.own
        + loaded.input
        + loaded.uninitialised
        + loaded.unknown
        + loaded.local;
    let all = sums.loads.bytes + sums.atomics.bytes;
    if classes != all {
        return Some(format!(
            "{all} bytes loaded, but the bytes by writer add up to {classes}"
        ));
    }
    if sums.racing_bytes > sums.several_writers_bytes {
        return Some(format!(
            "{} racing bytes, but only {} written by multiple CTAs",
            sums.racing_bytes, sums.several_writers_bytes
        ));
    }
    let ctas = |number: u32| {
        launches
            .get(number as usize)
            .map_or(0, |it| it.launch.ctas())
    };
    let mut received = record.received.iter();
    let stray = received.find(|part| {
        u64::from(part.source_cta) >= ctas(part.source_launch)
            || u64::from(part.receiver_cta) >= record.launch.ctas()
    })?;
    Some(format!(
        "CTA {} received bytes from CTA {} of launch {}, but one of these CTAs is outside its grid",
        stray.receiver_cta, stray.source_cta, stray.source_launch
    ))
}

/// Compares an in-situ run with the analysis of a trace of the same program: counts, volumes, flows and transfers.
pub fn in_situ_equal(
    aggregated: &Analysis,
    traced: &Analysis,
    sites: &SiteTable,
    order: Order,
) -> Check {
    let Some(bounds) = &aggregated.in_situ else {
        return failed(EQUAL, "the in-situ run recorded no sums");
    };
    let [ours, theirs] = [aggregated, traced].map(|run| run.counts.launches.len());
    if ours != theirs {
        return failed(EQUAL, format!("{ours} launches in situ, {theirs} traced"));
    }
    let mut differences = pairings(aggregated, traced, order)
        .into_iter()
        .map(|pairing| {
            let compare = Comparison {
                aggregated,
                traced,
                bounds,
                sites,
                pairing,
            };
            match compare.launches() {
                None => (compare.exchanged()).unwrap_or_else(|error| Some(error.to_string())),
                difference => difference,
            }
        });
    let in_order = differences.next().flatten();
    let is_in_order = in_order.is_none();
    if let Some(difference) = in_order
        && !differences.any(|difference| difference.is_none())
    {
        return failed(EQUAL, difference);
    }
    let transfers = aggregated.communication.transfers.len();
    let detail = format!("{} launches, {transfers} transfers", bounds.launches.len());
    let mut detail = bounds.cta_blocks.named(detail);
    if !is_in_order {
        detail.push_str(&format!("; {order}"));
    }
    match bounds.inexact_pairs.len() {
        0 => passed(EQUAL, detail),
        pairs => {
            let detail = format!("{detail}; {pairs} pairs of launches known only within bounds");
            warned(EQUAL, detail)
        }
    }
}

/// Returns the volumes of a launch; in situ, their lower bounds.
pub(super) fn volumes(analysis: &Analysis, number: u32) -> Vec<u64> {
    let columns = EXACT.iter().chain(&QUANTITIES).map(|(_, column)| column);
    let number = number as usize;
    match &analysis.in_situ {
        Some(bounds) => columns
            .map(|it| bounds.launches[number].of(it).least)
            .collect(),
        None => columns
            .map(|it| it(&analysis.communication.launches[number].volume))
            .collect(),
    }
}

/// Compares a run of a nondeterministic program with two traces. The traces do not show all possible volumes, so
/// volumes outside their range only cause a warning.
pub fn in_situ_between(
    aggregated: &Analysis,
    traces: [&Analysis; 2],
    sites: &SiteTable,
    order: Order,
) -> Check {
    let Some(bounds) = &aggregated.in_situ else {
        return failed(EQUAL, "the in-situ run recorded no sums");
    };
    let mut kernels: BTreeMap<&str, (VolumeBounds, [Volume; 2])> = BTreeMap::new();
    for (launch, volume) in aggregated.counts.launches.iter().zip(&bounds.launches) {
        kernels.entry(&launch.launch.kernel).or_default().0 += *volume;
    }
    for (side, traced) in traces.into_iter().enumerate() {
        let launches = &traced.communication.launches;
        for (launch, known) in traced.counts.launches.iter().zip(launches) {
            kernels.entry(&launch.launch.kernel).or_default().1[side] += known.volume;
        }
    }
    let (mut outside, mut all, mut worst) = (0, 0, (0.0, String::new()));
    for (kernel, (ours, traced)) in &kernels {
        // Reads of a word at two widths can count as one read or several.
        let compared = (EXACT.iter().chain(&QUANTITIES)).filter(|it| it.0 != RECEIVED_COUNT);
        for (name, column) in compared {
            let (Bounds { least, most }, traced) = (ours.of(column), traced.each_ref().map(column));
            let (low, high) = (traced[0].min(traced[1]), traced[0].max(traced[1]));
            all += 1;
            if least <= high && low <= most {
                continue;
            }
            outside += 1;
            let missed = low.saturating_sub(most).max(least.saturating_sub(high));
            let share = missed as f64 / high.max(1) as f64;
            if share > worst.0 {
                let kernel = sites.display_name(kernel);
                let ours = format!("{least} to {most} in situ, {low} to {high} traced");
                worst = (share, format!("{name} of {kernel}: {ours}"));
            }
        }
    }
    let inside = all - outside;
    let mut detail =
        format!("runs differ; {inside} of {all} kernel volumes are in the range of two traces");
    if order != Order::Fixed {
        detail.push_str(&format!("; {order}"));
    }
    match outside {
        0 => passed(EQUAL, detail),
        _ => warned(
            EQUAL,
            format!("{detail}; the largest deviation is {}", worst.1),
        ),
    }
}

struct Comparison<'a> {
    aggregated: &'a Analysis,
    traced: &'a Analysis,
    bounds: &'a InSitu,
    sites: &'a SiteTable,
    pairing: Pairing,
}

impl Comparison<'_> {
    fn launches(&self) -> Option<String> {
        let mut all = (0..).zip(&self.aggregated.counts.launches);
        all.find_map(|(number, ours)| {
            let theirs = self.traced_launch(number);
            let difference = match (&ours.launch.kernel, &theirs.launch.kernel) {
                (ours, theirs) if ours != theirs => {
                    let kernel = self.sites.display_name(ours);
                    Some(format!("the in-situ run launched {kernel} instead"))
                }
                _ => counts(&ours.counts, &theirs.counts).or_else(|| self.volumes(number)),
            };
            Some(format!("{}: {}", self.name(number), difference?))
        })
    }

    fn traced_launch(&self, number: u32) -> &LaunchCounts {
        let number = self.pairing.traced[number as usize];
        &self.traced.counts.launches[number as usize]
    }

    fn volumes(&self, number: u32) -> Option<String> {
        let paired = self.pairing.traced[number as usize];
        let traced = &self.traced.communication.launches[paired as usize].volume;
        let bounds = &self.bounds.launches[number as usize];
        EXACT.iter().chain(&QUANTITIES).find_map(|(name, column)| {
            let (traced, between) = (column(traced), bounds.of(column));
            let is_within = (between.least..=between.most).contains(&traced);
            if is_within || *name == RECEIVED_COUNT && !self.has_exact_counts(number) {
                return None;
            }
            let Bounds { least, most } = between;
            let ours = match between.is_exact() {
                true => least.to_string(),
                false => format!("{least} to {most}"),
            };
            Some(format!("{name}: {ours} in situ, {traced} traced"))
        })
    }

    /// Returns whether no CTA of the launch can have read a word at two widths.
    fn has_exact_counts(&self, launch: u32) -> bool {
        self.traced_launch(launch).counts.widths.is_uniform()
    }

    fn name(&self, number: u32) -> String {
        launch_name(self.sites, &self.traced_launch(number).launch)
    }

    /// Returns the first difference in the transfers between launches or, if there is none, between CTAs.
    fn exchanged(&self) -> superstep_analysis::Result<Option<String>> {
        let (ours, theirs) = (&self.aggregated.communication, &self.traced.communication);
        // Both sides use the launch numbers of the in-situ run.
        let number = |traced: u32| self.pairing.in_situ[traced as usize];
        let renumbered = |((source, receiver), ctas, amount): Part| {
            ((number(source), number(receiver)), ctas, amount)
        };
        let flow = |flow: &Flow| {
            let pair = (flow.source_launch, flow.receiver_launch);
            (pair, None, (flow.bytes, flow.count))
        };
        let flows = [
            ours.flows.iter().map(flow).collect(),
            theirs.flows.iter().map(flow).map(renumbered).collect(),
        ];
        if let Some(difference) = self.difference(flows) {
            return Ok(Some(difference));
        }
        let transfers = |communication: &Communication,
                         blocks: CtaBlocks|
         -> superstep_analysis::Result<Vec<Part>> {
            let mut all = Vec::new();
            communication.transfers.each(|it: &Transfer| {
                let pair = (it.source_launch, it.receiver_launch);
                let ctas = Some((blocks.first(it.source_cta), blocks.first(it.receiver_cta)));
                all.push((pair, ctas, (it.bytes, it.count)));
            })?;
            Ok(all)
        };
        // In situ, transfers are already between blocks.
        let ours = transfers(ours, CtaBlocks::default())?;
        let theirs = transfers(theirs, self.bounds.cta_blocks)?;
        let theirs = theirs.into_iter().map(renumbered).collect();
        Ok(self.difference([ours, theirs]))
    }

    fn difference(&self, all: [Vec<Part>; 2]) -> Option<String> {
        // Bytes and reads, in situ and traced.
        let mut sums: BTreeMap<_, [(u64, u64); 2]> = BTreeMap::new();
        for (side, parts) in all.into_iter().enumerate() {
            for (pair, ctas, amount) in parts {
                if self.bounds.is_exact(pair) {
                    let sum = &mut sums.entry((pair, ctas)).or_default()[side];
                    *sum = (sum.0 + amount.0, sum.1 + amount.1);
                }
            }
        }
        sums.into_iter().find_map(|((pair, ctas), [ours, theirs])| {
            let (source, receiver) = pair;
            let counts_agree = ours.1 == theirs.1 || !self.has_exact_counts(receiver);
            if ours.0 == theirs.0 && counts_agree {
                return None;
            }
            let (from, to) = (self.name(source), self.name(receiver));
            let ctas = ctas.map(|(from, to)| format!(", CTA {from} to CTA {to}"));
            let ctas = ctas.unwrap_or_default();
            Some(format!(
                "from {from} to {to}{ctas}: {} bytes and {} reads in situ, {} and {} traced",
                ours.0, ours.1, theirs.0, theirs.1
            ))
        })
    }
}

/// Source and receiver launches, their CTAs if known, and the bytes and reads.
type Part = ((u32, u32), Option<(u32, u32)>, (u64, u64));

type Column = fn(&Counts) -> u64;

/// The compared counts. Access groups are excluded: which lanes reach a site together can depend on timing and on code
/// generation.
pub(super) const COUNTED: [(&str, Column); 6] = [
    ("thread_loads", |c| c.thread_loads),
    ("thread_stores", |c| c.thread_stores),
    ("thread_atomics", |c| c.thread_atomics),
    ("loaded_bytes", |c| c.loaded_bytes),
    ("stored_bytes", |c| c.stored_bytes),
    ("atomic_bytes", |c| c.atomic_bytes),
];

fn counts(ours: &Counts, theirs: &Counts) -> Option<String> {
    COUNTED.iter().find_map(|(name, column)| {
        let (ours, theirs) = (column(ours), column(theirs));
        (ours != theirs).then(|| format!("{name}: {ours} in situ, {theirs} traced"))
    })
}
