//! `cargo xtask <command>`: sets up the machine, and builds, tests and packages Superstep.

mod build;
mod checks;
mod context;
mod dist;
mod test;
mod test_tools;
mod tidy;
mod wheel;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use context::Context;

/// Sets up the machine, and builds, tests and packages Superstep.
///
/// Commands that build anything first install missing tools. Exit codes: docs/exit-codes.md.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find or install Clang and LLVM 22 and the CUDA components
    Setup,
    /// Build, then list everything found and how to install anything missing (`superstep doctor`)
    Doctor(Forwarded),
    /// Build, then run a suite: thesis, rodinia, … (`superstep suite`)
    Suite(Forwarded),
    /// Build, then pack everything that a GPU machine without a compiler needs (`superstep bundle`)
    Bundle(Forwarded),
    /// Build everything
    Build,
    /// Check formatting, lints and the repository's own rules, then run all tests
    Test {
        /// Run only the tests
        #[arg(long)]
        fast: bool,
        /// Arguments for the test runner
        #[arg(last = true)]
        runner: Vec<String>,
    },
    /// Check the repository's own rules
    Tidy,
    /// Accept the current snapshots, and the golden digests of the thesis suite
    Bless {
        /// Sizes of the suite
        #[arg(default_values = ["tiny", "small"])]
        sizes: Vec<String>,
    },
    /// Build the Python module as a wheel, and print its path
    Wheel,
    /// Build the files of a release: archive, Debian package, wheel, checksums (docs/install.md)
    Dist,
    /// Check the dependencies' licences, advisories and sources with cargo-deny
    Deny {
        /// `advisories`, `bans`, `licenses` or `sources`; all of them by default
        checks: Vec<String>,
    },
    /// Check the workflows in .github with actionlint
    Actionlint,
    /// Run the codec's tests in Miri
    Miri {
        /// Tests of `superstep-trace`, selected by parts of their names
        #[arg(default_values = ["codec::", "varint::", "digest::"])]
        tests: Vec<String>,
    },
    /// Run the runtimes' tests under AddressSanitizer and ThreadSanitizer
    Sanitize {
        #[arg(value_parser = ["address", "thread"], default_values = ["address", "thread"])]
        sanitizers: Vec<String>,
    },
    /// Run the fuzz targets in turn (docs/testing.md)
    Fuzz {
        /// Seconds for each target
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
        seconds: u64,
        /// Targets; all of them by default
        #[arg(value_parser = checks::fuzz_target)]
        targets: Vec<String>,
    },
    /// Change the code in small ways and run the tests on each change, with cargo-mutants (docs/testing.md)
    Mutants {
        /// Arguments for cargo-mutants
        #[arg(last = true)]
        arguments: Vec<String>,
    },
}

/// Arguments for the `superstep` command of the same name.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
struct Forwarded {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

fn run(command: Command) -> anyhow::Result<()> {
    let context = &Context::new()?;
    match command {
        Command::Setup => build::setup(),
        Command::Doctor(forwarded) => build::superstep(context, "doctor", &forwarded.arguments),
        Command::Suite(forwarded) => build::superstep(context, "suite", &forwarded.arguments),
        Command::Bundle(forwarded) => build::superstep(context, "bundle", &forwarded.arguments),
        Command::Build => build::run(context, build::ALL_PACKAGES).map(drop),
        Command::Test { fast, runner } => test::run(context, fast, &runner),
        Command::Tidy => tidy::run(context),
        Command::Bless { sizes } => test::bless(context, &sizes),
        Command::Wheel => wheel::build(context).map(|wheel| println!("{}", wheel.display())),
        Command::Dist => dist::run(context),
        Command::Deny { checks } => checks::deny(context, &checks),
        Command::Actionlint => checks::actionlint(context),
        Command::Miri { tests } => checks::miri(context, &tests),
        Command::Sanitize { sanitizers } => checks::sanitize(context, &sanitizers),
        Command::Fuzz { seconds, targets } => checks::fuzz(context, seconds, targets),
        Command::Mutants { arguments } => checks::mutants(context, &arguments),
    }
}

fn main() -> ExitCode {
    // Exits with code 2 if the command line is wrong.
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(context::exit_code(&error))
        }
    }
}

#[cfg(test)]
mod tests;
