//! Help texts, one snapshot per command, so that changes to the command line show up in review.

use std::process::Command;

fn help(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_superstep"))
        .args(arguments)
        .arg("--help")
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_of_every_command_matches_its_snapshot() {
    let overview = help(&[]);
    let commands = overview.lines().skip_while(|line| *line != "Commands:");
    let commands = commands.skip(1).take_while(|line| !line.is_empty());
    let names = commands.filter_map(|line| line.split_whitespace().next());
    let names: Vec<&str> = names.filter(|name| *name != "help").collect();
    insta::with_settings!({prepend_module_to_snapshot => false, snapshot_path => "snapshots/help"}, {
        insta::assert_snapshot!("superstep", overview);
        for name in names {
            insta::assert_snapshot!(name, help(&[name]));
        }
    });
}
