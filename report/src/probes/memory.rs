//! Memory divergence: SASSI's figures 7 and 8.

use super::{Program, Study, percent};
use crate::error::Result;
use crate::figures::communication::bars;
use crate::figures::multiples::{Layout, Mark, Multiples, Plot, Scale};
use crate::figures::palette;
use crate::html::grouped;

superstep_table::table_from! {
    /// The memory accesses of each program.
    fn summary<'a>(divergence, &'a Divergence<'a>) = "memory-divergence" {
        program: String = "the program" => divergence.program.to_owned();
        accesses: u64 ["access groups"] = "accesses to global memory by warps" => divergence.sum(|it| it.accesses);
        threads: u64 ["accesses"] = "accesses by threads" => divergence.sum(Cell::thread_accesses);
        lines: u64 ["32-byte lines"] = "lines touched, each counted once per access group" => divergence.lines();
        mean_lines: f64 ["32-byte lines"] = "lines per access group" => divergence.mean_lines();
        fully_diverged_percent: f64 ["%"] = "thread accesses of warps that touch 32 lines" =>
            percent(divergence.threads_with(LANES), divergence.sum(Cell::thread_accesses));
    }
}

superstep_table::table_from! {
    /// Thread accesses by number of lines.
    fn by_lines<'a>((divergence, lines), (&'a Divergence<'a>, u64)) = "unique-lines" {
        program: String = "the program" => divergence.program.to_owned();
        lines: u64 ["32-byte lines"] = "lines that a warp's access touches" => lines;
        threads: u64 ["accesses"] = "accesses in groups that touch that many lines" => divergence.threads_with(lines);
        percent: f64 ["%"] = "share of all thread accesses" =>
            percent(divergence.threads_with(lines), divergence.sum(Cell::thread_accesses));
    }
}

superstep_table::table_from! {
    /// One cell of the matrix.
    fn by_cell<'a>((program, cell), (&'a str, &'a Cell)) = "divergence-matrix" {
        program: String = "the program" => program.to_owned();
        active_threads: u64 ["threads"] = "threads that access memory together" => cell.threads;
        lines: u64 ["32-byte lines"] = "lines that they touch" => cell.lines;
        accesses: u64 ["access groups"] = "number of such access groups; cells with 0 are omitted" => cell.accesses;
    }
}

const LANES: u64 = 32;

struct Divergence<'a> {
    program: &'a str,
    cells: Vec<Cell>,
}

/// Number of access groups with `threads` active threads that touch `lines` lines, over all launches.
struct Cell {
    threads: u64,
    lines: u64,
    accesses: u64,
}

impl Cell {
    fn thread_accesses(&self) -> u64 {
        self.accesses * self.threads
    }
}

impl<'a> Divergence<'a> {
    fn of(program: &Program<'a>) -> Result<Self> {
        // The index is `(threads - 1) * LANES + lines - 1`.
        let mut matrix = [0; (LANES * LANES) as usize];
        for launch in &program.results.launches {
            for (cell, value) in matrix.iter_mut().zip(program.results.words(launch.tables)?) {
                *cell += value;
            }
        }
        let used = (0..).zip(matrix).filter(|(_, accesses)| *accesses > 0);
        let cells = used.map(|(index, accesses)| Cell {
            threads: index / LANES + 1,
            lines: index % LANES + 1,
            accesses,
        });
        Ok(Self {
            program: program.name,
            cells: cells.collect(),
        })
    }

    fn sum(&self, value: fn(&Cell) -> u64) -> u64 {
        self.cells.iter().map(value).sum()
    }

    fn lines(&self) -> u64 {
        self.sum(|cell| cell.accesses * cell.lines)
    }

    fn mean_lines(&self) -> f64 {
        let accesses = self.sum(|cell| cell.accesses).max(1);
        (100.0 * self.lines() as f64 / accesses as f64).round() / 100.0
    }

    /// Returns the thread accesses in groups that touch `lines` lines.
    fn threads_with(&self, lines: u64) -> u64 {
        let cells = self.cells.iter().filter(|cell| cell.lines == lines);
        cells.map(Cell::thread_accesses).sum()
    }
}

pub(super) fn study(programs: &[Program<'_>]) -> Result<Study> {
    let all = (programs.iter().map(Divergence::of)).collect::<Result<Vec<_>>>()?;
    let lines = all.iter().flat_map(|it| (1..=LANES).map(move |n| (it, n)));
    let cells = (all.iter()).flat_map(|it| it.cells.iter().map(|cell| (it.program, cell)));
    let figures = vec![
        Multiples::new(
            "unique-lines",
            "Thread accesses by the number of 32-byte lines that their warp touches",
            "Accesses on the left are coalesced; those on the right touch one line per thread (SASSI, figure 7).",
            &[],
            all.iter().map(bar_plot).collect(),
            by_lines(lines),
        ),
        Multiples::new(
            "divergence-matrix",
            "Access groups by active threads and 32-byte lines",
            "Darker cells have more access groups, on a logarithmic scale (SASSI, figure 8).",
            &[],
            all.iter().map(map_plot).collect(),
            by_cell(cells),
        )
        .with_layout(Layout::Maps),
    ];
    Ok(Study::of_paper(vec![summary(&all)], figures))
}

fn bar_plot(divergence: &Divergence<'_>) -> Plot {
    let threads = divergence.sum(Cell::thread_accesses).max(1) as f64;
    let shares = (1..=LANES).map(|lines| divergence.threads_with(lines) as f64 / threads);
    Plot {
        title: divergence.program.to_owned(),
        x: bands("32-byte lines"),
        y: Scale::shares("share of thread accesses"),
        marks: bars(&[(shares.collect(), palette::BLUE)]),
        ..Plot::default()
    }
}

fn map_plot(divergence: &Divergence<'_>) -> Plot {
    let accesses = divergence.cells.iter().map(|cell| cell.accesses);
    let max = accesses.max().unwrap_or(0);
    let marks = divergence.cells.iter().map(|cell| {
        let (x, y) = (cell.threads as f64, cell.lines as f64);
        let accesses = grouped(cell.accesses);
        let text = format!("{x} threads, {y} lines: {accesses} access groups");
        let shade = palette::shade(cell.accesses, max);
        Mark::Cell((x - 1.0, y - 1.0), (x, y), shade, text)
    });
    Plot {
        title: divergence.program.to_owned(),
        x: bands("active threads"),
        y: bands("32-byte lines"),
        marks: marks.collect(),
        cells: (LANES, LANES),
        ..Plot::default()
    }
}

/// Returns a scale from 1 to 32 with a band for each number.
fn bands(label: &str) -> Scale {
    let ticks = [1, 8, 16, 24, 32].map(|n| (f64::from(n) - 0.5, n.to_string()));
    Scale::new(0.0, LANES as f64, label, ticks.into())
}
