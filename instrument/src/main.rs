//! `superstep-instrument`: reads device LLVM IR, and writes traced (or plain) IR for the GPU or CPU backend.

mod children;
mod context;
mod cpu;
mod defined;
mod explain;
mod globals;
mod graph;
mod ir;
mod matrix;
mod operation;
mod prepare;
mod probe;
mod ptx;
mod reach;
mod semantics;
mod sites;
mod space;
mod specialise;
mod units;
mod waits;

use crate::ir::traits::*;
use crate::semantics::{approximate, constants, contraction, wraps};
use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand, ValueEnum};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use superstep_trace::{Backend, ModuleTable, Probe};

/// Inserts probes into the device code of a CUDA program.
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    arguments: Option<Arguments>,
    #[command(flatten)]
    sites: sites::SiteOptions,
}

#[derive(Debug, Subcommand)]
enum Command {
    Prepare(prepare::Prepare),
}

#[derive(Debug, clap::Args)]
struct Arguments {
    /// Device IR of the translation units, which are linked before instrumentation.
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// Where the program will run: `cpu` or `cuda`.
    #[arg(long)]
    backend: Backend,
    /// Probe to insert before each access to global memory: `none`, `trace`, `count` or `defined`.
    #[arg(long, default_value = "trace")]
    probe: Probe,
    /// Name of this module in tables; by default, the first input's path.
    #[arg(long)]
    module_name: Option<String>,
    /// Definition of the probe, for `--probe defined` (JSON).
    #[arg(long, required_if_eq("probe", "defined"))]
    spec: Option<PathBuf>,
    /// Bitcode of the probe's handler.
    #[arg(long)]
    handler: Option<PathBuf>,
    /// Bitcode of functions that device code calls: implementations of GPU operations (CPU backend), and launches from
    /// the device.
    #[arg(long)]
    support: Option<PathBuf>,
    /// Processor to optimise for: a GPU, such as `sm_90`, or LLVM's name for an x86-64 processor.
    #[arg(long)]
    target_cpu: Option<String>,
    /// Where in the pipeline to insert probes: `late` to trace what the GPU executes, `early` as in the thesis.
    #[arg(long, value_enum, default_value = "late")]
    at: Position,
    /// Reject device functions and variables that no input defines.
    #[arg(long)]
    whole_program: bool,
    /// Bitcode to write.
    #[arg(short, long)]
    output: PathBuf,
    /// Site table to write (JSON).
    #[arg(long)]
    table: PathBuf,
    /// Explanation to write: why each memory operation is traced, tested or left alone (JSON).
    #[arg(long)]
    explain: Option<PathBuf>,
    /// Pass an aggregating handler the operation in the site's four highest bits, and memory for the function's
    /// counters.
    #[arg(long)]
    adds_up: bool,
    /// Print the result as IR text.
    #[arg(long)]
    print: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Position {
    Late,
    Early,
}

/// Mark on instrumented modules. An input with this mark is rejected, because its accesses would be recorded twice.
const MARK: &str = "superstep.instrumented";

fn main() -> ExitCode {
    let line = CommandLine::parse();
    let outcome = match (&line.command, &line.arguments) {
        (Some(Command::Prepare(prepare)), _) => prepare.run(),
        (None, Some(arguments)) => instrument(arguments, line.sites),
        (None, None) => unreachable!("clap requires the inputs"),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn instrument(arguments: &Arguments, options: sites::SiteOptions) -> Result<()> {
    let (mut module, sources) = units::link(&arguments.inputs)?;
    if module.is_marked(MARK) {
        anyhow::bail!(
            "{} is already instrumented; pass the compiler's own output",
            arguments.inputs[0].display()
        );
    }
    module.verify("reading the input")?;
    let cuda = arguments.backend == Backend::Cuda;
    let target = arguments.target_cpu.as_deref();
    let machine_name = target.filter(|_| cuda).unwrap_or("sm_90");
    let machine = ir::Machine::nvptx(machine_name)?;
    if arguments.whole_program {
        drop_unreachable_functions(&mut module, "linking the input", &machine)?;
        units::define_missing_virtuals(&module);
        units::reject_undefined(&module, &sources.join(", "), children::has)?;
    }
    if cuda {
        let arch = machine_name
            .strip_prefix("sm_")
            // Also accepts `sm_90a`.
            .and_then(|arch| arch.trim_end_matches(char::is_alphabetic).parse().ok());
        units::reject_unmasked(&module, arch.unwrap_or(0))?;
    }
    constants::place_initial_values(&mut module);
    if arguments.at == Position::Late {
        // Otherwise, code generation would infer spaces and merge adjacent loads after probes are inserted. String
        // literals must be moved to global memory first: LLVM 22's inference breaks modules with string literals in
        // generic memory.
        let infer = "generic-to-nvvm,function(infer-address-spaces)";
        module.run_passes("linking the input", infer, &machine)?;
        let vectorize = "function(load-store-vectorizer)";
        module.run_passes("inferring address spaces", vectorize, &machine)?;
    }
    contraction::fuse(&module);
    approximate::lower(&module, cuda);
    if cuda {
        wraps::sign_extend(&module, false);
    }
    let mut table = probe_module(&mut module, arguments, options, &machine)?;
    let marked = sites::marked(&module);
    module.mark(MARK);
    let mut handler = (arguments.handler.as_deref()).filter(|_| arguments.probe != Probe::None);
    if arguments.probe == Probe::Defined
        && let Some(handler) = handler.take()
    {
        defined::finish(&mut module, handler, &machine)?;
    }
    let support = arguments.support.as_deref();
    if cuda {
        table.launches = children::lower_for_gpu(&module, &table.kernels);
        if arguments.probe == Probe::Trace {
            globals::add_table(&module);
        }
        if let Some(support) = support.filter(|_| table.launches) {
            module.link("linking launches from the device", support, |_| {})?;
        }
        finish_for_gpu(&mut module, handler, arguments.adds_up, &machine)?;
    } else {
        let libraries: Vec<&Path> = support.into_iter().chain(handler).collect();
        cpu::lower(&mut module, &table, &libraries, target.unwrap_or("x86-64"))?;
    }
    sites::check(&module, &marked, &table.sites)?;
    module.write("the backend's last pass", &arguments.output)?;
    std::fs::write(&arguments.table, table.to_json())
        .with_context(|| format!("failed to write {}", arguments.table.display()))?;
    if arguments.print {
        print!("{}", module.print());
    }
    Ok(())
}

fn probe_module(
    module: &mut ir::Module,
    arguments: &Arguments,
    options: sites::SiteOptions,
    machine: &ir::Machine,
) -> Result<ModuleTable> {
    let name = arguments.module_name.clone();
    let name = name.unwrap_or_else(|| arguments.inputs[0].display().to_string());
    let mut table = ModuleTable {
        module: options.module_index,
        kernels: sites::kernels(module),
        ..ModuleTable::new(name, arguments.backend, arguments.probe)
    };
    if arguments.probe == Probe::None {
        return Ok(table);
    }
    let copies = {
        let module = &*module;
        specialise::specialise(module, &space::Analysis::of(module).contexts(module))
    };
    drop_unreachable_functions(module, "specialising device functions", machine)?;
    if let Some(path) = &arguments.explain {
        let explanation = explain::explain(module, &copies, options.allow_opaque_asm)?;
        std::fs::write(path, serde_json::to_vec(&explanation)?)
            .with_context(|| format!("failed to write {}", path.display()))?;
    }
    if let (Some(path), Probe::Defined) = (&arguments.spec, table.probe) {
        let text =
            std::fs::read(path).with_context(|| format!("failed to read {}", path.display()))?;
        let spec = serde_json::from_slice(&text)
            .with_context(|| format!("failed to parse the probe in {}", path.display()))?;
        let cuda = arguments.backend == Backend::Cuda;
        table.defined = Some(defined::insert(module, &spec, options, machine, cuda)?);
        return Ok(table);
    }
    insert_probes(module, &mut table, options, arguments.adds_up)?;
    module.verify("inserting the calls")?;
    Ok(table)
}

fn insert_probes(
    module: &ir::Module,
    table: &mut ModuleTable,
    options: sites::SiteOptions,
    aggregates: bool,
) -> Result<()> {
    let (mut operations, sites) = sites::find(module, &space::Analysis::of(module), options)?;
    table.sites = sites;
    if options.allow_opaque_asm {
        let instructions = module.instructions();
        table.opaque_assembly = instructions.filter(|it| operation::is_opaque(*it)).count() as u32;
    }
    let barriers = match table.probe {
        Probe::Trace if !aggregates => sites::grid_barriers(module, &operations),
        _ => HashSet::new(),
    };
    table.grid_barriers = !barriers.is_empty();
    let probed = operations.iter().map(|it| &it.instruction);
    let functions = probed.chain(&barriers).map(|it| it.parent_function());
    let cuda = table.backend == Backend::Cuda;
    let (contexts, rebuilt) = context::extend(module, &functions.collect(), cuda);
    for operation in &mut operations {
        operation.instruction = context::current(operation.instruction, &rebuilt);
    }
    probe::insert(module, &operations, &contexts, table.backend, aggregates)?;
    probe::mark_grid_barriers(module, &barriers, &contexts);
    Ok(())
}

/// Removes device functions that no kernel reaches (usually because they were inlined), which would add sites that
/// never run. `stage` names the preceding step.
fn drop_unreachable_functions(
    module: &mut ir::Module,
    stage: &str,
    machine: &ir::Machine,
) -> Result<()> {
    let functions = module.defined_functions().into_iter();
    for function in functions.filter(|f| !f.is_kernel()) {
        function.make_internal();
    }
    module.run_passes(stage, "globaldce", machine)
}

fn finish_for_gpu(
    module: &mut ir::Module,
    handler: Option<&Path>,
    aggregates: bool,
    machine: &ir::Machine,
) -> Result<()> {
    if let Some(handler) = handler {
        let max_inlined = probe::max_inlined_calls(aggregates);
        let is_handler = |name: &str| [probe::HANDLER, probe::BEGIN, probe::END].contains(&name);
        probe::link_handler(module, handler, max_inlined, is_handler)?;
    }
    // The handler's `__builtin_constant_p` can be decided after inlining; the handler's variables become registers.
    let sroa = if aggregates { "sroa," } else { "" };
    let passes = format!("always-inline,function({sroa}lower-constant-intrinsics),globaldce");
    module.run_passes("linking the handler", &passes, machine)
}
