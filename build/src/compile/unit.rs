//! Build stages for a translation unit, and for a module of device code.

use std::fs;
use std::path::{Path, PathBuf};

use superstep_trace::{Backend, Probe, Protocol};

use crate::compile::object::linked;
use crate::compile::object::record::DeviceCodeRecord;
use crate::compile::source::{arithmetic, default_stream, macros};
use crate::compile::steps::stage::{Args, BITCODE, LIBRARY, OBJECT, Stage, Subject};
use crate::compile::{BuildError, Builder, Program, Result};
use crate::manifest::{Flags, Language, TranslationUnit};

/// Stops Clang before LLVM's optimiser, which the instrumenter runs ([`Builder::prepare`]).
pub(crate) const FRONT_END_ONLY: [&str; 2] = ["-Xclang", "-disable-llvm-passes"];

pub(crate) const TABLE: &str = "table.json";
const EXPLANATION: &str = "explanation.json";

#[derive(Clone)]
pub(crate) struct Unit<'a> {
    pub(crate) program: &'a Program,
    pub(crate) unit: &'a TranslationUnit,
    /// Distinguishes its static kernels and variables from those of other units.
    pub(crate) id: usize,
    pub(crate) name: String,
    pub(crate) linked: bool,
}

impl<'a> Unit<'a> {
    pub(crate) fn new(
        program: &'a Program,
        unit: &'a TranslationUnit,
        id: usize,
        linked: bool,
    ) -> Self {
        Self {
            program,
            unit,
            id,
            name: unit_name(program, unit),
            linked,
        }
    }
}

pub(crate) struct Module {
    pub(crate) index: usize,
    pub(crate) name: String,
    files: String,
    folder: PathBuf,
    /// Identifies the module in the program's registration code.
    pub(crate) hash: String,
    pub(crate) ir: Vec<PathBuf>,
}

impl Module {
    pub(crate) fn new(
        program: &Program,
        index: usize,
        record: &DeviceCodeRecord,
        ir: Vec<PathBuf>,
    ) -> Self {
        Self {
            index,
            name: format!("{}/{}", program.name, record.head.name),
            files: record.head.name.clone(),
            folder: program.folder.clone(),
            hash: record.hash(),
            ir,
        }
    }

    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject::of(&self.name, &self.folder)
    }
}

#[derive(Clone, Default)]
pub(crate) struct Inserted {
    pub(crate) probe: Probe,
    pub(crate) spec: Option<PathBuf>,
    pub(crate) handler: Option<PathBuf>,
    pub(crate) support: PathBuf,
    pub(crate) as_resident: bool,
    /// Host code of a probe, which each module loads; only the first load has an effect.
    pub(crate) host: Option<PathBuf>,
}

impl Builder {
    /// Stage 1: compiles a unit to device IR, which is the same for every backend and probe. Returns the output of
    /// Clang's front end, and the optimised IR.
    pub(crate) fn device_ir(&self, unit: &Unit<'_>) -> Result<[PathBuf; 2]> {
        let args = Args::of(["-x", "cuda", "--cuda-device-only"])
            .and(self.cuda_flags(unit)?)
            .texts(["-O2", "-g1", "-c", "-emit-llvm"])
            .texts(FRONT_END_ONLY)
            // nvcc does not compile a `switch` to a lookup table; loads from one would count as accesses.
            .text("-fno-jump-tables")
            // nvcc lets a lane pass an undefined value to a shuffle; Clang would conclude that no lane ever does so.
            .texts(["-Xclang", "-no-enable-noundef-analysis"])
            .and(own_flags(unit.program, &unit.program.flags.device));
        let front_end = self.compile("device IR", unit, args, BITCODE)?;
        let subject = Subject::of(&unit.name, &unit.program.folder);
        let flags = &unit.program.flags;
        let passes = format!("default<O{}>", optimisation(flags));
        let inexact =
            arithmetic::is_set(flags, arithmetic::INEXACT_ROOTS).then_some("--inexact-roots");
        let args = Args::of(["--passes", &passes]).texts(inexact);
        let optimised = self.prepare(subject, &front_end, args)?;
        Ok([front_end, optimised])
    }

    /// Optimises device code from Clang's front end as Clang would, after giving inline PTX the meaning it has in nvcc.
    pub(crate) fn prepare(
        &self,
        subject: Subject<'_>,
        front_end: &Path,
        more: Args,
    ) -> Result<PathBuf> {
        let gpu = format!("sm_{}", self.options.lowest_arch());
        let args = Args::of(["prepare", "--target-cpu", &gpu])
            .and(more)
            .input(front_end);
        (self.runner).file("optimise", &self.instrumenter, subject, args, BITCODE)
    }

    /// Stage 2: inserts the probe, and retargets the code for the CPU backend. Returns the folder with the bitcode and
    /// the table of sites.
    pub(crate) fn instrument(&self, module: &Module, inserted: &Inserted) -> Result<PathBuf> {
        let mut args = self.instrumenter_args(module, inserted.probe);
        args = args.text("--support").input(&inserted.support);
        for (flag, file) in [("--spec", &inserted.spec), ("--handler", &inserted.handler)] {
            if let Some(file) = file {
                args = args.text(flag).input(file);
            }
        }
        self.run_instrumenter(module, args, &[BITCODE, TABLE])
    }

    /// Returns the file in which stage 2 explains each memory operation in a module. Needs no handler.
    pub(crate) fn explanation(&self, module: &Module) -> Result<PathBuf> {
        let args = self.instrumenter_args(module, Probe::Trace);
        let args = args.output("--explain", EXPLANATION);
        let folder = self.run_instrumenter(module, args, &[EXPLANATION])?;
        Ok(folder.join(EXPLANATION))
    }

    fn instrumenter_args(&self, module: &Module, probe: Probe) -> Args {
        let (backend, index) = (self.options.backend.to_string(), module.index.to_string());
        let (strict, opaque) = (self.options.strict, self.options.allow_opaque_asm);
        let adds_up = self.adds_up(probe);
        let args = Args::of(["--backend", &backend, "--probe", probe.name()])
            .texts(["--module-index", &index])
            .texts(["--module-name", &module.files, "--whole-program"])
            .texts(strict.then_some("--strict"))
            .texts(opaque.then_some("--allow-opaque-asm"))
            .texts(adds_up.then_some("--adds-up"));
        let gpu = format!("sm_{}", self.options.lowest_arch());
        let is_on_gpu = |_: &&str| self.options.backend == Backend::Cuda;
        let args = args.texts(["--target-cpu", &gpu].into_iter().filter(is_on_gpu));
        let args = module.ir.iter().fold(args, Args::input);
        args.output("-o", BITCODE).output("--table", TABLE)
    }

    pub(crate) fn adds_up(&self, probe: Probe) -> bool {
        let is_in_situ = self.options.protocol == Protocol::InSitu;
        is_in_situ && self.options.backend == Backend::Cuda && probe == Probe::Trace
    }

    fn run_instrumenter(
        &self,
        module: &Module,
        args: Args,
        outputs: &[&'static str],
    ) -> Result<PathBuf> {
        let stage = Stage {
            name: "instrument",
            subject: module.subject(),
            tool: &self.instrumenter,
            args,
            outputs,
        };
        stage.run(&self.runner)
    }

    /// Stage 3 for the CPU: compiles a module to a shared object.
    pub(crate) fn cpu_library(&self, module: &Module, bitcode: &Path) -> Result<PathBuf> {
        let args = Args::of(["-x", "ir", "-O3", "-fPIC", "-shared"])
            .text("-Wno-override-module")
            .text(self.options.cpu_flag())
            .input(bitcode);
        (self.runner).file("x86 code", &self.clang(), module.subject(), args, LIBRARY)
    }

    /// Compiles the host half of a CUDA file; `embedding` embeds the device half.
    pub(crate) fn host_object(&self, unit: &Unit<'_>, embedding: Args) -> Result<PathBuf> {
        // The runtime looks up the source lines of calls.
        let args = Args::of(["-x", "cuda", "--cuda-host-only"])
            .and(self.cuda_flags(unit)?)
            .texts(["-O2", "-gline-tables-only", "-fPIC", "-c"])
            .and(own_flags(unit.program, &unit.program.flags.host))
            .and(embedding);
        self.compile("host code", unit, args, OBJECT)
    }

    pub(crate) fn helper_object(
        &self,
        program: &Program,
        unit: &TranslationUnit,
    ) -> Result<PathBuf> {
        let unit = &Unit::new(program, unit, 0, false);
        let is_c = unit.unit.language == Language::C;
        let language = if is_c { "c" } else { "c++" };
        let args = Args::of(["-x", language, "-O2", "-fPIC", "-c"])
            .place("-isystem", &self.toolchain.cuda.include)
            .and(self.compatible_helper(is_c)?)
            .and(self.compatible_sources(unit)?)
            .and(own_flags(program, &program.flags.host));
        self.compile("helper", unit, args, OBJECT)
    }

    /// Returns the flags for every compilation of a CUDA file, device or host.
    pub(crate) fn cuda_flags(&self, unit: &Unit<'_>) -> Result<Args> {
        let linked = [
            linked::FLAG,
            "--offload-new-driver",
            // nvcc's macro. Without it, CUDA's headers define functions of the device runtime as stubs that fail.
            "-D__CUDACC_RDC__",
        ];
        let is_per_thread = default_stream::is_per_thread(&unit.program.flags);
        Ok(Args::default()
            .place("--cuda-path=", &self.toolchain.cuda.root)
            // C++17 has no `register` variables; nvcc's host compiler only warns about them.
            .texts([
                "-Wno-unknown-cuda-version",
                "-Wno-register",
                // nvcc's g++ only warns about narrowing of non-constants.
                "-Wno-error=c++11-narrowing",
            ])
            .texts(macros::nvcc_macros(self.toolchain.cuda.version, &[]))
            // Device and host code are compiled separately; this identifier makes the names of static symbols match.
            .text(format!("-cuid=superstep{}", unit.id))
            // Both halves must see the same list of architectures: CUB and Thrust name their kernels after it.
            .text(self.gpu_arch_flag())
            // For <superstep/runtime.h>, unless the program has its own.
            .text("-idirafter")
            .place("", &self.installation.folder("probes/include")?)
            .and(self.compatible_cuda(unit.program)?)
            .and(self.compatible_sources(unit)?)
            .texts(default_stream::FLAGS.into_iter().filter(|_| is_per_thread))
            .texts(linked.into_iter().filter(|_| unit.linked)))
    }

    pub(crate) fn gpu_arch_flag(&self) -> String {
        format!("--cuda-gpu-arch=sm_{}", self.options.lowest_arch())
    }

    pub(crate) fn compile(
        &self,
        name: &'static str,
        unit: &Unit<'_>,
        args: Args,
        output: &'static str,
    ) -> Result<PathBuf> {
        let source = unit.program.folder.join(&unit.unit.file);
        if self.runner.dry_run.is_none() {
            fs::metadata(&source).map_err(BuildError::source(&source))?;
        }
        // The result must not depend on the source folder.
        let args = args
            .text("-fdebug-compilation-dir=.")
            .reading_headers()
            .text(unit.unit.file.to_string_lossy());
        let subject = Subject::of(&unit.name, &unit.program.folder);
        (self.runner).file(name, &self.clang(), subject, args, output)
    }
}

pub(crate) fn units(program: &Program) -> Result<Vec<Unit<'_>>> {
    let linked = linked::is_requested(&program.flags);
    let units: Vec<_> = (program.units.iter())
        .filter(|unit| unit.language == Language::Cuda)
        .enumerate()
        .map(|(id, unit)| Unit::new(program, unit, id, linked))
        .collect();
    if units.is_empty() {
        return Err(BuildError::unsupported(
            &program.name,
            "it has no CUDA translation unit; list at least one with `language: cuda`",
        ));
    }
    Ok(units)
}

pub(crate) fn own_flags(program: &Program, side: &[String]) -> Args {
    let include = (program.include.iter()).map(|folder| format!("-I{}", folder.display()));
    let flags = program.flags.all.iter().chain(side);
    let flags = flags.filter(|flag| !linked::is_flag(flag));
    Args::of(include).texts(flags.filter_map(|flag| default_stream::translated(flag)))
}

/// Returns Clang's optimisation level for device code, taken from the last `-O`.
fn optimisation(flags: &Flags) -> &str {
    let flags = flags.all.iter().chain(&flags.device);
    match flags.filter_map(|flag| flag.strip_prefix("-O")).next_back() {
        None => "2",
        Some("" | "g") => "1",
        Some("fast") => "3",
        Some(level @ ("0" | "1" | "2" | "s" | "z")) => level,
        Some(_) => "3",
    }
}

pub(crate) fn unit_name(program: &Program, unit: &TranslationUnit) -> String {
    format!("{}/{}", program.name, unit.file.display())
}
