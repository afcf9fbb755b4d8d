//! CTAs on SMs and how evenly they keep them busy: Ocelot's figure 6.

use super::{Program, Study, percent};
use crate::error::Result;
use crate::figures::multiples::{Mark, Multiples, Plot, Scale};
use crate::figures::palette;
use std::collections::BTreeMap;
use superstep_analysis::AnalysisError;
use superstep_table::{Table, table};

table! {
    /// How evenly the SMs of each program are kept busy.
    pub(super) struct BalanceRow = "sm-balance" {
        program: String = "the program";
        launches: u64 = "kernel launches";
        ctas: u64 ["CTAs"] = "CTAs, over all launches";
        cycles: u64 ["clock cycles"] = "of the SM that took longest in each launch, added up";
        sms: u64 = "SMs up to the last that ran a CTA; workers on the CPU backend";
        idle_sms: u64 = "of those, SMs that never ran a CTA";
        mean_percent: f64 ["%"] = "mean over the SMs of their time, of the longest";
        least_percent: f64 ["%"] = "the same for the SM with the least";
    }
}

table! {
    /// One SM in one program.
    pub(super) struct LoadRow = "sm-load" {
        program: String = "the program";
        sm: u64 = "number of the SM, or of the worker on the CPU backend";
        ctas: u64 ["CTAs"] = "CTAs that it ran, over all launches";
        cycles: u64 ["clock cycles"] =
            "from its first CTA's start to its last one's end, added up over the launches";
        percent: f64 ["%"] = "of the same for the SM that took longest in each launch";
    }
}

/// More SMs than any GPU has: a larger number in the results is none of an SM.
const MOST_SMS: u64 = 1 << 16;

/// One SM (CPU backend: one worker) in one launch.
#[derive(Clone, Copy)]
struct Span {
    start: u64,
    end: u64,
    ctas: u64,
}

/// Cycles and CTAs of each SM.
type Load = BTreeMap<u64, (u64, u64)>;

/// Cycles from the first start to the last end on each SM, added up over the launches, with its CTAs; and the sum of the
/// longest span of each launch. The clocks of two SMs are never compared.
fn load(program: &Program<'_>) -> Result<(Load, u64)> {
    let (mut all, mut longest) = (Load::new(), 0);
    for launch in &program.results.launches {
        let words = program.results.words(launch.fields)?;
        let mut spans: BTreeMap<u64, Span> = BTreeMap::new();
        let row = launch.slots as usize * 3;
        for cta in words.chunks_exact(row.max(1)) {
            let (mut start, mut end, mut sm) = (u64::MAX, 0, 0);
            for site in cta.chunks_exact(3) {
                start = start.min(site[0]);
                end = end.max(site[1]);
                sm = sm.max(site[2]);
            }
            if start <= end {
                let ctas = 0;
                let span = spans.entry(sm).or_insert(Span { start, end, ctas });
                span.start = span.start.min(start);
                span.end = span.end.max(end);
                span.ctas += 1;
            }
        }
        let lengths = spans.values().map(|span| span.end - span.start);
        longest += lengths.max().unwrap_or(0);
        for (sm, span) in spans {
            let total = all.entry(sm).or_default();
            total.0 += span.end - span.start;
            total.1 += span.ctas;
        }
    }
    Ok((all, longest))
}

pub(super) fn study(programs: &[Program<'_>]) -> Result<Study> {
    let (mut summary, mut rows, mut plots) = (Vec::new(), Vec::new(), Vec::new());
    for program in programs {
        let (load, longest) = load(program)?;
        let last = load.keys().max().copied();
        if let Some(value) = last.filter(|&last| last >= MOST_SMS) {
            return Err(AnalysisError::TooLarge {
                what: "the number of an SM in the results of cta-clocks",
                value,
                limit: MOST_SMS - 1,
            }
            .into());
        }
        let sms = last.map_or(0, |last| last + 1);
        let mut marks = Vec::new();
        let (mut busy, mut idle, mut least) = (0.0, 0, 1.0f64);
        for sm in 0..sms {
            let (cycles, ctas) = load.get(&sm).copied().unwrap_or_default();
            let share = cycles as f64 / (longest as f64).max(1.0);
            busy += share;
            idle += u64::from(ctas == 0);
            least = least.min(share);
            rows.push(LoadRow {
                program: program.name.to_owned(),
                sm,
                ctas,
                cycles,
                percent: percent(cycles as f64, longest as f64),
            });
            let at = sm as f64;
            marks.push(Mark::Area((at, 0.0), (at + 1.0, share), palette::BLUE));
        }
        let ctas: u64 = load.values().map(|(_, ctas)| ctas).sum();
        summary.push(BalanceRow {
            program: program.name.to_owned(),
            launches: program.results.launches.len() as u64,
            ctas,
            cycles: longest,
            sms,
            idle_sms: idle,
            mean_percent: percent(busy, sms as f64),
            least_percent: percent(least, 1.0),
        });
        plots.push(Plot {
            title: program.name.to_owned(),
            note: format!("mean {:.0} %", 100.0 * busy / (sms as f64).max(1.0)),
            x: Scale::numbers(sms, "SM"),
            y: Scale::shares("of the longest"),
            marks,
        });
    }
    let table = Table::of(&rows);
    Ok(Study {
        figures: vec![Multiples::new(
            "sm-load",
            "Active time of each SM, relative to the longest",
            "From the start of the first CTA on an SM to the end of the last one, over all launches (GPU Ocelot, figure 6).",
            &[],
            plots,
            table.clone(),
        )],
        tables: vec![Table::of(&summary), table],
    })
}

#[cfg(test)]
mod tests;
