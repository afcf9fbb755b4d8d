//! Tables as files: CSV for people's own tools, JSON with the same rows and a note on each column.
//!
//! | file | one row for each |
//! |---|---|
//! | `counts-by-kernel` | kernel, in the order of first launch |
//! | `counts-by-launch` | launch, in the order of the host's calls |
//! | `communication-by-kernel` | kernel |
//! | `communication-by-launch` | launch |
//! | `flows` | pair of launches of which the second received bytes from the first |
//! | `transfer-size`, `degree`, `bisection`, `stride`, `density`, `superstep-volume`, `superstep-distance`, `connectivity`, `pattern`, `scaling`, `lines`, `arrays`, `footprint`, `timeline`, `uninitialised` | see [`crate::metrics`] |
//!
//! A JSON file is `{schema_version, table, columns: [{name, unit, note}], rows: [{…}]}`.

use crate::analyse::Analysis;
use crate::columns;
use crate::communication::Volume;
use crate::counts::Counts;
use crate::error::{AnalysisError, Result};
use crate::metrics::{Metrics, Settings};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use superstep_trace::SiteTable;

/// Version of the tables' columns.
pub const TABLE_SCHEMA_VERSION: u32 = 1;

/// A column's name, unit and meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// As in the CSV header.
    pub name: &'static str,
    /// `bytes`, `accesses` and the like; empty for names and numbers of things.
    pub unit: &'static str,
    /// What it holds.
    pub note: &'static str,
}

pub const fn column(name: &'static str, unit: &'static str, note: &'static str) -> Column {
    Column { name, unit, note }
}

const KERNEL: [Column; 2] = [columns::KERNEL, column("kernel_symbol", "", "mangled name")];
const STREAM: [Column; 2] = [columns::STREAM, columns::SUPERSTEP];
const COUNTS: [Column; 9] = [
    column("thread_loads", "accesses", "loads, one for each thread"),
    column("thread_stores", "accesses", "stores, one for each thread"),
    column(
        "thread_atomics",
        "accesses",
        "atomics, one for each thread; neither loads nor stores",
    ),
    column(
        "loaded_bytes",
        "bytes",
        "bytes of the loads, each access with its whole width",
    ),
    column("stored_bytes", "bytes", "bytes of the stores"),
    column("atomic_bytes", "bytes", "bytes of the atomics, once"),
    column("warp_loads", "access groups", "loads, one for each warp"),
    column("warp_stores", "access groups", "stores, one for each warp"),
    column(
        "warp_atomics",
        "access groups",
        "atomics, one for each warp",
    ),
];
const VOLUME: [Column; 13] = [
    column(
        "loaded_bytes",
        "bytes",
        "loaded, atomics included; the next five columns add up to it",
    ),
    columns::COMMUNICATED_LOADED_BYTES,
    columns::SELF_LOADED_BYTES,
    columns::INPUT_LOADED_BYTES,
    columns::UNINITIALISED_LOADED_BYTES,
    columns::LOCAL_LOADED_BYTES,
    columns::RECEIVED_BYTES,
    column(
        "received_count",
        "reads",
        "each (address, width) once for each receiving CTA, launch and source CTA",
    ),
    columns::STORED_BYTES,
    column(
        "communicated_stored_bytes",
        "bytes",
        "read by another entity later, each byte once for each launch and CTA that wrote it",
    ),
    column(
        "several_writers_bytes",
        "bytes",
        "written by several CTAs in one launch",
    ),
    column(
        "racing_bytes",
        "bytes",
        "of those, where one of the writes is a plain store",
    ),
    column(
        "communication_share",
        "",
        "communicated_stored_bytes / stored_bytes",
    ),
];
const GRID: [Column; 7] = [
    column("grid_x", "CTAs", "grid in x"),
    column("grid_y", "CTAs", "grid in y"),
    column("grid_z", "CTAs", "grid in z"),
    column("block_x", "threads", "CTA in x"),
    column("block_y", "threads", "CTA in y"),
    column("block_z", "threads", "CTA in z"),
    column("ctas", "CTAs", "number of CTAs"),
];
const LAUNCHES: [Column; 1] = [column("launches", "launches", "number of launches")];
const CTAS: [Column; 1] = [column("ctas", "CTAs", "CTAs, summed over the launches")];
const FLOW: [Column; 7] = [
    columns::SOURCE_STREAM,
    columns::SOURCE_SUPERSTEP,
    columns::RECEIVER_STREAM,
    columns::RECEIVER_SUPERSTEP,
    columns::DISTANCE,
    column("bytes", "bytes", "each byte once for each pair of CTAs"),
    column(
        "count",
        "reads",
        "each (address, width) once for each pair of CTAs",
    ),
];

macro_rules! row {
    ($($value:expr),* $(,)?) => { vec![$(serde_json::Value::from($value)),*] };
}

/// One table: columns, and one row of JSON values for each entry, in the columns' order.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// File name without extension.
    pub name: &'static str,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, as long as `columns`.
    pub rows: Vec<Vec<serde_json::Value>>,
}

/// All tables of an analysis, in the order of the list above.
#[must_use]
pub fn tables(analysis: &Analysis, sites: &SiteTable) -> Vec<Table> {
    let counts = &analysis.counts;
    let communication = &analysis.communication;
    let launches = &communication.launches;
    let name = |symbol: &str| row![sites.display_name(symbol), symbol];
    vec![
        Table {
            name: "counts-by-kernel",
            columns: [&KERNEL[..], &LAUNCHES, &CTAS, &COUNTS].concat(),
            rows: (counts.kernels.iter())
                .map(|k| {
                    [
                        name(&k.kernel),
                        row![k.launches, k.ctas],
                        count_row(&k.counts),
                    ]
                    .concat()
                })
                .collect(),
        },
        Table {
            name: "counts-by-launch",
            columns: [&STREAM[..], &KERNEL, &GRID, &COUNTS].concat(),
            rows: (counts.launches.iter())
                .map(|l| {
                    let ([gx, gy, gz], [bx, by, bz]) = (l.grid, l.block);
                    [
                        row![l.stream.0, l.superstep.0],
                        name(&l.kernel),
                        row![gx, gy, gz, bx, by, bz, l.ctas],
                        count_row(&l.counts),
                    ]
                    .concat()
                })
                .collect(),
        },
        Table {
            name: "communication-by-kernel",
            columns: [&KERNEL[..], &LAUNCHES, &VOLUME].concat(),
            rows: (communication.kernels.iter())
                .map(|k| [name(&k.kernel), row![k.launches], volume_row(&k.volume)].concat())
                .collect(),
        },
        Table {
            name: "communication-by-launch",
            columns: [&STREAM[..], &KERNEL, &VOLUME].concat(),
            rows: (launches.iter())
                .map(|l| {
                    [
                        row![l.stream.0, l.superstep.0],
                        name(&l.kernel),
                        volume_row(&l.volume),
                    ]
                    .concat()
                })
                .collect(),
        },
        Table {
            name: "flows",
            columns: FLOW.to_vec(),
            rows: (communication.flows.iter())
                .filter_map(|f| {
                    let source = launches.get(f.source_launch as usize)?;
                    let receiver = launches.get(f.receiver_launch as usize)?;
                    Some(row![
                        source.stream.0,
                        source.superstep.0,
                        receiver.stream.0,
                        receiver.superstep.0,
                        f.receiver_launch - f.source_launch - 1,
                        f.bytes,
                        f.count
                    ])
                })
                .collect(),
        },
    ]
}

fn count_row(c: &Counts) -> Vec<serde_json::Value> {
    row![
        c.thread_loads,
        c.thread_stores,
        c.thread_atomics,
        c.loaded_bytes,
        c.stored_bytes,
        c.atomic_bytes,
        c.warp_loads,
        c.warp_stores,
        c.warp_atomics
    ]
}

fn volume_row(v: &Volume) -> Vec<serde_json::Value> {
    row![
        v.loaded_bytes,
        v.communicated_loaded_bytes,
        v.self_loaded_bytes,
        v.input_loaded_bytes,
        v.uninitialised_loaded_bytes,
        v.local_loaded_bytes,
        v.received_bytes,
        v.received_count,
        v.stored_bytes,
        v.communicated_stored_bytes,
        v.several_writers_bytes,
        v.racing_bytes,
        v.share()
    ]
}

impl Table {
    /// The table as CSV: a header line, then the rows.
    ///
    /// # Errors
    /// [`AnalysisError::Csv`] or [`AnalysisError::Io`] when `path` cannot be written.
    pub fn write_csv(&self, path: &Path) -> Result<()> {
        let failed = |source| AnalysisError::Csv {
            path: path.to_owned(),
            source,
        };
        let mut writer = csv::Writer::from_path(path).map_err(failed)?;
        let header = self.columns.iter().map(|column| column.name);
        writer.write_record(header).map_err(failed)?;
        for row in &self.rows {
            let fields = row.iter().map(|value| match value {
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            writer.write_record(fields).map_err(failed)?;
        }
        writer.flush().map_err(AnalysisError::io("write", path))
    }

    /// The table as JSON, with its notes.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let rows: Vec<serde_json::Value> = (self.rows.iter())
            .map(|row| {
                let names = self.columns.iter().map(|column| column.name.to_owned());
                serde_json::Value::Object(names.zip(row.iter().cloned()).collect())
            })
            .collect();
        serde_json::json!({
            "schema_version": TABLE_SCHEMA_VERSION,
            "table": self.name,
            "columns": self.columns,
            "rows": rows,
        })
    }
}

/// Writes every table of an analysis as CSV and JSON into `folder`, which is created; those of the metrics where the
/// analysis kept transfers and strides. Returns the files.
///
/// # Errors
/// [`AnalysisError::Io`], [`AnalysisError::Csv`], [`AnalysisError::Json`].
pub fn write_tables(
    folder: &Path,
    analysis: &Analysis,
    sites: &SiteTable,
    settings: &Settings,
) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).map_err(AnalysisError::io("create", folder))?;
    let mut all = tables(analysis, sites);
    if !analysis.communication.strides.is_empty() {
        all.extend(Metrics::new(analysis, sites, settings)?.tables());
    }
    write(folder, &all)
}

/// Writes tables as CSV and JSON into `folder`, which exists. Returns the files.
///
/// # Errors
/// [`AnalysisError::Io`], [`AnalysisError::Csv`], [`AnalysisError::Json`].
pub fn write(folder: &Path, tables: &[Table]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for table in tables {
        let csv = folder.join(format!("{}.csv", table.name));
        table.write_csv(&csv)?;
        let json = folder.join(format!("{}.json", table.name));
        write_json(&json, &table.to_json())?;
        files.extend([csv, json]);
    }
    Ok(files)
}

/// Writes `value` as indented JSON with a line feed at the end.
///
/// # Errors
/// [`AnalysisError::Io`] or [`AnalysisError::Json`] when `path` cannot be written.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let failed = |source| AnalysisError::Json {
        path: path.to_owned(),
        source,
    };
    let mut text = serde_json::to_vec_pretty(value).map_err(failed)?;
    text.push(b'\n');
    let mut file = fs::File::create(path).map_err(AnalysisError::io("create", path))?;
    file.write_all(&text)
        .map_err(AnalysisError::io("write", path))
}

/// Reads a JSON file.
///
/// # Errors
/// [`AnalysisError::Io`] when `path` cannot be read, [`AnalysisError::Json`] when it holds something else.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read(path).map_err(AnalysisError::io("read", path))?;
    serde_json::from_slice(&text).map_err(|source| AnalysisError::Json {
        path: path.to_owned(),
        source,
    })
}
