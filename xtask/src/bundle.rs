//! `cargo xtask bundle …`: packs what a GPU machine without a compiler needs, compiled here.

use anyhow::Result;

use crate::context::Context;
use crate::suite;

/// Builds and hands over to `superstep bundle`.
pub fn run(context: &Context, arguments: &[String]) -> Result<()> {
    suite::run(context, "bundle", arguments)
}
