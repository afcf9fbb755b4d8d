//! `cargo xtask bench`: the criterion benchmarks of every crate.

use anyhow::{Context as _, Result};

use crate::context::Context;
use crate::setup;

/// The command; `arguments` go to `cargo bench`.
pub fn run(context: &Context, arguments: &[String]) -> Result<()> {
    let toolchain = setup::ensure()?;
    context
        .cargo(&toolchain)
        .args(["bench", "--workspace", "--benches"])
        .args(arguments)
        .run()
        .context("failed to run the benchmarks; see above")
}
