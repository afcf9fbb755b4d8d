//! Tests of the command line as a whole.

use super::*;

#[test]
fn the_help_lists_every_command_that_is_not_hidden() {
    let command = Cli::command();
    let known = command.get_subcommands().filter(|it| !it.is_hide_set());
    let mut known: Vec<&str> = known.map(clap::Command::get_name).collect();
    let mut listed: Vec<&str> = GROUPS.iter().flat_map(|group| group.1.split(' ')).collect();
    listed.sort_unstable();
    known.sort_unstable();
    assert_eq!(listed, known);
}

#[test]
fn every_common_option_exists() {
    let command = Cli::command();
    let commands = MANY_OPTIONS.map(|name| command.find_subcommand(name).unwrap());
    for id in COMMON_OPTIONS.split(' ') {
        let has = |command: &clap::Command| command.get_arguments().any(|arg| arg.get_id() == id);
        assert!(commands.iter().any(|command| has(command)), "{id}");
    }
}
