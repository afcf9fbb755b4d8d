//! Load balance across SMs: Ocelot's figure 6.

use super::{Program, Study, percent};
use crate::error::Result;
use crate::figures::multiples::{Mark, Multiples, Plot, Scale};
use crate::figures::palette;
use std::collections::BTreeMap;
use superstep_analysis::AnalysisError;

table_from! {
    /// Each program's balance across the SMs.
    fn summary<'a>(load, &'a Load<'a>) = "sm-balance" {
        program: String = "the program" => load.program.to_owned();
        launches: u64 = "kernel launches" => load.launches;
        ctas: u64 ["CTAs"] = "CTAs, over all launches" => load.sms.iter().map(|sm| sm.ctas).sum();
        cycles: u64 ["clock cycles"] = "of the SM that took longest in each launch, summed up" => load.longest;
        sms: u64 = "SMs up to the last that ran a CTA; workers on the CPU backend" => load.sms.len() as u64;
        idle_sms: u64 = "of those, SMs that never ran a CTA" =>
            load.sms.iter().filter(|sm| sm.ctas == 0).count() as u64;
        mean_percent: f64 ["%"] = "mean time of the SMs, relative to the longest" =>
            percent(load.shares().sum(), load.sms.len() as f64);
        least_percent: f64 ["%"] = "shortest time of an SM, relative to the longest" =>
            percent(load.shares().fold(1.0, f64::min), 1.0);
    }
}

table_from! {
    /// One SM in one program.
    fn each<'a>((load, number, sm), (&'a Load<'a>, u64, &'a Sm)) = "sm-load" {
        program: String = "the program" => load.program.to_owned();
        sm: u64 = "number of the SM, or of the worker on the CPU backend" => number;
        ctas: u64 ["CTAs"] = "CTAs that it ran, over all launches" => sm.ctas;
        cycles: u64 ["clock cycles"] =
            "from its first CTA's start to its last one's end, added up over the launches" => sm.cycles;
        percent: f64 ["%"] = "relative to the SM that took longest in each launch" =>
            percent(sm.cycles as f64, load.longest as f64);
    }
}

/// Limit on SM numbers, above any GPU's; larger numbers in the results are errors.
pub(super) const MOST_SMS: u64 = 1 << 16;

/// Load of a program's SMs, or of its workers on the CPU backend.
struct Load<'a> {
    program: &'a str,
    launches: u64,
    /// Sum of the longest span of each launch, in cycles.
    longest: u64,
    /// SMs by number.
    sms: Vec<Sm>,
}

#[derive(Clone, Default)]
struct Sm {
    /// Time from the first start to the last end, added up over the launches. Clocks of different SMs are never compared.
    cycles: u64,
    ctas: u64,
}

impl<'a> Load<'a> {
    fn of(program: &Program<'a>) -> Result<Self> {
        let mut load = Self {
            program: program.name,
            launches: program.results.launches.len() as u64,
            longest: 0,
            sms: Vec::new(),
        };
        for launch in &program.results.launches {
            let words = program.results.words(launch.fields)?;
            // Start and end, by SM.
            let mut spans: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
            let row = launch.slots as usize * 3;
            for cta in words.chunks_exact(row.max(1)) {
                let (mut start, mut end, mut sm) = (u64::MAX, 0, 0);
                for site in cta.chunks_exact(3) {
                    start = start.min(site[0]);
                    end = end.max(site[1]);
                    sm = sm.max(site[2]);
                }
                if start <= end {
                    let span = spans.entry(sm).or_insert((start, end));
                    *span = (span.0.min(start), span.1.max(end));
                    load.sm(sm)?.ctas += 1;
                }
            }
            let lengths = spans.values().map(|(start, end)| end - start);
            load.longest += lengths.max().unwrap_or(0);
            for (sm, (start, end)) in spans {
                load.sm(sm)?.cycles += end - start;
            }
        }
        Ok(load)
    }

    fn sm(&mut self, number: u64) -> Result<&mut Sm> {
        if number >= MOST_SMS {
            let what = "the number of an SM in the results of cta-clocks";
            let (value, limit) = (number, MOST_SMS - 1);
            return Err(AnalysisError::TooLarge { what, value, limit }.into());
        }
        let number = number as usize;
        if self.sms.len() <= number {
            self.sms.resize(number + 1, Sm::default());
        }
        Ok(&mut self.sms[number])
    }

    fn shares(&self) -> impl Iterator<Item = f64> {
        let longest = (self.longest as f64).max(1.0);
        self.sms.iter().map(move |sm| sm.cycles as f64 / longest)
    }

    fn plot(&self) -> Plot {
        let bar = |(at, share): (u32, f64)| {
            let at = f64::from(at);
            Mark::Area((at, 0.0), (at + 1.0, share), palette::BLUE)
        };
        let mean = self.shares().sum::<f64>() / (self.sms.len() as f64).max(1.0);
        Plot {
            title: self.program.to_owned(),
            note: format!("mean {:.0} %", 100.0 * mean),
            x: Scale::numbers(self.sms.len() as u64, "SM"),
            y: Scale::shares("share of the longest"),
            marks: (0..).zip(self.shares()).map(bar).collect(),
            ..Plot::default()
        }
    }
}

pub(super) fn study(programs: &[Program<'_>]) -> Result<Study> {
    let loads = programs.iter().map(Load::of).collect::<Result<Vec<_>>>()?;
    let table = each(loads.iter().flat_map(|load| {
        let sms = (0..).zip(&load.sms);
        sms.map(move |(number, sm)| (load, number, sm))
    }));
    let figure = Multiples::new(
        "sm-load",
        "Active time of each SM, relative to the longest",
        "From the start of the first CTA on an SM to the end of the last one, over all launches (GPU Ocelot, figure 6).",
        &[],
        loads.iter().map(Load::plot).collect(),
        table.clone(),
    );
    Ok(Study {
        figures: vec![figure],
        tables: vec![summary(&loads), table],
        is_of_papers: true,
        ..Study::default()
    })
}
