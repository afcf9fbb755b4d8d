//! Probe results as tables in long format: each row has one number, so that every probe has the same columns.
//!
//! Tables refer to each other: `launch` is a row index in `probe_launches`, `site` a value of the `site` column in
//! `probe_sites`.

use std::path::{Path, PathBuf};

use superstep_table::{Format, Row, Rows, Table, file, table, table_from};
use superstep_trace::probe::{LaunchResult, Per};
use superstep_trace::{DefinedProbe, PointSite, ProbeResults, SiteTable};

use crate::error::Result;

table_from! {
    /// One site of a probe.
    fn sites<'a>((names, number, site), (&'a SiteTable, u32, &'a PointSite)) = "probe_sites" {
        site: u32 = "site number: module << 16 | position in the module" => number;
        point: u32 = "index of the point in the probe's definition, from 0" => site.point;
        at: String = "kind of site" =>
            serde_json::to_value(site.at).ok().and_then(|at| Some(at.as_str()?.to_owned())).unwrap_or_default();
        function: String = "function name; for a kernel, without parameters" =>
            names.display_name(&site.function).to_owned();
        function_symbol: String = "mangled name" => site.function.clone();
        file: String = "source file; empty when unknown" => site.file.clone();
        line: u32 = "source line; 0 when unknown" => site.line;
        column: u32 = "source column; 0 when unknown" => site.column;
        what: String = "operation of an instruction, or name of a block" => site.what.clone();
        block: u32 = "index of the basic block within its function" => site.block;
        operation: u32 = "code of an access's operation, as in captures; 0 for other sites" => site.operation;
        width: u32 = "bytes in an access (0: varies), bits in a value, or instructions in a block" => site.width;
        successors: String = "blocks that can follow, separated by spaces; for a branch, its two targets" =>
            site.successors.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        first_line: u32 = "lowest source line of a block; 0 when unknown" => site.lines.unwrap_or_default().0;
        last_line: u32 = "highest source line of a block; 0 when unknown" => site.lines.unwrap_or_default().1;
    }
}

table_from! {
    /// One launch run with the probe.
    fn launches<'a>((names, number, launch), (&'a SiteTable, u32, &'a LaunchResult)) = "probe_launches" {
        launch: u32 = "index in the order in which launches completed" => number;
        stream: u32 = "index of the stream" => launch.stream;
        superstep: u32 = "index within the stream, from 0" => launch.launch;
        kernel: String = "demangled name without parameters" => names.display_name(&launch.kernel).to_owned();
        kernel_symbol: String = "mangled name" => launch.kernel.clone();
        ctas: u64 ["CTAs"] = "CTAs" => launch.grid.map(u64::from).iter().product();
        cta_threads: u64 ["threads"] = "threads per CTA" => launch.block.map(u64::from).iter().product();
        units: u64 = "number of threads or CTAs that have their own fields; 1 if fields are kept per launch" =>
            launch.units;
        elapsed_ns: Option<u64> ["ns"] = "running time with the probe; empty when unknown" =>
            Some(launch.elapsed_ns).filter(|&ns| ns > 0);
    }
}

table! {
    /// Site and field that a value belongs to.
    struct Field {
        site: u32 = "the site";
        field: String = "name of the field";
    }
}

table! {
    /// One field of one site in one kernel.
    struct TotalRow = "probe_totals" {
        kernel: String = "demangled name without parameters";
        launches: u32 = "launches of the kernel";
        field: Field;
        value: u64 = "the field's value over all launches of the kernel, combined as the field specifies";
    }
}

table! {
    /// One field of one site in one launch.
    struct ValueRow = "probe_values" {
        launch: u32 = "the launch";
        field: Field;
        value: u64 = "the field's value over the launch, combined as the field specifies";
        smallest: Option<u64> = "smallest value of any thread (`per: thread`)";
        largest: Option<u64> = "largest value of any thread (`per: thread`)";
        touched: Option<u64> = "threads that changed the field (`per: thread`)";
    }
}

table! {
    /// One field of one site in one CTA or thread of a launch.
    struct UnitRow = "probe_units" {
        launch: u32 = "the launch";
        unit: u64 = "linear index of the CTA or thread in the grid, x first";
        field: Field;
        value: u64 = "value of the field";
    }
}

table! {
    /// One word of a probe's tables in one launch; words that are 0 are left out.
    struct WordRow = "probe_tables" {
        launch: u32 = "the launch";
        table: String = "name of the table";
        index: u64 = "index of the word; words that are 0 are left out";
        value: u64 = "value of the word";
    }
}

/// Writes all tables of `results` into `folder`.
pub fn write(results: &ProbeResults, format: Format, folder: &Path) -> Result<Vec<PathBuf>> {
    let names = &SiteTable::new(&results.modules);
    let of_modules = results.modules.iter().flat_map(|module| {
        let sites = module.defined.iter().flat_map(|probe| &probe.sites);
        let numbered = (0..).zip(sites);
        numbered.map(move |(slot, site)| (names, module.module << 16 | slot, site))
    });
    let of_launches = (0..).zip(&results.launches);
    let of_launches = of_launches.map(|(number, launch)| (names, number, launch));
    let written = |table: Table| table.write(format, &file(folder, table.name(), format));
    Ok(vec![
        written(sites(of_modules))?,
        written(launches(of_launches))?,
        streamed(format, folder, |table| totals(results, names, table))?,
        streamed(format, folder, |table| values(results, table))?,
        streamed(format, folder, |table| units(results, table))?,
        streamed(format, folder, |table| tables(results, table))?,
    ])
}

fn streamed<R: Row>(
    format: Format,
    folder: &Path,
    push: impl FnOnce(&mut Rows<R>) -> Result<()>,
) -> Result<PathBuf> {
    let mut table = Rows::create(format, folder)?;
    push(&mut table)?;
    Ok(table.finish()?)
}

/// Returns the field that word `at` of a unit belongs to.
fn field(launch: &LaunchResult, probe: &DefinedProbe, at: usize) -> Field {
    let fields = &probe.spec.fields;
    let slot = launch.first_slot + (at / fields.len()) as u32;
    Field {
        site: launch.module << 16 | slot,
        field: fields[at % fields.len()].name.clone(),
    }
}

fn totals(results: &ProbeResults, names: &SiteTable, table: &mut Rows<TotalRow>) -> Result<()> {
    // The first launch of each kernel, the number of launches, and their totals.
    let mut kernels: Vec<(&LaunchResult, u32, Vec<u64>)> = Vec::new();
    for launch in &results.launches {
        let fields = &results.probe(launch)?.spec.fields;
        let found = results.totals(launch)?;
        let mut known = kernels.iter_mut();
        match known.find(|(first, ..)| first.kernel == launch.kernel) {
            None => kernels.push((launch, 1, found)),
            Some((_, launches, totals)) => {
                *launches += 1;
                for (at, (total, value)) in totals.iter_mut().zip(found).enumerate() {
                    *total = fields[at % fields.len()].join(*total, value);
                }
            }
        }
    }
    for (first, launches, totals) in kernels {
        let probe = results.probe(first)?;
        for (at, value) in totals.into_iter().enumerate() {
            table.push(TotalRow {
                kernel: names.display_name(&first.kernel).to_owned(),
                launches,
                field: field(first, probe, at),
                value,
            })?;
        }
    }
    Ok(())
}

fn values(results: &ProbeResults, table: &mut Rows<ValueRow>) -> Result<()> {
    for (number, launch) in (0..).zip(&results.launches) {
        let probe = results.probe(launch)?;
        let statistics = match probe.spec.per {
            Per::Thread => results.statistics(launch)?,
            _ => Vec::new(),
        };
        for (at, value) in results.totals(launch)?.into_iter().enumerate() {
            let statistics = statistics.get(at);
            table.push(ValueRow {
                launch: number,
                field: field(launch, probe, at),
                value,
                smallest: statistics.map(|found| found.smallest),
                largest: statistics.map(|found| found.largest),
                touched: statistics.map(|found| found.touched),
            })?;
        }
    }
    Ok(())
}

fn units(results: &ProbeResults, table: &mut Rows<UnitRow>) -> Result<()> {
    for (number, launch) in (0..).zip(&results.launches) {
        let probe = results.probe(launch)?;
        let fields = probe.spec.fields.len();
        let row_words = launch.slots as usize * fields;
        let threads = launch.units as usize;
        let slots: Vec<u32> = launch.used_slots().collect();
        let cta_position = |at: usize| (at / row_words, at % row_words);
        let thread_position = |at: usize| {
            let row = at / threads;
            let slot = slots.get(row / fields).copied().unwrap_or_default();
            let slot = (slot - launch.first_slot) as usize;
            (at % threads, slot * fields + row % fields)
        };
        let (words, position): (_, &dyn Fn(usize) -> (usize, usize)) =
            match (probe.spec.per, launch.threads) {
                (Per::Cta, _) => (launch.fields, &cta_position),
                (Per::Thread, Some(words)) => (words, &thread_position),
                _ => continue,
            };
        for (at, value) in results.words(words)?.into_iter().enumerate() {
            let (unit, word) = position(at);
            table.push(UnitRow {
                launch: number,
                unit: unit as u64,
                field: field(launch, probe, word),
                value,
            })?;
        }
    }
    Ok(())
}

fn tables(results: &ProbeResults, table: &mut Rows<WordRow>) -> Result<()> {
    for (number, launch) in (0..).zip(&results.launches) {
        let words = results.words(launch.tables)?;
        let mut words = words.as_slice();
        for spec in &results.probe(launch)?.spec.tables {
            let (own, rest) = words.split_at(words.len().min(spec.words as usize));
            words = rest;
            for (index, &value) in (0..).zip(own).filter(|(_, value)| **value > 0) {
                table.push(WordRow {
                    launch: number,
                    table: spec.name.clone(),
                    index,
                    value,
                })?;
            }
        }
    }
    Ok(())
}
