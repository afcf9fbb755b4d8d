//! Programs named on the command line: a CUDA file, a benchmark's manifest, or a suite.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use superstep_build::bail;
use superstep_build::failure::Failure;
use superstep_build::manifest::{Suite, load_suite};

use crate::arguments::source::SourceArgs;
use crate::arguments::{BuildArgs, ExecuteArgs, FetchArgs, InSituArgs, SelectArgs, session};
use crate::session::Session;
use crate::suite::ProgramChoice;

/// Arguments for commands that take a program or a suite, with options for building and running.
#[derive(Debug, clap::Args)]
pub struct ProgramArgs {
    /// CUDA file, executable of a project, manifest of a benchmark, or suite.
    #[arg(value_name = "PROGRAM|SUITE", required = true)]
    program: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    fetch: FetchArgs,
    #[command(flatten)]
    pub build: BuildArgs,
    #[command(flatten)]
    pub execute: ExecuteArgs,
}

impl ProgramArgs {
    pub fn session(&self, bundle: Option<&Path>) -> Result<Session, Failure> {
        let in_situ = InSituArgs::default();
        session(bundle, &self.build, &self.fetch, &self.execute, in_situ)
    }

    /// Returns the chosen programs, either in their own suite or in one created from the command line.
    pub fn chosen(&self, session: &Session) -> Result<(Suite, ProgramChoice), Failure> {
        let program = self.program.as_deref().unwrap_or(Path::new(""));
        let name = program.to_string_lossy();
        let manifest = session.installation.suite(&name).join("suite.yaml");
        // A single word is more likely a misspelt suite than a missing file.
        let is_word = !program.exists() && !name.contains(['.', '/']);
        let is_suite = !program.is_file() && (manifest.is_file() || is_word);
        if is_suite || session.bundle.is_some() {
            return Ok((session.suite(&name)?, self.select.choice()?));
        }
        one_program(Some(program), &self.source, self.select.size.clone())
    }
}

/// Returns the given program or, if there is none, the program that the command after `--` starts.
pub fn one_program(
    program: Option<&Path>,
    source: &SourceArgs,
    size: Option<String>,
) -> Result<(Suite, ProgramChoice), Failure> {
    let suite = match program {
        Some(program) if is_manifest(program) => return from_manifest(program, source, size),
        Some(program) => source.suite(program)?,
        None => source.suite_of_command()?,
    };
    let choice = ProgramChoice::one(suite.name.clone(), suite.default_size.clone())?;
    Ok((suite, choice))
}

pub fn is_manifest(program: &Path) -> bool {
    let extension = program.extension();
    extension.is_some_and(|extension| extension == "yaml" || extension == "yml")
}

fn from_manifest(
    program: &Path,
    source: &SourceArgs,
    size: Option<String>,
) -> Result<(Suite, ProgramChoice), Failure> {
    if source.has_any() {
        bail!(
            Usage,
            "failed to use the arguments: a manifest has its own files and arguments; choose one of its sizes with --size"
        );
    }
    let folder = (program.parent()).filter(|parent| !parent.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let suite = load_suite(folder)?;
    let name = program.file_stem().and_then(OsStr::to_str);
    let name = name.unwrap_or_default().to_owned();
    if suite.benchmark(&name).is_none() {
        bail!(
            Manifest,
            "failed to find benchmark `{name}`: {} does not list it",
            folder.join("suite.yaml").display()
        );
    }
    let size = size.unwrap_or_else(|| suite.default_size.clone());
    Ok((suite, ProgramChoice::one(name, size)?))
}
