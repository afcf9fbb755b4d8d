//! `cargo xtask miri`: the codec of `trace` in Rust's interpreter, which sees undefined behaviour where it happens.

use anyhow::{Context as _, Result};

use crate::context::Context;
use crate::nightly;

/// The tests that run where none is named.
const TESTS: [&str; 3] = ["codec::", "varint::", "digest::"];

/// The encoder's one `unsafe` call is for processors that have these.
const FEATURES: &str = "-Ctarget-feature=+avx2,+bmi1,+bmi2,+lzcnt,+popcnt";

/// The command; `tests` are names or parts of names of tests in `trace`.
pub fn run(context: &Context, tests: &[String]) -> Result<()> {
    let given = tests.iter().map(String::as_str);
    let all = if tests.is_empty() { &TESTS[..] } else { &[] };
    let target = context.release_dir()?.with_file_name("miri");
    nightly::cargo(context, &["miri", "rust-src"])?
        .args(["miri", "test", "--package", "superstep-trace", "--lib"])
        .args(["--target", nightly::TARGET, "--"])
        .args(given.chain(all.iter().copied()))
        // Of each property, one case: a step of the program takes Miri a thousand.
        .env("PROPTEST_CASES", "1")
        .env("MIRIFLAGS", "-Zmiri-disable-isolation")
        .env("RUSTFLAGS", FEATURES)
        .env("CARGO_TARGET_DIR", target)
        .run()
        .context("failed: Miri's findings are above")
}
