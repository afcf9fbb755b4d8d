//! What the instrumenter decides about each memory operation of a program, why, and what that costs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep_trace::{ModuleTable, Probe};

use super::builder::{Builder, modules};
use super::error::BuildError;
use super::registers::{self, Registers};
use super::stage::command_line;
use super::unit::{DEVICE_IR, INSTRUMENT, Inserted, Module};
use super::{BuildEvent, Program};
use crate::run::{End, OUTPUT_LIMIT_BYTES, RunSpec};

/// Version of the instrumenter's explanations that is understood here.
const SCHEMA_VERSION: u32 = 1;

/// Every memory operation of a program's device code, with the reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    pub schema_version: u32,
    /// Copies of device functions that specialisation made.
    pub clones: u64,
    /// Pieces of inline PTX that were let through though nobody knows what they do to memory.
    pub opaque_assembly: u64,
    /// The operations, by file, line and column.
    pub operations: Vec<MemoryOperation>,
}

/// A load, store, atomic, or half of a copy, in memory of any kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryOperation {
    /// Mangled name of the kernel or device function.
    #[serde(skip_serializing)]
    pub symbol: String,
    /// The kernel or device function it stands in, as its author wrote it; of a function of which there are copies, with the
    /// number of the copy and the spaces of the pointers that it is called with: `copy_0(global, shared)`.
    pub function: String,
    /// Source file, relative to the program's folder where it lies below it; empty when unknown.
    pub file: String,
    /// Line from 1; 0 when unknown.
    pub line: u32,
    /// Column from 1; 0 when unknown.
    pub column: u32,
    /// `load`, `store`, `atomic_add` and so on.
    pub op: String,
    /// Bytes; 0 when known only at run time.
    pub width_bytes: u32,
    /// `global`, `shared`, `local`, `constant`, `parameter`, or `undecided`.
    pub space: String,
    /// `proven` or `tested` (at run time).
    pub decision: String,
    /// From the address back to where it comes from; when undecided, the origins that disagree.
    pub because: Vec<String>,
}

/// What an explanation adds up to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    pub operations: u64,
    /// Those that are proven to be in global memory.
    pub global: u64,
    pub proven: u64,
    /// Those whose address is tested at run time.
    pub tested: u64,
    /// `proven / operations`; 1 when there are none.
    pub share_proven: f64,
    /// Copies of device functions that specialisation made.
    pub clones: u64,
    /// Pieces of inline PTX that were let through, untraced.
    pub opaque_assembly: u64,
}

/// What tracing a program costs before it runs. Sums over its CUDA translation units.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProgramCost {
    /// Clang's compilation from CUDA to device IR, best of several.
    pub clang_seconds: f64,
    /// The instrumenter's whole run with the trace probe: reading, analysis, probes, linking the handler, writing; best of several.
    pub instrument_seconds: f64,
    pub ptx_bytes_before: u64,
    pub ptx_bytes_after: u64,
    pub kernels: Vec<KernelRegisters>,
}

/// Registers of a thread, as ptxas assigns them; `None` where ptxas was stopped before it was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KernelRegisters {
    /// The kernel, as its author wrote it.
    pub kernel: String,
    /// Without probes.
    pub registers_before: Option<u32>,
    /// With the trace probe.
    pub registers_after: Option<u32>,
}

impl Explanation {
    pub fn summary(&self) -> Summary {
        let count = |wanted: &dyn Fn(&MemoryOperation) -> bool| {
            self.operations.iter().filter(|o| wanted(o)).count() as u64
        };
        let operations = count(&|_| true);
        let proven = count(&|o| o.decision == "proven");
        Summary {
            operations,
            global: count(&|o| o.space == "global"),
            proven,
            tested: operations - proven,
            share_proven: match operations {
                0 => 1.0,
                _ => proven as f64 / operations as f64,
            },
            clones: self.clones,
            opaque_assembly: self.opaque_assembly,
        }
    }
}

impl Builder {
    pub fn explain(&self, program: &Program) -> Result<Explanation, BuildError> {
        let mut whole = Explanation {
            schema_version: SCHEMA_VERSION,
            clones: 0,
            opaque_assembly: 0,
            operations: Vec::new(),
        };
        for (module, ir) in self.device_code(program)? {
            let path = self.explanation(&module, &ir)?;
            let part = read(&path)?;
            whole.clones += part.clones;
            whole.opaque_assembly += part.opaque_assembly;
            whole.operations.extend(part.operations);
        }
        whole.operations.sort_by(|a, b| {
            let place = |o: &MemoryOperation| (o.line, o.column);
            a.file.cmp(&b.file).then(place(a).cmp(&place(b)))
        });
        Ok(whole)
    }

    /// Each piece of a program's device code with its IR.
    fn device_code<'a>(
        &self,
        program: &'a Program,
    ) -> Result<Vec<(Module<'a>, Vec<PathBuf>)>, BuildError> {
        if program.is_built() {
            let parts = self.loaded_parts(program)?;
            return Ok(parts.modules.into_iter().zip(parts.device_code).collect());
        }
        let modules = modules(program)?.into_iter();
        let with_ir = modules.map(|module| {
            let ir = self.device_ir(&module)?;
            Ok((module, ir))
        });
        with_ir.collect()
    }

    /// Measures what tracing `program` costs. Each compilation and instrumentation is done `repetitions` times, nothing taken from the
    /// cache, and the fastest counts; size and registers come from the ordinary build. For the CUDA backend.
    ///
    /// The registers cost a run of ptxas over each module with and without probes, which for a module of some megabytes takes many
    /// minutes; a run that is not done after `registers_limit` is stopped, and its registers stay unknown.
    pub fn measure(
        &self,
        program: &Program,
        repetitions: u32,
        registers_limit: Duration,
    ) -> Result<ProgramCost, BuildError> {
        if program.is_built() {
            return Err(BuildError::Unsupported {
                subject: program.name.clone(),
                reason: "its own build system compiles it, so that there is no time to compare with; `superstep explain` takes the executable itself".into(),
            });
        }
        let traced = &Inserted::on_cuda(Probe::Trace, self.handler(Probe::Trace, &[])?);
        let mut cost = ProgramCost {
            clang_seconds: 0.0,
            instrument_seconds: 0.0,
            ptx_bytes_before: 0,
            ptx_bytes_after: 0,
            kernels: Vec::new(),
        };
        for module in modules(program)? {
            let (clang, instrument) = self.time(&module, traced, repetitions)?;
            cost.clang_seconds += clang.as_secs_f64();
            cost.instrument_seconds += instrument.as_secs_f64();
            let ir = self.device_ir(&module)?;
            let plain = self.instrument(&module, &ir, &Inserted::on_cuda(Probe::None, None))?;
            let traced = self.instrument(&module, &ir, traced)?;
            let before = self.ptx(&module, &plain.bitcode)?;
            let after = self.ptx(&module, &traced.bitcode)?;
            cost.ptx_bytes_before += size_bytes(&before)?;
            cost.ptx_bytes_after += size_bytes(&after)?;
            let before = [self.registers(&module, &before, registers_limit)?];
            let mut probed = [self.registers(&module, &after, registers_limit)?];
            let text = fs::read_to_string(&after).map_err(BuildError::io("read", &after))?;
            if let Some(text) = registers::limited(&text, &before, &probed) {
                let limited = self.runner.text_file("out.ptx", text.as_bytes())?;
                probed = [self.registers(&module, &limited, registers_limit)?];
            }
            for kernel in kernels(&traced.table)? {
                cost.kernels.push(KernelRegisters {
                    registers_before: before[0].get(&kernel.name).copied(),
                    registers_after: probed[0].get(&kernel.name).copied(),
                    kernel: kernel.display_name,
                });
            }
        }
        Ok(cost)
    }

    /// The fastest of several compilations to device IR, and of several instrumentations, each in an empty cache.
    fn time(
        &self,
        module: &Module<'_>,
        traced: &Inserted,
        repetitions: u32,
    ) -> Result<(Duration, Duration), BuildError> {
        let mut best = (Duration::MAX, Duration::MAX);
        for _ in 0..repetitions.max(1) {
            let scratch = self.runner.cache.scratch()?;
            let spent = Arc::new(Mutex::new(Vec::new()));
            let list = Arc::clone(&spent);
            let observer = move |event: BuildEvent<'_>| {
                let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
                list.push((event.stage, event.elapsed));
            };
            let fresh = Builder::new(
                self.tools.clone(),
                self.installation.clone(),
                self.options.clone(),
                scratch.path().to_owned(),
                observer,
            );
            // One unit after the other, so that they do not slow each other down.
            let ir: Vec<PathBuf> = (module.units.iter())
                .map(|unit| fresh.unit_device_ir(unit))
                .collect::<Result<_, _>>()?;
            fresh.instrument(module, &ir, traced)?;
            let spent = spent.lock().unwrap_or_else(PoisonError::into_inner);
            let of = |wanted: &str| {
                let steps = spent.iter().filter(|(stage, _)| *stage == wanted);
                steps.map(|(_, elapsed)| *elapsed).sum::<Duration>()
            };
            best.0 = best.0.min(of(DEVICE_IR));
            best.1 = best.1.min(of(INSTRUMENT));
        }
        Ok(best)
    }

    /// Registers of each kernel in the binary that ptxas makes of `ptx`; none if it takes longer than `limit`.
    fn registers(
        &self,
        module: &Module<'_>,
        ptx: &Path,
        limit: Duration,
    ) -> Result<Registers, BuildError> {
        if limit.is_zero() {
            return Ok(Registers::new());
        }
        let scratch = self.runner.cache.scratch()?;
        let place = |name: &str| scratch.path().join(name);
        let binary = place("out.cubin");
        let spec = RunSpec {
            program: self.tools.ptxas.path.clone(),
            name: "ptxas".to_owned(),
            args: vec![
                format!("-arch=sm_{}", self.options.lowest_arch()),
                "-O3".to_owned(),
                ptx.display().to_string(),
                "-o".to_owned(),
                binary.display().to_string(),
            ],
            folder: scratch.path().to_owned(),
            environment: Vec::new(),
            stdout: place("stdout"),
            stderr: place("stderr"),
            timeout: limit,
            memory_limit_bytes: None,
            output_limit_bytes: OUTPUT_LIMIT_BYTES,
        };
        let outcome = crate::run::run(&spec).map_err(|error| BuildError::Tool {
            tool: spec.program.clone(),
            source: std::io::Error::other(error),
        })?;
        match outcome.end {
            End::Exited(0) => registers::of(&binary),
            End::TimedOut => Ok(Registers::new()),
            end => {
                let mut text = String::new();
                for file in [&spec.stdout, &spec.stderr] {
                    let bytes = fs::read(file).map_err(BuildError::io("read", file))?;
                    text.push_str(&String::from_utf8_lossy(&bytes));
                }
                Err(BuildError::Command {
                    subject: module.name.clone(),
                    stage: "registers",
                    status: end.to_string(),
                    command: command_line(&spec.program, &spec.args),
                    output: text,
                })
            }
        }
    }
}

fn read(path: &PathBuf) -> Result<Explanation, BuildError> {
    let bytes = fs::read(path).map_err(BuildError::io("read", path))?;
    match serde_json::from_slice::<Explanation>(&bytes) {
        Ok(explanation) if explanation.schema_version == SCHEMA_VERSION => Ok(explanation),
        Ok(Explanation { schema_version, .. }) => {
            let why = format!("its version is {schema_version}, not {SCHEMA_VERSION}");
            Err(not_ours(path, &why))
        }
        Err(error) => Err(not_ours(path, &error.to_string())),
    }
}

fn kernels(table: &PathBuf) -> Result<Vec<superstep_trace::KernelInfo>, BuildError> {
    let bytes = fs::read(table).map_err(BuildError::io("read", table))?;
    let table = ModuleTable::from_json(&bytes).map_err(|error| not_ours(table, &error.to_string()));
    Ok(table?.kernels)
}

fn not_ours(path: &Path, why: &str) -> BuildError {
    BuildError::Installation {
        what: format!("an answer of superstep-instrument in {}", path.display()),
        reason: format!(
            "{why}; the harness and the instrumenter have different versions; run `cargo xtask build`"
        ),
    }
}

fn size_bytes(path: &Path) -> Result<u64, BuildError> {
    let metadata = fs::metadata(path).map_err(BuildError::io("read", path))?;
    Ok(metadata.len())
}
