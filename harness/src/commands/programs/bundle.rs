//! `superstep bundle`: packs a suite or a program into a folder for machines that have only a GPU driver.

use std::path::{Path, PathBuf};

use superstep_build::compile::{ProbedExecutables, Program};
use superstep_build::failure::Failure;
use superstep_build::probe::Probe;
use superstep_build::{bail, exit_code};
use superstep_trace::{Backend, Protocol};

use crate::arguments::source::{self, SourceArgs, is_elf};
use crate::arguments::{BuildArgs, FetchArgs, InSituArgs, PatternArgs, protocol, start_workers};
use crate::bundle::{self, BundledProgram, Parts, Programs, traced_programs};
use crate::probe::injection::PROBES;
use crate::results::{MessageFormat, human_bytes};
use crate::session::{Fetched, Prepared, Session};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Suite (a name in `suites/`, or a folder), CUDA file, or executable of a project.
    #[arg(value_name = "SUITE|PROGRAM")]
    suite: String,
    /// Folder for the bundle.
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    patterns: PatternArgs,
    /// Sizes whose inputs are included, comma-separated [default: the default size of the suite].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    size: Vec<String>,
    /// Protocol that transfers records from the GPU to the host.
    #[arg(long, value_name = "NAME", default_value_t, value_parser = protocol())]
    protocol: Protocol,
    /// Include the programs with these probes (comma-separated) instead of the traced and counting programs;
    /// `injection` is for `superstep inject`.
    #[arg(long, value_name = "PROBES", value_delimiter = ',')]
    probe: Vec<String>,
    #[command(flatten)]
    in_situ: InSituArgs,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    fetch: FetchArgs,
    #[command(flatten)]
    build: BuildArgs,
}

/// Treats `--backend auto` as CUDA, since a bundle is for another machine.
pub fn run(args: &Args) -> Result<i32, Failure> {
    let backend = args.build.backend.0.unwrap_or(Backend::Cuda);
    let build = args.build.options(Some(backend), args.protocol);
    let mut session = Session::new(build, args.fetch.options()?, MessageFormat::Human);
    args.in_situ.apply(&mut session)?;
    let program = Path::new(&args.suite);
    let one_program = is_elf(program) || program.extension().is_some() && !program.is_dir();
    let suite = if one_program {
        args.source.suite(program)?
    } else if args.source.has_any() {
        bail!(
            Usage,
            "failed to use the files and arguments: a suite defines its own; give them only with a CUDA file or an executable"
        );
    } else {
        session.suite(&args.suite)?
    };
    start_workers(args.build.jobs)?;
    let probes: Vec<Probe> = (with_both_injections(&args.probe).into_iter())
        .map(|name| session.probe(name))
        .collect::<Result<_, _>>()?;
    // Missing inputs are omitted from the bundle with a warning.
    let fetched = session.fetch(&suite, &args.patterns.choice()?)?;
    let mut code = exit_code::OK;
    let mut programs = Vec::new();
    let built = build_programs(&session, &fetched, &probes)?;
    for (program, (_, tree)) in built.into_iter().zip(fetched.sources()) {
        match (program.executables, tree) {
            (Ok(executables), Ok(tree)) => programs.push(BundledProgram {
                benchmark: program.benchmark,
                program: Program::from_benchmark(program.benchmark, &tree.directory),
                executables,
                tree,
                sources: program.sources,
            }),
            (Err(failure), _) | (_, Err(failure)) => {
                code = exit_code::BENCHMARK_FAILED;
                session.reporter.line(&format!("error: {failure}"));
            }
        }
    }
    // A program without a manifest gets one.
    let staging =
        tempfile::tempdir().map_err(|error| Failure::internal("create a folder", error))?;
    let written = one_program
        .then(|| source::write_manifests(&suite, staging.path()))
        .transpose()?;
    let parts = Parts {
        session: &session,
        suite: written.as_ref().unwrap_or(&suite),
        programs,
        probes: &probes,
        sizes: if args.size.is_empty() {
            vec![suite.default_size.clone()]
        } else {
            args.size.clone()
        },
    };
    let (bytes, missing) = bundle::write(&args.out, &parts)?;
    session.reporter.finish();
    for line in missing {
        eprintln!("warning: {line}");
    }
    print_usage(&args.out, bytes, &suite.name, probes.first());
    Ok(code)
}

fn print_usage(folder: &Path, bytes: u64, suite: &str, probe: Option<&Probe>) {
    let (folder, bytes) = (folder.display(), human_bytes(bytes));
    let command = match probe.map(|probe| probe.spec.name.as_str()) {
        None => "run-bundle".to_owned(),
        Some(name) if PROBES.contains(&name) => format!("inject {suite} --bundle {folder}"),
        Some(name) => format!("probe {name} {suite} --bundle {folder}"),
    };
    println!("bundle: {folder} ({bytes}); to use it, run {folder}/superstep {command}");
}

/// Replaces either of the injection probes with both.
fn with_both_injections(names: &[String]) -> Vec<&str> {
    let mut all = Vec::new();
    for name in names {
        let group = match PROBES.contains(&name.as_str()) {
            true => &PROBES[..],
            false => &[name.as_str()],
        };
        for name in group {
            if !all.contains(name) {
                all.push(*name);
            }
        }
    }
    all
}

/// Builds all variants of each program, or, with `probes`, the native variant and one for each probe.
fn build_programs<'a>(
    session: &Session,
    fetched: &Fetched<'a>,
    probes: &[Probe],
) -> Result<Vec<Prepared<'a, Programs>>, Failure> {
    if probes.is_empty() {
        let programs = session.build(fetched, |_, _| ())?;
        let named = |program: Prepared<'a>| program.map(traced_programs);
        return Ok(programs.into_iter().map(named).collect());
    }
    let mut all: Vec<Prepared<'a, Programs>> = Vec::new();
    for probe in probes {
        let name = format!("probe-{}", probe.spec.name);
        let named = |built: ProbedExecutables| {
            let native = ("native".to_owned(), built.native);
            Programs {
                files: [native, (name.clone(), built.probed)].into(),
                ..Programs::default()
            }
        };
        let built = session.build_probed(fetched, probe)?.into_iter();
        let built = built.map(|program| program.map(named));
        if all.is_empty() {
            all = built.collect();
            continue;
        }
        for (program, more) in all.iter_mut().zip(built) {
            match (&mut program.executables, more.executables) {
                (Ok(programs), Ok(more)) => programs.files.extend(more.files),
                (Ok(_), Err(failure)) => program.executables = Err(failure),
                (Err(_), _) => {}
            }
        }
    }
    Ok(all)
}
