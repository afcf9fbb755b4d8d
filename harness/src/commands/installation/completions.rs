//! `superstep completions`: prints a completion script.

use clap::CommandFactory;
use clap_complete::Shell;
use superstep_build::exit_code;
use superstep_build::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shell to print a script for.
    shell: Shell,
}

pub fn run<C: CommandFactory>(args: &Args) -> Result<i32, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut C::command(), "superstep", &mut script);
    crate::terminal::print(|out| out.write_all(&script))?;
    Ok(exit_code::OK)
}
