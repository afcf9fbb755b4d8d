//! Help texts, one snapshot per command, so that changes to the command line show up in review.

use std::process::Command;

fn help(arguments: &[&str], option: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_superstep"))
        .args(arguments)
        .arg(option)
        .env_remove("COLUMNS")
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_of_every_command_matches_its_snapshot() {
    let overview = help(&[], "--help");
    let commands = overview.lines().take_while(|line| *line != "Options:");
    let commands = commands.filter_map(|line| line.strip_prefix("  "));
    let names: Vec<&str> = commands.filter_map(|line| line.split(' ').next()).collect();
    insta::with_settings!({prepend_module_to_snapshot => false, snapshot_path => "snapshots/help"}, {
        insta::assert_snapshot!("superstep", overview);
        for name in names {
            insta::assert_snapshot!(name, help(&[name], "--help"));
        }
    });
}

#[test]
fn the_short_help_of_commands_with_many_options_fits_a_screen() {
    for name in ["run", "suite", "probe", "inject", "run-bundle", "bundle"] {
        let text = help(&[name], "-h");
        assert!(text.lines().count() <= 40, "{name}:\n{text}");
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{name}:\n{text}");
        let long = help(&[name], "--help");
        assert!(long.lines().count() > 2 * text.lines().count(), "{name}");
        assert!(!text.contains("--protocol"), "{name}:\n{text}");
    }
}
