//! `superstep run`: one program, the same way as a suite.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::results::{Color, MessageFormat, Reporter};
use crate::suite::{Prepared, Progress, build_all, fetch_all, run_prepared, select, source_hashes};
use superstep_build::exit_code;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::installation::Installation;
use superstep_build::manifest::{Manifest, Suite};

use super::common::{self, BuildArgs, ExecuteArgs, FetchArgs, SelectArgs};
use super::running::RunningArgs;
use super::source::SourceArgs;

/// Arguments of `superstep run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A CUDA file, or the manifest of a benchmark in the folder of its suite.
    #[arg(value_name = "PROG.cu|BENCHMARK.yaml")]
    program: PathBuf,
    #[command(flatten)]
    source: SourceArgs,
    /// Size preset of a manifest [default: the suite's own].
    #[arg(long, value_name = "NAME")]
    size: Option<String>,
    /// Print the commands instead of running them.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    fetch: FetchArgs,
    #[command(flatten)]
    build: BuildArgs,
    #[command(flatten)]
    execute: ExecuteArgs,
    #[command(flatten)]
    running: RunningArgs,
}

/// Runs the command.
pub fn run(args: Args, color: Color) -> Result<i32, Failure> {
    let installation = Installation::find();
    let is_manifest = is_manifest(&args.program);
    let (suite, name, size) = program_suite(&args.program, &args.source, args.size.clone())?;
    args.build.set_jobs()?;
    let select_args = SelectArgs {
        size: Some(size),
        only: vec![name],
        exclude: vec![],
    };
    let golden = if is_manifest {
        common::golden_folder(&installation, &suite)
    } else {
        None
    };
    let mut options = args.execute.options(
        &select_args,
        &args.build,
        args.fetch.options()?,
        golden,
        false,
    )?;
    options.running = args.running.running();
    let selected = select(&suite, &options)?;
    let reporter = Reporter::new(args.execute.message_format);
    let size = options.size.as_ref().unwrap_or(&suite.default_size);
    let sources = fetch_all(&suite, &selected, size, &options.fetch)?;
    let toolchain = common::toolchain()?;
    let builder = common::builder(&options, &toolchain, &installation, &reporter)?;
    builder.runtime_libraries()?;
    if args.dry_run {
        reporter.finish();
        return common::print_commands(&selected, sources, builder);
    }
    let hashes = source_hashes(&sources);
    let executables = build_all(&selected, sources, &builder, |_, _| ());
    let mut prepared = Vec::new();
    for ((benchmark, executables), sources) in selected.iter().zip(executables).zip(hashes) {
        // Without a program there is nothing to record: the error is all there is to say.
        prepared.push(Prepared {
            benchmark,
            executables: Ok(executables?),
            sources,
        });
    }
    let identity = common::identity(&builder, &toolchain);
    let progress = Progress::begin(&suite, &selected, &options, &reporter)?;
    let (summary, folder) =
        run_prepared(&suite, prepared, &options, &identity, &reporter, progress)?;
    args.running.write(&summary)?;
    let code = common::conclude(&summary, &folder, args.execute.message_format, color);
    if code != exit_code::BENCHMARK_FAILED {
        return Ok(code);
    }
    let kind = summary
        .benchmarks
        .iter()
        .find_map(|benchmark| benchmark.failure.as_ref())
        .map(|failure| failure.kind.as_str());
    let kind = kind.and_then(|word| serde_json::from_value::<FailureKind>(word.into()).ok());
    let kind = kind.unwrap_or(FailureKind::Internal);
    if !is_manifest
        && args.execute.message_format == MessageFormat::Human
        && let Some(hint) = args.source.hint(kind)
    {
        eprintln!("hint: {hint}");
    }
    Ok(kind.exit_code())
}

fn is_manifest(program: &Path) -> bool {
    let extension = program.extension();
    extension.is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// A suite with the program, the program's name in it, and the size.
pub fn program_suite(
    program: &Path,
    source: &SourceArgs,
    size: Option<String>,
) -> Result<(Suite, String, String), Failure> {
    if is_manifest(program) {
        from_manifest(program, source, size)
    } else {
        source.suite(program)
    }
}

/// The suite around a benchmark's manifest, the benchmark's name and the size.
fn from_manifest(
    program: &Path,
    source: &SourceArgs,
    size: Option<String>,
) -> Result<(Suite, String, String), Failure> {
    if source.any() {
        let message = "failed to take the arguments: a manifest brings its own files and arguments; choose among its sizes with --size";
        return Err(Failure::new(FailureKind::Usage, message));
    }
    let folder = program
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let suite = Manifest::load_suite(folder)?;
    let name = program
        .file_stem()
        .and_then(OsStr::to_str)
        .unwrap_or_default()
        .to_owned();
    if suite.benchmark(&name).is_none() {
        let message = format!(
            "failed to find benchmark `{name}`: {} does not list it",
            folder.join("suite.yaml").display()
        );
        return Err(Failure::new(FailureKind::Manifest, message));
    }
    let size = size.unwrap_or_else(|| suite.default_size.clone());
    Ok((suite, name, size))
}
