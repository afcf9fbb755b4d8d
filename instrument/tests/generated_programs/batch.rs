//! Builds and runs many programs at once, and isolates the failing module in a batch.

use super::program::{Form, Program, module};
use super::scope::Mode;
use super::source;
use super::tool::{Instrumentation, Shared};
use super::verdict::judge;
use std::path::Path;
use superstep_trace::{ModuleTable, Proof};

/// Summary of a batch of programs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub programs: usize,
    /// Number of compared accesses to global memory.
    pub accesses: u64,
    /// Number of sites whose space the analysis proved.
    pub proven: usize,
    /// Number of sites that are tested at run time.
    pub tested: usize,
    /// Number of modules that `--strict` rejected, as expected.
    pub refused: usize,
    /// Number of modules that `--strict` accepted, as expected.
    pub accepted: usize,
}

impl Totals {
    /// Adds the counts of another batch.
    pub fn add(&mut self, other: Totals) {
        self.programs += other.programs;
        self.accesses += other.accesses;
        self.proven += other.proven;
        self.tested += other.tested;
        self.refused += other.refused;
        self.accepted += other.accepted;
    }
}

/// The failure of a batch, with the failing module if it is known.
#[derive(Debug)]
pub struct Failure {
    pub module: Option<usize>,
    /// Failed stage: `instrument`, `build`, `run` or `compare`. A minimised program must fail in the same stage.
    pub stage: &'static str,
    /// Expected and actual behaviour.
    pub message: String,
}

/// Language of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// LLVM IR.
    Ir,
    /// CUDA C++, compiled by Clang.
    Cuda,
}

/// Options for running modules.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub language: Language,
    /// Offset added to a module's number; the sum's parity decides whether the module is instrumented late or early.
    pub shift: usize,
    /// Whether to also run the GPU backend, and to check that the instrumenter rejects a second pass and, with
    /// `--strict`, modules with sites that are tested at run time.
    pub thorough: bool,
}

/// Runs modules, each consisting of multiple programs, in `folder`.
pub fn run(modules: &[Vec<Program>], plan: Plan, folder: &Path) -> Result<Totals, Failure> {
    let (mut totals, mut tables) = (Totals::default(), Vec::new());
    totals.programs = modules.iter().map(Vec::len).sum();
    let (mut oracles, mut traced) = (Vec::new(), Vec::new());
    for (number, programs) in modules.iter().enumerate() {
        let position = ["late", "early"][(number + plan.shift) % 2];
        let table =
            instrument(programs, number, position, plan, folder).map_err(|message| Failure {
                module: Some(number),
                stage: "instrument",
                message,
            })?;
        let tested = table
            .sites
            .iter()
            .filter(|s| s.proof == Proof::Tested)
            .count();
        totals.tested += tested;
        totals.proven += table.sites.len() - tested;
        totals.refused += usize::from(plan.thorough && tested > 0);
        totals.accepted += usize::from(plan.thorough && tested == 0);
        tables.push(table);
        oracles.push(folder.join(format!("{number}.oracle.bc")));
        traced.push(folder.join(format!("{number}.traced.bc")));
    }
    let in_batch = |(stage, message)| Failure {
        module: None,
        stage,
        message,
    };
    oracles.extend(traced);
    let words = Shared::get().drive(folder, &oracles).map_err(in_batch)?;
    let (failures, accesses) =
        judge(&words, &tables).map_err(|message| in_batch(("compare", message)))?;
    totals.accesses = accesses;
    match failures.into_iter().next() {
        Some(((module, program), difference)) => Err(Failure {
            module: Some(module),
            stage: "compare",
            message: format!("program p{program}: {difference}"),
        }),
        None => Ok(totals),
    }
}

/// Writes both forms of a module. Barriers separate adjacent accesses that LLVM would merge.
fn write(
    programs: &[Program],
    language: Language,
    barriers: bool,
    oracle: &Path,
    traced: &Path,
) -> Result<(), String> {
    let write =
        |path: &Path, text: String| std::fs::write(path, text).map_err(|error| error.to_string());
    match language {
        Language::Ir => {
            write(oracle, module(programs, Form::Oracle))?;
            write(traced, module(programs, Form::Traced { barriers }))
        }
        Language::Cuda => {
            let file = traced.with_extension("cu");
            write(&file, source::text(programs))?;
            source::device_ir(&file, true, oracle)?;
            source::device_ir(&file, false, traced)
        }
    }
}

/// Builds both forms of a module; if the plan is thorough, also performs the other checks.
fn instrument(
    programs: &[Program],
    number: usize,
    position: &str,
    plan: Plan,
    folder: &Path,
) -> Result<ModuleTable, String> {
    let path = |name: &str| folder.join(format!("{number}.{name}"));
    let (plain, input, output, other) = (
        path("oracle.ll"),
        path("traced.ll"),
        path("traced.bc"),
        path("other.bc"),
    );
    write(programs, plan.language, position == "late", &plain, &input)?;
    let tracing = Instrumentation {
        input: &input,
        output: &output,
        backend: "cpu",
        probe: "trace",
        module: number,
        position,
        options: &[],
    };
    let table = tracing.run()?;
    Instrumentation {
        input: &plain,
        output: &path("oracle.bc"),
        probe: "none",
        ..tracing
    }
    .run()?;
    let gpu = Instrumentation {
        output: &other,
        backend: "cuda",
        ..tracing
    };
    if plan.language == Language::Ir
        && programs.iter().all(|(_, mode)| *mode == Mode::Plain)
        && let Some(site) = table.sites.iter().find(|s| s.proof == Proof::Tested)
    {
        return Err(format!(
            "no pointers are mixed here, but {site:?} is tested"
        ));
    }
    if plan.thorough {
        if gpu.run()?.sites != table.sites {
            return Err("the two backends find different sites".to_owned());
        }
        check_rejections(gpu, &output, &table, &path("twice.bc"))?;
    }
    Ok(table)
}

/// Checks that a second pass over either result is rejected, and that `--strict` rejects the module if and only if
/// something in it is tested at run time.
fn check_rejections(
    gpu: Instrumentation,
    traced: &Path,
    table: &ModuleTable,
    spare: &Path,
) -> Result<(), String> {
    for input in [traced, gpu.output] {
        let second_pass = Instrumentation {
            input,
            output: spare,
            ..gpu
        };
        match second_pass.run() {
            Err(message) if message.contains("is already instrumented") => {}
            other => return Err(format!("a second pass gave {other:?}")),
        }
    }
    let strict = Instrumentation {
        output: spare,
        options: &["--strict"],
        ..gpu
    };
    let undecided = table.sites.iter().any(|s| s.proof == Proof::Tested);
    match strict.run() {
        Ok(_) if !undecided => Ok(()),
        Err(message) if undecided && message.contains("leave out --strict") => Ok(()),
        other => Err(format!(
            "with --strict, a module (with tested sites: {undecided}) gave {other:?}"
        )),
    }
}
