//! `superstep export`: writes a capture in other tools' formats, which `docs/exports.md` describes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::arguments::value::one_of;
use crate::capture::failure;
use crate::results::{Reporter, human_count};
use clap::ValueEnum;
use clap::builder::TypedValueParser;
use superstep_analysis::needs_accesses;
use superstep_build::bail;
use superstep_build::failure::Failure;
use superstep_export::appendix_b::{self, NestedFormat};
use superstep_export::tables::{self, TableName};
use superstep_export::timeline;
use superstep_trace::{Capture, memtrace_v1};

use crate::{capture, terminal};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The format of the thesis: one file per stream, one record per thread access.
    MemtraceV1,
    /// Tables as Apache Parquet.
    Parquet,
    /// Tables as comma-separated values.
    Csv,
    /// Tables as JSON.
    Json,
    /// The three structures of the thesis's appendix B as JSON.
    AppendixBJson,
    /// The structures of appendix B as a Python pickle.
    AppendixBPickle,
    /// The timeline of launches and copies, for Perfetto or chrome://tracing.
    ChromeTrace,
}

impl Format {
    /// Returns the command-line name, which is also the default folder name.
    fn name(self) -> String {
        let name = self.to_possible_value();
        name.map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }
}

fn table() -> impl TypedValueParser<Value = TableName> {
    one_of(&[
        ("accesses", "One row per thread access", TableName::Accesses),
        ("launches", "One row per launch", TableName::Launches),
        ("sites", "One row per memory instruction", TableName::Sites),
        (
            "allocations",
            "One row per allocation or device variable",
            TableName::Allocations,
        ),
        (
            "transfers",
            "One row per pair of CTAs from two launches that communicate",
            TableName::Transfers,
        ),
    ])
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Capture: its folder, any file in it, or the folder of a run.
    path: PathBuf,
    /// Format to write.
    #[arg(long, value_enum)]
    format: Format,
    /// Table to write as Parquet, CSV or JSON; can be given multiple times [default: all].
    #[arg(long = "table", value_name = "TABLE", value_parser = table())]
    tables: Vec<TableName>,
    /// Folder for the files [default: the name of the format].
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let table_format = match args.format {
        Format::Parquet => Some(tables::Format::Parquet),
        Format::Csv => Some(tables::Format::Csv),
        Format::Json => Some(tables::Format::Json),
        _ => None,
    };
    if table_format.is_none() && !args.tables.is_empty() {
        bail!(
            Usage,
            "--table works with the formats parquet, csv and json; {} has no tables",
            args.format.name()
        );
    }
    let capture = Arc::new(capture::open(&args.path)?);
    let folder = (args.out.clone()).unwrap_or_else(|| PathBuf::from(args.format.name()));
    let step = Reporter::single_step("export", &capture);
    let nested = |format| appendix_b::write(&capture, format, &folder).map_err(failure);
    let files = match (args.format, table_format) {
        (_, Some(format)) => tables_in(&capture, format, &args.tables, &folder)?,
        (Format::MemtraceV1, _) => memtrace(&capture, &folder)?,
        (Format::AppendixBPickle, _) => nested(NestedFormat::Pickle)?,
        (Format::ChromeTrace, _) => {
            let path = folder.join("timeline.json");
            vec![timeline::write(&capture, &path).map_err(failure)?]
        }
        (_, None) => nested(NestedFormat::Json)?,
    };
    drop(step);
    let lines = files.iter().map(|file| file.display().to_string());
    terminal::print_lines(&lines.collect::<Vec<_>>())?;
    Ok(capture::conclude(&capture))
}

fn tables_in(
    capture: &Arc<Capture>,
    format: tables::Format,
    selected: &[TableName],
    folder: &Path,
) -> Result<Vec<PathBuf>, Failure> {
    let has_no_accesses = selected.is_empty() && capture.is_in_situ();
    if has_no_accesses {
        eprintln!("note: accesses were added up in situ, so there is no table of accesses");
    }
    (TableName::ALL.iter())
        .filter(|table| selected.is_empty() || selected.contains(table))
        .filter(|table| !has_no_accesses || **table != TableName::Accesses)
        .map(|&table| tables::write(capture, table, format, folder).map_err(failure))
        .collect()
}

fn memtrace(capture: &Capture, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    needs_accesses(capture, "records of memtrace-v1").map_err(failure)?;
    std::fs::create_dir_all(folder).map_err(Failure::io("create", &folder))?;
    let mut lines = Vec::new();
    for stream in capture.streams() {
        let path = folder.join(memtrace_v1::file_name(stream));
        let records = memtrace_v1::export_file(capture, stream, &path).map_err(failure)?;
        lines.push(format!(
            "{}: {} records",
            path.display(),
            human_count(records)
        ));
    }
    terminal::print_lines(&lines)?;
    Ok(Vec::new())
}
