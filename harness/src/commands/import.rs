//! `superstep import`: files of another format become a capture.

use std::path::{Path, PathBuf};

use superstep_harness::exit_code;
use superstep_harness::failure::{Failure, FailureKind};
use superstep_trace::{StreamId, memtrace_v1};

use super::export::Format;
use super::view;

/// Arguments of `superstep import`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The files, one a stream; `MemTrace-pipe-<n>` is stream n, other names count from 0.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Their format.
    #[arg(long, value_enum)]
    format: Format,
    /// Folder of the capture to write.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<i32, Failure> {
    let Format::MemtraceV1 = args.format;
    let mut streams: Vec<(StreamId, &Path)> = Vec::new();
    for (number, file) in args.files.iter().enumerate() {
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let stream = memtrace_v1::stream_of_file_name(name)
            .unwrap_or(StreamId(u32::try_from(number).unwrap_or(u32::MAX)));
        if let Some((_, other)) = streams.iter().find(|(taken, _)| *taken == stream) {
            let message = format!(
                "failed to import {}: stream {stream} is that of {} already; rename one of them",
                file.display(),
                other.display()
            );
            return Err(Failure::new(FailureKind::Usage, message));
        }
        streams.push((stream, file));
    }
    memtrace_v1::import(&streams, &args.output).map_err(view::failure)?;
    println!("capture: {}", args.output.display());
    Ok(exit_code::OK)
}
