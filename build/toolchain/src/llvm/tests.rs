//! Tests for the choice between LLVM installations.

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
fn a_complete_prefix_is_used() {
    let dir = fake_prefix("22.1.8");
    let llvm = locate(&Search::nowhere().with_variable("SUPERSTEP_LLVM", dir.path())).unwrap();
    assert_eq!(llvm.version.to_string(), "22.1.8");
    assert_eq!(llvm.tool("clang++"), dir.path().join("bin/clang++"));
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
fn headers_are_needed_only_for_building() {
    let dir = fake_prefix("22.1.8");
    std::fs::remove_file(dir.path().join("include/llvm-c/Core.h")).unwrap();
    let mut search = Search::nowhere().with_variable("SUPERSTEP_LLVM", dir.path());
    assert_eq!(locate(&search).unwrap_err()[0].name, "llvm-c headers");
    search.purpose = Purpose::Run;
    locate(&search).unwrap();
}

#[test]
fn the_missing_tools_of_the_most_complete_prefix_are_reported() {
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
fn llvm_config_in_path_determines_the_prefix() {
    let dir = fake_prefix("22.1.9");
    let bin = tempfile::tempdir().unwrap();
    let config = bin.path().join("llvm-config-22");
    fake_tool(&config, &dir.path().display().to_string());
    let search = Search::nowhere().with_variable("PATH", bin.path());
    assert_eq!(locate(&search).unwrap().version.to_string(), "22.1.9");
}

#[test]
fn without_llvm_the_hint_names_the_packages() {
    let missing = locate(&Search::nowhere()).unwrap_err();
    assert!(missing[0].hint.contains("clang-22"), "{}", missing[0].hint);
}
