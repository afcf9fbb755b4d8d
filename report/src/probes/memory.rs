//! Memory divergence: SASSI's figures 7 and 8.

use super::{Program, Study, percent};
use crate::error::Result;
use crate::figures::multiples::{Mark, Multiples, Plot, Scale};
use crate::figures::palette;
use superstep_table::{Table, table};
use superstep_trace::{Capture, ProbeResults};

table! {
    /// The memory accesses of each program.
    pub(super) struct DivergenceRow = "memory-divergence" {
        program: String = "the program";
        accesses: u64 ["access groups"] = "accesses to global memory by warps";
        threads: u64 ["accesses"] = "accesses by threads";
        lines: u64 ["lines of 32 bytes"] = "lines touched, each once for an access group";
        mean_lines: f64 ["lines of 32 bytes"] = "lines of an access group";
        fully_diverged_percent: f64 ["%"] = "accesses of threads whose warp touches 32 lines";
    }
}

table! {
    /// One number of lines.
    pub(super) struct LinesRow = "unique-lines" {
        program: String = "the program";
        lines: u64 ["lines of 32 bytes"] = "lines that a warp's access touches";
        threads: u64 ["accesses"] = "accesses of threads in such access groups";
        percent: f64 ["%"] = "of all accesses of threads";
    }
}

table! {
    /// One cell of the matrix.
    pub(super) struct CellRow = "divergence-matrix" {
        program: String = "the program";
        active_threads: u64 ["threads"] = "threads that access together";
        lines: u64 ["lines of 32 bytes"] = "lines that they touch";
        accesses: u64 ["access groups"] = "how often; cells that are 0 are left out";
    }
}

table! {
    /// What the probe and the trace of each program say.
    pub(super) struct TracedRow = "memory-divergence-traced" {
        program: String = "the program";
        accesses: u64 ["access groups"] = "accesses by warps, as the probe counts";
        threads: u64 ["accesses"] = "accesses by threads, as the probe counts";
        lines: u64 ["lines of 32 bytes"] = "lines touched, as the probe counts";
        traced_accesses: u64 ["access groups"] = "accesses by warps in the trace";
        traced_threads: u64 ["accesses"] = "accesses by threads in the trace";
        traced_lines: u64 ["lines of 32 bytes"] = "lines touched in the trace";
        differing_cells: u64 = "cells of the matrix of active threads by lines that differ";
    }
}

const LANES: usize = 32;
const LINE_BYTES: u32 = 32;

/// `matrix[threads - 1][lines - 1]`: access groups over all launches.
type Matrix = [[u64; LANES]; LANES];

fn probed(results: &ProbeResults) -> Result<Matrix> {
    let mut matrix = Matrix::default();
    for launch in &results.launches {
        for (index, value) in results.words(launch.tables)?.into_iter().enumerate() {
            if let Some(cell) = matrix.as_flattened_mut().get_mut(index) {
                *cell += value;
            }
        }
    }
    Ok(matrix)
}

/// The same, from the accesses of a trace. Of an access that spans lines its first byte counts, as for the probe.
fn traced(capture: &Capture) -> Result<Matrix> {
    let mut matrix = Matrix::default();
    let mut lines = Vec::with_capacity(LANES);
    capture.groups(|_, group| {
        lines.clear();
        let addresses = group.active_addresses().iter();
        lines.extend(addresses.map(|address| address / u64::from(LINE_BYTES)));
        lines.sort_unstable();
        lines.dedup();
        if let (Some(active), Some(unique)) =
            (group.lanes().checked_sub(1), lines.len().checked_sub(1))
        {
            matrix[active][unique] += 1;
        }
    })?;
    Ok(matrix)
}

/// Access groups, accesses of threads, and lines.
fn sums(matrix: &Matrix) -> [u64; 3] {
    let mut sums = [0; 3];
    for (active, row) in matrix.iter().enumerate() {
        for (unique, &count) in row.iter().enumerate() {
            sums[0] += count;
            sums[1] += count * (active as u64 + 1);
            sums[2] += count * (unique as u64 + 1);
        }
    }
    sums
}

/// What the probe `memory-divergence` found in programs beside what their traces say: sums, and the cells of the matrix of 32 by 32
/// that differ.
///
/// # Errors
/// Results or a capture cannot be read.
pub fn against_traces(programs: &[(Program<'_>, Capture)]) -> Result<Table> {
    let mut rows = Vec::new();
    for (program, capture) in programs {
        let (probed, traced) = (probed(program.results)?, traced(capture)?);
        let cells = probed.as_flattened().iter().zip(traced.as_flattened());
        let differing = cells.filter(|(a, b)| a != b).count();
        let [accesses, threads, lines] = sums(&probed);
        let [traced_accesses, traced_threads, traced_lines] = sums(&traced);
        rows.push(TracedRow {
            program: program.name.to_owned(),
            accesses,
            threads,
            lines,
            traced_accesses,
            traced_threads,
            traced_lines,
            differing_cells: differing as u64,
        });
    }
    Ok(Table::of(&rows))
}

pub(super) fn study(programs: &[Program<'_>]) -> Result<Study> {
    let (mut summary, mut distribution, mut cells) = (Vec::new(), Vec::new(), Vec::new());
    let (mut bars, mut maps) = (Vec::new(), Vec::new());
    for program in programs {
        let matrix = probed(program.results)?;
        let [accesses, threads, lines] = sums(&matrix);
        let mut by_lines = [0u64; LANES];
        for (active, row) in matrix.iter().enumerate() {
            for (unique, &count) in row.iter().enumerate() {
                by_lines[unique] += count * (active as u64 + 1);
                if count > 0 {
                    cells.push(CellRow {
                        program: program.name.to_owned(),
                        active_threads: active as u64 + 1,
                        lines: unique as u64 + 1,
                        accesses: count,
                    });
                }
            }
        }
        let diverged = by_lines[LANES - 1] as f64;
        summary.push(DivergenceRow {
            program: program.name.to_owned(),
            accesses,
            threads,
            lines,
            mean_lines: (100.0 * lines as f64 / (accesses as f64).max(1.0)).round() / 100.0,
            fully_diverged_percent: percent(diverged, threads as f64),
        });
        for (unique, &count) in by_lines.iter().enumerate() {
            distribution.push(LinesRow {
                program: program.name.to_owned(),
                lines: unique as u64 + 1,
                threads: count,
                percent: percent(count as f64, threads as f64),
            });
        }
        bars.push(bar_plot(program.name, &by_lines, threads));
        maps.push(map_plot(program.name, &matrix));
    }
    let unique_lines = Table::of(&distribution);
    let divergence_matrix = Table::of(&cells);
    let figures = vec![
        Multiples {
            name: "unique-lines",
            title: format!(
                "Thread accesses by the number of {LINE_BYTES}-byte lines that their warp touches"
            ),
            description: "Accesses on the left are coalesced; those on the right spread over a line per thread (SASSI, figure 7).",
            legend: Vec::new(),
            is_map: false,
            plots: bars,
            table: unique_lines.clone(),
        },
        Multiples {
            name: "divergence-matrix",
            title: "Access groups by active threads and lines of 32 bytes".into(),
            description: "The darker the cell, the more access groups, on a logarithmic scale (SASSI, figure 8).",
            legend: Vec::new(),
            is_map: true,
            plots: maps,
            table: divergence_matrix.clone(),
        },
    ];
    Ok(Study {
        tables: vec![Table::of(&summary), unique_lines, divergence_matrix],
        figures,
    })
}

fn bar_plot(name: &str, by_lines: &[u64; LANES], threads: u64) -> Plot {
    let marks = by_lines.iter().enumerate().map(|(band, &count)| {
        let share = count as f64 / (threads as f64).max(1.0);
        let (left, right) = (band as f64 + 0.1, band as f64 + 0.9);
        Mark::Area((left, 0.0), (right, share), palette::BLUE)
    });
    Plot {
        title: name.to_owned(),
        note: String::new(),
        x: bands("lines of 32 bytes"),
        y: Scale::shares("accesses of threads"),
        marks: marks.collect(),
    }
}

fn map_plot(name: &str, matrix: &Matrix) -> Plot {
    let most = matrix.as_flattened().iter().copied().max().unwrap_or(0);
    let mut marks = Vec::new();
    for (active, row) in matrix.iter().enumerate() {
        for (unique, &count) in row.iter().enumerate().filter(|(_, count)| **count > 0) {
            let depth = (count as f64 + 1.0).ln() / (most as f64 + 1.0).ln();
            let (x, y) = (active as f64, unique as f64);
            marks.push(Mark::Area(
                (x, y),
                (x + 1.0, y + 1.0),
                palette::shade(depth),
            ));
        }
    }
    Plot {
        title: name.to_owned(),
        note: String::new(),
        x: bands("active threads"),
        y: bands("lines of 32 bytes"),
        marks,
    }
}

/// 1 to 32, each in a band of its own.
fn bands(label: &str) -> Scale {
    Scale {
        low: 0.0,
        high: LANES as f64,
        logarithmic: false,
        ticks: [1, 8, 16, 24, 32]
            .into_iter()
            .map(|n| (f64::from(n) - 0.5, n.to_string()))
            .collect(),
        label: label.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Toy, rows, site};
    use super::*;
    use serde_json::json;

    #[test]
    fn access_groups_count_by_their_threads_and_lines() {
        let fields = [("accesses", "sum"), ("threads", "sum"), ("lines", "sum")];
        let cell = |threads: usize, lines: usize| (threads - 1) * LANES + lines - 1;
        let mut first = [0; LANES * LANES];
        first[cell(1, 1)] = 2;
        first[cell(32, 32)] = 3;
        let mut second = [0; LANES * LANES];
        second[cell(4, 2)] = 5;
        let study = Toy::new("launch", &fields, &[site("load", 0, 4, json!({}))])
            .launch_with_tables(&[0; 3], &first)
            .launch_with_tables(&[0; 3], &second)
            .study(study)
            .unwrap();
        // 2 + 3 + 5 groups of 2 + 96 + 20 threads on 2 + 96 + 10 lines; 96 of 118 threads are in fully diverged groups.
        assert_eq!(
            rows(&study.tables[0]),
            json!([["toy", 10, 118, 108, 10.8, 81.36]])
        );
        let by_lines = rows(&study.tables[1]);
        assert_eq!(by_lines[0], json!(["toy", 1, 2, 1.69]));
        assert_eq!(by_lines[1], json!(["toy", 2, 20, 16.95]));
        assert_eq!(by_lines[31], json!(["toy", 32, 96, 81.36]));
        assert_eq!(
            rows(&study.tables[2]),
            json!([["toy", 1, 1, 2], ["toy", 4, 2, 5], ["toy", 32, 32, 3]])
        );
    }
}
