//! Tests of `source`.

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
