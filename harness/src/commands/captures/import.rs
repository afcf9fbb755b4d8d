//! `superstep import`: creates a capture from files in another format.

use std::path::{Path, PathBuf};

use crate::capture::failure;
use crate::results::human_count;
use clap::ValueEnum;
use superstep_build::failure::Failure;
use superstep_build::{bail, exit_code};
use superstep_export::nvbit;
use superstep_trace::{StreamId, memtrace_v1};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The format of the thesis: one file per stream.
    MemtraceV1,
    /// The text that NVBit's mem_trace prints: one file for all streams.
    NvbitMemTrace,
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files to import. memtrace-v1 has one per stream: `MemTrace-pipe-<n>` is stream n; other files are numbered by
    /// position, from 0.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Format of the files.
    #[arg(long, value_enum)]
    format: Format,
    /// Folder for the capture.
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let complete = match args.format {
        Format::MemtraceV1 => memtrace(args)?,
        Format::NvbitMemTrace => nvbit(args)?,
    };
    println!("capture: {}", args.out.display());
    Ok(complete)
}

fn memtrace(args: &Args) -> Result<i32, Failure> {
    let mut streams: Vec<(StreamId, &Path)> = Vec::new();
    for (number, file) in args.files.iter().enumerate() {
        let name = file.file_name().and_then(|name| name.to_str());
        let stream = memtrace_v1::parse_file_name(name.unwrap_or_default())
            .unwrap_or(StreamId(u32::try_from(number).unwrap_or(u32::MAX)));
        if let Some((_, other)) = streams.iter().find(|(taken, _)| *taken == stream) {
            bail!(
                Usage,
                "failed to import {}: stream {stream} is already taken by {}; rename one of them",
                file.display(),
                other.display()
            );
        }
        streams.push((stream, file));
    }
    memtrace_v1::import(&streams, &args.out).map_err(failure)?;
    Ok(exit_code::OK)
}

fn nvbit(args: &Args) -> Result<i32, Failure> {
    let [file] = args.files.as_slice() else {
        bail!(
            Usage,
            "expected one file from NVBit's mem_trace, which contains all streams; found {}",
            args.files.len()
        );
    };
    let imported = nvbit::import(file, &args.out).map_err(failure)?;
    println!(
        "{} launches, {} thread accesses; {} lines about shared, local or constant memory ignored",
        human_count(imported.launches),
        human_count(imported.thread_accesses),
        human_count(imported.other_memory)
    );
    if imported.generic > 0 {
        eprintln!(
            "warning: {} lines have generic opcodes (LD, ST, ATOM), whose address space NVBit does not report; they were counted as global",
            imported.generic
        );
    }
    if imported.unknown.is_empty() {
        return Ok(exit_code::OK);
    }
    for (opcode, lines) in &imported.unknown {
        eprintln!("warning: {lines} lines with {opcode} were ignored: its accesses are unknown");
    }
    Ok(exit_code::CAPTURE_INCOMPLETE)
}
