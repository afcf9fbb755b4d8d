//! The source lines of a program, with the bytes that they access and exchange with other lines.

use super::places::{file_name, size};
use crate::html::{Cell, fold};
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use superstep_analysis::metrics::Metrics;

/// Maximum number of lines chosen for a program: those that exchange the most bytes.
const MAX_LINES: usize = 24;
/// Number of lines shown before and after each chosen line.
const CONTEXT: usize = 3;
/// Maximum number of characters shown per line.
const MAX_CHARS: usize = 160;

/// Returns the path of the copy of a program's source file in the folder of a run. `file` is the name in the tables.
/// The path stays inside the run's folder even if `file` is absolute or contains `..`.
pub fn source_file(folder: &Path, benchmark: &str, file: &str) -> PathBuf {
    let parts = Path::new(file).components();
    let inside = parts.filter(|part| matches!(part, Component::Normal(_)));
    let sources = folder.join("benchmarks").join(benchmark).join("sources");
    sources.join(inside.collect::<PathBuf>())
}

#[derive(Clone, Copy, Default)]
struct Heat {
    /// Bytes loaded here after another CTA or kernel stored them in an earlier launch.
    received: u64,
    /// Bytes stored here and loaded by another CTA or kernel in a later launch; each load counts.
    sent: u64,
    /// Bytes loaded here that another CTA stored in the same launch.
    within: u64,
    /// All bytes loaded here; each access counts, and atomics count as loads and as stores.
    loaded: u64,
    stored: u64,
}

impl Heat {
    fn max(self) -> u64 {
        self.received.max(self.sent).max(self.within)
    }
}

/// Renders the lines that exchange the most bytes, if the run has copies of their files.
pub(super) fn section(folder: &Path, name: &str, metrics: &Metrics) -> Markup {
    let mut lines: BTreeMap<(&str, u32), Heat> = BTreeMap::new();
    for row in &metrics.lines {
        lines.entry((&row.file, row.line)).or_default().received += row.communicated_loaded_bytes;
    }
    for row in &metrics.line_flows {
        let writer = (row.writer_file.as_str(), row.writer_line);
        lines.entry(writer).or_default().sent += row.communicated_loaded_bytes;
    }
    for row in &metrics.within_launch {
        lines.entry((&row.file, row.line)).or_default().within +=
            row.loaded_bytes + row.atomic_bytes;
    }
    for row in &metrics.counts_by_line {
        if let Some(heat) = lines.get_mut(&(row.file.as_str(), row.line)) {
            if row.operation != "store" {
                heat.loaded += row.bytes;
            }
            if row.operation != "load" {
                heat.stored += row.bytes;
            }
        }
    }
    lines.retain(|_, heat| heat.max() > 0);
    let mut hottest: Vec<_> = lines.into_iter().collect();
    hottest.sort_by_key(|(_, heat)| std::cmp::Reverse(heat.max()));
    hottest.truncate(MAX_LINES);
    let max = hottest.first().map_or(1, |(_, heat)| heat.max());
    let mut files: BTreeMap<&str, BTreeMap<usize, Heat>> = BTreeMap::new();
    for ((file, line), heat) in hottest {
        files.entry(file).or_default().insert(line as usize, heat);
    }
    let listings = html! {
        @for (file, heat) in &files {
            @if let Ok(text) = fs::read(source_file(folder, name, file)) {
                (listing(name, file, &String::from_utf8_lossy(&text), heat, max))
            }
        }
    };
    if listings.0.is_empty() {
        return listings;
    }
    fold(
        &format!("Source of {name}, with the bytes that its lines access and exchange"),
        false,
        listings,
    )
}

fn listing(name: &str, file: &str, text: &str, heat: &BTreeMap<usize, Heat>, max: u64) -> Markup {
    let is_shown = |number: usize| {
        let near = number.saturating_sub(CONTEXT)..=number + CONTEXT;
        heat.range(near).next().is_some()
    };
    let shown = (1..).zip(text.lines()).filter(|line| is_shown(line.0));
    let shown: Vec<(usize, &str)> = shown.collect();
    let are_adjacent = |a: &(usize, &str), b: &(usize, &str)| a.0 + 1 == b.0;
    html! {
        div.scroll role="region" tabindex="0" aria-label={ "Source " (file) " of " (name) } {
            table.source {
                caption { (file_name(file)) ": bytes that a line loads and stores. Received: loaded after another CTA or kernel stored them. Sent: stored and later loaded by another CTA or kernel. Within: loaded in the same launch in which another CTA stores them" }
                thead { tr {
                    th scope="col" { "Line" }
                    @for name in ["Loaded", "Stored", "Received", "Sent", "Within"] { th.number scope="col" { (name) } }
                    th scope="col" { "Source" }
                } }
                @for part in shown.chunk_by(are_adjacent) {
                    tbody {
                        @for (number, line) in part {
                            (row(*number, line, heat.get(number).copied().unwrap_or_default(), max))
                        }
                    }
                }
            }
        }
    }
}

fn row(number: usize, line: &str, heat: Heat, max: u64) -> Markup {
    // Keep the background of lines with few bytes visible.
    let part = (heat.max() > 0)
        .then(|| format!("--part:{:.2}", 0.1 + 0.4 * heat.max() as f64 / max as f64));
    let line: String = line.chars().take(MAX_CHARS).collect();
    html! {
        tr style=[part] {
            th scope="row" { (number) }
            @for value in [heat.loaded, heat.stored, heat.received, heat.sent, heat.within] { td.number { @if value > 0 { (size(value)) } } }
            td { (Cell::Code(line)) }
        }
    }
}
