//! The command line: one file per command. Options shared by multiple commands are in `arguments`.

mod captures;
mod installation;
mod programs;
mod projects;
mod results;

use std::process::ExitCode;

use clap::builder::Resettable;
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use superstep_build::failure::Failure;
use superstep_build::{exit_code, interrupt};

use self::captures::{analyse, dump, export, import, info, verify};
use self::installation::{cache, completions, doctor, setup};
use self::programs::{bundle, explain, inject, probe, run, run_bundle, suite};
use self::projects::{build, env, libraries, modules, nvcc, toolkit};
use self::results::{compare, report, trends};
use crate::arguments::source::without_nvcc_flags;
use crate::results::{VERBOSITY, Verbosity};

/// Traces the global-memory accesses of CUDA programs, on a GPU or on a CPU.
#[derive(Debug, Parser)]
#[command(name = "superstep", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// When to use colours; auto means on a terminal, unless NO_COLOR is set.
    #[arg(
        long,
        value_enum,
        default_value_t,
        global = true,
        hide_short_help = true
    )]
    color: ColorChoice,
    #[command(flatten)]
    verbosity: Verbosity,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Fetches, builds, runs and verifies a suite of benchmarks, and writes a report.
    Suite(suite::Args),
    /// Builds, traces, verifies and analyses one program.
    ///
    /// The program is a CUDA file, an executable built by `superstep build`, or a benchmark's manifest.
    Run(Box<run::Args>),
    /// Builds a project with its own build system: `superstep build -- make -j4`.
    Build(build::Args),
    /// Prints the variables that `build` sets: `eval "$(superstep env)"`.
    Env,
    /// Adds proprietary libraries, such as cuBLAS, to the toolkit that `build` uses.
    Toolkit(toolkit::Args),
    /// Builds the untraced code of an executable's modules; called by the executable itself.
    #[command(hide = true)]
    Modules(modules::Args),
    /// Prints the folders of an executable's proprietary libraries; called by its start script.
    #[command(hide = true)]
    Libraries(libraries::Args),
    /// Runs programs with a probe: branches, memory divergence, or your own.
    Probe(Box<probe::Args>),
    /// Flips one bit per run in a program's values, and classifies the outcome.
    Inject(Box<inject::Args>),
    /// Shows what a capture contains, and whether it is complete.
    Info(info::Args),
    /// Lists the accesses of a capture.
    Dump(dump::Args),
    /// Explains which memory each operation of a program accesses, and why.
    Explain(explain::Args),
    /// Writes the tables of captures: on this machine, or on a Spark cluster.
    #[command(visible_alias = "analyze")]
    Analyse(analyse::Args),
    /// Writes a capture in another format.
    Export(export::Args),
    /// Creates a capture from files in another format.
    Import(import::Args),
    /// Redraws a run's figures and page from its tables.
    Report(report::Args),
    /// Compares counts, digests, volumes and times of two runs.
    Compare(compare::Args),
    /// Plots changes over many runs: slowdown, capture bytes, analysis speed.
    Trends(trends::Args),
    /// Builds a suite into a folder for machines without a compiler.
    Bundle(Box<bundle::Args>),
    /// Runs the programs in a bundle.
    RunBundle(run_bundle::Args),
    /// Checks a capture, or compares it with hardware counters.
    Verify(Box<verify::Args>),
    /// Installs the tools that compile programs.
    ///
    /// Installs Clang and LLVM as packages if the user may do so, and CUDA's components in the user's cache.
    Setup,
    /// Lists tools, libraries and devices, and how to install missing ones.
    Doctor(doctor::Args),
    /// Shows what the user's cache contains, and prunes it.
    Cache(cache::Args),
    /// Prints a completion script for a shell.
    Completions(completions::Args),
}

/// Commands whose `-h` shows only the options in [`COMMON_OPTIONS`].
const MANY_OPTIONS: [&str; 6] = ["suite", "run", "probe", "inject", "bundle", "run-bundle"];

const COMMON_OPTIONS: &str = "backend bless define exclude fail_on_warning flag in_situ include injections input jobs json kernel list \
    only out repeat resume seed set size timeout";

/// Titles and commands in the help's list.
const GROUPS: [(&str, &str); 4] = [
    (
        "Run programs",
        "run suite probe inject explain bundle run-bundle",
    ),
    ("Build projects", "build env toolkit"),
    (
        "Read captures and results",
        "info dump verify analyse export import report compare trends",
    ),
    ("Manage the installation", "setup doctor cache completions"),
];

fn command() -> clap::Command {
    let mut command = Cli::command();
    for name in MANY_OPTIONS {
        command = command.mut_subcommand(name, |command| {
            command.mut_args(|arg| {
                if arg.is_positional() {
                    arg.help_heading(Resettable::Reset)
                } else if COMMON_OPTIONS.split(' ').any(|id| arg.get_id() == id) {
                    arg
                } else {
                    arg.hide_short_help(true)
                }
            })
        });
    }
    let mut list = String::new();
    for (title, names) in GROUPS {
        list.push_str(&format!("{title}:\n"));
        let commands = names.split(' ');
        for command in commands.filter_map(|name| command.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string);
            let (name, about) = (command.get_name(), about.unwrap_or_default());
            let aliases = command.get_visible_aliases();
            let aliases: String = aliases.map(|alias| format!(" [alias: {alias}]")).collect();
            list.push_str(&format!("  {name:<11}  {about}{aliases}\n"));
        }
        list.push('\n');
    }
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}"
    ))
}

pub fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "nvcc") {
        // This command accepts nvcc's flags, so clap does not parse it.
        return nvcc::run(words).into();
    }
    let words = without_nvcc_flags(std::env::args_os());
    let matches = command().get_matches_from(words);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    VERBOSITY.get_or_init(|| cli.verbosity);
    if let Err(error) = interrupt::install() {
        eprintln!("warning: failed to catch Ctrl-C: {error}");
    }
    let color = cli.color;
    let result = match cli.command {
        Command::Suite(args) => suite::run(args, color),
        Command::Run(args) => run::run(*args, color),
        Command::Build(args) => build::run(&args),
        Command::Env => env::run(),
        Command::Toolkit(args) => toolkit::run(&args),
        Command::Modules(args) => modules::run(&args),
        Command::Libraries(args) => libraries::run(&args),
        Command::Probe(args) => probe::run(&args),
        Command::Inject(args) => inject::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Explain(args) => explain::run(&args, color),
        Command::Analyse(args) => analyse::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Trends(args) => trends::run(&args),
        Command::Bundle(args) => bundle::run(&args),
        Command::RunBundle(args) => run_bundle::run(args, color),
        Command::Verify(args) => verify::run(&args),
        Command::Setup => setup::run(),
        Command::Doctor(args) => doctor::run(&args),
        Command::Cache(args) => cache::run(&args),
        Command::Completions(args) => completions::run::<Cli>(&args),
    };
    exit(result)
}

/// Prints a command's failure, and returns the exit code.
pub fn exit(result: Result<i32, Failure>) -> ExitCode {
    let code = match result {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure}");
            // Ctrl-C makes commands fail.
            if interrupt::requested() {
                exit_code::INTERRUPTED
            } else {
                exit_code::of(failure.kind)
            }
        }
    };
    ExitCode::from(u8::try_from(code).unwrap_or(exit_code::INTERNAL as u8))
}

#[cfg(test)]
mod tests;
