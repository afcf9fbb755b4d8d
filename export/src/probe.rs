//! What a probe found, as tables. All of them are long: a row holds one number, so that every probe has the same columns.
//!
//! Tables refer to each other: `launch` is the row number in `probe_launches`, `site` the column of that name in `probe_sites`.

use std::path::{Path, PathBuf};

use std::collections::BTreeMap;

use superstep_trace::probe::{LaunchResult, Per};
use superstep_trace::{DefinedProbe, ProbeResults, SiteTable};

use crate::batch::{row, schema};
use crate::error::Result;
use crate::sink::Rows;
use crate::tables::Format;

schema! { SITES "probe_sites":
    site            U32  "number: module << 16 | position in the module",
    point           U32  "which point of the probe's definition, from 0",
    at              Text "kind of place",
    function        Text "name of the function; of a kernel without parameters",
    function_symbol Text "mangled name",
    file            Text "source file; empty when unknown",
    line            U32  "source line; 0 when unknown",
    column          U32  "source column; 0 when unknown",
    what            Text "the instruction's operation; a block's name",
    block           U32  "number of the basic block in its function",
    operation       U32  "what an access does, by the numbers of the capture; else 0",
    width           U32  "bytes of an access (0: varies), bits of a value, instructions of a block",
    successors      Text "blocks that may follow, separated by blanks; of a branch its two targets",
    first_line      U32  "lowest source line of a block; 0 when unknown",
    last_line       U32  "highest source line of a block; 0 when unknown",
}

schema! { LAUNCHES "probe_launches":
    launch        U32         "number, in the order in which launches ended",
    stream        U32         "number of the stream",
    superstep     U32         "number within the stream, from 0",
    kernel        Text        "demangled name without parameters",
    kernel_symbol Text        "mangled name",
    ctas          U64         "CTAs",
    cta_threads   U64         "threads of a CTA",
    units         U64         "threads, CTAs or 1: what fields are kept per",
    elapsed_ns    OptionalU64 "time it ran with the probe; empty when unknown",
}

schema! { TOTALS "probe_totals":
    kernel   Text "demangled name without parameters",
    launches U32  "launches of the kernel",
    site     U32  "the place",
    field    Text "name of the field",
    value    U64  "its value over all launches of the kernel, combined as the field says",
}

schema! { VALUES "probe_values":
    launch   U32         "the launch",
    site     U32         "the place",
    field    Text        "name of the field",
    value    U64         "its value over the launch, combined as the field says",
    smallest OptionalU64 "smallest value of a thread (`per: thread`)",
    largest  OptionalU64 "largest value of a thread (`per: thread`)",
    touched  OptionalU64 "threads that changed it (`per: thread`)",
}

schema! { UNITS "probe_units":
    launch U32  "the launch",
    unit   U64  "number of the CTA or thread in the grid, x first",
    site   U32  "the place",
    field  Text "name of the field",
    value  U64  "its value",
}

schema! { TABLES "probe_tables":
    launch U32  "the launch",
    table  Text "name of the table",
    index  U64  "which word of it; those that are 0 are left out",
    value  U64  "the word",
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
