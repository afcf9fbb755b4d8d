//! Analyses one capture: `cargo run --release -p superstep-analysis --example analyse -- CAPTURE [FOLDER]`.
//!
//! Prints the time and the peak memory of the whole process; writes the tables where a folder is given.

use std::path::PathBuf;
use std::time::Instant;
use superstep_analysis::communication::Options;
use superstep_analysis::metrics::Settings;
use superstep_analysis::{analyse, tables};
use superstep_trace::Capture;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let usage =
        "usage: analyse CAPTURE [FOLDER]: the folder of a capture, and where to write the tables";
    let capture = Capture::open(PathBuf::from(arguments.next().ok_or(usage)?))?;
    let started = Instant::now();
    let analysis = analyse(&capture, Options::everything())?;
    let accesses = analysis.counts.total.thread_accesses();
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{} launches, {accesses} accesses, {} transfers: {seconds:.2} s, {:.0} M accesses/s",
        analysis.communication.launches.len(),
        analysis.communication.transfers.len(),
        accesses as f64 / seconds / 1e6
    );
    if let Some(folder) = arguments.next() {
        let files = tables::write_tables(
            &PathBuf::from(folder),
            &analysis,
            capture.sites(),
            &Settings::default(),
        )?;
        println!("{} files", files.len());
    }
    println!("{:.2} s in all", started.elapsed().as_secs_f64());
    // Linux only; elsewhere the number is left out.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(peak) = status.lines().find(|line| line.starts_with("VmHWM")) {
        println!("{}", peak.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    Ok(())
}
