//! Basic blocks by their executions, as a picture of the control-flow graph: Ocelot's figure 4.

use super::{Program, SiteTotals, Study, percent, sites};
use crate::error::Result;
use crate::figures::multiples::{Mark, Multiples, Plot, Scale};
use crate::figures::{numbers, palette};
use std::collections::BTreeMap;
use superstep_table::{Table, table};

table! {
    /// The block of each program that most threads entered.
    pub(super) struct HottestRow = "hottest-blocks" {
        program: String = "the program";
        blocks: u64 = "basic blocks of its device code";
        executed: u64 = "of those, blocks that a thread entered";
        executions: u64 ["executions"] = "by threads, of all blocks over all launches";
        function: String = "the function of the block that most threads entered";
        block: u64 = "its number";
        file: String = "its source file; empty when unknown";
        first_line: u64 = "lowest source line in it";
        last_line: u64 = "highest source line in it";
        percent: f64 ["%"] = "its executions, of those of all blocks";
    }
}

table! {
    /// One basic block.
    pub(super) struct BlockRow = "basic-blocks" {
        program: String = "the program";
        function: String = "the function";
        block: u64 = "number of the block in its function";
        file: String = "source file; empty when unknown";
        first_line: u64 = "lowest source line in it";
        last_line: u64 = "highest source line in it";
        instructions: u64 ["instructions"] = "of LLVM's, in the block";
        successors: String = "blocks that may follow, separated by spaces";
        executions: u64 ["executions"] = "by threads, over all launches";
        percent: f64 ["%"] = "of the executions of all blocks of the program";
    }
}

/// Blocks of a picture at most: those around the hottest one.
const MOST_BLOCKS: usize = 14;

pub(super) fn study(programs: &[Program<'_>]) -> Result<Study> {
    let (mut summary, mut rows, mut plots) = (Vec::new(), Vec::new(), Vec::new());
    for program in programs {
        let all = sites(program)?;
        let total: u64 = all.iter().map(|row| row.fields[0]).sum();
        if let Some(hottest) = all.iter().max_by_key(|row| row.fields[0]) {
            let (first_line, last_line) = hottest.site.lines.unwrap_or((0, 0));
            summary.push(HottestRow {
                program: program.name.to_owned(),
                blocks: all.len() as u64,
                executed: all.iter().filter(|row| row.fields[0] > 0).count() as u64,
                executions: total,
                function: hottest.function.clone(),
                block: hottest.site.block.into(),
                file: hottest.site.file.clone(),
                first_line: first_line.into(),
                last_line: last_line.into(),
                percent: percent(hottest.fields[0] as f64, total as f64),
            });
        }
        for row in &all {
            let (first_line, last_line) = row.site.lines.unwrap_or((0, 0));
            let successors: Vec<String> = row.site.successors.iter().map(u32::to_string).collect();
            rows.push(BlockRow {
                program: program.name.to_owned(),
                function: row.function.clone(),
                block: row.site.block.into(),
                file: row.site.file.clone(),
                first_line: first_line.into(),
                last_line: last_line.into(),
                instructions: row.site.width.into(),
                successors: successors.join(" "),
                executions: row.fields[0],
                percent: percent(row.fields[0] as f64, total as f64),
            });
        }
        plots.push(picture(program.name, &all));
    }
    let table = Table::of(&rows);
    Ok(Study {
        figures: vec![Multiples::new(
            "hot-regions",
            "Basic blocks around the hottest one: the darker, the more threads",
            "The blocks around the one that most threads entered, with their numbers and source lines. \
                          Lines on the right lead to the blocks that may follow (GPU Ocelot, figure 4).",
            &[
                ("forward", palette::GREY),
                ("backward", palette::VERMILLION),
            ],
            plots,
            table.clone(),
        )],
        tables: vec![Table::of(&summary), table],
    })
}

fn picture(name: &str, all: &[SiteTotals<'_>]) -> Plot {
    let mut heat: BTreeMap<&str, u64> = BTreeMap::new();
    for row in all {
        *heat.entry(&row.site.function).or_default() += row.fields[0];
    }
    let hottest = heat.iter().max_by_key(|(_, heat)| **heat);
    let blocks: Vec<&SiteTotals<'_>> = (all.iter())
        .filter(|row| hottest.is_some_and(|(function, _)| *function == row.site.function))
        .collect();
    let peak = (0..blocks.len()).max_by_key(|&index| blocks[index].fields[0]);
    let before = peak.unwrap_or(0).saturating_sub(MOST_BLOCKS / 2);
    let first = before.min(blocks.len().saturating_sub(MOST_BLOCKS));
    let shown = &blocks[first..blocks.len().min(first + MOST_BLOCKS)];
    let most = shown.iter().map(|row| row.fields[0]).max().unwrap_or(0);
    let height = shown.len();
    // From top to bottom.
    let band = |index: usize| (height - 1 - index) as f64;
    let mut marks = Vec::new();
    for (index, row) in shown.iter().enumerate() {
        let low = band(index);
        let shade = palette::shade(row.fields[0], most);
        marks.push(Mark::Area((0.0, low + 0.1), (0.6, low + 0.9), shade));
        for successor in &row.site.successors {
            let mut blocks = shown.iter().map(|other| other.site.block);
            let Some(target) = blocks.position(|block| block == *successor) else {
                continue;
            };
            let far = 0.62 + 0.36 * (target.abs_diff(index) as f64 / height as f64).sqrt();
            let (from, to) = (low + 0.4, band(target) + 0.6);
            let colour = match target <= index {
                true => palette::VERMILLION,
                false => palette::GREY,
            };
            let path = vec![(0.6, from), (far, from), (far, to), (0.6, to)];
            marks.push(Mark::Line(path, 1.0, colour));
        }
    }
    let names = shown.iter().rev().map(|row| match row.site.lines {
        Some((first, last)) if first == last => format!("{}: {first}", row.site.block),
        Some((first, last)) => format!("{}: {first}-{last}", row.site.block),
        None => row.site.block.to_string(),
    });
    let function = shown.first().map_or("", |row| row.function.as_str());
    Plot {
        title: name.to_owned(),
        note: format!("{} in {function}", numbers::count(most as f64)),
        x: Scale::new(0.0, 1.0, "", Vec::new()),
        y: Scale::bands(names, ""),
        marks,
    }
}

#[cfg(test)]
mod tests;
