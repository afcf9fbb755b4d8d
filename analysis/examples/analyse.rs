//! Analyses one capture: `cargo run --release -p superstep-analysis --example analyse -- CAPTURE [FOLDER [MIB]]`.
//!
//! Prints the time, the peak memory of the whole process and what it wrote; writes the tables where a folder is given, and keeps to
//! MIB of memory with temporary files there.

use std::path::PathBuf;
use std::time::Instant;
use superstep_analysis::communication::{MemoryLimit, Options};
use superstep_analysis::metrics::Settings;
use superstep_analysis::{analyse_within, tables};
use superstep_trace::Capture;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let usage = "usage: analyse CAPTURE [FOLDER [MIB]]: the folder of a capture, where to write the tables, and the memory to keep to";
    let capture = Capture::open(PathBuf::from(arguments.next().ok_or(usage)?))?;
    let folder = arguments.next().map(PathBuf::from);
    let mut limit = MemoryLimit::none();
    if let (Some(folder), Some(mib)) = (&folder, arguments.next()) {
        limit.bytes = mib.to_str().ok_or(usage)?.parse::<u64>()? << 20;
        limit.spill_into.clone_from(folder);
    }
    let started = Instant::now();
    let analysis = analyse_within(&capture, Options::everything(), &limit)?;
    let accesses = analysis.counts.total.thread_accesses();
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{} launches, {accesses} accesses, {} transfers: {seconds:.2} s, {:.0} M accesses/s",
        analysis.communication.launches.len(),
        analysis.communication.transfers.len(),
        accesses as f64 / seconds / 1e6
    );
    if let Some(folder) = folder {
        let files =
            tables::write_tables(&folder, &analysis, capture.sites(), &Settings::default())?;
        println!("{} files", files.len());
    }
    println!("{:.2} s in all", started.elapsed().as_secs_f64());
    // Linux only; elsewhere the number is left out.
    for (file, begin) in [("status", "VmHWM"), ("io", "wchar")] {
        let text = std::fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
        if let Some(line) = text.lines().find(|line| line.starts_with(begin)) {
            println!("{}", line.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    Ok(())
}
