//! Constant bits and scalar values: SASSI's table 2.

use super::{Program, ProgramSites, SiteTotals, Study, percent, sites};
use crate::error::Result;
use std::collections::HashMap;
use superstep_table::{Table, table};
use superstep_trace::probe::At;

table! {
    /// One instruction with a value.
    struct Instruction = "value-sites" {
        program: String = "the program";
        function: String = "the function";
        file: String = "source file";
        line: u64 = "source line; 0 when unknown";
        what: String = "the instruction's operation";
        bits: u64 ["bits"] = "width of the value";
        executions: u64 ["warp executions"] = "executions by warps";
        constant_bits: u64 ["bits"] = "bits that never changed";
        is_scalar: bool = "whether all threads of a warp always had the same value";
    }
}

struct Instructions<'a> {
    name: &'a str,
    all: Vec<Instruction>,
}

superstep_table::table_from! {
    /// The values of each program.
    fn summary<'a>(values, &'a Instructions<'a>) = "values" {
        program: String = "the program" => values.name.to_owned();
        instructions: u64 ["instructions"] = "instructions with a value that were executed" =>
            values.all.len() as u64;
        executions: u64 ["warp executions"] = "their executions by warps" =>
            values.all.iter().map(|instruction| instruction.executions).sum();
        dynamic_constant_bits_percent: f64 ["%"] =
            "bits of values that never changed, each instruction weighted by its executions" => values.shares()[0];
        dynamic_scalar_percent: f64 ["%"] =
            "executions of instructions whose value was always the same in all threads of a warp" => values.shares()[1];
        static_constant_bits_percent: f64 ["%"] =
            "bits that never changed, each instruction counted once" => values.shares()[2];
        static_scalar_percent: f64 ["%"] =
            "instructions whose value was always the same in all threads of a warp" => values.shares()[3];
    }
}

impl<'a> Instructions<'a> {
    fn of(program: &'a ProgramSites<'a>) -> Self {
        // An instruction executes as often as its block.
        let block = |row: &SiteTotals<'a>| (row.site.function.as_str(), row.site.block);
        let sites_at = |at| program.sites.iter().filter(move |row| row.site.at == at);
        let blocks: HashMap<_, _> = sites_at(At::Block)
            .map(|row| (block(row), row.fields[0]))
            .collect();
        let all = sites_at(At::Value).filter_map(|totals| {
            let [_, ones, ever_set, differing] = totals.fields[..] else {
                return None;
            };
            let executions = *blocks.get(&block(totals)).filter(|&&count| count > 0)?;
            let bits = totals.site.width.min(64);
            let mask = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
            Some(Instruction {
                program: program.name.to_owned(),
                function: totals.function.clone(),
                file: totals.site.file.clone(),
                line: totals.site.line.into(),
                what: totals.site.what.clone(),
                bits: bits.into(),
                executions,
                constant_bits: ((ones | !ever_set) & mask).count_ones().into(),
                is_scalar: differing == 0,
            })
        });
        Self {
            name: program.name,
            all: all.collect(),
        }
    }

    /// Returns the percentages of constant bits and scalar values: first dynamic, weighted by executions, then static.
    fn shares(&self) -> [f64; 4] {
        let sum = |value: &dyn Fn(&Instruction) -> u64| self.all.iter().map(value).sum();
        let share = |weight: fn(&Instruction) -> u64| {
            let constant = sum(&|it| weight(it) * it.constant_bits);
            let scalar = sum(&|it| weight(it) * u64::from(it.is_scalar));
            let bits = sum(&|it| weight(it) * it.bits);
            [percent(constant, bits), percent(scalar, sum(&weight))]
        };
        let [weighted, unweighted] = [share(|it| it.executions), share(|_| 1)];
        [weighted[0], weighted[1], unweighted[0], unweighted[1]]
    }
}

pub(super) fn study(programs: &[Program<'_>]) -> Result<Study> {
    let programs = sites(programs)?;
    let programs: Vec<_> = programs.iter().map(Instructions::of).collect();
    let sites: Vec<_> = programs.iter().flat_map(|program| &program.all).collect();
    let tables = vec![summary(&programs), Table::of(sites)];
    Ok(Study::of_paper(tables, Vec::new()))
}
