//! `cargo xtask suite NAME …`, `run …`, `export …` and `bundle …`: build, then become `superstep` with the same arguments.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Result;

use crate::build;
use crate::context::{Context, usage};

/// Builds and hands over to `superstep <command> <arguments>`; its exit code is then this process's own.
pub fn run(context: &Context, command: &str, arguments: &[String]) -> Result<()> {
    if command == "suite" && arguments.is_empty() {
        return Err(usage(
            "`cargo xtask suite` needs the name of a suite, for example thesis".to_owned(),
        ));
    }
    // A bundle carries all programs along, and an export may be one to Parquet.
    let packages = match command {
        "bundle" | "export" => build::ALL,
        _ => build::TO_RUN,
    };
    let superstep = build::run(context, packages)?.join("superstep");
    // The target folder, and with it the binary, may lie anywhere: say where suites and device code are.
    let mut start = Command::new(&superstep);
    start.env("SUPERSTEP_ROOT", &context.root);
    // Only on failure does this return.
    let error = start.arg(command).args(arguments).exec();
    Err(anyhow::Error::from(error).context(format!("failed to start {}", superstep.display())))
}
