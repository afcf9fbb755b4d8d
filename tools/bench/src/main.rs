//! The `superstep-bench` command: measures Superstep itself, for its developers.

#[macro_use]
mod output;

mod analysis;
mod built;
mod capture;
mod cpu;
mod in_situ;
mod links;
mod run;
mod soak;
mod stress;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use superstep_build::interrupt;

/// Measures Superstep: capture, analysis, the CPU backend, and behaviour under stress.
#[derive(Debug, Parser)]
#[command(
    name = "superstep-bench",
    version,
    propagate_version = true,
    max_term_width = 110
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measures how fast accesses are captured on a GPU.
    Capture(capture::Args),
    /// Measures the analysis on synthetic accesses.
    Analysis(analysis::Args),
    /// Compares the CPU backend with published times and with plain loops.
    Cpu(cpu::Args),
    /// Runs programs that put the capture under stress, and programs that fail.
    Stress(stress::Args),
    /// Runs random cases for hours, kills some of them, and compares their captures with verified traces.
    Soak(soak::Args),
    /// Measures in-situ analysis of a program of any size, and checks its volumes against formulas.
    InSitu(in_situ::Args),
    /// Measures traffic between two GPUs and compares it with the multi-GPU model.
    Links(links::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Err(error) = interrupt::install() {
        eprintln!("warning: failed to catch Ctrl-C: {error}");
    }
    superstep_harness::exit(match cli.command {
        Command::Capture(args) => capture::run(&args),
        Command::Analysis(args) => analysis::run(&args),
        Command::Cpu(args) => cpu::run(&args),
        Command::Stress(args) => stress::run(&args),
        Command::Soak(args) => soak::run(&args),
        Command::InSitu(args) => in_situ::run(&args),
        Command::Links(args) => links::run(&args),
    })
}
