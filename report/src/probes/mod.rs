//! Results of the built-in probes, as the tables and figures of GPU Ocelot's and SASSI's studies.
//!
//! | probe | tables | figures |
//! |---|---|---|
//! | `basic-blocks` | `hottest-blocks`, `basic-blocks` | `hot-regions` (Ocelot, figure 4) |
//! | `branches` | `branches` (SASSI, table 1), `branch-sites` | `branch-divergence` (SASSI, figure 5) |
//! | `memory-divergence` | `memory-divergence`, `unique-lines`, `divergence-matrix` | `unique-lines` (figure 7), `divergence-matrix` (figure 8) |
//! | `values` | `values` (SASSI, table 2), `value-sites` | `values` |
//! | `cta-clocks` | `sm-balance`, `sm-load` | `sm-load` (Ocelot, figure 6) |
//!
//! `overheads` is what any probe costs (SASSI, table 3; Ocelot, figure 5), `…-published` sets a table beside SASSI's.

mod blocks;
mod branches;
mod clocks;
mod memory;
mod outcomes;
mod overheads;
mod page;
mod published;
#[cfg(test)]
mod testing;
mod values;

pub use outcomes::{OutcomeShare, outcomes};
pub use overheads::{Cost, overheads};
pub use page::page;

use crate::error::Result;
use crate::figures::multiples::{Layout, Mark, Multiples, Plot, Scale};
use plotters::style::RGBColor;
use std::collections::BTreeMap;
use superstep_table::Table;
use superstep_trace::{PointSite, ProbeResults, display_name};

#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    pub name: &'a str,
    pub results: &'a ProbeResults,
}

/// The tables and figures of one probe over several programs.
#[derive(Debug, Default)]
pub struct Study {
    /// The first one has a row for each program.
    pub tables: Vec<Table>,
    /// One plot for each program.
    pub figures: Vec<Multiples>,
}

/// The study of the probe called `probe` over programs of `suite`; `None` when it is none of those above. Where a paper published
/// the same of programs of this suite, the second table sets both side by side.
pub fn study(probe: &str, suite: &str, programs: &[Program<'_>]) -> Result<Option<Study>> {
    Ok(Some(match probe {
        "basic-blocks" => blocks::study(programs)?,
        "branches" => branches::study(suite, programs)?,
        "memory-divergence" => memory::study(programs)?,
        "values" => values::study(suite, programs)?,
        "cta-clocks" => clocks::study(programs)?,
        _ => return Ok(None),
    }))
}

/// A site with its fields over all launches.
struct SiteTotals<'a> {
    /// Name of the function, of a kernel without parameters.
    function: String,
    site: &'a PointSite,
    fields: Vec<u64>,
}

/// Every site of a program, by module and slot; fields of sites that no launch reached are what they start with.
fn sites<'a>(program: &Program<'a>) -> Result<Vec<SiteTotals<'a>>> {
    let mut rows = BTreeMap::new();
    for module in &program.results.modules {
        let Some(probe) = &module.defined else {
            continue;
        };
        for (slot, site) in probe.sites.iter().enumerate() {
            let fields = probe.spec.fields.iter().map(|field| field.start());
            let row = SiteTotals {
                function: display_name(&site.function),
                site,
                fields: fields.collect(),
            };
            rows.insert((module.module, slot as u32), row);
        }
    }
    for launch in &program.results.launches {
        let fields = &program.results.probe(launch)?.spec.fields;
        for (at, value) in program.results.totals(launch)?.into_iter().enumerate() {
            let slot = launch.first_slot + (at / fields.len()) as u32;
            if let Some(row) = rows.get_mut(&(launch.module, slot)) {
                let index = at % fields.len();
                row.fields[index] = fields[index].join(row.fields[index], value);
            }
        }
    }
    Ok(rows.into_values().collect())
}

/// A part of a bar: its name, and its share of the bar.
type Part<'a> = (&'a str, f64);

/// Bars with their parts side by side, the first bar on top, and the legend of the parts.
fn stacked<'a>(
    bars: &[(String, Vec<Part<'a>>)],
    colours: &[RGBColor],
    label: &str,
) -> (Vec<(&'a str, RGBColor)>, Plot) {
    let mut legend: Vec<(&str, RGBColor)> = Vec::new();
    for &(part, _) in bars.iter().flat_map(|(_, parts)| parts) {
        if !legend.iter().any(|(known, _)| *known == part) {
            legend.push((part, colours[legend.len() % colours.len()]));
        }
    }
    let colours: BTreeMap<&str, RGBColor> = legend.iter().copied().collect();
    let mut marks = Vec::new();
    for (band, (_, parts)) in bars.iter().rev().enumerate() {
        let (low, high) = (band as f64 + 0.15, band as f64 + 0.85);
        let mut left = 0.0;
        for &(part, share) in parts {
            let right = left + share;
            marks.push(Mark::Area((left, low), (right, high), colours[part]));
            left = right;
        }
    }
    let plot = Plot {
        x: Scale::shares(label),
        y: Scale::bands(bars.iter().rev().map(|(name, _)| name.clone()), ""),
        marks,
        ..Plot::default()
    };
    (legend, plot)
}

/// Layout of plots with `bars` bars below each other: many need height.
fn layout_of(bars: usize) -> Layout {
    match bars {
        0..=12 => Layout::Grid,
        _ => Layout::Maps,
    }
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        // Two digits behind the point: the seeds have one at most.
        (1e4 * part / whole).round() / 100.0
    } else {
        0.0
    }
}
