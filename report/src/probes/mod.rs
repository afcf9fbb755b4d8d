//! Studies of the built-in probes, as tables and figures like those of GPU Ocelot and SASSI (see `docs/probes.md`).

mod blocks;
mod branches;
mod clocks;
mod memory;
mod outcomes;
mod overheads;
mod page;
#[cfg(test)]
mod tests;
mod totals;
mod values;

pub use outcomes::{OutcomeShare, outcomes};
pub use overheads::{ProbedBenchmark, add_overheads};
pub use page::page;
pub use totals::place;

use crate::error::Result;
use crate::figures::multiples::Multiples;
use std::collections::BTreeMap;
use superstep_table::Table;
use superstep_trace::{PointSite, ProbeResults, ProbeSpec, display_name};

#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    pub name: &'a str,
    pub results: &'a ProbeResults,
}

impl<'a> Program<'a> {
    fn spec(&self) -> Option<&'a ProbeSpec> {
        let mut probes = self.results.modules.iter();
        let probe = probes.find_map(|it| it.defined.as_ref())?;
        Some(&probe.spec)
    }
}

/// Tables and figures of one probe over a set of programs.
#[derive(Debug, Default)]
pub struct Study {
    /// The first table has a row for each program.
    pub tables: Vec<Table>,
    /// One plot for each program.
    pub figures: Vec<Multiples>,
    /// Whether the probe reproduces a study of SASSI or GPU Ocelot.
    reproduces_paper: bool,
}

impl Study {
    /// Creates the study of a paper's probe, whose tables are followed by those of its figures.
    fn of_paper(mut tables: Vec<Table>, figures: Vec<Multiples>) -> Self {
        tables.extend(figures.iter().map(|figure| figure.table.clone()));
        Self {
            tables,
            figures,
            reproduces_paper: true,
        }
    }
}

/// Returns the study of a probe over programs. Built-in probes from the papers, recognised by name and
/// fields, have studies of their own; for other probes, the study lists the largest totals.
pub fn study(probe: &str, programs: &[Program<'_>]) -> Result<Study> {
    let spec = programs.first().and_then(Program::spec);
    let fields = spec.into_iter().flat_map(|spec| &spec.fields);
    let fields: Vec<&str> = fields.map(|field| field.name.as_str()).collect();
    match (probe, &fields[..]) {
        ("basic-blocks", ["executions"]) => blocks::study(programs),
        ("branches", ["executions", "active_threads", "taken_threads", "divergent"]) => {
            branches::study(programs)
        }
        ("memory-divergence", ["accesses", "threads", "lines"]) => memory::study(programs),
        ("values", ["executions", "ones", "ever_set", "differing"]) => values::study(programs),
        ("cta-clocks", ["start", "end", "sm"]) => clocks::study(programs),
        _ => totals::study(programs),
    }
}

struct ProgramSites<'a> {
    name: &'a str,
    sites: Vec<SiteTotals<'a>>,
}

struct SiteTotals<'a> {
    program: &'a str,
    /// Display name of the function.
    function: String,
    site: &'a PointSite,
    fields: Vec<u64>,
}

impl ProgramSites<'_> {
    fn sum(&self, field: usize) -> u64 {
        self.sites.iter().map(|site| site.fields[field]).sum()
    }

    fn above_zero(&self, field: usize) -> u64 {
        let sites = self.sites.iter();
        sites.filter(|site| site.fields[field] > 0).count() as u64
    }
}

/// Returns every site of each program. Fields of sites that no launch reached have their initial values.
fn sites<'a>(programs: &[Program<'a>]) -> Result<Vec<ProgramSites<'a>>> {
    programs.iter().map(sites_of).collect()
}

fn sites_of<'a>(program: &Program<'a>) -> Result<ProgramSites<'a>> {
    let mut rows = BTreeMap::new();
    for module in &program.results.modules {
        let Some(probe) = &module.defined else {
            continue;
        };
        for (slot, site) in (0u32..).zip(&probe.sites) {
            let fields = probe.spec.fields.iter().map(|field| field.start());
            let row = SiteTotals {
                program: program.name,
                function: display_name(&site.function),
                site,
                fields: fields.collect(),
            };
            rows.insert((module.module, slot), row);
        }
    }
    for launch in &program.results.launches {
        let fields = &program.results.probe(launch)?.spec.fields;
        for (position, value) in program.results.totals(launch)?.into_iter().enumerate() {
            let slot = launch.first_slot + (position / fields.len()) as u32;
            if let Some(row) = rows.get_mut(&(launch.module, slot)) {
                let index = position % fields.len();
                row.fields[index] = fields[index].join(row.fields[index], value);
            }
        }
    }
    Ok(ProgramSites {
        name: program.name,
        sites: rows.into_values().collect(),
    })
}

/// Returns a share in percent, rounded to two decimals.
fn percent(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => (1e4 * part as f64 / whole as f64).round() / 100.0,
    }
}
