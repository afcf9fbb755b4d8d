//! Tools for the tests: DuckDB, Polars, pandas and pyarrow for the documented queries, notebooks, Spark, two versions
//! of CMake, and a browser for the report.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use superstep_toolchain::variable::CACHE;
use superstep_toolchain::{cache_dir, install_packages};
use xshell::cmd;

use crate::context::Context;

pub const CMAKE: &str = "SUPERSTEP_TEST_CMAKE";
pub const BROWSER_VARIABLE: &str = "SUPERSTEP_TEST_BROWSER";

/// Folder of the Python packages.
pub const PYTHONPATH: &str = "SUPERSTEP_TEST_PYTHONPATH";

/// Folder of the packages that run a notebook.
pub const NOTEBOOK_PYTHONPATH: &str = "SUPERSTEP_TEST_NOTEBOOK_PYTHONPATH";

/// Folders of Spark's packages, in the format of `PYTHONPATH`.
pub const SPARK_PYTHONPATH: &str = "SUPERSTEP_TEST_SPARK_PYTHONPATH";

#[derive(Clone, Copy)]
enum Tool {
    /// Python packages, pinned by version and hash in pip's format. With a second list, they are built from source
    /// using the packages in that list.
    Python(&'static str, Option<&'static str>),
    /// One of these programs, the option that prints its version, and the Debian package that contains the first.
    Program(&'static [&'static str], &'static str, &'static str),
}

const QUERIES: Tool = Tool::Python(include_str!("../test-requirements.txt"), None);
const NOTEBOOK: Tool = Tool::Python(include_str!("../test-notebook-requirements.txt"), None);
const SPARK_NEEDS: &str = include_str!("../test-spark-requirements.txt");
const SPARK: Tool = Tool::Python(
    include_str!("../test-pyspark-requirements.txt"),
    Some(SPARK_NEEDS),
);
const OLD_CMAKE: Tool = Tool::Python(include_str!("../test-cmake-oldest.txt"), None);
const NEW_CMAKE: Tool = Tool::Python(include_str!("../test-cmake-newest.txt"), None);
const JAVA: Tool = Tool::Program(&["java"], "-version", "openjdk-17-jre-headless");
const BROWSER: Tool = Tool::Program(
    &[
        "chromium",
        "chromium-browser",
        "google-chrome-stable",
        "google-chrome",
    ],
    "--version",
    "chromium",
);

/// Variables through which the tests find the tools, and the suffix for the path of each tool.
const VARIABLES: [(&str, &[(Tool, &str)]); 6] = [
    (PYTHONPATH, &[(QUERIES, "")]),
    (NOTEBOOK_PYTHONPATH, &[(NOTEBOOK, "")]),
    (
        SPARK_PYTHONPATH,
        &[
            (JAVA, ""),
            (Tool::Python(SPARK_NEEDS, None), ""),
            (SPARK, ""),
        ],
    ),
    (
        CMAKE,
        &[
            (OLD_CMAKE, "/cmake/data/bin/cmake"),
            (NEW_CMAKE, "/cmake/data/bin/cmake"),
        ],
    ),
    ("SUPERSTEP_TEST_NINJA", &[(NEW_CMAKE, "/bin/ninja")]),
    (BROWSER_VARIABLE, &[(BROWSER, "")]),
];

/// Lists missing tools, installs them if this process is permitted to, and returns the variables through which the
/// tests find them.
///
/// If an installation fails, a warning says so and dependent tests are skipped; with `CI` set, the failure is an error.
pub fn variables(context: &Context) -> Result<BTreeMap<&'static str, String>> {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    let tools = VARIABLES.iter().flat_map(|(_, tools)| *tools);
    let missing: Vec<String> = tools.filter_map(|(tool, _)| tool.missing()).collect();
    if !missing.is_empty() {
        eprintln!("xtask: installing missing tools for the tests:");
    }
    for tool in missing {
        eprintln!("xtask:   {tool}");
    }
    let mut found = BTreeMap::new();
    for (variable, tools) in VARIABLES {
        let paths = (tools.iter()).map(|(tool, suffix)| Ok(tool.path(context)? + suffix));
        match paths.collect::<Result<Vec<_>>>() {
            Ok(paths) => _ = found.insert(variable, paths.join(":")),
            Err(error) if is_ci => {
                return Err(error.context("failed to set up the test tools, which CI requires"));
            }
            Err(error) => eprintln!("warning: {error:#}; dependent tests are skipped"),
        }
    }
    Ok(found)
}

impl Tool {
    /// Returns the packages to install, and how, if the tool is missing.
    fn missing(self) -> Option<String> {
        match self {
            Tool::Python(list, _) => {
                let folder = folder(list).ok()?;
                let names: Vec<&str> = pins(list).map(|(name, _)| name).collect();
                let (names, place) = (names.join(", "), folder.display());
                (!folder.is_dir()).then(|| format!("with pip, into {place}: {names}"))
            }
            Tool::Program(names, version, package) => find_program(names, version)
                .is_none()
                .then(|| format!("with apt-get, as root: {package}")),
        }
    }

    /// Returns the tool's path, after installing the tool if needed.
    fn path(self, context: &Context) -> Result<String> {
        match self {
            Tool::Python(list, needs) => {
                let needs = needs.map(|needs| pip_install(context, needs, None));
                pip_install(context, list, needs.transpose()?.as_deref())
            }
            Tool::Program(names, version, package) => {
                if find_program(names, version).is_none() {
                    // On Ubuntu, the package `chromium` only installs a snap, which does not work in containers.
                    let os = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
                    let is_debian = os.lines().any(|line| line == "ID=debian");
                    ensure!(is_debian, "found none of {}: install one", names.join(", "));
                    install_packages(&[package], &mut |step| eprintln!("xtask: {step}"))?;
                }
                find_program(names, version).with_context(|| {
                    format!("the package {package} was installed, but its program does not run")
                })
            }
        }
    }
}

fn find_program(names: &[&str], version: &str) -> Option<String> {
    let runs = |name: &&&str| {
        (Command::new(name).arg(version).output()).is_ok_and(|output| output.status.success())
    };
    names.iter().find(runs).map(|name| (*name).to_owned())
}

fn pins(requirements: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = requirements.lines().filter(|line| !line.starts_with('#'));
    let pins = lines.filter_map(|line| line.split_once("=="));
    pins.map(|(name, rest)| (name, rest.split(' ').next().unwrap_or_default()))
}

fn folder(requirements: &str) -> Result<PathBuf> {
    let cache =
        cache_dir().with_context(|| format!("failed to choose a cache folder: set {CACHE}"))?;
    let versions: Vec<&str> = pins(requirements).map(|(_, version)| version).collect();
    Ok(cache.join(format!("test-python-{}", versions.join("-"))))
}

/// Installs packages into a cache folder whose name changes with the pins, and returns the folder. Installs wheels, or
/// with `build`, builds the packages from source using those in `build`.
pub fn pip_install(context: &Context, requirements: &str, build: Option<&str>) -> Result<String> {
    let (shell, folder) = (&context.shell, folder(requirements)?);
    if !folder.is_dir() {
        let staging = folder.with_file_name(format!("test-python-{}.part", std::process::id()));
        let list = staging.join("requirements.txt");
        shell.write_file(&list, requirements)?;
        let kind: &[&str] = match build {
            None => &["--only-binary=:all:"],
            Some(_) => &["--no-binary=:all:", "--no-build-isolation"],
        };
        let installed = cmd!(
            shell,
            "python3 -m pip install --quiet --no-deps {kind...} --require-hashes --target {staging} -r {list}"
        )
        .env("PYTHONPATH", build.unwrap_or_default())
        .run();
        let renamed = installed.is_ok() && std::fs::rename(&staging, &folder).is_ok();
        if !renamed {
            shell.remove_path(&staging)?;
        }
        installed.context("failed to install the packages for the tests with pip")?;
        // Another process may have created the folder first.
        ensure!(folder.is_dir(), "failed to create {}", folder.display());
    }
    Ok(folder.display().to_string())
}

#[cfg(test)]
mod tests;
