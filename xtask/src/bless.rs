//! `cargo xtask bless`: accepts the present snapshots and golden digests. Read the difference before committing it.

use anyhow::{Context as _, Result};
use xshell::cmd;

use crate::context::Context;
use crate::{build, setup, test};

/// The command; `sizes` are those of the thesis suite whose golden digests are written.
pub fn run(context: &Context, sizes: &[String]) -> Result<()> {
    let toolchain = setup::ensure()?;
    let superstep = build::with(context, &toolchain, build::TO_RUN)?.join("superstep");
    let sizes = match sizes {
        [] => vec!["tiny".to_owned(), "small".to_owned()],
        given => given.to_vec(),
    };
    for size in sizes {
        cmd!(
            context.shell,
            "{superstep} suite thesis --size {size} --bless"
        )
        .run()
        .with_context(|| format!("failed to bless the thesis suite at size {size}"))?;
    }
    // After the digests, so that tests which read them see the new ones.
    test::all_tests(context, &toolchain, &[("INSTA_UPDATE", "always")], &[])?;
    cmd!(context.shell, "git status --short")
        .run()
        .context("failed to list what changed")
}
