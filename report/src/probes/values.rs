//! Constant bits and scalar values: SASSI's table 2.

use super::{Program, Study, percent, published, sites};
use crate::error::Result;
use crate::figures::multiples::{Mark, Multiples, Plot, Scale};
use crate::figures::palette;
use std::collections::HashMap;
use superstep_table::{Table, table};
use superstep_trace::probe::At;

pub(super) const DYNAMIC_CONSTANT_BITS: &str =
    "bits of values that never changed, each instruction weighted by its executions";
pub(super) const DYNAMIC_SCALAR: &str =
    "executions of instructions whose value was always the same in all threads of a warp";
pub(super) const STATIC_CONSTANT_BITS: &str = "bits that never changed, each instruction once";
pub(super) const STATIC_SCALAR: &str =
    "instructions whose value was always the same in all threads of a warp";

table! {
    /// The values of each program.
    pub(super) struct ValuesRow = "values" {
        program: String = "the program";
        instructions: u64 ["instructions"] = "instructions with a value that were executed";
        executions: u64 ["warp executions"] = "their executions by warps";
        dynamic_constant_bits_percent: f64 ["%"] = DYNAMIC_CONSTANT_BITS;
        dynamic_scalar_percent: f64 ["%"] = DYNAMIC_SCALAR;
        static_constant_bits_percent: f64 ["%"] = STATIC_CONSTANT_BITS;
        static_scalar_percent: f64 ["%"] = STATIC_SCALAR;
    }
}

table! {
    /// One instruction with a value.
    pub(super) struct ValueRow = "value-sites" {
        program: String = "the program";
        function: String = "the function";
        file: String = "source file";
        line: u64 = "source line; 0 when unknown";
        what: String = "the instruction's operation";
        bits: u64 ["bits"] = "width of the value";
        executions: u64 ["warp executions"] = "executions by warps";
        constant_bits: u64 ["bits"] = "bits that never changed";
        is_scalar: bool = "whether all threads of a warp always had the same";
    }
}

pub(super) fn study(suite: &str, programs: &[Program<'_>]) -> Result<Study> {
    let (mut summary, mut each, mut plots) = (Vec::new(), Vec::new(), Vec::new());
    for program in programs {
        // Sums over instructions, and over their executions.
        let (mut bits, mut constant, mut scalar, mut count) =
            ([0.0; 2], [0.0; 2], [0.0; 2], [0.0; 2]);
        let rows = sites(program)?;
        // An instruction is executed as often as its block.
        let blocks: HashMap<(&str, u32), u64> = (rows.iter())
            .filter(|row| row.site.at == At::Block)
            .map(|row| ((row.site.function.as_str(), row.site.block), row.fields[0]))
            .collect();
        for row in rows.iter().filter(|row| row.site.at == At::Value) {
            let [_, ones, ever_set, differing] = row.fields[..] else {
                continue;
            };
            let block = (row.site.function.as_str(), row.site.block);
            let executions = blocks.get(&block).copied().unwrap_or(0);
            if executions == 0 {
                continue;
            }
            let width = row.site.width.min(64);
            let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
            let unchanging = ((ones | !ever_set) & mask).count_ones();
            let is_scalar = differing == 0;
            for (index, weight) in [1.0, executions as f64].into_iter().enumerate() {
                count[index] += weight;
                bits[index] += weight * f64::from(width);
                constant[index] += weight * f64::from(unchanging);
                scalar[index] += weight * f64::from(u8::from(is_scalar));
            }
            each.push(ValueRow {
                program: program.name.to_owned(),
                function: row.function.clone(),
                file: row.site.file.clone(),
                line: row.site.line.into(),
                what: row.site.what.clone(),
                bits: width.into(),
                executions,
                constant_bits: unchanging.into(),
                is_scalar,
            });
        }
        let shares = [
            percent(constant[1], bits[1]),
            percent(scalar[1], count[1]),
            percent(constant[0], bits[0]),
            percent(scalar[0], count[0]),
        ];
        summary.push(ValuesRow {
            program: program.name.to_owned(),
            instructions: count[0] as u64,
            executions: count[1] as u64,
            dynamic_constant_bits_percent: shares[0],
            dynamic_scalar_percent: shares[1],
            static_constant_bits_percent: shares[2],
            static_scalar_percent: shares[3],
        });
        plots.push(plot(program.name, shares));
    }
    let table = Table::of(&summary);
    let figure = Multiples::new(
        "values",
        "Bits that never change, and values that are equal across a warp",
        "Dynamic: by executions. Static: each instruction counts once (SASSI, table 2).",
        &[
            ("constant bits", palette::BLUE),
            ("scalar values", palette::ORANGE),
        ],
        plots,
        table.clone(),
    );
    let mut tables = vec![table];
    tables.extend(published::values(suite, &summary));
    tables.push(Table::of(&each));
    let figures = vec![figure];
    Ok(Study { tables, figures })
}

fn plot(name: &str, shares: [f64; 4]) -> Plot {
    let bar =
        |at: f64, percent: f64, colour| Mark::Area((at, 0.0), (at + 0.35, percent / 100.0), colour);
    Plot {
        title: name.to_owned(),
        x: Scale::bands(["dynamic".to_owned(), "static".to_owned()], ""),
        y: Scale::shares("share"),
        marks: vec![
            bar(0.12, shares[0], palette::BLUE),
            bar(0.52, shares[1], palette::ORANGE),
            bar(1.12, shares[2], palette::BLUE),
            bar(1.52, shares[3], palette::ORANGE),
        ],
        ..Plot::default()
    }
}

#[cfg(test)]
mod tests;
