//! Tests for `source`.

use super::*;
use clap::Parser as _;

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    source: SourceArgs,
}

#[test]
fn compiler_options_for_an_executable_are_refused() {
    let program = std::env::current_exe().unwrap();
    let suite = |words: &[&str]| {
        let line = Line::parse_from([&["line"], words].concat());
        line.source.suite(&program).map(|suite| suite.name)
    };
    assert!(suite(&["--exit-code", "1"]).is_ok());
    let error = suite(&["-D", "N=4"]).unwrap_err().to_string();
    assert!(
        error.starts_with("--define is a compiler option"),
        "{error}"
    );
}

#[test]
fn flags_are_spelled_as_with_nvcc() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("pc.cu");
    fs::write(&program, "").unwrap();
    let flags = |words: &[&str]| {
        let words = ["line"].iter().chain(words).map(OsString::from);
        let line = Line::parse_from(without_nvcc_flags(words));
        let mut suite = line.source.suite(&program).unwrap();
        let benchmark = suite.benchmarks.remove(0);
        let args = benchmark.sizes[SIZE].args.clone();
        (benchmark.flags.all, benchmark.flags.host, args)
    };
    let line = [
        "-O3",
        "-std=c++20",
        "-g",
        "-lineinfo",
        "-DN=4",
        "--",
        "-std=x",
    ];
    let (all, host, args) = flags(&line);
    assert_eq!(all, ["-DN=4", "-std=c++20"]);
    assert_eq!(host, ["-O3", "-g"], "only for host code, as with nvcc");
    assert_eq!(args, ["-std=x"], "the program's own arguments are kept");
    assert_eq!(flags(&["--flag", "-std=c++17"]).0, ["-std=c++17"]);
    let words = ["run", "-arch=sm_80"].into_iter().map(OsString::from);
    assert_eq!(without_nvcc_flags(words), ["run", "--gpu-arch=sm_80"]);
}
