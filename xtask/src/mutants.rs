//! `cargo xtask mutants`: changes the code in small ways, one at a time, and runs the tests on each (docs/testing.md).

use anyhow::{Context as _, Result};
use xshell::cmd;

use crate::context::Context;
use crate::setup;

/// The version of cargo-mutants that is installed where there is none.
const VERSION: &str = "27.1.0";

/// Generated programs are the slowest of the instrumenter's tests: some are enough for a mutant.
const FEWER_PROGRAMS: [(&str, &str); 3] = [
    ("SUPERSTEP_GENERATED_PROGRAMS", "495"),
    ("SUPERSTEP_GENERATED_SOURCES", "50"),
    ("SUPERSTEP_GENERATED_QUICK", "1"),
];

/// The command; `arguments` go to cargo-mutants, which reads the rest from .cargo/mutants.toml.
pub fn run(context: &Context, arguments: &[String]) -> Result<()> {
    let toolchain = setup::ensure()?;
    if !context.has_cargo("mutants") {
        let package = format!("cargo-mutants@{VERSION}");
        cmd!(context.shell, "cargo install --locked {package}")
            .run()
            .context("failed to install cargo-mutants")?;
    }
    let arguments = match arguments {
        [first, rest @ ..] if first == "--" => rest,
        all => all,
    };
    // Apart from the other builds: a mutant of the instrumenter must not be taken for the real one.
    let target = context.release_dir()?.with_file_name("mutants");
    context
        .cargo(&toolchain)
        .args(["mutants", "--workspace", "--output", "target"])
        .args(arguments)
        .env("CARGO_TARGET_DIR", target)
        .envs(FEWER_PROGRAMS)
        .run()
        .context("failed: the tests miss a mutant, see target/mutants.out and docs/testing.md")
}
