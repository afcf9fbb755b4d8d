//! What only the tests need: DuckDB, Polars, pandas and pyarrow for the documented queries, what runs a notebook, Spark, two
//! versions of CMake, and a browser for the report.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result};
use superstep_toolchain::cache_dir;
use xshell::cmd;

use crate::context::Context;

/// Where the Python packages are.
pub const PYTHONPATH: &str = "SUPERSTEP_TEST_PYTHONPATH";

/// Where those are that run a notebook.
pub const NOTEBOOK_PYTHONPATH: &str = "SUPERSTEP_TEST_NOTEBOOK_PYTHONPATH";

/// Where Spark's are, as `PYTHONPATH` would list them.
pub const SPARK_PYTHONPATH: &str = "SUPERSTEP_TEST_SPARK_PYTHONPATH";

/// The Python packages, pinned by version and hash; pip takes them from whatever index it is configured for.
const REQUIREMENTS: &str = include_str!("../test-requirements.txt");
const NOTEBOOK: &str = include_str!("../test-notebook-requirements.txt");
const SPARK: &str = include_str!("../test-spark-requirements.txt");
const PYSPARK: &str = include_str!("../test-pyspark-requirements.txt");
const CMAKE: [&str; 2] = [
    include_str!("../test-cmake-oldest.txt"),
    include_str!("../test-cmake-newest.txt"),
];

/// Names of browsers that understand Chromium's command line.
const BROWSERS: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
];

/// Installs what is missing where this process may, and returns the variables by which the tests find it.
///
/// Where it cannot be had, a sentence says so and the tests that need it say that they were skipped; not so in a CI system,
/// which sets `CI`: there nobody would read it.
pub fn variables(context: &Context) -> Result<Vec<(&'static str, String)>> {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    let tools = [
        (PYTHONPATH, python_packages(context, REQUIREMENTS)),
        (NOTEBOOK_PYTHONPATH, python_packages(context, NOTEBOOK)),
        (SPARK_PYTHONPATH, spark(context)),
        ("SUPERSTEP_TEST_CMAKE", cmake(context)),
        ("SUPERSTEP_TEST_NINJA", ninja(context)),
        ("SUPERSTEP_TEST_BROWSER", browser(context)),
    ];
    (tools.into_iter())
        .filter_map(|(variable, found)| match found {
            Ok(value) => Some(Ok((variable, value))),
            Err(error) if is_ci => Some(Err(
                error.context("failed to prepare all tests, and CI is set")
            )),
            Err(error) => {
                eprintln!("warning: {error:#}; the tests that need it are skipped");
                None
            }
        })
        .collect()
}

/// Both versions, as `PATH` would list them.
fn cmake(context: &Context) -> Result<String> {
    let program = |requirements| {
        let folder = python_packages(context, requirements)?;
        Ok(format!("{folder}/cmake/data/bin/cmake"))
    };
    let programs: Vec<String> = CMAKE.into_iter().map(program).collect::<Result<_>>()?;
    Ok(programs.join(":"))
}

fn ninja(context: &Context) -> Result<String> {
    python_packages(context, CMAKE[1]).map(|folder| format!("{folder}/bin/ninja"))
}

/// Spark, and Java to run it.
fn spark(context: &Context) -> Result<String> {
    if Command::new("java").arg("-version").output().is_err() {
        install_on_debian(context, "openjdk-17-jre-headless", "java")?;
    }
    let others = python_packages(context, SPARK)?;
    let spark = packages(context, PYSPARK, Some(&others))?;
    Ok(format!("{others}:{spark}"))
}

/// Folder with wheels of the packages, in the cache under a name that changes with the pins.
pub fn python_packages(context: &Context, requirements: &str) -> Result<String> {
    packages(context, requirements, None)
}

/// The same; with `build`, a folder of what builds them, of packages that have no wheels.
fn packages(context: &Context, requirements: &str, build: Option<&str>) -> Result<String> {
    let cache = cache_dir().context("failed to choose a cache folder: set SUPERSTEP_CACHE")?;
    let pins: String = (requirements.lines())
        .filter_map(|line| line.split_once("==")?.1.split_ascii_whitespace().next())
        .collect::<Vec<_>>()
        .join("-");
    let folder = cache.join(format!("test-python-{pins}"));
    if !folder.is_dir() {
        let staging = cache.join(format!("test-python-{}.part", std::process::id()));
        fs::create_dir_all(&staging)
            .with_context(|| format!("failed to create {}", staging.display()))?;
        let list = staging.join("requirements.txt");
        fs::write(&list, requirements)
            .with_context(|| format!("failed to write {}", list.display()))?;
        let kind: &[&str] = match build {
            None => &["--only-binary=:all:"],
            Some(_) => &["--no-binary=:all:", "--no-build-isolation"],
        };
        let installed = cmd!(
            context.shell,
            "python3 -m pip install --quiet --no-deps {kind...} --require-hashes --target {staging} -r {list}"
        )
        .env("PYTHONPATH", build.unwrap_or_default())
        .run()
        .context("failed to install the packages of the tests with pip");
        let renamed = installed.and_then(|()| {
            // Another test run may have been quicker; its folder is as good.
            match fs::rename(&staging, &folder) {
                Err(error) if !folder.is_dir() => {
                    Err(error).with_context(|| format!("failed to create {}", folder.display()))
                }
                _ => Ok(()),
            }
        });
        if staging.is_dir() {
            drop(fs::remove_dir_all(&staging));
        }
        renamed?;
    }
    Ok(folder.display().to_string())
}

fn browser(context: &Context) -> Result<String> {
    if let Some(found) = installed_browser() {
        return Ok(found);
    }
    // On Ubuntu the package of this name is only a door to a snap, which finds no use in containers.
    install_on_debian(context, "chromium", &BROWSERS.join(", "))?;
    installed_browser().context("the package chromium was installed but does not run")
}

/// Installs a package of Debian where there is none of `wanted`.
fn install_on_debian(context: &Context, package: &str, wanted: &str) -> Result<()> {
    let os = fs::read_to_string("/etc/os-release").unwrap_or_default();
    anyhow::ensure!(
        os.lines().any(|line| line == "ID=debian"),
        "found none of {wanted}: install one of them"
    );
    let sudo: &[&str] = match Command::new("id").arg("-u").output() {
        Ok(output) if output.stdout.starts_with(b"0\n") => &[],
        _ => &["sudo", "-n"],
    };
    for step in [
        &["update"][..],
        &["install", "-y", "--no-install-recommends", package],
    ] {
        // `env` runs what is behind it: with sudo or without, it is a command of its own.
        cmd!(
            context.shell,
            "env {sudo...} env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -q {step...}"
        )
        .ignore_stdout()
        .run()
        .with_context(|| format!("failed to install the package {package}"))?;
    }
    Ok(())
}

fn installed_browser() -> Option<String> {
    let runs = |name: &&str| {
        (Command::new(name).arg("--version").output()).is_ok_and(|output| output.status.success())
    };
    BROWSERS.into_iter().find(runs).map(str::to_owned)
}
