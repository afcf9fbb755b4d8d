//! Sets up the machine, builds everything that a run needs into one folder, and runs `superstep` from there.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use superstep_toolchain::{Purpose, Survey, Toolchain, gpu, variable};

use crate::context::Context;

/// The Cargo profile for all builds except releases.
pub const PROFILE: &str = "quick";

pub const ALL_PACKAGES: &[&str] = &[
    "superstep-harness",
    "superstep-instrument",
    "superstep-cudart-cpu",
    "superstep-cuda",
    "superstep-bench",
];

/// Packages for running programs: `superstep`, the instrumenter and the two runtimes.
pub const RUN_PACKAGES: &[&str] = ALL_PACKAGES.split_at(4).0;

/// Packages for running programs where there is no GPU.
const CPU_PACKAGES: &[&str] = ALL_PACKAGES.split_at(3).0;

pub fn setup() -> Result<()> {
    let toolchain = install()?;
    let (llvm, cuda) = (&toolchain.llvm, &toolchain.cuda);
    let (prefix, root) = (llvm.prefix.display(), cuda.root.display());
    eprintln!("Clang and LLVM {} in {prefix}", llvm.version);
    eprintln!("CUDA {} in {root}", cuda.version);
    eprintln!("all set; `cargo xtask suite thesis` runs the thesis suite");
    Ok(())
}

/// Returns the toolchain, after setting it up if needed.
pub fn toolchain() -> Result<Toolchain> {
    Survey::here(Purpose::Build).toolchain().or_else(|missing| {
        eprintln!("xtask: setting up this machine, because some tools are missing:");
        for tool in &missing.tools {
            eprintln!("xtask:   {}: {}", tool.name, tool.why);
        }
        install()
    })
}

fn install() -> Result<Toolchain> {
    Toolchain::install(Purpose::Build, &mut |step| eprintln!("xtask: {step}"))
        .context("failed to set up this machine")
}

pub fn run(context: &Context, packages: &[&str]) -> Result<PathBuf> {
    let packages = packages.iter().flat_map(|package| ["-p", package]);
    context
        .cargo(&toolchain()?)
        .args(["build", "--profile", PROFILE])
        .args(packages)
        .run()
        .context("failed to build Superstep; the compiler's message is above")?;
    Ok(context.target_dir()?.join(PROFILE))
}

/// Builds the packages that `command` needs, then replaces this process with `superstep <command> <arguments>`.
pub fn superstep(context: &Context, command: &str, arguments: &[String]) -> Result<()> {
    // A bundle contains all programs.
    let packages = match command {
        "bundle" => ALL_PACKAGES,
        "suite" if gpu::detect().devices.is_empty() => CPU_PACKAGES,
        _ => RUN_PACKAGES,
    };
    let superstep = run(context, packages)?.join("superstep");
    // The target folder, and thus the binary, can be anywhere; the variable names the folder with the suites and device
    // code.
    let mut start = Command::new(&superstep);
    start.env(variable::ROOT, &context.root);
    // `exec` returns only on failure.
    let error = start.arg(command).args(arguments).exec();
    Err(anyhow::Error::from(error).context(format!("failed to start {}", superstep.display())))
}
