//! Memory divergence: SASSI's figures 7 and 8.

use super::{Program, Study, percent};
use crate::error::Result;
use crate::figures::communication::bars;
use crate::figures::multiples::{Layout, Mark, Multiples, Plot, Scale};
use crate::figures::palette;
use superstep_table::{Table, table};
use superstep_trace::ProbeResults;

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

/// Threads, lines and access groups of each cell with any.
fn cells(matrix: &Matrix) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
    let used = (0..)
        .zip(matrix.as_flattened())
        .filter(|(_, count)| **count > 0);
    let lanes = LANES as u64;
    used.map(move |(at, &count): (u64, _)| (at / lanes + 1, at % lanes + 1, count))
}

/// Access groups, accesses of threads, and lines.
fn sums(matrix: &Matrix) -> [u64; 3] {
    cells(matrix).fold([0; 3], |sums, (threads, lines, count)| {
        [
            sums[0] + count,
            sums[1] + count * threads,
            sums[2] + count * lines,
        ]
    })
}

pub(super) fn study(programs: &[Program<'_>]) -> Result<Study> {
    let (mut summary, mut distribution, mut each_cell) = (Vec::new(), Vec::new(), Vec::new());
    let (mut bars, mut maps) = (Vec::new(), Vec::new());
    for program in programs {
        let matrix = probed(program.results)?;
        let [accesses, threads, lines] = sums(&matrix);
        let mut by_lines = [0u64; LANES];
        for (active_threads, lines, accesses) in cells(&matrix) {
            by_lines[lines as usize - 1] += accesses * active_threads;
            each_cell.push(CellRow {
                program: program.name.to_owned(),
                active_threads,
                lines,
                accesses,
            });
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
    let divergence_matrix = Table::of(&each_cell);
    let figures = vec![
        Multiples::new(
            "unique-lines",
            format!(
                "Thread accesses by the number of {LINE_BYTES}-byte lines that their warp touches"
            ),
            "Accesses on the left are coalesced; those on the right spread over a line per thread (SASSI, figure 7).",
            &[],
            bars,
            unique_lines.clone(),
        ),
        Multiples {
            layout: Layout::Maps,
            ..Multiples::new(
                "divergence-matrix",
                "Access groups by active threads and lines of 32 bytes",
                "The darker the cell, the more access groups, on a logarithmic scale (SASSI, figure 8).",
                &[],
                maps,
                divergence_matrix.clone(),
            )
        },
    ];
    Ok(Study {
        tables: vec![Table::of(&summary), unique_lines, divergence_matrix],
        figures,
    })
}

fn bar_plot(name: &str, by_lines: &[u64; LANES], threads: u64) -> Plot {
    let share = |&count: &u64| count as f64 / (threads as f64).max(1.0);
    let shares = by_lines.iter().map(share).collect();
    Plot {
        title: name.to_owned(),
        x: bands("lines of 32 bytes"),
        y: Scale::shares("accesses of threads"),
        marks: bars(&[(shares, palette::BLUE)]),
        ..Plot::default()
    }
}

fn map_plot(name: &str, matrix: &Matrix) -> Plot {
    let most = matrix.as_flattened().iter().copied().max().unwrap_or(0);
    let marks = cells(matrix).map(|(threads, lines, count)| {
        let (x, y) = (threads as f64, lines as f64);
        Mark::Area((x - 1.0, y - 1.0), (x, y), palette::shade(count, most))
    });
    Plot {
        title: name.to_owned(),
        x: bands("active threads"),
        y: bands("lines of 32 bytes"),
        marks: marks.collect(),
        ..Plot::default()
    }
}

/// 1 to 32, each in a band of its own.
fn bands(label: &str) -> Scale {
    let ticks = [1, 8, 16, 24, 32].map(|n| (f64::from(n) - 0.5, n.to_string()));
    Scale::new(0.0, LANES as f64, label, ticks.into())
}

#[cfg(test)]
mod tests;
