//! A nightly toolchain for the checks that need one: Miri, the sanitizers and the fuzzers.

use anyhow::{Context as _, Result};
use xshell::{Cmd, cmd};

use crate::context::{Context, tool_missing};

/// `cargo` of the nightly toolchain; the toolchain and its `components` are installed where they are missing.
pub fn cargo<'a>(context: &'a Context, components: &[&str]) -> Result<Cmd<'a>> {
    let shell = &context.shell;
    let list = cmd!(
        shell,
        "rustup component list --toolchain nightly --installed"
    );
    let installed = list.quiet().ignore_stderr().ignore_status().read();
    let installed = installed.map_err(|error| {
        tool_missing(format!(
            "failed to run rustup, which installs the nightly toolchain: {error}; see https://rustup.rs"
        ))
    })?;
    let has = |component: &&str| installed.lines().any(|line| line.starts_with(*component));
    if installed.is_empty() || !components.iter().all(has) {
        let components = components
            .iter()
            .flat_map(|component| ["--component", component]);
        cmd!(
            shell,
            "rustup toolchain install nightly --profile minimal {components...}"
        )
        .run()
        .context("failed to install the nightly toolchain")?;
    }
    Ok(cmd!(shell, "rustup run nightly cargo"))
}

/// The target that everything is built for: with a target named, flags do not reach build scripts and macros.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";
