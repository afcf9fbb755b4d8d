//! What a probe found, as tables. All of them are long: a row holds one number, so that every probe has the same columns.
//!
//! Tables refer to each other: `launch` is the row number in `probe_launches`, `site` the column of that name in `probe_sites`.

use std::path::{Path, PathBuf};

use std::collections::BTreeMap;

use superstep_trace::probe::{LaunchResult, Per};
use superstep_trace::{DefinedProbe, ProbeResults, SiteTable};

use crate::batch::Kind::{OptionalU64, Text, U32, U64};
use crate::batch::{Schema, column, row};
use crate::error::Result;
use crate::sink::Rows;
use crate::tables::Format;

const SITES: Schema<'static> = Schema {
    table: "probe_sites",
    columns: &[
        column("site", U32, "number: module << 16 | position in the module"),
        column(
            "point",
            U32,
            "which point of the probe's definition, from 0",
        ),
        column("at", Text, "kind of place"),
        column(
            "function",
            Text,
            "name of the function; of a kernel without parameters",
        ),
        column("function_symbol", Text, "mangled name"),
        column("file", Text, "source file; empty when unknown"),
        column("line", U32, "source line; 0 when unknown"),
        column("column", U32, "source column; 0 when unknown"),
        column("what", Text, "the instruction's operation; a block's name"),
        column("block", U32, "number of the basic block in its function"),
        column(
            "operation",
            U32,
            "what an access does, by the numbers of the capture; else 0",
        ),
        column(
            "width",
            U32,
            "bytes of an access (0: varies), bits of a value, instructions of a block",
        ),
        column(
            "successors",
            Text,
            "blocks that may follow, parted by blanks; of a branch its two targets",
        ),
        column(
            "first_line",
            U32,
            "lowest source line of a block; 0 when unknown",
        ),
        column(
            "last_line",
            U32,
            "highest source line of a block; 0 when unknown",
        ),
    ],
};

const LAUNCHES: Schema<'static> = Schema {
    table: "probe_launches",
    columns: &[
        column(
            "launch",
            U32,
            "number, in the order in which launches ended",
        ),
        column("stream", U32, "number of the stream"),
        column("superstep", U32, "number within the stream, from 0"),
        column("kernel", Text, "demangled name without parameters"),
        column("kernel_symbol", Text, "mangled name"),
        column("ctas", U64, "CTAs"),
        column("cta_threads", U64, "threads of a CTA"),
        column("units", U64, "threads, CTAs or 1: what fields are kept per"),
        column(
            "elapsed_ns",
            OptionalU64,
            "time it ran with the probe; empty when unknown",
        ),
    ],
};

const TOTALS: Schema<'static> = Schema {
    table: "probe_totals",
    columns: &[
        column("kernel", Text, "demangled name without parameters"),
        column("launches", U32, "launches of the kernel"),
        column("site", U32, "the place"),
        column("field", Text, "name of the field"),
        column(
            "value",
            U64,
            "its value over all launches of the kernel, combined as the field says",
        ),
    ],
};

const VALUES: Schema<'static> = Schema {
    table: "probe_values",
    columns: &[
        column("launch", U32, "the launch"),
        column("site", U32, "the place"),
        column("field", Text, "name of the field"),
        column(
            "value",
            U64,
            "its value over the launch, combined as the field says",
        ),
        column(
            "smallest",
            OptionalU64,
            "smallest value of a thread (`per: thread`)",
        ),
        column(
            "largest",
            OptionalU64,
            "largest value of a thread (`per: thread`)",
        ),
        column(
            "touched",
            OptionalU64,
            "threads that changed it (`per: thread`)",
        ),
    ],
};

const UNITS: Schema<'static> = Schema {
    table: "probe_units",
    columns: &[
        column("launch", U32, "the launch"),
        column(
            "unit",
            U64,
            "number of the CTA or thread in the grid, x first",
        ),
        column("site", U32, "the place"),
        column("field", Text, "name of the field"),
        column("value", U64, "its value"),
    ],
};

const TABLES: Schema<'static> = Schema {
    table: "probe_tables",
    columns: &[
        column("launch", U32, "the launch"),
        column("table", Text, "name of the table"),
        column(
            "index",
            U64,
            "which word of it; those that are 0 are left out",
        ),
        column("value", U64, "the word"),
    ],
};

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
    let mut table = Rows::create(format, folder, &SITES)?;
    for module in &results.modules {
        let places = module.defined.iter().flat_map(|probe| &probe.sites);
        for (slot, site) in places.enumerate() {
            let successors: Vec<String> = site.successors.iter().map(u32::to_string).collect();
            let (first, last) = site.lines.unwrap_or((0, 0));
            let at = serde_json::to_value(site.at).unwrap_or_default();
            table.push(row![
                module.module << 16 | slot as u32,
                site.point,
                at.as_str().unwrap_or_default().to_owned(),
                names.display_name(&site.function).to_owned(),
                site.function.clone(),
                site.file.clone(),
                site.line,
                site.column,
                site.what.clone(),
                site.block,
                site.operation,
                site.width,
                successors.join(" "),
                first,
                last,
            ])?;
        }
    }
    table.finish()
}

fn launches(
    results: &ProbeResults,
    names: &SiteTable,
    format: Format,
    folder: &Path,
) -> Result<PathBuf> {
    let mut table = Rows::create(format, folder, &LAUNCHES)?;
    let product = |extent: [u32; 3]| extent.iter().map(|&n| u64::from(n)).product::<u64>();
    for (number, launch) in results.launches.iter().enumerate() {
        table.push(row![
            number as u32,
            launch.stream,
            launch.launch,
            names.display_name(&launch.kernel).to_owned(),
            launch.kernel.clone(),
            product(launch.grid),
            product(launch.block),
            launch.units,
            Some(launch.elapsed_ns).filter(|&ns| ns > 0),
        ])?;
    }
    table.finish()
}

/// The site and the field of the word at `at` in a unit of a launch.
fn place<'a>(launch: &LaunchResult, probe: &'a DefinedProbe, at: usize) -> (u32, &'a str) {
    let fields = &probe.spec.fields;
    let slot = launch.first_slot + (at / fields.len()) as u32;
    (
        launch.module << 16 | slot,
        fields[at % fields.len()].name.as_str(),
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
    let mut table = Rows::create(format, folder, &TOTALS)?;
    for kernel in order {
        let (launches, launch, totals) = &by_kernel[kernel];
        let probe = results.probe(launch)?;
        for (at, value) in totals.iter().enumerate() {
            let (site, field) = place(launch, probe, at);
            table.push(row![
                names.display_name(kernel).to_owned(),
                *launches,
                site,
                field.to_owned(),
                *value,
            ])?;
        }
    }
    table.finish()
}

fn values(results: &ProbeResults, format: Format, folder: &Path) -> Result<PathBuf> {
    let mut table = Rows::create(format, folder, &VALUES)?;
    for (number, launch) in results.launches.iter().enumerate() {
        let probe = results.probe(launch)?;
        if probe.spec.per == Per::Thread {
            for (at, found) in results.statistics(launch)?.iter().enumerate() {
                let (site, field) = place(launch, probe, at);
                table.push(row![
                    number as u32,
                    site,
                    field.to_owned(),
                    found.combined,
                    Some(found.smallest),
                    Some(found.largest),
                    Some(found.touched),
                ])?;
            }
            continue;
        }
        for (at, value) in results.totals(launch)?.into_iter().enumerate() {
            let (site, field) = place(launch, probe, at);
            table.push(row![
                number as u32,
                site,
                field.to_owned(),
                value,
                None,
                None,
                None
            ])?;
        }
    }
    table.finish()
}

fn units(results: &ProbeResults, format: Format, folder: &Path) -> Result<PathBuf> {
    let mut table = Rows::create(format, folder, &UNITS)?;
    for (number, launch) in results.launches.iter().enumerate() {
        let probe = results.probe(launch)?;
        let row_words = launch.slots as usize * probe.spec.fields.len();
        match (probe.spec.per, launch.threads) {
            (Per::Cta, _) => {
                for (at, value) in results.words(launch.fields)?.into_iter().enumerate() {
                    let (site, field) = place(launch, probe, at % row_words);
                    let unit = (at / row_words) as u64;
                    table.push(row![number as u32, unit, site, field.to_owned(), value])?;
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
                    table.push(row![number as u32, unit, site, field.to_owned(), value])?;
                }
            }
            _ => {}
        }
    }
    table.finish()
}

fn tables(results: &ProbeResults, format: Format, folder: &Path) -> Result<PathBuf> {
    let mut table = Rows::create(format, folder, &TABLES)?;
    for (number, launch) in results.launches.iter().enumerate() {
        let probe = results.probe(launch)?;
        let words = results.words(launch.tables)?;
        let mut first = 0;
        for spec in &probe.spec.tables {
            let own = words.iter().skip(first).take(spec.words as usize);
            for (index, &value) in own.enumerate().filter(|(_, value)| **value > 0) {
                table.push(row![number as u32, spec.name.clone(), index as u64, value])?;
            }
            first += spec.words as usize;
        }
    }
    table.finish()
}
