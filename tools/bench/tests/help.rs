//! A snapshot of every help text, so that changes to the command line show up in review.

use std::process::Command;

fn help(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_superstep-bench"))
        .args(arguments)
        .arg("--help")
        .env_remove("COLUMNS")
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_texts() {
    let overview = help(&[]);
    let commands = overview.lines().skip_while(|line| *line != "Commands:");
    let commands = commands.skip(1).take_while(|line| !line.is_empty());
    // Descriptions continue on indented lines.
    let names = commands.filter_map(|line| line.strip_prefix("  "));
    let names = names.filter_map(|line| line.split(' ').next().filter(|name| !name.is_empty()));
    let mut all = overview.clone();
    for name in names.filter(|name| *name != "help") {
        all += &format!("\n==== superstep-bench {name} ====\n\n{}", help(&[name]));
    }
    insta::assert_snapshot!("help", all);
}
