//! `superstep explain`: explains which memory each operation of a program accesses, or summarises this for a suite.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::results::{MessageFormat, is_coloured, plain_table, table_lines};
use crate::session::Session;
use clap::ColorChoice;
use serde_json::{Value, json};
use superstep_build::compile::{BuildOptions, DEFAULT_ARCH, Program};
use superstep_build::failure::Failure;
use superstep_build::{bail, exit_code, interrupt};
use superstep_trace::explanation::{Explanation, Summary};
use superstep_trace::{Backend, Pattern};

use crate::arguments::source::SourceArgs;
use crate::arguments::{FetchArgs, PatternArgs, value};
use crate::terminal::print;

const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// CUDA file to explain; all files of a program with relocatable device code (--flag=-fgpu-rdc); or the executable
    /// of a project.
    #[arg(
        value_name = "SOURCE.cu|EXECUTABLE",
        required_unless_present = "suite",
        conflicts_with_all = ["only", "exclude"]
    )]
    source: Vec<PathBuf>,
    /// Summarise every program of this suite instead: a name in `suites/`, or a folder with a suite.yaml. Inputs are
    /// not needed.
    #[arg(long, value_name = "NAME|DIR", conflicts_with_all = ["source", "include", "flag", "kernel"])]
    suite: Option<String>,
    /// Folder to search for headers.
    #[arg(long, short = 'I', value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Compiler flag, for example `--flag=-DN=4`.
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    flag: Vec<String>,
    /// Only operations in kernels and device functions whose names match this pattern: a glob, or `regex:EXPR`.
    #[arg(long, value_name = "PATTERN")]
    kernel: Option<Pattern>,
    #[command(flatten)]
    patterns: PatternArgs,
    /// Reject programs with accesses whose address space cannot be proven.
    #[arg(long)]
    strict: bool,
    /// Accept inline PTX whose accesses cannot be determined from its text, and count it.
    #[arg(long)]
    allow_opaque_asm: bool,
    /// GPU architecture to compile for.
    #[arg(long, value_name = "ARCH", default_value_t = DEFAULT_ARCH, value_parser = value::gpu_arch)]
    gpu_arch: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    fetch: FetchArgs,
}

pub fn run(args: &Args, color: ColorChoice) -> Result<i32, Failure> {
    let build = BuildOptions {
        gpu_archs: vec![args.gpu_arch],
        strict: args.strict,
        allow_opaque_asm: args.allow_opaque_asm,
        ..BuildOptions::new(Backend::Cuda)
    };
    let session = Session::new(build, args.fetch.options()?, MessageFormat::Human);
    match (args.source.first(), &args.suite) {
        (Some(_), _) => explain_source(args, &session),
        (None, suite) => explain_suite(args, suite.as_deref().unwrap_or_default(), &session, color),
    }
}

fn explain_source(args: &Args, session: &Session) -> Result<i32, Failure> {
    let (source, more) = args.source.split_at(1);
    let source = &source[0];
    let suite = SourceArgs::compiled(more, &args.include, &args.flag).suite(source)?;
    let program = Program::from_benchmark(&suite.benchmarks[0], &suite.folder);
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
                "failed to find a function that matches `{kernel}`: the functions with memory operations are {}",
                names.into_iter().collect::<Vec<_>>().join(", ")
            );
        }
    }
    // The output contains only demangled names.
    for operation in &mut explanation.operations {
        operation.symbol.clear();
    }
    let summary = explanation.summary();
    print(|out| {
        if args.json {
            let document = json!({
                "schema_version": SCHEMA_VERSION,
                "source": source.display().to_string(),
                "operations": explanation.operations,
                "summary": summary,
            });
            writeln!(out, "{document:#}")
        } else {
            write_operations(out, &explanation)?;
            write_summary(out, &summary)
        }
    })?;
    Ok(exit_code::OK)
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

fn explain_suite(
    args: &Args,
    suite: &str,
    session: &Session,
    color: ColorChoice,
) -> Result<i32, Failure> {
    let suite = session.suite(suite)?;
    let fetched = session.fetch(&suite, &args.patterns.choice()?)?;
    let builder = session.builder()?;
    let mut rows: Vec<(&str, Result<Summary, Failure>)> = Vec::new();
    for (benchmark, tree) in fetched.sources() {
        let _step = session.reporter.step(benchmark.name.as_str(), None);
        let explain = |folder: &Path| -> Result<_, Failure> {
            let program = Program::from_benchmark(benchmark, folder);
            Ok(builder.explain(&program)?.summary())
        };
        let summary = tree.and_then(|tree| explain(&tree.directory));
        if interrupt::requested() {
            return Ok(exit_code::INTERRUPTED);
        }
        rows.push((&benchmark.name, summary));
    }
    session.reporter.finish();
    print(|out| match args.json {
        true => writeln!(out, "{:#}", suite_json(&suite.name, &rows)),
        false => writeln!(out, "{}", suite_table(&rows, is_coloured(color))),
    })?;
    let mut code = exit_code::OK;
    for (program, summary) in &rows {
        if let Err(failure) = summary {
            eprintln!("error: {program}: {failure}");
            code = exit_code::BENCHMARK_FAILED;
        }
    }
    Ok(code)
}

fn suite_json(suite: &str, rows: &[(&str, Result<Summary, Failure>)]) -> Value {
    let programs = rows.iter().map(|(program, summary)| match summary {
        Ok(summary) => json!({ "program": program, "summary": summary }),
        Err(failure) => json!({ "program": program, "failure": failure }),
    });
    json!({
        "schema_version": SCHEMA_VERSION,
        "suite": suite,
        "programs": programs.collect::<Vec<Value>>(),
    })
}

fn suite_table(rows: &[(&str, Result<Summary, Failure>)], color: bool) -> String {
    let header = "program, operations, global, proven, tested, share proven, copies";
    let mut table = plain_table(header.split(", "), color);
    let (mut operations, mut proven) = (0, 0);
    for (program, summary) in rows {
        table.add_row(match summary {
            Ok(summary) => {
                operations += summary.operations;
                proven += summary.proven;
                vec![
                    (*program).to_owned(),
                    summary.operations.to_string(),
                    summary.global.to_string(),
                    summary.proven.to_string(),
                    summary.tested.to_string(),
                    format!("{:.1} %", 100.0 * summary.share_proven),
                    summary.clones.to_string(),
                ]
            }
            Err(failure) => vec![(*program).to_owned(), format!("failed ({})", failure.kind)],
        });
    }
    let mut lines = table_lines(table, 1);
    lines.push(format!("\nproven: {proven} of {operations} operations"));
    lines.join("\n")
}
