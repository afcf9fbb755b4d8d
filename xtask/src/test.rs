//! `cargo xtask test`: formatting, lints, the repository's own rules, unit and end-to-end tests, documentation tests.
//!
//! Everything uses the profile of `cargo xtask build`: the end-to-end tests need optimised runtimes, and a second
//! profile would compile every dependency twice. Afterwards, `cargo xtask suite` finds everything built.

use anyhow::{Context as _, Result};
use superstep_toolchain::Toolchain;
use superstep_toolchain::variable;
use xshell::cmd;

use crate::context::Context;
use crate::{build, test_tools, tidy, wheel};

/// Runs the checks, unless `is_fast`, and all tests; `runner` contains additional arguments for the test runner.
pub fn run(context: &Context, is_fast: bool, runner: &[String]) -> Result<()> {
    let toolchain = build::toolchain()?;
    if !is_fast {
        lint(context, &toolchain)?;
    }
    all_tests(context, &toolchain, &[], runner)
}

/// Accepts the current snapshots, and the golden digests of the thesis suite at these sizes. Review the diff.
pub fn bless(context: &Context, sizes: &[String]) -> Result<()> {
    let superstep = build::run(context, build::RUN_PACKAGES)?.join("superstep");
    for size in sizes {
        cmd!(
            context.shell,
            "{superstep} suite thesis --size {size} --bless"
        )
        .run()
        .with_context(|| format!("failed to bless the thesis suite at size {size}"))?;
    }
    // Runs after the digests are written, so that tests that read them see the new ones.
    let variables = [("INSTA_UPDATE", "always")];
    all_tests(context, &build::toolchain()?, &variables, &[])?;
    cmd!(context.shell, "git status --short")
        .run()
        .context("failed to list the changes")
}

fn lint(context: &Context, toolchain: &Toolchain) -> Result<()> {
    cmd!(context.shell, "cargo fmt --all --check")
        .run()
        .context("the code is not formatted; run `cargo fmt --all`")?;
    tidy::run(context)?;
    context
        .cargo(toolchain)
        .args(["clippy", "--workspace", "--all-targets"])
        .args(["--profile", build::PROFILE, "--", "-D", "warnings"])
        .run()
        .context("clippy found problems; see above")
}

/// Tests that need a tool that might be missing, by the variable that names the tool.
const TOOL_TESTS: [(&str, &str); 2] = [
    (test_tools::CMAKE, "test(cmake)"),
    (test_tools::BROWSER_VARIABLE, "binary(browser)"),
];

/// Builds the programs that the end-to-end tests start, then runs all tests with these `variables`. Here, a missing
/// tool is an error, not a reason to skip a test.
fn all_tests(
    context: &Context,
    toolchain: &Toolchain,
    variables: &[(&str, &str)],
    runner: &[String],
) -> Result<()> {
    let tools = test_tools::variables(context)?;
    build::run(context, build::ALL_PACKAGES)?;
    let cargo = |arguments: &[&str], profile: &str| {
        let cargo = context.cargo(toolchain).args(arguments);
        cargo
            .args([profile, build::PROFILE])
            // The Python module has no Rust tests, and its dependencies enable features that would rebuild everything.
            .args(["--workspace", "--exclude", "superstep-python"])
            .env("SUPERSTEP_REQUIRE_TOOLS", "1")
            .env(variable::ROOT, &context.root)
            .envs(variables.iter().copied())
            .envs(&tools)
    };
    // Tests that need tools are ignored by default: a plain run reports that it did not run them.
    let tests = if context.has_cargo("nextest") {
        let excluded: Vec<String> = (TOOL_TESTS.iter())
            .filter(|(variable, _)| !tools.contains_key(variable))
            .map(|(_, tests)| format!("not ({tests})"))
            .collect();
        let tests = cargo(
            &["nextest", "run", "--run-ignored", "all"],
            "--cargo-profile",
        );
        match excluded[..] {
            [] => tests,
            _ => tests.args(["--filterset", &excluded.join(" and ")]),
        }
    } else {
        let kinds = ["test", "--lib", "--bins", "--tests"];
        cargo(&kinds, "--profile")
    };
    tests
        .arg("--no-fail-fast")
        .args(runner)
        .run()
        .context("a test failed; see above")?;
    cargo(&["test", "--doc", "--quiet"], "--profile")
        .run()
        .context("a documentation test failed; see above")?;
    // If the packages could not be installed, a warning has already said that their tests are skipped.
    if tools.contains_key(test_tools::PYTHONPATH) {
        let packages = [
            test_tools::PYTHONPATH,
            test_tools::NOTEBOOK_PYTHONPATH,
            test_tools::SPARK_PYTHONPATH,
        ];
        let packages = packages.iter().filter_map(|name| tools.get(name).cloned());
        wheel::test(context, &packages.collect::<Vec<_>>())?;
    }
    Ok(())
}
