//! `superstep run`: one program, the same way as a suite.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use superstep_harness::exit_code;
use superstep_harness::failure::{Failure, FailureKind};
use superstep_harness::installation::Installation;
use superstep_harness::manifest::{
    Benchmark, Checks, Determinism, Flags, Language, Manifest, Size, Source, Suite, TranslationUnit,
};
use superstep_harness::results::{Color, Reporter};
use superstep_harness::suite::{
    Prepared, Progress, build_all, fetch_all, run_prepared, select, source_hashes,
};

use super::common::{self, BuildArgs, ExecuteArgs, FetchArgs, SelectArgs};
use super::running::RunningArgs;

const SIZE: &str = "run";

/// Arguments of `superstep run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A CUDA file, or the manifest of a benchmark in the folder of its suite.
    #[arg(value_name = "PROG.cu|BENCHMARK.yaml")]
    program: PathBuf,
    /// More files of the program: CUDA, C or C++.
    #[arg(value_name = "MORE.cu")]
    more: Vec<PathBuf>,
    /// Arguments of the program; a manifest has its own.
    #[arg(last = true)]
    args: Vec<String>,
    /// The same as naming the file behind the first.
    #[arg(long, value_name = "FILE")]
    with: Vec<PathBuf>,
    /// Folder to search for headers.
    #[arg(long, short = 'I', value_name = "DIR")]
    include: Vec<PathBuf>,
    /// A flag for every compilation, `--flag=-DN=4` for instance.
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    flag: Vec<String>,
    /// A flag for the link.
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    link_flag: Vec<String>,
    /// The program's accesses differ from run to run: compare only launches.
    #[arg(long)]
    nondeterministic: bool,
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
    let is_manifest = args
        .program
        .extension()
        .is_some_and(|extension| extension == "yaml" || extension == "yml");
    let (suite, name, size) = if is_manifest {
        from_manifest(&args)?
    } else {
        from_source(&args)?
    };
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
    Ok(kind.unwrap_or(FailureKind::Internal).exit_code())
}

/// The suite around a benchmark's manifest, the benchmark's name and the size.
fn from_manifest(args: &Args) -> Result<(Suite, String, String), Failure> {
    if !(args.args.is_empty() && args.with.is_empty() && args.more.is_empty()) {
        let message = "failed to take the arguments: a manifest brings its own files and arguments; choose among its sizes with --size";
        return Err(Failure::new(FailureKind::Usage, message));
    }
    let folder = args
        .program
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let suite = Manifest::load_suite(folder)?;
    let name = args
        .program
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
    let size = args
        .size
        .clone()
        .unwrap_or_else(|| suite.default_size.clone());
    Ok((suite, name, size))
}

/// A suite made of one program.
fn from_source(args: &Args) -> Result<(Suite, String, String), Failure> {
    let absolute = |path: &Path| {
        path.canonicalize().map_err(|error| {
            Failure::new(
                FailureKind::Fetch,
                format!(
                    "failed to read {}: {error}; give the path of a CUDA file",
                    path.display()
                ),
            )
        })
    };
    let program = absolute(&args.program)?;
    let folder = program.parent().unwrap_or(Path::new("/")).to_owned();
    let name = program
        .file_stem()
        .and_then(OsStr::to_str)
        .unwrap_or("program")
        .to_owned();
    let mut units = vec![unit(&folder, &program, Some(Language::Cuda))?];
    for file in args.more.iter().chain(&args.with) {
        units.push(unit(&folder, &absolute(file)?, None)?);
    }
    let include = args
        .include
        .iter()
        .map(|folder| absolute(folder))
        .collect::<Result<_, _>>()?;
    let benchmark = Benchmark {
        manifest: program.clone(),
        name: name.clone(),
        title: name.clone(),
        why: String::new(),
        directory: PathBuf::new(),
        files: units.iter().map(|unit| unit.file.clone()).collect(),
        translation_units: units,
        include,
        flags: Flags {
            all: args.flag.clone(),
            link: args.link_flag.clone(),
            ..Flags::default()
        },
        constants: Vec::new(),
        deterministic: if args.nondeterministic {
            Determinism::Varies {
                because: "--nondeterministic".into(),
            }
        } else {
            Determinism::Deterministic
        },
        start_in: PathBuf::new(),
        timeout_s: 600,
        memory_limit_mib: None,
        sizes: BTreeMap::from([(
            SIZE.to_owned(),
            Size {
                args: args.args.clone(),
                ..Size::default()
            },
        )]),
        checks: Checks::default(),
        expected: BTreeMap::new(),
    };
    let suite = Suite {
        folder,
        name: name.clone(),
        title: name.clone(),
        source: Source::InTree,
        data: None,
        default_size: SIZE.to_owned(),
        benchmarks: vec![benchmark],
    };
    Ok((suite, name, SIZE.to_owned()))
}

/// A translation unit, relative to `folder` where it lies below it.
fn unit(
    folder: &Path,
    file: &Path,
    language: Option<Language>,
) -> Result<TranslationUnit, Failure> {
    let by_extension = match file.extension().and_then(OsStr::to_str) {
        Some("cu") => Some(Language::Cuda),
        Some("c") => Some(Language::C),
        Some("cc" | "cpp" | "cxx") => Some(Language::Cpp),
        _ => None,
    };
    let Some(language) = language.or(by_extension) else {
        let message = format!(
            "failed to tell the language of {}: expected .cu, .c, .cc, .cpp or .cxx",
            file.display()
        );
        return Err(Failure::new(FailureKind::Usage, message));
    };
    Ok(TranslationUnit {
        file: file.strip_prefix(folder).unwrap_or(file).to_owned(),
        language,
    })
}
