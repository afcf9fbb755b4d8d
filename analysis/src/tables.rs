//! An analysis as tables. The tables behind the figures are in [`crate::metrics`].

use crate::analyse::Analysis;
use crate::columns;
use crate::communication::Volume;
use crate::counts::{Counts, LaunchCounts};
use crate::error::Result;
use crate::metrics::{Metrics, Settings};
use crate::parallel::mapped;
use crate::widths;
use std::path::{Path, PathBuf};
use superstep_table::{Format, Table, Writer, file, table};
use superstep_trace::{Process, SiteTable};
use xxhash_rust::xxh3::Xxh3;

table! {
    /// One launch; rows are in the order of the host's calls.
    struct LaunchCountsRow = "counts-by-launch" {
        stream: u32 = columns::STREAM;
        superstep: u32 = columns::SUPERSTEP;
        kernel: String = columns::KERNEL;
        kernel_symbol: String = columns::KERNEL_SYMBOL;
        grid_x: u32 ["CTAs"] = "grid size in x";
        grid_y: u32 ["CTAs"] = "grid size in y";
        grid_z: u32 ["CTAs"] = "grid size in z";
        block_x: u32 ["threads"] = "CTA size in x";
        block_y: u32 ["threads"] = "CTA size in y";
        block_z: u32 ["threads"] = "CTA size in z";
        ctas: u64 ["CTAs"] = "number of CTAs";
        counts: Counts;
    }
}

table! {
    /// One kernel; rows are in order of first launch.
    struct KernelVolumeRow = "communication-by-kernel" {
        kernel: String = columns::KERNEL;
        kernel_symbol: String = columns::KERNEL_SYMBOL;
        launches: u64 ["launches"] = columns::LAUNCHES;
        volume: Volume;
        communication_share: f64 = columns::COMMUNICATION_SHARE;
    }
}

table! {
    /// One launch; rows are in the order of the host's calls.
    struct LaunchVolumeRow = "communication-by-launch" {
        stream: u32 = columns::STREAM;
        superstep: u32 = columns::SUPERSTEP;
        kernel: String = columns::KERNEL;
        kernel_symbol: String = columns::KERNEL_SYMBOL;
        volume: Volume;
        communication_share: f64 = columns::COMMUNICATION_SHARE;
    }
}

table! {
    /// One pair of launches in which the second received bytes from the first.
    struct FlowRow = "flows" {
        source_stream: u32 = columns::SOURCE_STREAM;
        source_superstep: u32 = columns::SUPERSTEP_OF_STREAM;
        receiver_stream: u32 = columns::RECEIVER_STREAM;
        receiver_superstep: u32 = columns::SUPERSTEP_OF_STREAM;
        distance: u32 ["launches"] = columns::DISTANCE;
        bytes: u64 ["bytes"] = "each byte counted once per pair of CTAs";
        count: u64 ["reads"] = "each (address, width) counted once per pair of CTAs";
    }
}

/// Returns all tables of an analysis, including those of the metrics if it has transfers or strides.
pub fn tables(analysis: &Analysis, sites: &SiteTable, settings: &Settings) -> Result<Vec<Table>> {
    with_metrics(analysis, sites, settings).map(|(tables, _)| tables)
}

pub fn with_metrics(
    analysis: &Analysis,
    sites: &SiteTable,
    settings: &Settings,
) -> Result<(Vec<Table>, Option<Metrics>)> {
    let counts = &analysis.counts;
    let communication = &analysis.communication;
    let launches = &communication.launches;
    let name = |symbol: &str| sites.display_name(symbol).to_owned();
    let launch_counts = counts
        .launches
        .iter()
        .map(|LaunchCounts { launch, counts }| {
            let [grid_x, grid_y, grid_z] = launch.grid;
            let [block_x, block_y, block_z] = launch.block;
            LaunchCountsRow {
                stream: launch.stream.0,
                superstep: launch.launch.0,
                kernel: name(&launch.kernel),
                kernel_symbol: launch.kernel.clone(),
                grid_x,
                grid_y,
                grid_z,
                block_x,
                block_y,
                block_z,
                ctas: launch.ctas(),
                counts: *counts,
            }
        });
    let kernel_volumes = communication.kernels.iter().map(|kernel| KernelVolumeRow {
        kernel: name(&kernel.kernel),
        kernel_symbol: kernel.kernel.clone(),
        launches: kernel.launches,
        volume: kernel.volume,
        communication_share: kernel.volume.share(),
    });
    let launch_volumes = launches.iter().map(|launch| LaunchVolumeRow {
        stream: launch.stream.0,
        superstep: launch.superstep.0,
        kernel: name(&launch.kernel),
        kernel_symbol: launch.kernel.clone(),
        volume: launch.volume,
        communication_share: launch.volume.share(),
    });
    let flows = communication.flows.iter().filter_map(|flow| {
        let source = launches.get(flow.source_launch as usize)?;
        let receiver = launches.get(flow.receiver_launch as usize)?;
        Some(FlowRow {
            source_stream: source.stream.0,
            source_superstep: source.superstep.0,
            receiver_stream: receiver.stream.0,
            receiver_superstep: receiver.superstep.0,
            distance: flow.receiver_launch - flow.source_launch - 1,
            bytes: flow.bytes,
            count: flow.count,
        })
    });
    let mut tables = vec![
        Table::of(&counts.kernels),
        launch_counts.collect(),
        widths::table(&counts.kernels),
        kernel_volumes.collect(),
        launch_volumes.collect(),
        flows.collect(),
    ];
    let metrics = analysis.has_metrics();
    let metrics = metrics.then(|| Metrics::new(analysis, sites, settings));
    let metrics = metrics.transpose()?;
    tables.extend(metrics.iter().flat_map(Metrics::tables));
    Ok((tables, metrics))
}

/// Returns a hash of the tables' contents as 16 hexadecimal digits, independent of the order of the tables.
pub fn digest(tables: &[Table]) -> String {
    let mut tables: Vec<&Table> = tables.iter().collect();
    tables.sort_by_key(|table| table.name());
    let mut hash = Xxh3::new();
    let mut cell = |text: Option<&str>| {
        // An absent value differs from an empty string.
        let length = text.map_or(u64::MAX, |text| text.len() as u64);
        hash.update(&length.to_le_bytes());
        hash.update(text.unwrap_or_default().as_bytes());
    };
    for table in tables {
        cell(Some(table.name()));
        table.columns().for_each(|column| cell(Some(column.name)));
        for row in 0..table.rows() {
            let texts = table.texts(row);
            texts.iter().for_each(|text| cell(text.as_deref()));
        }
    }
    format!("{:016x}", hash.digest())
}

/// Concatenates each table across processes, with the process in the first columns, and writes the result.
pub fn write_joined(folder: &Path, parts: &[(Process, Vec<Table>)]) -> Result<()> {
    let Some((_, first)) = parts.first() else {
        return Ok(());
    };
    for name in first.iter().map(Table::name) {
        let tables = parts.iter().filter_map(|(process, tables)| {
            let table = tables.iter().find(|table| table.name() == name)?;
            let rank = vec![process.rank.map(u64::from); table.rows()];
            let pid = vec![process.pid; table.rows()];
            let earlier = vec![process.earlier; table.rows()];
            let table = table.after(
                "earlier",
                "number of earlier programs in the same process, which replaced themselves with exec",
                &earlier,
            );
            let table = table.after("pid", "process ID", &pid);
            Some(table.after(
                "rank",
                "rank assigned by mpirun or a similar launcher; empty if none",
                &rank,
            ))
        });
        let joined: Vec<Table> = tables.collect();
        for format in [Format::Csv, Format::Json] {
            let path = file(folder, name, format);
            let mut writer = Writer::create(format, &path, joined[0].batch().schema_ref())?;
            for table in &joined {
                writer.write(table.batch())?;
            }
            writer.finish()?;
        }
    }
    Ok(())
}

/// Writes tables as CSV and JSON into `folder`, creating it if needed. Returns the paths.
pub fn write(folder: &Path, tables: &[Table]) -> Result<Vec<PathBuf>> {
    let formats = [Format::Csv, Format::Json];
    let files = mapped(tables.len(), |table| {
        tables[table].write_into(folder, &formats)
    });
    let files = files.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(files.concat())
}
