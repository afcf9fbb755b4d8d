//! `cargo xtask <command>`: sets the machine up, builds, and calls `superstep`. See `cargo xtask help`.

mod actionlint;
mod bench;
mod bless;
mod build;
mod ci;
mod context;
mod deny;
mod dist;
mod doctor;
mod fuzz;
mod miri;
mod mutants;
mod nightly;
mod sanitize;
mod setup;
mod suite;
mod test;
mod test_tools;
mod tidy;
mod wheel;

use std::process::ExitCode;

use context::Context;

const HELP: &str = "\
Usage: cargo xtask <command> [arguments]

Setup
  setup               find or install Clang/LLVM 22 and the CUDA pieces
  doctor [--json]     list what was found, versions, GPU and driver, and how to fix what is missing

The main job
  suite NAME […]      build, then run a suite: thesis, rodinia, … (`cargo xtask suite thesis --help` lists the options)
  run […]             build, then trace a single program (`superstep run`)
  export […]          build, then write a capture in another format (`superstep export`)
  bundle […]          build, then pack what a GPU machine without a compiler needs (`superstep bundle`)

For developers
  build               build everything, optimised
  test [--fast] [-- …]  formatting, lints, tidy, all tests (--fast: tests only; after --: arguments for the test runner)
  wheel               build the Python module as a wheel, and print where it is
  dist                build what a release consists of: archive, Debian package, wheel, sums (docs/install.md)
  ci                  test, then the thesis suite at size small
  bench [-- …]        run the benchmarks
  mutants [-- …]      change the code in small ways and run the tests on each (after --: arguments for cargo-mutants)
  bless [SIZE…]       accept the current snapshots and golden digests (default sizes: tiny and small)
  tidy                check the repository's own rules
  deny [CHECK…]       check the dependencies' licences, advisories and sources (needs cargo-deny)
  actionlint          check the workflows in .github
  miri [TEST…]        run the tests of the codec in Rust's interpreter (nightly toolchain, by rustup)
  sanitize [NAME…]    run the runtimes' tests under AddressSanitizer and ThreadSanitizer (address, thread; nightly toolchain)
  fuzz [TARGET…] [--seconds N]  feed what is read with changed files, 60 s a target (nightly toolchain)

Every command but doctor, tidy and the checks from deny on first sets up what is missing. Exit codes: docs/exit-codes.md";

/// Exit code of a wrong command line; see docs/exit-codes.md.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = arguments.split_first() else {
        eprintln!("{HELP}");
        return ExitCode::from(USAGE);
    };
    let result = Context::new().and_then(|context| match command.as_str() {
        "setup" => setup::run(),
        "doctor" => doctor::run(rest),
        "build" => build::run(&context, build::ALL).map(drop),
        command @ ("suite" | "run" | "export" | "bundle") => suite::run(&context, command, rest),
        "test" => test::run(&context, rest),
        "ci" => ci::run(&context),
        "bench" => bench::run(&context, rest),
        "mutants" => mutants::run(&context, rest),
        "bless" => bless::run(&context, rest),
        "tidy" => tidy::run(&context),
        "wheel" => wheel::run(&context),
        "dist" => dist::run(&context),
        "deny" => deny::run(&context, rest),
        "actionlint" => actionlint::run(&context),
        "miri" => miri::run(&context, rest),
        "fuzz" => fuzz::run(&context, rest),
        "sanitize" => sanitize::run(&context, rest),
        "help" | "--help" | "-h" => {
            println!("{HELP}");
            Ok(())
        }
        other => Err(context::usage(format!(
            "no such command: {other}; see `cargo xtask help`"
        ))),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(context::exit_code(&error))
        }
    }
}
