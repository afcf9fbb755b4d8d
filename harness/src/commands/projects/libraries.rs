//! `superstep libraries`, called by an executable's start script: prints the folders of its proprietary libraries.

use std::path::PathBuf;

use superstep_build::failure::Failure;
use superstep_build::fetch::default_cache_dir;
use superstep_build::run as program;

use crate::terminal::print_lines;

#[derive(Debug, clap::Args)]
pub struct Args {
    file: PathBuf,
    /// The CPU backend's runtime, which replaces cuBLAS.
    #[arg(long)]
    blas: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let log = &mut |line: &str| eprintln!("superstep: {line}");
    let path = program::library_path(&args.file, &default_cache_dir()?, args.blas.as_deref(), log)?;
    print_lines(&[path.display().to_string()])
}
