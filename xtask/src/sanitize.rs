//! `cargo xtask sanitize`: the runtimes' own tests under AddressSanitizer and ThreadSanitizer.
//!
//! The host side of both runtimes: the CPU runtime's memory, workers, logs and streams; the GPU runtime's queue, rings, workers
//! and consumers, where threads of the tests stand for the device.

use anyhow::{Context as _, Result};

use crate::context::{Context, usage};
use crate::nightly;

const SANITIZERS: [&str; 2] = ["address", "thread"];

const PACKAGES: [&str; 3] = [
    "superstep-runtime-core",
    "superstep-cudart-cpu",
    "superstep-cuda",
];

/// The command; `arguments` are the sanitizers, both where none is given.
pub fn run(context: &Context, arguments: &[String]) -> Result<()> {
    let known = |name: &&String| !SANITIZERS.contains(&name.as_str());
    if let Some(other) = arguments.iter().find(known) {
        let known = SANITIZERS.join(", ");
        let message = format!("`cargo xtask sanitize` does not know {other}, only {known}");
        return Err(usage(message));
    }
    let chosen = |name: &&&str| arguments.is_empty() || arguments.iter().any(|a| a == **name);
    for sanitizer in SANITIZERS.iter().filter(chosen) {
        with(context, sanitizer)?;
    }
    Ok(())
}

fn with(context: &Context, sanitizer: &str) -> Result<()> {
    let target = context
        .release_dir()?
        .with_file_name(format!("sanitize-{sanitizer}"));
    let packages = PACKAGES.iter().flat_map(|package| ["--package", package]);
    // The standard library with the sanitizer too: without, what it does between threads is not seen.
    nightly::cargo(context, &["rust-src"])?
        .args([
            "test",
            "--release",
            "--lib",
            "--no-fail-fast",
            "-Zbuild-std",
        ])
        .args(["--target", nightly::TARGET])
        .args(packages)
        .env(
            "RUSTFLAGS",
            format!("-Zsanitizer={sanitizer} -Cdebug-assertions=on --cfg superstep_sanitized"),
        )
        // What a process registers stays until its end.
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .env("CARGO_TARGET_DIR", target)
        .run()
        .with_context(|| format!("failed: the findings of the sanitizer `{sanitizer}` are above"))
}
