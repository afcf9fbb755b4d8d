//! Finds Clang and LLVM 22.

use crate::variable;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::missing::MissingTool;
use crate::packages;
use crate::search::{Purpose, Search};
use crate::version::{self, Version};

pub const LLVM_MAJOR: u32 = 22;

/// Environment variable that tells llvm-sys where LLVM's prefix is when `instrument` is built.
pub const LLVM_PREFIX_VARIABLE: &str = "LLVM_SYS_221_PREFIX";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Llvm {
    pub prefix: PathBuf,
    pub version: Version,
}

impl Llvm {
    pub const TOOLS: [&str; 6] = ["clang", "clang++", "llc", "llvm-link", "opt", "llvm-dis"];

    /// Returns the folder that contains Clang's own headers.
    pub fn include(&self) -> PathBuf {
        self.prefix.join(format!("lib/clang/{LLVM_MAJOR}/include"))
    }

    pub fn tool(&self, name: &str) -> PathBuf {
        self.prefix.join("bin").join(name)
    }
}

/// Searches only [`variable::LLVM`] if it is set, otherwise the usual prefixes, `LLVM_SYS_221_PREFIX`, and
/// `llvm-config-22` or `llvm-config` in `PATH`.
pub(crate) fn locate(search: &Search) -> Result<Llvm, Vec<MissingTool>> {
    let with_hint = |mut tools: Vec<MissingTool>, hint: &str| {
        (tools.iter_mut()).for_each(|tool| tool.hint = hint.to_owned());
        tools
    };
    if let Some(prefix) = search.path(variable::LLVM) {
        let hint = format!(
            "point {} at an LLVM 22 prefix (a folder with bin/clang++), or unset it",
            variable::LLVM
        );
        return examine(&prefix, search.purpose).map_err(|tools| with_hint(tools, &hint));
    }
    let mut failures = Vec::new();
    for prefix in candidates(search) {
        match examine(&prefix, search.purpose) {
            Ok(llvm) => return Ok(llvm),
            Err(tools) => failures.push(tools),
        }
    }
    let closest = failures.into_iter().min_by_key(Vec::len);
    let llvm = missing("clang and LLVM 22", "no LLVM 22 in the usual places");
    let hint = packages::install_commands(&packages::needed(search.purpose));
    Err(with_hint(closest.unwrap_or_else(|| vec![llvm]), &hint))
}

fn candidates(search: &Search) -> Vec<PathBuf> {
    let mut prefixes = search.llvm_prefixes.clone();
    prefixes.extend(search.path(LLVM_PREFIX_VARIABLE));
    for name in ["llvm-config-22", "llvm-config"] {
        prefixes.extend(search.in_path(name).and_then(|tool| prefix_of(&tool)));
    }
    // Tools missing from another version of LLVM are not worth reporting.
    prefixes.retain(|prefix| {
        let config = prefix.join("bin/llvm-config");
        prefix.is_dir() && version_of(&config).is_none_or(|version| version.major == LLVM_MAJOR)
    });
    prefixes
}

/// Returns the version of an `llvm-config`, which prints only its version.
fn version_of(llvm_config: &Path) -> Option<Version> {
    Version::after(&version::version_text(llvm_config).ok()?, "")
}

fn prefix_of(llvm_config: &Path) -> Option<PathBuf> {
    let output = Command::new(llvm_config).arg("--prefix").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(text.trim())).filter(|prefix| prefix.is_absolute())
}

/// Returns a missing tool without a hint; the caller adds it.
fn missing(name: &str, why: impl Into<String>) -> MissingTool {
    MissingTool {
        name: name.to_owned(),
        why: why.into(),
        hint: String::new(),
    }
}

/// Checks one prefix. Only `clang++` and `llc` are queried for their versions: they are in different packages, and
/// running all tools on every start would take longer than some compilations.
fn examine(prefix: &Path, purpose: Purpose) -> Result<Llvm, Vec<MissingTool>> {
    let mut problems = Vec::new();
    for name in Llvm::TOOLS.into_iter().chain(["llvm-config"]) {
        let path = prefix.join("bin").join(name);
        if !path.is_file() {
            problems.push(missing(name, format!("not at {}", path.display())));
        }
    }
    let header = prefix.join("include/llvm-c/Core.h");
    if purpose == Purpose::Build && !header.is_file() {
        let header = header.display();
        let why = format!("not at {header} (needed to build the instrumenter)");
        problems.push(missing("llvm-c headers", why));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let version_of = |name| check_version(name, &prefix.join("bin").join(name));
    let version = version_of("clang++").and_then(|version| version_of("llc").map(|_| version));
    Ok(Llvm {
        prefix: prefix.to_owned(),
        version: version.map_err(|problem| vec![problem])?,
    })
}

fn check_version(name: &str, tool: &Path) -> Result<Version, MissingTool> {
    let version =
        version::query(tool, "version ").map_err(|error| missing(name, error.to_string()))?;
    if version.major != LLVM_MAJOR {
        let tool = tool.display();
        let why = format!("{tool} is version {version}, but {LLVM_MAJOR} is needed");
        return Err(missing(name, why));
    }
    Ok(version)
}

#[cfg(test)]
mod tests;
