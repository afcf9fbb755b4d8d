//! `superstep modules`, called by an executable: builds the untraced code of its modules.

use std::path::PathBuf;

use superstep_build::compile::{BuildOptions, Program};
use superstep_build::failure::Failure;
use superstep_build::manifest::{Language, TranslationUnit};
use superstep_trace::Backend;

use super::Tools;
use crate::arguments::value::{self, BackendChoice};
use crate::terminal::print_lines;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Executable, or shared library.
    file: PathBuf,
    #[arg(long, default_value = "auto", value_parser = value::backend())]
    backend: BackendChoice,
    /// Index of the first module.
    #[arg(long, default_value_t = 0)]
    first: usize,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let tools = Tools::find()?;
    let backend = args.backend.0.unwrap_or(Backend::Cpu);
    let builder = tools.builder(BuildOptions {
        first_module: args.first,
        ..BuildOptions::new(backend)
    })?;
    let file = args.file.canonicalize();
    let file = file.map_err(Failure::io("read", &args.file))?;
    let name = file.file_stem().unwrap_or_default();
    let list = builder.loaded_modules(&Program {
        name: name.to_string_lossy().into_owned(),
        folder: file.parent().map(PathBuf::from).unwrap_or_default(),
        units: vec![TranslationUnit {
            file,
            language: Language::Built,
        }],
        ..Program::default()
    })?;
    print_lines(&[list.display().to_string()])
}
