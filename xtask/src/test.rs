//! `cargo xtask test`: formatting, lints, the repository's own rules, unit and end-to-end tests, documentation tests.
//!
//! Everything runs in the release profile. The end-to-end tests need the optimised runtimes and instrumenter anyway, the
//! traced programs run inside them for minutes when unoptimised, and on a fresh machine the alternative is to compile
//! every dependency twice; `cargo xtask suite` afterwards finds all of it built.

use anyhow::{Context as _, Result};
use superstep_toolchain::Toolchain;
use xshell::cmd;

use crate::context::{Context, usage};
use crate::{build, setup, test_tools, tidy};

#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    fast: bool,
    /// For the test runner.
    rest: Vec<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options> {
        let (own, rest) = match arguments.iter().position(|argument| argument == "--") {
            Some(at) => (&arguments[..at], &arguments[at + 1..]),
            None => (arguments, &[][..]),
        };
        let mut options = Options {
            rest: rest.to_vec(),
            ..Options::default()
        };
        for argument in own {
            match argument.as_str() {
                "--fast" => options.fast = true,
                other => return Err(usage(format!("`cargo xtask test` does not know {other}"))),
            }
        }
        Ok(options)
    }
}

pub fn run(context: &Context, arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let toolchain = setup::ensure()?;
    if !options.fast {
        lint(context, &toolchain)?;
    }
    all_tests(context, &toolchain, &[], &options.rest)
}

fn lint(context: &Context, toolchain: &Toolchain) -> Result<()> {
    cmd!(context.shell, "cargo fmt --all --check")
        .run()
        .context("failed: run `cargo fmt --all`")?;
    tidy::run(context)?;
    context
        .cargo(toolchain)
        .args([
            "clippy",
            "--release",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ])
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
    build::with(context, toolchain, &build::ALL)?;
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
    let runner: &[&str] = if has_nextest(context) {
        &[
            "nextest",
            "run",
            "--release",
            "--workspace",
            "--no-fail-fast",
        ]
    } else {
        &[
            "test",
            "--release",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
            "--no-fail-fast",
        ]
    };
    cargo()
        .args(runner)
        .args(rest)
        .run()
        .context("failed: a test did not pass, see above")?;
    cargo()
        .args(["test", "--release", "--workspace", "--doc", "--quiet"])
        .run()
        .context("failed: a documentation test did not pass, see above")
}

fn has_nextest(context: &Context) -> bool {
    cmd!(context.shell, "cargo nextest --version")
        .quiet()
        .ignore_stderr()
        .read()
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options> {
        Options::parse(
            &arguments
                .iter()
                .map(|argument| argument.to_string())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn arguments_behind_the_dashes_are_the_runners() {
        let options = parse(&["--fast", "--", "--fast", "name"]).unwrap();
        assert_eq!(
            options,
            Options {
                fast: true,
                rest: vec!["--fast".into(), "name".into()]
            }
        );
        assert_eq!(parse(&[]).unwrap(), Options::default());
    }

    #[test]
    fn an_unknown_argument_is_named() {
        assert!(
            parse(&["--quick"])
                .unwrap_err()
                .to_string()
                .contains("--quick")
        );
    }
}
