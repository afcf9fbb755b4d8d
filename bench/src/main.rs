//! The `superstep-bench` command: measures Superstep itself, for those who change it.

mod analysis;
mod capture;
mod codec;
mod compile;
mod cpu;
mod slowdown;
mod stress;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use superstep_build::interrupt;

/// Measures Superstep: the capture's speed on a GPU, what it costs the kernels, how small it gets.
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
    /// Measures the capture of accesses on a GPU.
    Capture(capture::Args),
    /// Measures the CPU backend beside published times of others, and beside plain loops.
    Cpu(cpu::Args),
    /// Runs programs that are hard on the capture, and programs that end badly, on a GPU.
    Stress(stress::Args),
    /// Measures the analysis of synthetic accesses.
    Analysis(analysis::Args),
    /// Measures what each step of compiling programs takes, without and with a probe.
    Compile(Box<compile::Args>),
    /// Tables what tracing cost the kernels of finished runs, with registers and occupancy.
    Slowdown(slowdown::Args),
    /// Measures codecs on real captures.
    Codec(codec::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Err(error) = interrupt::install() {
        eprintln!("warning: failed to catch Ctrl-C: {error}");
    }
    superstep_harness::exit(match cli.command {
        Command::Capture(args) => capture::run(&args),
        Command::Cpu(args) => cpu::run(&args),
        Command::Stress(args) => stress::run(&args),
        Command::Analysis(args) => analysis::run(&args),
        Command::Compile(args) => compile::run(&args),
        Command::Slowdown(args) => slowdown::run(&args),
        Command::Codec(args) => codec::run(&args),
    })
}
