//! `superstep env`, `build`, `toolkit`, `modules`, `libraries`, and `nvcc`: projects that their own build systems build.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use clap::builder::PossibleValuesParser;
use superstep_build::compile::{BuildOptions, Builder, DEFAULT_ARCH, Program, Toolset, quote};
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::fetch::default_cache_dir;
use superstep_build::installation::Installation;
use superstep_build::manifest::{Flags, Language, TranslationUnit};
use superstep_build::nvcc::{self, Nvcc, Toolkit};
use superstep_build::{exit_code, interrupt, run};
use superstep_toolchain::Toolchain;
use superstep_toolchain::proprietary::PROPRIETARY_PACKAGES;
use superstep_trace::Backend;

use super::common::BackendChoice;
use super::view::print;
use crate::suite::arch_here;

/// Prints the variables by which build systems find Superstep's compiler, for `eval "$(superstep env)"`.
#[derive(Debug, clap::Args)]
pub struct EnvArgs {}

/// Starts a command with these variables set.
#[derive(Debug, clap::Args)]
pub struct BuildArgs {
    /// What builds the project.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Changes what the compiler of `build` has.
#[derive(Debug, clap::Args)]
pub struct ToolkitArgs {
    #[command(subcommand)]
    command: ToolkitCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ToolkitCommand {
    /// Adds proprietary libraries of NVIDIA's to compile and link with. Their own code is not kept: the machine that runs the program has it.
    Add {
        #[arg(required = true, value_name = "NAME", value_parser = PossibleValuesParser::new(PROPRIETARY_PACKAGES.iter().map(|package| package.name)))]
        names: Vec<String>,
    },
}

/// Makes the untraced code of a program's modules and prints the list of it.
#[derive(Debug, clap::Args)]
pub struct ModulesArgs {
    /// Executable, or shared library.
    file: PathBuf,
    #[arg(long, value_enum, default_value_t)]
    backend: BackendChoice,
    /// Index of the first module.
    #[arg(long, default_value_t = 0)]
    first: usize,
}

/// Prints the LD_LIBRARY_PATH with which a program finds its proprietary libraries.
#[derive(Debug, clap::Args)]
pub struct LibrariesArgs {
    file: PathBuf,
    /// The CPU backend's runtime, which stands in for cuBLAS.
    #[arg(long)]
    blas: Option<PathBuf>,
}

/// The tools and where steps are kept.
struct Tools {
    installation: Installation,
    toolchain: Toolchain,
    cache: PathBuf,
}

impl Tools {
    fn find() -> Result<Self, Failure> {
        Ok(Self {
            installation: Installation::find(),
            toolchain: Toolchain::locate_or_fetch(&mut |step| eprintln!("superstep: {step}"))
                .map_err(|error| Failure::new(FailureKind::Tool, error.to_string()))?,
            cache: default_cache_dir()?,
        })
    }

    fn toolkit(&self) -> Result<Toolkit, Failure> {
        let builder = self.builder(BuildOptions::new(Backend::Cpu))?;
        Ok(Toolkit::make(
            &self.toolchain,
            &self.installation,
            &builder,
            &self.cache,
            arch_here().map_or(DEFAULT_ARCH, |found| found.min(DEFAULT_ARCH)),
        )?)
    }

    fn builder(&self, options: BuildOptions) -> Result<Builder, Failure> {
        Ok(Builder::new(
            Toolset::new(&self.toolchain, &self.installation)?,
            self.installation.clone(),
            options,
            self.cache.join("build"),
            |_| (),
        ))
    }
}

pub fn env(_: &EnvArgs) -> Result<i32, Failure> {
    let variables = Tools::find()?.toolkit()?.variables();
    print(|out| {
        for (name, value) in variables {
            writeln!(out, "export {name}={}", quote(&value.to_string_lossy()))?;
        }
        Ok(())
    })?;
    Ok(exit_code::OK)
}

pub fn toolkit(args: &ToolkitArgs) -> Result<i32, Failure> {
    let ToolkitCommand::Add { names } = &args.command;
    let tools = Tools::find()?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Toolkit::add(&tools.toolchain, &tools.cache, &names, &mut |line| {
        eprintln!("{line}")
    })?;
    Ok(exit_code::OK)
}

pub fn build(args: &BuildArgs) -> Result<i32, Failure> {
    let variables = Tools::find()?.toolkit()?.variables();
    let Some((program, rest)) = args.command.split_first() else {
        return Ok(exit_code::USAGE);
    };
    let status = Command::new(program).args(rest).envs(variables).status();
    let status = status.map_err(|error| {
        let message = format!("failed to start {}: {error}", program.to_string_lossy());
        Failure::new(FailureKind::Usage, message)
    })?;
    if interrupt::requested() {
        return Ok(exit_code::INTERRUPTED);
    }
    Ok(status.code().unwrap_or(exit_code::BUILD))
}

pub fn modules(args: &ModulesArgs) -> Result<i32, Failure> {
    let tools = Tools::find()?;
    let backend = args.backend.fixed().unwrap_or(Backend::Cpu);
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
        include: Vec::new(),
        flags: Flags::default(),
        constants: Vec::new(),
    })?;
    print(|out| writeln!(out, "{}", list.display()))?;
    Ok(exit_code::OK)
}

pub fn libraries(args: &LibrariesArgs) -> Result<i32, Failure> {
    let say = &mut |line: &str| eprintln!("superstep: {line}");
    let path = run::library_path(&args.file, &default_cache_dir()?, args.blas.as_deref(), say)?;
    print(|out| writeln!(out, "{}", path.display()))?;
    Ok(exit_code::OK)
}

/// Does what `nvcc` would do with `arguments`, and gives the exit code.
pub fn nvcc(arguments: impl Iterator<Item = OsString>) -> u8 {
    let arguments = arguments.map(|word| word.to_string_lossy().into_owned());
    let failed = |failure: Failure| nvcc::Failure::Failed(format!("error: {failure}"));
    let done = Tools::find().map_err(failed).and_then(|tools| {
        let toolkit = match std::env::var_os("SUPERSTEP_TOOLKIT") {
            Some(root) => root.into(),
            None => tools.toolkit().map_err(failed)?.root,
        };
        let nvcc = Nvcc {
            toolkit,
            arch: nvcc::arch_wanted(),
            version: tools.toolchain.cuda.version.to_string(),
            clangxx: tools.toolchain.llvm.clangxx.clone(),
        };
        nvcc::run(&nvcc, arguments.collect(), |options| {
            tools.builder(options).map_err(failed)
        })
    });
    match done {
        Ok(()) => 0,
        Err(failure) => {
            eprintln!("{failure}");
            1
        }
    }
}
