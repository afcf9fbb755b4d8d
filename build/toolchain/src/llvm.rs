//! Finding Clang and LLVM 22.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::missing::MissingTool;
use crate::packages;
use crate::search::{Purpose, Search};
use crate::version::{self, Version};

/// The major version everything here is written for: inkwell's bindings and the IR on disk are tied to it.
pub const LLVM_MAJOR: u32 = 22;

/// The variable in which llvm-sys looks for LLVM when `instrument` is built.
pub const LLVM_PREFIX_VARIABLE: &str = "LLVM_SYS_221_PREFIX";

/// Clang and LLVM's tools, all of version 22. The paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Llvm {
    /// The installation prefix, with `bin`, `include` and `lib`.
    pub prefix: PathBuf,
    pub version: Version,
    pub clang: PathBuf,
    /// The C++ and CUDA compiler.
    pub clangxx: PathBuf,
    pub llc: PathBuf,
    pub llvm_link: PathBuf,
    pub opt: PathBuf,
    pub llvm_dis: PathBuf,
}

impl Llvm {
    /// The tools by their usual names, in the order `doctor` lists them.
    pub fn tools(&self) -> [(&'static str, &Path); 6] {
        [
            ("clang", &self.clang),
            ("clang++", &self.clangxx),
            ("llc", &self.llc),
            ("llvm-link", &self.llvm_link),
            ("opt", &self.opt),
            ("llvm-dis", &self.llvm_dis),
        ]
    }
}

/// Looks at `SUPERSTEP_LLVM` alone when it is set, else at the usual prefixes, `LLVM_SYS_221_PREFIX`, and
/// `llvm-config-22` or `llvm-config` in `PATH`.
pub(crate) fn locate(search: &Search) -> Result<Llvm, Vec<MissingTool>> {
    let mended = |mut tools: Vec<MissingTool>, hint: &str| {
        (tools.iter_mut()).for_each(|tool| tool.hint = hint.to_owned());
        tools
    };
    if let Some(prefix) = search.path("SUPERSTEP_LLVM") {
        let hint =
            "point SUPERSTEP_LLVM at an LLVM 22 prefix (a folder with bin/clang++), or unset it";
        return examine(&prefix, search.purpose).map_err(|tools| mended(tools, hint));
    }
    let mut failures = Vec::new();
    for prefix in candidates(search) {
        match examine(&prefix, search.purpose) {
            Ok(llvm) => return Ok(llvm),
            Err(tools) => failures.push(tools),
        }
    }
    let nearest = failures.into_iter().min_by_key(Vec::len);
    let none = || {
        vec![missing(
            "clang and LLVM 22",
            "no LLVM 22 in the usual places",
        )]
    };
    Err(mended(
        nearest.unwrap_or_else(none),
        &packages::install_line(search.purpose),
    ))
}

fn candidates(search: &Search) -> Vec<PathBuf> {
    let mut prefixes = search.llvm_prefixes.clone();
    prefixes.extend(search.path(LLVM_PREFIX_VARIABLE));
    for name in ["llvm-config-22", "llvm-config"] {
        prefixes.extend(search.in_path(name).and_then(|tool| prefix_of(&tool)));
    }
    // What is missing from an LLVM of another version is of no interest to anyone.
    prefixes.retain(|prefix| {
        let config = prefix.join("bin/llvm-config");
        prefix.is_dir() && version_of(&config).is_none_or(|version| version.major == LLVM_MAJOR)
    });
    prefixes
}

/// `llvm-config` prints the bare version.
fn version_of(llvm_config: &Path) -> Option<Version> {
    Version::after(&version::version_text(llvm_config).ok()?, "")
}

fn prefix_of(llvm_config: &Path) -> Option<PathBuf> {
    let output = Command::new(llvm_config).arg("--prefix").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(text.trim())).filter(|prefix| prefix.is_absolute())
}

/// What is missing; what to do about it depends on who asked.
fn missing(name: &str, why: impl Into<String>) -> MissingTool {
    MissingTool {
        name: name.to_owned(),
        why: why.into(),
        hint: String::new(),
    }
}

/// Checks one prefix. Only `clang++` and `llc` are asked for their version: they come from two packages, and asking
/// all of them at every start would take longer than some compilations.
fn examine(prefix: &Path, purpose: Purpose) -> Result<Llvm, Vec<MissingTool>> {
    let mut problems = Vec::new();
    let mut tool = |name: &str| {
        let path = prefix.join("bin").join(name);
        if !path.is_file() {
            problems.push(missing(name, format!("not at {}", path.display())));
        }
        path
    };
    let (clang, clangxx, llc) = (tool("clang"), tool("clang++"), tool("llc"));
    let (llvm_link, opt, llvm_dis) = (tool("llvm-link"), tool("opt"), tool("llvm-dis"));
    tool("llvm-config");
    let header = prefix.join("include/llvm-c/Core.h");
    if purpose == Purpose::Build && !header.is_file() {
        let header = header.display();
        let why = format!("not at {header} (needed to build the instrumenter)");
        problems.push(missing("llvm-c headers", why));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let version = right_version("clang++", &clangxx).map_err(|problem| vec![problem])?;
    right_version("llc", &llc).map_err(|problem| vec![problem])?;
    Ok(Llvm {
        prefix: prefix.to_owned(),
        version,
        clang,
        clangxx,
        llc,
        llvm_link,
        opt,
        llvm_dis,
    })
}

fn right_version(name: &str, tool: &Path) -> Result<Version, MissingTool> {
    let version = version::ask(tool, "version ").map_err(|why| missing(name, why))?;
    if version.major != LLVM_MAJOR {
        let tool = tool.display();
        let why = format!("{tool} is version {version}, but {LLVM_MAJOR} is needed");
        return Err(missing(name, why));
    }
    Ok(version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::tests::fake_tool;

    fn fake_prefix(version: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for name in "clang clang++ llc llvm-link opt llvm-dis llvm-config".split(' ') {
            let tool = dir.path().join("bin").join(name);
            fake_tool(&tool, &format!("clang version {version}"));
        }
        let include = dir.path().join("include/llvm-c");
        std::fs::create_dir_all(&include).unwrap();
        std::fs::write(include.join("Core.h"), "").unwrap();
        dir
    }

    #[test]
    fn a_complete_prefix_is_taken() {
        let dir = fake_prefix("22.1.8");
        let llvm = locate(&Search::nowhere().with_variable("SUPERSTEP_LLVM", dir.path())).unwrap();
        assert_eq!(llvm.version.to_string(), "22.1.8");
        assert_eq!(llvm.clangxx, dir.path().join("bin/clang++"));
        assert_eq!(llvm.prefix, dir.path());
    }

    #[test]
    fn an_old_compiler_is_refused_with_both_versions() {
        let dir = fake_prefix("14.0.6");
        let search = Search::nowhere().with_variable("SUPERSTEP_LLVM", dir.path());
        let missing = locate(&search).unwrap_err();
        assert_eq!(missing.len(), 1);
        assert!(missing[0].why.contains("14.0.6") && missing[0].why.contains("but 22 is needed"));
        assert!(missing[0].hint.contains("SUPERSTEP_LLVM"));
    }

    #[test]
    fn headers_are_for_building_only() {
        let dir = fake_prefix("22.1.8");
        std::fs::remove_file(dir.path().join("include/llvm-c/Core.h")).unwrap();
        let mut search = Search::nowhere().with_variable("SUPERSTEP_LLVM", dir.path());
        assert_eq!(locate(&search).unwrap_err()[0].name, "llvm-c headers");
        search.purpose = Purpose::Run;
        locate(&search).unwrap();
    }

    #[test]
    fn each_absent_tool_is_listed_and_the_fullest_prefix_is_reported() {
        let dir = fake_prefix("22.1.8");
        std::fs::remove_file(dir.path().join("bin/llc")).unwrap();
        std::fs::remove_file(dir.path().join("bin/opt")).unwrap();
        let mut search = Search::nowhere();
        search.llvm_prefixes = vec!["/nonexistent".into(), dir.path().into()];
        let missing = locate(&search).unwrap_err();
        let names: Vec<_> = missing.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["llc", "opt"]);
    }

    #[test]
    fn llvm_config_in_the_path_leads_to_the_prefix() {
        let dir = fake_prefix("22.1.9");
        let bin = tempfile::tempdir().unwrap();
        let config = bin.path().join("llvm-config-22");
        fake_tool(&config, &dir.path().display().to_string());
        let search = Search::nowhere().with_variable("PATH", bin.path());
        assert_eq!(locate(&search).unwrap().version.to_string(), "22.1.9");
    }

    #[test]
    fn nothing_anywhere_names_the_packages() {
        let missing = locate(&Search::nowhere()).unwrap_err();
        assert!(missing[0].hint.contains("clang-22"), "{}", missing[0].hint);
    }
}
