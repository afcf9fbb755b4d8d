//! Load balance across SMs: Ocelot's figure 6.

use super::{Program, Study, percent};
use crate::error::Result;
use crate::figures::communication::bars;
use crate::figures::multiples::{Multiples, Plot, Scale};
use crate::figures::palette;
use std::collections::BTreeMap;
use superstep_analysis::AnalysisError;

superstep_table::table_from! {
    /// Each program's balance across the SMs.
    fn summary<'a>(load, &'a Load<'a>) = "sm-balance" {
        program: String = "the program" => load.program.name.to_owned();
        launches: u64 = "kernel launches" => load.program.results.launches.len() as u64;
        ctas: u64 ["CTAs"] = "number of CTAs, over all launches" => load.sms.iter().map(|sm| sm.ctas).sum();
        cycles: u64 ["clock cycles"] = "longest time of an SM in each launch, summed over all launches" => load.longest;
        sms: u64 = "number of SMs up to the last one that ran a CTA (workers on the CPU backend)" => load.sms.len() as u64;
        idle_sms: u64 = "number of these SMs that never ran a CTA" =>
            load.sms.iter().filter(|sm| sm.ctas == 0).count() as u64;
        mean_percent: f64 ["%"] = "mean time of the SMs, relative to the longest" => load.mean_percent();
        least_percent: f64 ["%"] = "shortest time of an SM, relative to the longest" =>
            percent(load.sms.iter().map(|sm| sm.cycles).min().unwrap_or(0), load.longest);
    }
}

superstep_table::table_from! {
    /// One SM in one program.
    fn sm_rows<'a>((load, number, sm), (&'a Load<'a>, u64, &'a Sm)) = "sm-load" {
        program: String = "the program" => load.program.name.to_owned();
        sm: u64 = "index of the SM, or of the worker on the CPU backend" => number;
        ctas: u64 ["CTAs"] = "number of CTAs that it ran, over all launches" => sm.ctas;
        cycles: u64 ["clock cycles"] =
            "from the start of its first CTA to the end of its last CTA, summed over all launches" => sm.cycles;
        percent: f64 ["%"] = "cycles relative to the SM that took longest in each launch" =>
            percent(sm.cycles, load.longest);
    }
}

/// Limit on SM numbers, which no GPU reaches; larger numbers in the results are errors.
pub(super) const MAX_SMS: u64 = 1 << 16;

/// Load of a program's SMs, or of its workers on the CPU backend.
struct Load<'a> {
    program: Program<'a>,
    /// Sum, over all launches, of the longest span, in cycles.
    longest: u64,
    /// SMs by number.
    sms: Vec<Sm>,
}

#[derive(Clone, Default)]
struct Sm {
    /// Time from the first start to the last end, summed over all launches. Clocks of different SMs are never compared.
    cycles: u64,
    ctas: u64,
}

impl<'a> Load<'a> {
    fn of(program: &Program<'a>) -> Result<Self> {
        let (mut longest, mut sms) = (0, Vec::new());
        for launch in &program.results.launches {
            let words = program.results.words(launch.fields)?;
            // Start, end and number of CTAs, by SM.
            let mut spans: BTreeMap<u64, (u64, u64, u64)> = BTreeMap::new();
            let row = launch.slots as usize * 3;
            for cta in words.chunks_exact(row.max(1)) {
                let (mut start, mut end, mut sm) = (u64::MAX, 0, 0);
                for site in cta.chunks_exact(3) {
                    (start, end, sm) = (start.min(site[0]), end.max(site[1]), sm.max(site[2]));
                }
                if start <= end {
                    let span = spans.entry(sm).or_insert((start, end, 0));
                    *span = (span.0.min(start), span.1.max(end), span.2 + 1);
                }
            }
            let lengths = spans.values().map(|(start, end, _)| end - start);
            longest += lengths.max().unwrap_or(0);
            for (value, (start, end, ctas)) in spans {
                if value >= MAX_SMS {
                    let what = "the number of an SM in the results of cta-clocks";
                    let limit = MAX_SMS - 1;
                    return Err(AnalysisError::TooLarge { what, value, limit }.into());
                }
                let number = value as usize;
                sms.resize(sms.len().max(number + 1), Sm::default());
                sms[number].cycles += end - start;
                sms[number].ctas += ctas;
            }
        }
        Ok(Self {
            program: *program,
            longest,
            sms,
        })
    }

    fn mean_percent(&self) -> f64 {
        let cycles = self.sms.iter().map(|sm| sm.cycles).sum();
        percent(cycles, self.longest * self.sms.len() as u64)
    }

    fn plot(&self) -> Plot {
        let longest = self.longest.max(1) as f64;
        let shares = self.sms.iter().map(|sm| sm.cycles as f64 / longest);
        Plot {
            title: self.program.name.to_owned(),
            note: format!("mean {:.0} %", self.mean_percent()),
            x: Scale::numbers(self.sms.len() as u64, "SM"),
            y: Scale::shares("share of the longest"),
            marks: bars(&[(shares.collect(), palette::BLUE)]),
            ..Plot::default()
        }
    }
}

pub(super) fn study(programs: &[Program<'_>]) -> Result<Study> {
    let loads = programs.iter().map(Load::of).collect::<Result<Vec<_>>>()?;
    let sms = loads.iter().flat_map(|load| {
        let sms = (0..).zip(&load.sms);
        sms.map(move |(number, sm)| (load, number, sm))
    });
    let figure = Multiples::new(
        "sm-load",
        "Active time of each SM, relative to the longest",
        "Time from the start of each SM's first CTA to the end of its last, over all launches (GPU Ocelot, figure 6).",
        &[],
        loads.iter().map(Load::plot).collect(),
        sm_rows(sms),
    );
    Ok(Study::of_paper(vec![summary(&loads)], vec![figure]))
}
