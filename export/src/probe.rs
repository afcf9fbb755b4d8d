//! What a probe found, as tables. All of them are long: a row holds one number, so that every probe has the same columns.
//!
//! Tables refer to each other: `launch` is the row number in `probe_launches`, `site` the column of that name in `probe_sites`.

use std::path::{Path, PathBuf};

use std::collections::BTreeMap;

use superstep_trace::probe::{LaunchResult, Per};
use superstep_trace::{DefinedProbe, ProbeResults, SiteTable};

use superstep_table::{Format, Rows, table, write_rows};

use crate::error::Result;

table! {
    /// One place of a probe.
    struct SiteRow = "probe_sites" {
        site: u32 = "number: module << 16 | position in the module";
        point: u32 = "which point of the probe's definition, from 0";
        at: String = "kind of place";
        function: String = "name of the function; of a kernel without parameters";
        function_symbol: String = "mangled name";
        file: String = "source file; empty when unknown";
        line: u32 = "source line; 0 when unknown";
        column: u32 = "source column; 0 when unknown";
        what: String = "the instruction's operation; a block's name";
        block: u32 = "number of the basic block in its function";
        operation: u32 = "what an access does, by the numbers of the capture; else 0";
        width: u32 = "bytes of an access (0: varies), bits of a value, instructions of a block";
        successors: String = "blocks that may follow, separated by blanks; of a branch its two targets";
        first_line: u32 = "lowest source line of a block; 0 when unknown";
        last_line: u32 = "highest source line of a block; 0 when unknown";
    }
}

table! {
    /// One launch with the probe.
    struct LaunchRow = "probe_launches" {
        launch: u32 = "number, in the order in which launches ended";
        stream: u32 = "number of the stream";
        superstep: u32 = "number within the stream, from 0";
        kernel: String = "demangled name without parameters";
        kernel_symbol: String = "mangled name";
        ctas: u64 ["CTAs"] = "CTAs";
        cta_threads: u64 ["threads"] = "threads of a CTA";
        units: u64 = "threads, CTAs or 1: what fields are kept per";
        elapsed_ns: Option<u64> ["ns"] = "time it ran with the probe; empty when unknown";
    }
}

table! {
    /// One field of one place in one kernel.
    struct TotalRow = "probe_totals" {
        kernel: String = "demangled name without parameters";
        launches: u32 = "launches of the kernel";
        site: u32 = "the place";
        field: String = "name of the field";
        value: u64 = "its value over all launches of the kernel, combined as the field says";
    }
}

table! {
    /// One field of one place in one launch.
    struct ValueRow = "probe_values" {
        launch: u32 = "the launch";
        site: u32 = "the place";
        field: String = "name of the field";
        value: u64 = "its value over the launch, combined as the field says";
        smallest: Option<u64> = "smallest value of a thread (`per: thread`)";
        largest: Option<u64> = "largest value of a thread (`per: thread`)";
        touched: Option<u64> = "threads that changed it (`per: thread`)";
    }
}

table! {
    /// One field of one place in one CTA or thread of a launch.
    struct UnitRow = "probe_units" {
        launch: u32 = "the launch";
        unit: u64 = "number of the CTA or thread in the grid, x first";
        site: u32 = "the place";
        field: String = "name of the field";
        value: u64 = "its value";
    }
}

table! {
    /// One word of a probe's tables in one launch; those that are 0 are left out.
    struct WordRow = "probe_tables" {
        launch: u32 = "the launch";
        table: String = "name of the table";
        index: u64 = "which word of it; those that are 0 are left out";
        value: u64 = "the word";
    }
}

/// Writes all tables of `results` into `folder`. `probe_units` has what is kept for each CTA, and for each thread where that was asked for.
///
/// # Errors
/// The results cannot be read, or a file not be written.
pub fn write(results: &ProbeResults, format: Format, folder: &Path) -> Result<Vec<PathBuf>> {
    let names = SiteTable::new(&results.modules);
    Ok(vec![
        sites(results, &names, format, folder)?,
        launches(results, &names, format, folder)?,
        totals(results, &names, format, folder)?,
        values(results, format, folder)?,
        units(results, format, folder)?,
        tables(results, format, folder)?,
    ])
}

fn sites(
    results: &ProbeResults,
    names: &SiteTable,
    format: Format,
    folder: &Path,
) -> Result<PathBuf> {
    let mut table = Rows::create(format, folder)?;
    for module in &results.modules {
        let places = module.defined.iter().flat_map(|probe| &probe.sites);
        for (slot, site) in places.enumerate() {
            let successors: Vec<String> = site.successors.iter().map(u32::to_string).collect();
            let (first_line, last_line) = site.lines.unwrap_or((0, 0));
            let at = serde_json::to_value(site.at).unwrap_or_default();
            table.push(SiteRow {
                site: module.module << 16 | slot as u32,
                point: site.point,
                at: at.as_str().unwrap_or_default().to_owned(),
                function: names.display_name(&site.function).to_owned(),
                function_symbol: site.function.clone(),
                file: site.file.clone(),
                line: site.line,
                column: site.column,
                what: site.what.clone(),
                block: site.block,
                operation: site.operation,
                width: site.width,
                successors: successors.join(" "),
                first_line,
                last_line,
            })?;
        }
    }
    Ok(table.finish()?)
}

fn launches(
    results: &ProbeResults,
    names: &SiteTable,
    format: Format,
    folder: &Path,
) -> Result<PathBuf> {
    let product = |extent: [u32; 3]| extent.iter().map(|&n| u64::from(n)).product::<u64>();
    let rows = (0..)
        .zip(&results.launches)
        .map(|(number, launch)| LaunchRow {
            launch: number,
            stream: launch.stream,
            superstep: launch.launch,
            kernel: names.display_name(&launch.kernel).to_owned(),
            kernel_symbol: launch.kernel.clone(),
            ctas: product(launch.grid),
            cta_threads: product(launch.block),
            units: launch.units,
            elapsed_ns: Some(launch.elapsed_ns).filter(|&ns| ns > 0),
        });
    Ok(write_rows(format, folder, rows)?)
}

/// The site and the field of the word at `at` in a unit of a launch.
fn place(launch: &LaunchResult, probe: &DefinedProbe, at: usize) -> (u32, String) {
    let fields = &probe.spec.fields;
    let slot = launch.first_slot + (at / fields.len()) as u32;
    (
        launch.module << 16 | slot,
        fields[at % fields.len()].name.clone(),
    )
}

fn totals(
    results: &ProbeResults,
    names: &SiteTable,
    format: Format,
    folder: &Path,
) -> Result<PathBuf> {
    let mut by_kernel: BTreeMap<&str, (u32, &LaunchResult, Vec<u64>)> = BTreeMap::new();
    let mut order = Vec::new();
    for launch in &results.launches {
        let fields = &results.probe(launch)?.spec.fields;
        let found = results.totals(launch)?;
        match by_kernel.get_mut(launch.kernel.as_str()) {
            None => {
                order.push(launch.kernel.as_str());
                by_kernel.insert(&launch.kernel, (1, launch, found));
            }
            Some((launches, _, totals)) => {
                *launches += 1;
                for (at, (total, value)) in totals.iter_mut().zip(found).enumerate() {
                    *total = fields[at % fields.len()].join(*total, value);
                }
            }
        }
    }
    let mut table = Rows::create(format, folder)?;
    for kernel in order {
        let (launches, launch, totals) = &by_kernel[kernel];
        let probe = results.probe(launch)?;
        for (at, value) in totals.iter().enumerate() {
            let (site, field) = place(launch, probe, at);
            table.push(TotalRow {
                kernel: names.display_name(kernel).to_owned(),
                launches: *launches,
                site,
                field,
                value: *value,
            })?;
        }
    }
    Ok(table.finish()?)
}

fn values(results: &ProbeResults, format: Format, folder: &Path) -> Result<PathBuf> {
    let mut table = Rows::create(format, folder)?;
    for (number, launch) in (0..).zip(&results.launches) {
        let probe = results.probe(launch)?;
        if probe.spec.per == Per::Thread {
            for (at, found) in results.statistics(launch)?.iter().enumerate() {
                let (site, field) = place(launch, probe, at);
                table.push(ValueRow {
                    launch: number,
                    site,
                    field,
                    value: found.combined,
                    smallest: Some(found.smallest),
                    largest: Some(found.largest),
                    touched: Some(found.touched),
                })?;
            }
            continue;
        }
        for (at, value) in results.totals(launch)?.into_iter().enumerate() {
            let (site, field) = place(launch, probe, at);
            table.push(ValueRow {
                launch: number,
                site,
                field,
                value,
                ..ValueRow::default()
            })?;
        }
    }
    Ok(table.finish()?)
}

fn units(results: &ProbeResults, format: Format, folder: &Path) -> Result<PathBuf> {
    let mut table = Rows::create(format, folder)?;
    for (number, launch) in (0..).zip(&results.launches) {
        let probe = results.probe(launch)?;
        let row_words = launch.slots as usize * probe.spec.fields.len();
        match (probe.spec.per, launch.threads) {
            (Per::Cta, _) => {
                for (at, value) in results.words(launch.fields)?.into_iter().enumerate() {
                    let (site, field) = place(launch, probe, at % row_words);
                    let unit = (at / row_words) as u64;
                    table.push(UnitRow {
                        launch: number,
                        unit,
                        site,
                        field,
                        value,
                    })?;
                }
            }
            (Per::Thread, Some(part)) => {
                let threads = launch.units as usize;
                let fields = probe.spec.fields.len();
                let kept: Vec<u32> = launch.kept_slots().collect();
                for (at, value) in results.words(part)?.into_iter().enumerate() {
                    let row = at / threads;
                    let slot = kept.get(row / fields).copied().unwrap_or_default();
                    let row = (slot - launch.first_slot) as usize * fields + row % fields;
                    let (site, field) = place(launch, probe, row);
                    let unit = (at % threads) as u64;
                    table.push(UnitRow {
                        launch: number,
                        unit,
                        site,
                        field,
                        value,
                    })?;
                }
            }
            _ => {}
        }
    }
    Ok(table.finish()?)
}

fn tables(results: &ProbeResults, format: Format, folder: &Path) -> Result<PathBuf> {
    let mut table = Rows::create(format, folder)?;
    for (number, launch) in (0..).zip(&results.launches) {
        let probe = results.probe(launch)?;
        let words = results.words(launch.tables)?;
        let mut first = 0;
        for spec in &probe.spec.tables {
            let own = words.iter().skip(first).take(spec.words as usize);
            for (index, &value) in own.enumerate().filter(|(_, value)| **value > 0) {
                table.push(WordRow {
                    launch: number,
                    table: spec.name.clone(),
                    index: index as u64,
                    value,
                })?;
            }
            first += spec.words as usize;
        }
    }
    Ok(table.finish()?)
}
