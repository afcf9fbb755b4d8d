//! `superstep bundle`: a suite or a program in a folder that runs on a machine with nothing but a driver.

use std::path::{Path, PathBuf};

use crate::bundle::{self, Parts, Programs, traced_programs};
use crate::results::{MessageFormat, Reporter, human_bytes};
use crate::suite::{Running, Selection, SuiteOptions, build_all, fetch_all, select, source_hashes};
use rayon::prelude::*;
use superstep_build::compile::{Builder, DEFAULT_PROTOCOL, Program, RuntimePath};
use superstep_build::exit_code;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::fetch::SourceTree;
use superstep_build::installation::Installation;
use superstep_build::manifest::{Benchmark, Manifest};
use superstep_build::probe::Probe;

use super::common::{self, BackendChoice, BuildArgs, FetchArgs};
use super::inject;
use super::source::{self, SourceArgs};

/// Arguments of `superstep bundle`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of a suite in `suites/`, a folder with a suite.yaml, or a CUDA file.
    #[arg(value_name = "NAME|DIR|PROG.cu")]
    suite: String,
    #[command(flatten)]
    source: SourceArgs,
    /// Folder for the bundle.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Only benchmarks whose names match one of these globs, parted by commas; `@NAME` stands for a group of the suite's.
    #[arg(long, value_name = "GLOBS")]
    only: Vec<String>,
    /// Leave out benchmarks whose names match one of these globs, parted by commas.
    #[arg(long, value_name = "GLOBS")]
    exclude: Vec<String>,
    /// Sizes whose inputs are taken along, parted by commas [default: the suite's own].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    size: Vec<String>,
    /// Producer-consumer protocol of the CUDA backend.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_PROTOCOL)]
    protocol: String,
    /// Take the programs along with these probes, parted by commas, in place of the traced and the counting ones; with `injection` for
    /// `superstep inject`.
    #[arg(long, value_name = "PROBES", value_delimiter = ',')]
    probe: Vec<String>,
    #[command(flatten)]
    fetch: FetchArgs,
    #[command(flatten)]
    build: BuildArgs,
}

/// Runs the command. `--backend auto` means CUDA here: a bundle is for another machine.
pub fn run(mut args: Args) -> Result<i32, Failure> {
    if args.build.backend == BackendChoice::Auto {
        args.build.backend = BackendChoice::Cuda;
    }
    let installation = Installation::find();
    let program = Path::new(&args.suite);
    let one_program = program.extension().is_some() && !program.is_dir();
    let suite = if one_program {
        args.source.suite(program)?.0
    } else if args.source.any() {
        let message = "failed to take the files and arguments: a suite brings its own; they go with a CUDA file";
        return Err(Failure::new(FailureKind::Usage, message));
    } else {
        Manifest::load_suite(&installation.suite(&args.suite))?
    };
    args.build.set_jobs()?;
    let mut build = args.build.options(&args.protocol);
    build.runtime_path = RuntimePath::Relative("../../lib".to_owned());
    let options = SuiteOptions {
        size: None,
        selection: Selection::new(&args.only, &args.exclude)?,
        build,
        fetch: args.fetch.options()?,
        out: args.out.clone(),
        bless: false,
        golden: common::golden_folder(&installation, &suite),
        timeout: None,
        memory_limit_bytes: None,
        matching: Default::default(),
        metrics: Default::default(),
        analysis_memory_bytes: None,
        keep_captures: true,
        environment: Vec::new(),
        running: Running::default(),
        command: Vec::new(),
    };
    let selected = select(&suite, &options)?;
    let toolchain = common::toolchain()?;
    let reporter = Reporter::new(MessageFormat::Human);
    let builder = common::builder(&options, &toolchain, &installation, &reporter)?;
    // Inputs come later: what is missing is left out of the bundle, with a warning.
    let sources = fetch_all(&suite, &selected, "", &options.fetch)?;
    let hashes = selected
        .iter()
        .map(|benchmark| benchmark.name.clone())
        .zip(source_hashes(&sources))
        .collect();
    let probes: Vec<Probe> = (with_their_own(&args.probe).into_iter())
        .map(|name| Probe::load(name, &installation))
        .collect::<Result<_, _>>()?;
    let executables = if probes.is_empty() {
        let built = build_all(&selected, sources, &builder, |_, _| ());
        built
            .into_iter()
            .map(|built| built.map(traced_programs))
            .collect()
    } else {
        probed_programs(&selected, sources, &builder, &probes)
    };
    let mut failed = false;
    let mut programs = Vec::new();
    for (benchmark, executables) in selected.into_iter().zip(executables) {
        match executables {
            Ok(executables) => programs.push((benchmark, executables)),
            Err(failure) => {
                failed = true;
                reporter.line(&format!("error: {failure}"));
            }
        }
    }
    let strip = toolchain.llvm.prefix.join("bin/llvm-strip");
    // A program without a manifest gets one, for the machine that has nothing but the bundle.
    let staging = tempfile::tempdir().map_err(|error| Failure::internal("make a folder", error))?;
    let written = one_program
        .then(|| source::write_manifests(&suite, staging.path()))
        .transpose()?;
    let parts = Parts {
        suite: written.as_ref().unwrap_or(&suite),
        programs,
        probes: probes
            .iter()
            .map(|probe| {
                let mut files = vec![probe.handler.clone()];
                files.extend(probe.host.clone());
                (probe.spec.name.clone(), probe.file.clone(), files)
            })
            .collect(),
        sources: hashes,
        builder: &builder,
        llvm: toolchain.llvm.version.to_string(),
        strip: Some(strip).filter(|path| path.is_file()),
        golden: options.golden.clone(),
        sizes: if args.size.is_empty() {
            vec![suite.default_size.clone()]
        } else {
            args.size.clone()
        },
        fetch: &options.fetch,
    };
    let (bytes, missing) = bundle::write(&args.out, &parts)?;
    reporter.finish();
    for input in missing {
        eprintln!("warning: an input was not at hand and is not in the bundle: {input}");
    }
    let (folder, bytes) = (args.out.display(), human_bytes(bytes));
    match probes.first() {
        None => println!("bundle: {folder} ({bytes}); run {folder}/superstep run-bundle there"),
        Some(probe) => {
            let what = match probe.spec.name.as_str() {
                name if inject::PROBES.contains(&name) => "inject".to_owned(),
                name => format!("probe {name}"),
            };
            println!(
                "bundle: {folder} ({bytes}); run {folder}/superstep {what} {} --bundle {folder} there",
                suite.name
            );
        }
    }
    Ok(if failed {
        exit_code::BENCHMARK_FAILED
    } else {
        exit_code::OK
    })
}

/// The probes of that names, with what belongs to them: an injection is chosen from a profile.
fn with_their_own(names: &[String]) -> Vec<&str> {
    let mut all = Vec::new();
    for name in names {
        let group = match inject::PROBES.contains(&name.as_str()) {
            true => inject::PROBES.to_vec(),
            false => vec![name.as_str()],
        };
        for name in group {
            if !all.contains(&name) {
                all.push(name);
            }
        }
    }
    all
}

/// Each benchmark without a probe, and with each of `probes`.
fn probed_programs(
    selected: &[&Benchmark],
    sources: Vec<Result<SourceTree, Failure>>,
    builder: &Builder,
    probes: &[Probe],
) -> Vec<Result<Programs, Failure>> {
    let build = |benchmark: &Benchmark, tree: SourceTree| {
        let program = Program::of_benchmark(benchmark, &tree.directory);
        let mut programs = Programs::new();
        for probe in probes {
            let built = builder.build_probed(&program, probe)?;
            programs.insert("native".to_owned(), built.native);
            programs.insert(format!("probe-{}", probe.spec.name), built.probed);
        }
        Ok(programs)
    };
    selected
        .par_iter()
        .zip(sources)
        .map(|(benchmark, tree)| tree.and_then(|tree| build(benchmark, tree)))
        .collect()
}
