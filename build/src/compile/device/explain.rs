//! The instrumenter's decisions about each memory operation, their reasons, and the cost of tracing.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep_trace::{ModuleTable, Probe};

use crate::compile::device::registers::{self, Registers};
use crate::compile::steps::stage::command_line;
use crate::compile::unit::{Inserted, Module};
use crate::compile::{BuildError, Builder, Result};
use crate::compile::{BuildEvent, Program};
use crate::run::{End, OUTPUT_LIMIT_BYTES, RunSpec};

/// Version of the instrumenter's explanations that is understood here.
const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    pub schema_version: u32,
    /// Copies of device functions that specialisation made.
    pub clones: u64,
    /// Inline PTX statements with unknown effects on memory, let through untraced.
    pub opaque_assembly: u64,
    pub operations: Vec<MemoryOperation>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryOperation {
    #[serde(skip_serializing)]
    pub symbol: String,
    /// The enclosing kernel or device function, demangled; for a specialised copy, with the
    /// number of the copy and the spaces of the pointers that it is called with: `copy_0(global, shared)`.
    pub function: String,
    pub file: String,
    pub line: u32,
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

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    pub operations: u64,
    pub global: u64,
    pub proven: u64,
    pub tested: u64,
    /// `proven / operations`; 1 when there are none.
    pub share_proven: f64,
    pub clones: u64,
    pub opaque_assembly: u64,
}

/// Cost of tracing a program before it runs, summed over its CUDA translation units.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProgramCost {
    /// Clang's compilation from CUDA to device IR, best of several; none where the program's own build system built it.
    pub clang_seconds: Option<f64>,
    /// The instrumenter's whole run with the trace probe: reading, analysis, probes, linking the handler, writing; best of several.
    pub instrument_seconds: f64,
    pub ptx_bytes_before: u64,
    pub ptx_bytes_after: u64,
    pub kernels: Vec<KernelRegisters>,
}

/// Registers of a thread, as ptxas assigns them; `None` where ptxas was stopped before it was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KernelRegisters {
    pub kernel: String,
    pub registers_before: Option<u32>,
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
    pub fn explain(&self, program: &Program) -> Result<Explanation> {
        let mut whole = Explanation {
            schema_version: SCHEMA_VERSION,
            clones: 0,
            opaque_assembly: 0,
            operations: Vec::new(),
        };
        for module in &self.parts(program)?.modules {
            let path = self.explanation(module)?;
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

    /// Measures what tracing `program` costs on the CUDA backend. Compilation and instrumentation are timed `repetitions` times without the
    /// cache, and the fastest counts. Registers take a run of ptxas over each module with and without probes, which may take minutes; after
    /// `registers_limit` it is stopped, and its registers stay unknown.
    pub fn measure(
        &self,
        program: &Program,
        repetitions: u32,
        registers_limit: Duration,
    ) -> Result<ProgramCost> {
        let nothing = self.nothing()?;
        let traced = &Inserted {
            probe: Probe::Trace,
            handler: self.handler(Probe::Trace)?,
            ..nothing.clone()
        };
        let parts = self.parts(program)?;
        let (_, as_resident) = self.with_executable(program, &parts, |as_resident| as_resident)?;
        let mut cost = ProgramCost {
            clang_seconds: None,
            instrument_seconds: 0.0,
            ptx_bytes_before: 0,
            ptx_bytes_after: 0,
            kernels: Vec::new(),
        };
        for unit in parts.embedded.iter().map(|embedded| &embedded.unit) {
            let clang = self.time(repetitions, |fresh| fresh.device_ir(unit).map(drop))?;
            *cost.clang_seconds.get_or_insert_default() += clang;
        }
        for module in &parts.modules {
            let instrument = |fresh: &Builder| fresh.instrument(module, traced).map(drop);
            cost.instrument_seconds += self.time(repetitions, instrument)?;
            let plain = self.instrument(module, &nothing)?;
            let traced = self.instrument(module, traced)?;
            let before = self.ptx(module, &plain.bitcode)?;
            let after = self.ptx(module, &traced.bitcode)?;
            cost.ptx_bytes_before += size_bytes(&before)?;
            cost.ptx_bytes_after += size_bytes(&after)?;
            let before = [self.registers(module, &before, registers_limit)?];
            let mut probed = [self.registers(module, &after, registers_limit)?];
            let text = fs::read_to_string(&after).map_err(BuildError::io("read", &after))?;
            if let Some(text) = registers::limited(&text, &before, &probed, as_resident) {
                let limited = self.runner.text_file("out.ptx", text.as_bytes())?;
                probed = [self.registers(module, &limited, registers_limit)?];
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

    fn time(&self, repetitions: u32, make: impl Fn(&Builder) -> Result<()>) -> Result<f64> {
        let mut best = f64::INFINITY;
        for _ in 0..repetitions.max(1) {
            let scratch = self.runner.cache.scratch()?;
            let spent = Arc::new(Mutex::new(Duration::ZERO));
            let sum = Arc::clone(&spent);
            let observer = move |event: BuildEvent<'_>| {
                *sum.lock().unwrap_or_else(PoisonError::into_inner) += event.elapsed;
            };
            make(&Builder::new(
                self.tools.clone(),
                self.installation.clone(),
                self.options.clone(),
                scratch.path().to_owned(),
                observer,
            ))?;
            let spent = spent.lock().unwrap_or_else(PoisonError::into_inner);
            best = best.min(spent.as_secs_f64());
        }
        Ok(best)
    }

    /// Registers of each kernel in the binary that ptxas makes of `ptx`; none if it takes longer than `limit`.
    fn registers(&self, module: &Module, ptx: &Path, limit: Duration) -> Result<Registers> {
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
            kill: None,
        };
        let outcome = crate::run::run(&spec).map_err(std::io::Error::other);
        let outcome = outcome.map_err(BuildError::tool(&spec.program))?;
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

fn read(path: &PathBuf) -> Result<Explanation> {
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

fn kernels(table: &PathBuf) -> Result<Vec<superstep_trace::KernelInfo>> {
    let bytes = fs::read(table).map_err(BuildError::io("read", table))?;
    let table = ModuleTable::from_json(&bytes).map_err(|error| not_ours(table, &error.to_string()));
    Ok(table?.kernels)
}

fn not_ours(path: &Path, why: &str) -> BuildError {
    BuildError::installation(
        format!("an answer of superstep-instrument in {}", path.display()),
        format!(
            "{why}; the harness and the instrumenter have different versions; unpack the archive anew (in the repository, run `cargo xtask build`)"
        ),
    )
}

fn size_bytes(path: &Path) -> Result<u64> {
    let metadata = fs::metadata(path).map_err(BuildError::io("read", path))?;
    Ok(metadata.len())
}
