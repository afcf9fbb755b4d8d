//! `superstep export`: a capture's accesses in another format.

use std::path::PathBuf;

use clap::ValueEnum;
use superstep_harness::failure::Failure;
use superstep_harness::results::human_count;
use superstep_trace::memtrace_v1;

use super::view;

/// A format of other tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The thesis' own: one file a stream, one record a thread access.
    MemtraceV1,
}

/// Arguments of `superstep export`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The capture: its folder, or any file in it.
    path: PathBuf,
    /// Format to write.
    #[arg(long, value_enum)]
    format: Format,
    /// Folder for the files.
    #[arg(long, short, value_name = "DIR", default_value = "memtrace-v1")]
    output: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<i32, Failure> {
    let Format::MemtraceV1 = args.format;
    let capture = view::open(&args.path)?;
    std::fs::create_dir_all(&args.output).map_err(|error| {
        Failure::internal(format_args!("create {}", args.output.display()), error)
    })?;
    let mut streams: Vec<_> = capture
        .launches()
        .map(|launch| launch.stream)
        .chain(capture.streams())
        .collect();
    streams.sort_unstable();
    streams.dedup();
    for stream in streams {
        let path = args.output.join(memtrace_v1::file_name(stream));
        let records = memtrace_v1::export_file(&capture, stream, &path).map_err(view::failure)?;
        println!("{}: {} records", path.display(), human_count(records));
    }
    Ok(view::conclude(&capture))
}
