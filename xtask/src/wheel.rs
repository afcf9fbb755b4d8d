//! `cargo xtask wheel`: the Python module as a wheel. Its tests install the wheel in a fresh environment.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use xshell::{Cmd, cmd};

use crate::context::Context;
use crate::test_tools::python_packages;

/// maturin, pinned by version and hash.
const REQUIREMENTS: &str = include_str!("../wheel-requirements.txt");

/// The command.
pub fn run(context: &Context) -> Result<()> {
    println!("{}", build(context)?.display());
    Ok(())
}

/// Builds the wheel for this machine and returns it.
pub fn build(context: &Context) -> Result<PathBuf> {
    build_with(context, |maturin| maturin.arg("--release"))
}

/// Builds the wheel and returns it. `settings` adds the options that say for whom.
pub fn build_with<'a>(
    context: &'a Context,
    settings: impl FnOnce(Cmd<'a>) -> Cmd<'a>,
) -> Result<PathBuf> {
    let maturin = python_packages(context, REQUIREMENTS)?;
    let folder = context.release_dir()?.join("wheel");
    // A wheel of another version would be found as well.
    if folder.is_dir() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("failed to remove {}", folder.display()))?;
    }
    let build = cmd!(
        context.shell,
        "{maturin}/bin/maturin build --quiet --locked --manifest-path python/Cargo.toml --out {folder}"
    );
    settings(build)
        .run()
        .context("failed to build the wheel; the messages are above")?;
    let wheels = fs::read_dir(&folder)
        .and_then(|entries| {
            let paths = entries.map(|entry| entry.map(|entry| entry.path()));
            paths.collect::<Result<Vec<_>, _>>()
        })
        .with_context(|| format!("failed to list {}", folder.display()))?;
    let found = wheels.len();
    ensure!(
        found == 1,
        "expected one wheel in {}, found {found}",
        folder.display()
    );
    Ok(wheels.into_iter().next().unwrap_or_default())
}

/// Installs the wheel in a fresh environment and runs `python/tests` there, with the folders `packages` in Python's path.
pub fn test(context: &Context, packages: &[&str]) -> Result<()> {
    let wheel = build(context)?;
    let environment = wheel.with_file_name("environment");
    let python = environment.join("bin/python");
    // Without a pip of its own: what that needs is a package more on Debian.
    for step in [
        cmd!(context.shell, "python3 -m venv --without-pip {environment}"),
        cmd!(
            context.shell,
            "python3 -m pip --python {python} install --quiet --no-index --no-deps {wheel}"
        ),
    ] {
        step.run().context("failed to install the wheel")?;
    }
    cmd!(
        context.shell,
        "{python} -m unittest discover --start-directory python/tests"
    )
    .env("PYTHONPATH", packages.join(":"))
    .run()
    .context("failed: a test of the Python module did not pass, see above")
}
