//! `superstep explain`: which memory each operation of a program touches and why; for a suite, the sums and what they cost.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::results::{Color, MessageFormat, geometric_mean, plain_table, table_lines};
use crate::session::Session;
use crate::suite::{ProgramChoice, Selection};
use serde_json::{Value, json};
use superstep_build::compile::{
    BuildOptions, Builder, DEFAULT_ARCH, Explanation, KernelRegisters, Program, ProgramCost,
    Summary,
};
use superstep_build::failure::Failure;
use superstep_build::manifest::{Flags, Language, TranslationUnit};
use superstep_build::{bail, exit_code, interrupt};
use superstep_trace::{Backend, Pattern};

use crate::arguments::source::is_elf;
use crate::arguments::{FetchArgs, PositionChoice, value};
use crate::terminal::print;

/// Version of what `--json` prints.
const SCHEMA_VERSION: u32 = 1;
/// Each time is the best of this many.
const REPETITIONS: u32 = 3;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// CUDA file to explain; all files of a program whose units are linked on the device (--flag=-fgpu-rdc); or the executable of a
    /// project.
    #[arg(value_name = "SOURCE.cu|EXECUTABLE", required_unless_present = "suite")]
    source: Vec<PathBuf>,
    /// Summarise every program of this suite instead: a name in `suites/`, or a folder with a suite.yaml. Inputs are not needed.
    #[arg(long, value_name = "NAME|DIR", conflicts_with_all = ["source", "include", "flag", "kernel"])]
    suite: Option<String>,
    /// Folder to search for headers.
    #[arg(long, short = 'I', value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Flag for the compilation, for example `--flag=-DN=4`.
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    flag: Vec<String>,
    /// Only operations in kernels and device functions whose names match this pattern: a glob, or `regex:EXPR`.
    #[arg(long, value_name = "PATTERN")]
    kernel: Option<Pattern>,
    /// Take only programs of the suite whose names match one of these comma-separated patterns: globs, `regex:EXPR`, or `@GROUP`.
    #[arg(long, value_name = "PATTERNS", conflicts_with = "source")]
    only: Vec<String>,
    /// Leave out programs of the suite whose names match one of these comma-separated patterns.
    #[arg(long, value_name = "PATTERNS", conflicts_with = "source")]
    exclude: Vec<String>,
    /// Refuse a program that has an access whose address space cannot be proven.
    #[arg(long)]
    strict: bool,
    /// Accept inline PTX whose accesses cannot be read from its text, and count it.
    #[arg(long)]
    allow_opaque_asm: bool,
    /// Time limit in seconds for ptxas, which reports the registers of each program of a suite; 0 skips it.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 120,
        conflicts_with = "source"
    )]
    ptxas_timeout: u64,
    /// Where in the compilation the instrumentation is inserted.
    #[arg(long, value_enum, default_value_t)]
    at: PositionChoice,
    /// GPU architecture to compile for.
    #[arg(long, value_name = "ARCH", default_value_t = DEFAULT_ARCH, value_parser = value::gpu_arch)]
    gpu_arch: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    fetch: FetchArgs,
}

pub fn run(args: &Args, color: Color) -> Result<i32, Failure> {
    let build = BuildOptions {
        gpu_archs: vec![args.gpu_arch],
        strict: args.strict,
        allow_opaque_asm: args.allow_opaque_asm,
        position: args.at.position(),
        ..BuildOptions::new(Backend::Cuda)
    };
    let session = Session::new(build, args.fetch.options()?, MessageFormat::Human);
    match (args.source.first(), &args.suite) {
        (Some(first), _) => explain_source(args, first, &session),
        (None, suite) => explain_suite(args, suite.as_deref().unwrap_or_default(), &session, color),
    }
}

fn explain_source(args: &Args, source: &Path, session: &Session) -> Result<i32, Failure> {
    let program = program(args, source)?;
    let mut explanation = session.builder()?.explain(&program)?;
    session.reporter.finish();
    if let Some(kernel) = &args.kernel {
        let operations = &mut explanation.operations;
        let names = operations
            .iter()
            .map(|operation| operation.function.clone());
        let names: BTreeSet<String> = names.collect();
        operations
            .retain(|operation| kernel.matches_function(&operation.symbol, &operation.function));
        if operations.is_empty() {
            bail!(
                Usage,
                "failed to find a function that `{kernel}` matches: those with memory operations are {}",
                names.into_iter().collect::<Vec<_>>().join(", ")
            );
        }
    }
    let summary = explanation.summary();
    print(|out| {
        if args.json {
            let answer = json!({
                "schema_version": SCHEMA_VERSION,
                "source": source.display().to_string(),
                "operations": explanation.operations,
                "summary": summary,
            });
            writeln!(out, "{answer:#}")
        } else {
            write_operations(out, &explanation)?;
            write_summary(out, &summary)
        }
    })?;
    Ok(exit_code::OK)
}

/// The program that one CUDA file is.
fn program(args: &Args, source: &Path) -> Result<Program, Failure> {
    let absolute = |path: &Path, what: &str| match path.canonicalize() {
        Ok(path) => Ok(path),
        Err(error) => bail!(
            Fetch,
            "failed to read {}: {error}; give the path of {what}",
            path.display()
        ),
    };
    let path = absolute(source, "a CUDA file")?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let unit = |source: &PathBuf| {
        let path = absolute(source, "a CUDA file")?;
        if !path.is_file() {
            bail!(
                Fetch,
                "failed to read {}: it is not a file; give the path of a CUDA file, or a suite with --suite",
                source.display()
            );
        }
        Ok(TranslationUnit {
            file: path.strip_prefix(folder).unwrap_or(&path).to_owned(),
            language: match is_elf(&path) {
                true => Language::Built,
                false => Language::Cuda,
            },
        })
    };
    let units = args.source.iter().map(unit).collect::<Result<_, _>>()?;
    let include = args.include.iter();
    let include = include.map(|folder| absolute(folder, "a folder with headers"));
    let stem = path.file_stem().and_then(OsStr::to_str);
    Ok(Program {
        name: stem.unwrap_or("program").to_owned(),
        folder: folder.to_owned(),
        units,
        include: include.collect::<Result<_, _>>()?,
        flags: Flags {
            all: args.flag.clone(),
            ..Flags::default()
        },
        constants: Vec::new(),
    })
}

fn write_operations(out: &mut dyn Write, explanation: &Explanation) -> io::Result<()> {
    for operation in &explanation.operations {
        let width = match operation.width_bytes {
            0 => "any number of bytes".to_owned(),
            1 => "1 byte".to_owned(),
            bytes => format!("{bytes} bytes"),
        };
        let place = match operation.line {
            0 => "(no line)".to_owned(),
            line => format!("{}:{line}:{}", operation.file, operation.column),
        };
        let (op, function) = (&operation.op, &operation.function);
        let (space, decision) = (&operation.space, &operation.decision);
        writeln!(
            out,
            "{place}: {op} of {width} in {function}: {space}, {decision}"
        )?;
        for step in &operation.because {
            writeln!(out, "    {step}")?;
        }
    }
    Ok(())
}

fn write_summary(out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    let percent = 100.0 * summary.share_proven;
    writeln!(out, "\nmemory operations    {}", summary.operations)?;
    writeln!(out, "in global memory     {}", summary.global)?;
    writeln!(
        out,
        "proven               {} ({percent:.1} %)",
        summary.proven
    )?;
    writeln!(out, "tested at run time   {}", summary.tested)?;
    writeln!(out, "copies of functions  {}", summary.clones)?;
    match summary.opaque_assembly {
        0 => Ok(()),
        opaque => writeln!(out, "opaque inline PTX    {opaque} (not traced)"),
    }
}

struct Row {
    program: String,
    result: Result<(Summary, ProgramCost), Failure>,
}

fn explain_suite(
    args: &Args,
    suite: &str,
    session: &Session,
    color: Color,
) -> Result<i32, Failure> {
    let suite = session.suite(suite)?;
    let choice = ProgramChoice {
        size: None,
        selection: Selection::new(&args.only, &args.exclude)?,
    };
    // Nothing runs, so that no input is needed.
    let fetched = session.fetch_sources(&suite, &choice)?;
    let builder = session.builder()?;
    let mut rows = Vec::new();
    // One after the other, so that the times mean something.
    for (benchmark, tree) in fetched.sources() {
        let what = format!("{}: measurement", benchmark.name);
        let _step = session.reporter.step(what, None);
        let measure = |folder: &Path| -> Result<_, Failure> {
            let program = Program::of_benchmark(benchmark, folder);
            let summary = builder.explain(&program)?.summary();
            let limit = Duration::from_secs(args.ptxas_timeout);
            Ok((summary, builder.measure(&program, REPETITIONS, limit)?))
        };
        let result = tree.and_then(|tree| measure(&tree.directory));
        if interrupt::requested() {
            return Ok(exit_code::INTERRUPTED);
        }
        rows.push(Row {
            program: benchmark.name.clone(),
            result,
        });
    }
    session.reporter.finish();
    print(|out| {
        if args.json {
            writeln!(out, "{:#}", suite_json(&suite.name, builder, &rows))
        } else {
            writeln!(out, "{}", suite_table(&rows, color.on_stdout()))?;
            write_footnotes(out, &rows, args.ptxas_timeout)
        }
    })?;
    let mut code = exit_code::OK;
    for row in &rows {
        if let Err(failure) = &row.result {
            eprintln!("error: {}: {failure}", row.program);
            code = exit_code::BENCHMARK_FAILED;
        }
    }
    Ok(code)
}

/// Time of the instrumenter as a share of Clang's, where that is known.
fn share(cost: &ProgramCost) -> Option<f64> {
    Some(cost.instrument_seconds / cost.clang_seconds?)
}

/// Geometric mean of the shares of all programs that were measured; `None` without any.
fn mean_share(rows: &[Row]) -> Option<f64> {
    geometric_mean((rows.iter()).filter_map(|row| share(&row.result.as_ref().ok()?.1)))
}

/// Sums over the table, and its gaps.
fn write_footnotes(out: &mut dyn Write, rows: &[Row], ptxas_timeout: u64) -> io::Result<()> {
    let measured: Vec<_> = (rows.iter())
        .filter_map(|row| Some((&row.program, row.result.as_ref().ok()?)))
        .collect();
    if measured.is_empty() {
        return Ok(());
    }
    let operations: u64 = measured.iter().map(|(_, (s, _))| s.operations).sum();
    let proven: u64 = measured.iter().map(|(_, (s, _))| s.proven).sum();
    writeln!(
        out,
        "\nproven: {proven} of {operations} operations in {} programs ({:.2} %)",
        measured.len(),
        100.0 * proven as f64 / (operations.max(1)) as f64
    )?;
    if let Some(share) = mean_share(rows) {
        writeln!(
            out,
            "instrument / clang, geometric mean: {:.1} % (times: best of {REPETITIONS})",
            100.0 * share
        )?;
    }
    let is_known = |k: &KernelRegisters| k.registers_before.and(k.registers_after).is_some();
    let unknown = (measured.iter()).filter(|(_, (_, cost))| !cost.kernels.iter().all(is_known));
    let unknown: Vec<&str> = unknown.map(|(program, _)| program.as_str()).collect();
    if !unknown.is_empty() && ptxas_timeout > 0 {
        writeln!(
            out,
            "registers unknown (–) where ptxas was stopped after {ptxas_timeout} s (--ptxas-timeout): {}",
            unknown.join(", ")
        )?;
    }
    Ok(())
}

/// Most registers of any kernel, before and after; `–` where ptxas did not tell those of each.
fn most_registers(cost: &ProgramCost) -> String {
    let most = |registers: &dyn Fn(&KernelRegisters) -> Option<u32>| -> String {
        let all: Option<Vec<u32>> = cost.kernels.iter().map(registers).collect();
        let most = all.and_then(|all| all.into_iter().max());
        most.map_or_else(|| "–".to_owned(), |most| most.to_string())
    };
    let (before, after) = (most(&|k| k.registers_before), most(&|k| k.registers_after));
    format!("{before} → {after}")
}

fn suite_json(suite: &str, builder: &Builder, rows: &[Row]) -> Value {
    let programs = rows.iter().map(|row| match &row.result {
        Ok((summary, cost)) => json!({
            "program": row.program, "summary": summary, "cost": cost, "instrument_share": share(cost),
        }),
        Err(failure) => json!({ "program": row.program, "failure": failure }),
    });
    json!({
        "schema_version": SCHEMA_VERSION,
        "suite": suite,
        "gpu_archs": builder.options().gpu_archs,
        "times_best_of": REPETITIONS,
        "programs": programs.collect::<Vec<Value>>(),
        "instrument_share_geometric_mean": mean_share(rows),
    })
}

fn suite_table(rows: &[Row], color: bool) -> String {
    let header = [
        "program",
        "operations",
        "global",
        "proven",
        "tested",
        "share proven",
        "copies",
        "clang",
        "instrument",
        "share",
        "PTX bytes",
        "registers",
    ];
    let mut table = plain_table(header, color);
    for row in rows {
        table.add_row(match &row.result {
            Ok((summary, cost)) => cells(&row.program, summary, cost),
            Err(failure) => vec![row.program.clone(), format!("failed ({})", failure.kind)],
        });
    }
    table_lines(table, 1).join("\n")
}

fn cells(program: &str, summary: &Summary, cost: &ProgramCost) -> Vec<String> {
    let known = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    vec![
        program.to_owned(),
        summary.operations.to_string(),
        summary.global.to_string(),
        summary.proven.to_string(),
        summary.tested.to_string(),
        format!("{:.1} %", 100.0 * summary.share_proven),
        summary.clones.to_string(),
        known(cost.clang_seconds.map(|seconds| format!("{seconds:.3} s"))),
        format!("{:.3} s", cost.instrument_seconds),
        known(share(cost).map(|share| format!("{:.1} %", 100.0 * share))),
        format!("{} → {}", cost.ptx_bytes_before, cost.ptx_bytes_after),
        most_registers(cost),
    ]
}
