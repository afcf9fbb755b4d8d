//! Conditional branches and their divergence: SASSI's table 1 and figure 5.

use super::{Program, SiteTotals, Study, percent, published, sites};
use crate::error::Result;
use crate::figures::multiples::{Mark, Multiples, Plot, Scale};
use crate::figures::{numbers, palette};
use superstep_table::{Table, table};

table! {
    /// The conditional branches of each program.
    pub(super) struct BranchesRow = "branches" {
        program: String = "the program";
        static_branches: u64 ["branches"] = "conditional branches in its device code";
        static_divergent: u64 ["branches"] = "of those, branches at which a warp split at least once";
        static_percent: f64 ["%"] = "the second of the first";
        dynamic_branches: u64 ["warp executions"] = "executions by warps";
        dynamic_divergent: u64 ["warp executions"] = "of those, executions at which the warp split";
        dynamic_percent: f64 ["%"] = "the second of the first";
    }
}

table! {
    /// One conditional branch.
    pub(super) struct BranchRow = "branch-sites" {
        program: String = "the program";
        function: String = "the function";
        file: String = "source file";
        line: u64 = "source line; 0 when unknown";
        block: u64 = "basic block that the branch ends";
        executions: u64 ["warp executions"] = "executions by warps";
        active_threads: u64 ["threads"] = "threads in them";
        taken_threads: u64 ["threads"] = "of those, threads that went to the first target";
        not_taken_threads: u64 ["threads"] = "the others";
        divergent: u64 ["warp executions"] = "executions at which the warp split";
    }
}

/// Branches of a figure at most.
const MOST_BARS: usize = 40;

pub(super) fn study(suite: &str, programs: &[Program<'_>]) -> Result<Study> {
    let (mut summary, mut each, mut plots) = (Vec::new(), Vec::new(), Vec::new());
    for program in programs {
        let mut rows = sites(program)?;
        rows.sort_by_key(|row| std::cmp::Reverse(row.fields[0]));
        let divergent = rows.iter().filter(|row| row.fields[3] > 0).count();
        let sum = |field: usize| rows.iter().map(|row| row.fields[field]).sum::<u64>();
        let (executed, split) = (sum(0), sum(3));
        summary.push(BranchesRow {
            program: program.name.to_owned(),
            static_branches: rows.len() as u64,
            static_divergent: divergent as u64,
            static_percent: percent(divergent as f64, rows.len() as f64),
            dynamic_branches: executed,
            dynamic_divergent: split,
            dynamic_percent: percent(split as f64, executed as f64),
        });
        for row in &rows {
            each.push(BranchRow {
                program: program.name.to_owned(),
                function: row.function.clone(),
                file: row.site.file.clone(),
                line: row.site.line.into(),
                block: row.site.block.into(),
                executions: row.fields[0],
                active_threads: row.fields[1],
                taken_threads: row.fields[2],
                not_taken_threads: row.fields[1] - row.fields[2],
                divergent: row.fields[3],
            });
        }
        plots.push(plot(program.name, &rows));
    }
    let sites_table = Table::of(&each);
    let figure = Multiples::new(
        "branch-divergence",
        "Warp executions of each conditional branch, and how many diverged",
        "Each bar is one branch, the one that warps execute most first (SASSI, figure 5).",
        &[
            ("convergent", palette::SKY_BLUE),
            ("divergent", palette::VERMILLION),
        ],
        plots,
        sites_table.clone(),
    );
    let mut tables = vec![Table::of(&summary)];
    tables.extend(published::branches(suite, &summary));
    tables.push(sites_table);
    let figures = vec![figure];
    Ok(Study { tables, figures })
}

fn plot(name: &str, rows: &[SiteTotals<'_>]) -> Plot {
    let shown = &rows[..rows.len().min(MOST_BARS)];
    let most = shown.first().map_or(0, |row| row.fields[0]);
    let mut marks = Vec::new();
    for (band, row) in shown.iter().enumerate() {
        let (left, right) = (band as f64 + 0.1, band as f64 + 0.9);
        let (all, split) = (row.fields[0] as f64, row.fields[3] as f64);
        marks.push(Mark::Area((left, 0.0), (right, split), palette::VERMILLION));
        marks.push(Mark::Area((left, split), (right, all), palette::SKY_BLUE));
    }
    Plot {
        title: name.to_owned(),
        note: match rows.len() {
            1 => "1 branch".to_owned(),
            count if count > MOST_BARS => format!("{MOST_BARS} of {count} branches"),
            count => format!("{count} branches"),
        },
        x: Scale::numbers(shown.len() as u64, "branch"),
        y: Scale::linear(most as f64, "executions by warps", numbers::count),
        marks,
    }
}

#[cfg(test)]
mod tests;
