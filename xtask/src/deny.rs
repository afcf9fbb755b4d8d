//! `cargo xtask deny`: licences, advisories, bans and sources of the dependencies, by the rules of deny.toml.

use anyhow::{Context as _, Result};
use xshell::cmd;

use crate::context::{Context, tool_missing};

/// The command; `checks` are cargo-deny's (`advisories`, `bans`, `licenses`, `sources`), all of them when none is given.
pub fn run(context: &Context, checks: &[String]) -> Result<()> {
    if !context.has_cargo("deny") {
        return Err(tool_missing(
            "failed to find cargo-deny: install it with `cargo install cargo-deny --locked`"
                .to_owned(),
        ));
    }
    cmd!(context.shell, "cargo deny --locked check {checks...}")
        .run()
        .context("failed: a dependency breaks a rule of deny.toml, see above")
}
