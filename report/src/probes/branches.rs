//! Conditional branches and their divergence: SASSI's table 1 and figure 5.

use super::{Program, ProgramSites, SiteTotals, Study, percent, sites};
use crate::error::Result;
use crate::figures::multiples::{Mark, Multiples, Plot, Scale};
use crate::figures::{numbers, palette};
use std::cmp::Reverse;

/// Indices of the probe's fields.
const EXECUTIONS: usize = 0;
const ACTIVE: usize = 1;
const TAKEN: usize = 2;
const DIVERGENT: usize = 3;

superstep_table::table_from! {
    /// The conditional branches of each program.
    fn summary<'a>(branches, &'a ProgramSites<'a>) = "branches" {
        program: String = "the program" => branches.name.to_owned();
        static_branches: u64 ["branches"] = "conditional branches in its device code" =>
            branches.sites.len() as u64;
        static_divergent: u64 ["branches"] = "of those, branches at which a warp split at least once" =>
            branches.above_zero(DIVERGENT);
        static_percent: f64 ["%"] = "static_divergent as a share of static_branches" =>
            percent(branches.above_zero(DIVERGENT), branches.sites.len() as u64);
        dynamic_branches: u64 ["warp executions"] = "executions by warps" => branches.sum(EXECUTIONS);
        dynamic_divergent: u64 ["warp executions"] = "of those, executions in which the warp split" =>
            branches.sum(DIVERGENT);
        dynamic_percent: f64 ["%"] = "dynamic_divergent as a share of dynamic_branches" =>
            percent(branches.sum(DIVERGENT), branches.sum(EXECUTIONS));
    }
}

superstep_table::table_from! {
    /// One conditional branch.
    fn branch_rows<'a>(branch, &'a SiteTotals<'a>) = "branch-sites" {
        program: String = "the program" => branch.program.to_owned();
        function: String = "the function" => branch.function.clone();
        file: String = "source file" => branch.site.file.clone();
        line: u64 = "source line; 0 when unknown" => branch.site.line.into();
        block: u64 = "basic block that the branch ends" => branch.site.block.into();
        executions: u64 ["warp executions"] = "executions by warps" => branch.fields[EXECUTIONS];
        active_threads: u64 ["threads"] = "threads in these executions" => branch.fields[ACTIVE];
        taken_threads: u64 ["threads"] = "of those, threads that took the branch to the first target" =>
            branch.fields[TAKEN];
        not_taken_threads: u64 ["threads"] = "the other threads" => branch.fields[ACTIVE] - branch.fields[TAKEN];
        divergent: u64 ["warp executions"] = "executions in which the warp split" => branch.fields[DIVERGENT];
    }
}

const MAX_BARS: usize = 40;

pub(super) fn study(programs: &[Program<'_>]) -> Result<Study> {
    let mut programs = sites(programs)?;
    for program in &mut programs {
        (program.sites).sort_by_key(|site| Reverse(site.fields[EXECUTIONS]));
    }
    let figure = Multiples::new(
        "branch-divergence",
        "Convergent and divergent warp executions of each conditional branch",
        "Each bar is one branch, starting with the most frequently executed one (SASSI, figure 5).",
        &[
            ("convergent", palette::SKY_BLUE),
            ("divergent", palette::VERMILLION),
        ],
        programs.iter().map(plot).collect(),
        branch_rows(programs.iter().flat_map(|program| &program.sites)),
    );
    Ok(Study::of_paper(vec![summary(&programs)], vec![figure]))
}

fn plot(program: &ProgramSites<'_>) -> Plot {
    let count = program.sites.len();
    let shown = &program.sites[..count.min(MAX_BARS)];
    let max = shown.first().map_or(0, |site| site.fields[EXECUTIONS]);
    let marks = (0..).map(f64::from).zip(shown).flat_map(|(band, site)| {
        let (left, right) = (band + 0.1, band + 0.9);
        let [all, split] = [EXECUTIONS, DIVERGENT].map(|field| site.fields[field] as f64);
        [
            Mark::Area((left, 0.0), (right, split), palette::VERMILLION),
            Mark::Area((left, split), (right, all), palette::SKY_BLUE),
        ]
    });
    Plot {
        title: program.name.to_owned(),
        note: match count {
            1 => "1 branch".to_owned(),
            count if count > MAX_BARS => format!("{MAX_BARS} of {count} branches"),
            count => format!("{count} branches"),
        },
        x: Scale::numbers(shown.len() as u64, "branch"),
        y: Scale::linear(max as f64, "executions by warps", numbers::count),
        marks: marks.collect(),
        ..Plot::default()
    }
}
