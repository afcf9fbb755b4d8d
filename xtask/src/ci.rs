//! `cargo xtask ci`: the README's test command, then the main job at size `small`.

use anyhow::Result;

use crate::context::Context;
use crate::{suite, test};

/// The command; ends with the suite's own exit code.
pub fn run(context: &Context) -> Result<()> {
    test::run(context, &[])?;
    suite::run(
        context,
        "suite",
        &["thesis", "--size", "small", "--require-golden"].map(str::to_owned),
    )
}
