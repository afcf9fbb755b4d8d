//! `cargo xtask test`: formatting, lints, the repository's own rules, unit and end-to-end tests, documentation tests.
//!
//! Everything runs in the release profile. The end-to-end tests need the optimised runtimes and instrumenter anyway, the
//! traced programs run inside them for minutes when unoptimised, and on a fresh machine the alternative is to compile
//! every dependency twice; `cargo xtask suite` afterwards finds all of it built.

use anyhow::{Context as _, Result};
use superstep_toolchain::Toolchain;
use xshell::cmd;

use crate::context::{Context, usage};
use crate::{build, setup, test_tools, tidy, wheel};

/// Whether only tests are asked for, and what is for the test runner.
fn parse(arguments: &[String]) -> Result<(bool, &[String])> {
    let mut parts = arguments.splitn(2, |argument| argument == "--");
    let own = parts.next().unwrap_or_default();
    if let Some(other) = own.iter().find(|argument| *argument != "--fast") {
        return Err(usage(format!("`cargo xtask test` does not know {other}")));
    }
    Ok((!own.is_empty(), parts.next().unwrap_or_default()))
}

pub fn run(context: &Context, arguments: &[String]) -> Result<()> {
    let (is_fast, rest) = parse(arguments)?;
    let toolchain = setup::ensure()?;
    if !is_fast {
        lint(context, &toolchain)?;
    }
    all_tests(context, &toolchain, &[], rest)
}

fn lint(context: &Context, toolchain: &Toolchain) -> Result<()> {
    cmd!(context.shell, "cargo fmt --all --check")
        .run()
        .context("failed: run `cargo fmt --all`")?;
    tidy::run(context)?;
    context
        .cargo(toolchain)
        .args(["clippy", "--release", "--workspace", "--all-targets"])
        .args(["--", "-D", "warnings"])
        .run()
        .context("failed: clippy's findings are above")
}

/// Builds what the end-to-end tests start, then runs all tests with further `variables` set for them. A tool that a
/// test needs is an error here, not a reason to skip.
pub fn all_tests(
    context: &Context,
    toolchain: &Toolchain,
    variables: &[(&str, &str)],
    rest: &[String],
) -> Result<()> {
    build::with(context, toolchain, build::ALL)?;
    let tools = test_tools::variables(context)?;
    let cargo = || {
        let cargo = context
            .cargo(toolchain)
            .env("SUPERSTEP_REQUIRE_TOOLS", "1")
            .env("SUPERSTEP_ROOT", &context.root);
        cargo
            .envs(variables.iter().copied())
            .envs(tools.iter().map(|(name, value)| (*name, value)))
    };
    let runner: &[&str] = match context.has_cargo("nextest") {
        true => &["nextest", "run"],
        false => &["test", "--lib", "--bins", "--tests"],
    };
    cargo()
        .args(runner)
        .args(["--release", "--workspace", "--no-fail-fast"])
        .args(rest)
        .run()
        .context("failed: a test did not pass, see above")?;
    cargo()
        .args(["test", "--release", "--workspace", "--doc", "--quiet"])
        .run()
        .context("failed: a documentation test did not pass, see above")?;
    // Where they could not be had, a warning has said that their tests are skipped.
    let of = |wanted: &str| {
        let tool = tools.iter().find(|(name, _)| *name == wanted);
        tool.map(|(_, packages)| packages.as_str())
    };
    let others = [
        test_tools::NOTEBOOK_PYTHONPATH,
        test_tools::SPARK_PYTHONPATH,
    ];
    match of(test_tools::PYTHONPATH) {
        Some(packages) => {
            let all = [packages]
                .into_iter()
                .chain(others.into_iter().filter_map(of));
            wheel::test(context, &all.collect::<Vec<_>>())
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn arguments_behind_the_dashes_are_the_runners() {
        let all = arguments(&["--fast", "--", "--fast", "name"]);
        assert_eq!(parse(&all).unwrap(), (true, &all[2..]));
        assert_eq!(parse(&[]).unwrap(), (false, &[][..]));
    }

    #[test]
    fn an_unknown_argument_is_named() {
        let error = parse(&arguments(&["--quick"])).unwrap_err().to_string();
        assert!(error.contains("--quick"));
    }
}
