//! Memory divergence: SASSI's figures 7 and 8.

use super::{Program, Study, percent};
use crate::error::Result;
use crate::figures::communication::bars;
use crate::figures::multiples::{Layout, Mark, Multiples, Plot, Scale};
use crate::figures::palette;
use crate::html::grouped;
use superstep_trace::ProbeResults;

table_from! {
    /// The memory accesses of each program.
    fn summary<'a>((name, matrix), &'a Divergence<'a>) = "memory-divergence" {
        program: String = "the program" => (*name).to_owned();
        accesses: u64 ["access groups"] = "accesses to global memory by warps" => matrix.accesses();
        threads: u64 ["accesses"] = "accesses by threads" => matrix.threads();
        lines: u64 ["lines of 32 bytes"] = "lines touched, each once per access group" => matrix.lines();
        mean_lines: f64 ["lines of 32 bytes"] = "lines per access group" => mean_lines(matrix);
        fully_diverged_percent: f64 ["%"] = "thread accesses whose warp touches 32 lines" =>
            percent(matrix.threads_with(LANES as u64) as f64, matrix.threads() as f64);
    }
}

table_from! {
    /// Thread accesses by number of lines.
    fn by_lines<'a>(((name, matrix), lines), (&'a Divergence<'a>, u64)) = "unique-lines" {
        program: String = "the program" => (*name).to_owned();
        lines: u64 ["lines of 32 bytes"] = "lines that a warp's access touches" => lines;
        threads: u64 ["accesses"] = "thread accesses in such access groups" => matrix.threads_with(lines);
        percent: f64 ["%"] = "of all thread accesses" =>
            percent(matrix.threads_with(lines) as f64, matrix.threads() as f64);
    }
}

table_from! {
    /// One cell of the matrix.
    fn by_cell<'a>((name, cell), (&'a str, Cell)) = "divergence-matrix" {
        program: String = "the program" => name.to_owned();
        active_threads: u64 ["threads"] = "threads that access together" => cell.threads;
        lines: u64 ["lines of 32 bytes"] = "lines that they touch" => cell.lines;
        accesses: u64 ["access groups"] = "number of such access groups; cells with 0 are omitted" => cell.accesses;
    }
}

pub(super) const LANES: usize = 32;
const LINE_BYTES: u32 = 32;

/// A program and its access groups.
type Divergence<'a> = (&'a str, Matrix);

/// Numbers of access groups over all launches, at index `(threads - 1) * LANES + lines - 1`.
struct Matrix(Box<[u64; LANES * LANES]>);

/// Number of access groups with `threads` active threads that touch `lines` lines.
struct Cell {
    threads: u64,
    lines: u64,
    accesses: u64,
}

impl Matrix {
    fn probed(results: &ProbeResults) -> Result<Self> {
        let mut matrix = Self(Box::new([0; LANES * LANES]));
        for launch in &results.launches {
            for (cell, value) in matrix.0.iter_mut().zip(results.words(launch.tables)?) {
                *cell += value;
            }
        }
        Ok(matrix)
    }

    /// Returns the cells above 0.
    fn cells(&self) -> impl Iterator<Item = Cell> {
        let used = (0u64..).zip(self.0.iter()).filter(|(_, count)| **count > 0);
        used.map(|(at, &accesses)| Cell {
            threads: at / LANES as u64 + 1,
            lines: at % LANES as u64 + 1,
            accesses,
        })
    }

    fn accesses(&self) -> u64 {
        self.0.iter().sum()
    }

    fn threads(&self) -> u64 {
        self.cells().map(|cell| cell.accesses * cell.threads).sum()
    }

    fn lines(&self) -> u64 {
        self.cells().map(|cell| cell.accesses * cell.lines).sum()
    }

    /// Returns the thread accesses in groups that touch `lines` lines.
    fn threads_with(&self, lines: u64) -> u64 {
        let cells = self.cells().filter(|cell| cell.lines == lines);
        cells.map(|cell| cell.accesses * cell.threads).sum()
    }
}

fn mean_lines(matrix: &Matrix) -> f64 {
    (100.0 * matrix.lines() as f64 / (matrix.accesses() as f64).max(1.0)).round() / 100.0
}

pub(super) fn study(programs: &[Program<'_>]) -> Result<Study> {
    let all = programs
        .iter()
        .map(|program| Ok((program.name, Matrix::probed(program.results)?)));
    let all = all.collect::<Result<Vec<Divergence<'_>>>>()?;
    let lines = all
        .iter()
        .flat_map(|one| (1..=LANES as u64).map(move |lines| (one, lines)));
    let unique_lines = by_lines(lines);
    let cells = all
        .iter()
        .flat_map(|(name, matrix)| matrix.cells().map(move |cell| (*name, cell)));
    let divergence_matrix = by_cell(cells);
    let figures = vec![
        Multiples::new(
            "unique-lines",
            format!(
                "Thread accesses by the number of {LINE_BYTES}-byte lines that their warp touches"
            ),
            "Accesses on the left are coalesced; those on the right touch one line per thread (SASSI, figure 7).",
            &[],
            all.iter().map(bar_plot).collect(),
            unique_lines.clone(),
        ),
        Multiples::new(
            "divergence-matrix",
            "Access groups by active threads and lines of 32 bytes",
            "The darker the cell, the more access groups, on a logarithmic scale (SASSI, figure 8).",
            &[],
            all.iter().map(map_plot).collect(),
            divergence_matrix.clone(),
        )
        .with_layout(Layout::Maps),
    ];
    Ok(Study {
        tables: vec![summary(&all), unique_lines, divergence_matrix],
        figures,
        is_of_papers: true,
        ..Study::default()
    })
}

fn bar_plot((name, matrix): &Divergence<'_>) -> Plot {
    let threads = (matrix.threads() as f64).max(1.0);
    let shares = (1..=LANES as u64).map(|lines| matrix.threads_with(lines) as f64 / threads);
    Plot {
        title: (*name).to_owned(),
        x: bands("lines of 32 bytes"),
        y: Scale::shares("share of thread accesses"),
        marks: bars(&[(shares.collect(), palette::BLUE)]),
        ..Plot::default()
    }
}

fn map_plot((name, matrix): &Divergence<'_>) -> Plot {
    let most = matrix.0.iter().copied().max().unwrap_or(0);
    let marks = matrix.cells().map(|cell| {
        let (x, y) = (cell.threads as f64, cell.lines as f64);
        let text = format!(
            "{x} threads, {y} lines: {} access groups",
            grouped(cell.accesses)
        );
        let shade = palette::shade(cell.accesses, most);
        Mark::Cell((x - 1.0, y - 1.0), (x, y), shade, text)
    });
    Plot {
        title: (*name).to_owned(),
        x: bands("active threads"),
        y: bands("lines of 32 bytes"),
        marks: marks.collect(),
        cells: (LANES as u64, LANES as u64),
        ..Plot::default()
    }
}

/// Returns a scale from 1 to 32, each number in its own band.
fn bands(label: &str) -> Scale {
    let ticks = [1, 8, 16, 24, 32].map(|n| (f64::from(n) - 0.5, n.to_string()));
    Scale::new(0.0, LANES as f64, label, ticks.into())
}
