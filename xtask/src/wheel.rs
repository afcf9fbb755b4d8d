//! `cargo xtask wheel`: builds the Python module as a wheel, and tests it in a fresh environment.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use xshell::{Cmd, cmd};

use crate::build::PROFILE;
use crate::context::Context;
use crate::test_tools::pip_install;

/// maturin, pinned by version and hash.
const REQUIREMENTS: &str = include_str!("../wheel-requirements.txt");

pub fn build(context: &Context) -> Result<PathBuf> {
    build_with(context, |maturin| maturin.args(["--profile", PROFILE]))
}

/// Builds the wheel and returns its path. `settings` adds options for the target.
pub fn build_with<'a>(
    context: &'a Context,
    settings: impl FnOnce(Cmd<'a>) -> Cmd<'a>,
) -> Result<PathBuf> {
    let maturin = pip_install(context, REQUIREMENTS, None)?;
    let folder = context.target_dir()?.join("wheel");
    // A wheel for another version would be found as well.
    context.shell.remove_path(&folder)?;
    let build = cmd!(
        context.shell,
        "{maturin}/bin/maturin build --quiet --locked --manifest-path python/Cargo.toml --out {folder}"
    );
    settings(build)
        .run()
        .context("failed to build the wheel; the messages are above")?;
    let mut wheels = context.shell.read_dir(&folder)?;
    let (found, place) = (wheels.len(), folder.display());
    ensure!(found == 1, "expected one wheel in {place}, found {found}");
    Ok(wheels.remove(0))
}

/// Installs the wheel into a fresh environment and runs `python/tests` there, with `packages` on Python's path.
pub fn test(context: &Context, packages: &[String]) -> Result<()> {
    let wheel = build(context)?;
    let environment = wheel.with_file_name("environment");
    let python = environment.join("bin/python");
    // The environment has no pip, which needs another package on Debian.
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
    .context("a test of the Python module failed; see above")
}
