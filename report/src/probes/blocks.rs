//! Basic blocks by number of executions, drawn as a control-flow graph: Ocelot's figure 4.

use super::{Program, ProgramSites, SiteTotals, Study, percent, sites};
use crate::error::Result;
use crate::figures::multiples::{Mark, Multiples, Plot, Scale};
use crate::figures::{numbers, palette};

superstep_table::table_from! {
    /// The most frequently executed block of each program, counting executions by each thread.
    fn summary<'a>((program, hottest), (&'a ProgramSites<'a>, &'a SiteTotals<'a>)) = "hottest-blocks" {
        program: String = "the program" => program.name.to_owned();
        blocks: u64 = "basic blocks of its device code" => program.sites.len() as u64;
        executed: u64 = "blocks that at least one thread entered" => program.above_zero(0);
        executions: u64 ["executions"] = "executions of all blocks by threads, over all launches" => program.sum(0);
        function: String = "the function of the most frequently executed block" => hottest.function.clone();
        block: u64 = "index of that block in its function" => hottest.site.block.into();
        file: String = "its source file; empty when unknown" => hottest.site.file.clone();
        first_line: u64 = "lowest source line in it" => hottest.lines().0;
        last_line: u64 = "highest source line in it" => hottest.lines().1;
        percent: f64 ["%"] = "its share of the executions of all blocks" => share(program, hottest);
    }
}

superstep_table::table_from! {
    /// One basic block.
    fn block_rows<'a>((program, block), (&'a ProgramSites<'a>, &'a SiteTotals<'a>)) = "basic-blocks" {
        program: String = "the program" => program.name.to_owned();
        function: String = "the function" => block.function.clone();
        block: u64 = "index of the block in its function" => block.site.block.into();
        file: String = "source file; empty when unknown" => block.site.file.clone();
        first_line: u64 = "lowest source line in it" => block.lines().0;
        last_line: u64 = "highest source line in it" => block.lines().1;
        instructions: u64 ["instructions"] = "LLVM instructions in the block" => block.site.width.into();
        successors: String = "blocks that can follow, separated by spaces" =>
            block.site.successors.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        executions: u64 ["executions"] = "executions by threads, over all launches" => block.fields[0];
        percent: f64 ["%"] = "share of the executions of all blocks of the program" => share(program, block);
    }
}

impl SiteTotals<'_> {
    /// Returns the first and last source line; 0 when unknown.
    fn lines(&self) -> (u64, u64) {
        let (first, last) = self.site.lines.unwrap_or((0, 0));
        (first.into(), last.into())
    }
}

fn share(program: &ProgramSites<'_>, block: &SiteTotals<'_>) -> f64 {
    percent(block.fields[0], program.sum(0))
}

/// Maximum number of blocks in a picture, around the hottest one.
const MAX_BLOCKS: usize = 14;

pub(super) fn study(programs: &[Program<'_>]) -> Result<Study> {
    let programs = sites(programs)?;
    let hottest = programs.iter().filter_map(|program| {
        let sites = program.sites.iter();
        Some((program, sites.max_by_key(|site| site.fields[0])?))
    });
    let blocks =
        (programs.iter()).flat_map(|program| program.sites.iter().map(move |site| (program, site)));
    let figure = Multiples::new(
        "hot-regions",
        "Basic blocks around the hottest one; darker blocks have more executions",
        "The blocks around the most frequently executed one, with their numbers and source lines. \
         Lines on the right lead to the blocks that can follow (GPU Ocelot, figure 4).",
        &[
            ("forward", palette::GREY),
            ("backward", palette::VERMILLION),
        ],
        programs.iter().map(picture).collect(),
        block_rows(blocks),
    );
    Ok(Study::of_paper(vec![summary(hottest)], vec![figure]))
}

fn picture(program: &ProgramSites<'_>) -> Plot {
    let sites = program.sites.iter();
    let hottest = sites.clone().max_by_key(|row| row.fields[0]);
    let is_near = |row: &&SiteTotals<'_>| {
        hottest.is_some_and(|hottest| hottest.site.function == row.site.function)
    };
    let blocks: Vec<&SiteTotals<'_>> = sites.filter(is_near).collect();
    let peak = (0..blocks.len()).max_by_key(|&index| blocks[index].fields[0]);
    let before = peak.unwrap_or(0).saturating_sub(MAX_BLOCKS / 2);
    let first = before.min(blocks.len().saturating_sub(MAX_BLOCKS));
    let shown = &blocks[first..blocks.len().min(first + MAX_BLOCKS)];
    let max = shown.iter().map(|row| row.fields[0]).max().unwrap_or(0);
    let height = shown.len();
    // Bands run from top to bottom.
    let band = |index: usize| (height - 1 - index) as f64;
    let mut marks = Vec::new();
    for (index, row) in shown.iter().enumerate() {
        let (low, executions) = (band(index), row.fields[0]);
        let text = format!(
            "{} executions by threads",
            numbers::count(executions as f64)
        );
        let shade = palette::shade(executions, max);
        marks.push(Mark::Cell((0.0, low + 0.1), (0.6, low + 0.9), shade, text));
        let places = shown.iter().map(|other| other.site.block).enumerate();
        for (target, _) in places.filter(|(_, block)| row.site.successors.contains(block)) {
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
        title: program.name.to_owned(),
        note: format!("{} in {function}", numbers::count(max as f64)),
        x: Scale::new(0.0, 1.0, "", Vec::new()),
        y: Scale::bands(names, ""),
        marks,
        ..Plot::default()
    }
}
