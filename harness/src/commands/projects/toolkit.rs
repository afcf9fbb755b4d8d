//! `superstep toolkit`: adds proprietary libraries to the toolkit that `build` uses.

use clap::builder::PossibleValuesParser;
use superstep_build::exit_code;
use superstep_build::failure::Failure;
use superstep_build::nvcc::Toolkit;
use superstep_toolchain::proprietary::PROPRIETARY_PACKAGES;

use super::Tools;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Adds headers and stubs for NVIDIA's proprietary libraries. Install the libraries themselves on the machine that
    /// runs the program.
    Add {
        #[arg(required = true, value_name = "NAME", value_parser = PossibleValuesParser::new(PROPRIETARY_PACKAGES.iter().map(|package| package.name)))]
        names: Vec<String>,
    },
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let Action::Add { names } = &args.command;
    let tools = Tools::find()?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Toolkit::add(&tools.toolchain, &tools.cache, &names, &mut |line| {
        eprintln!("{line}")
    })?;
    Ok(exit_code::OK)
}
