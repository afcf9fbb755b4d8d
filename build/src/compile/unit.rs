//! The stages of one translation unit.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use superstep_trace::{Backend, Probe};

use super::Program;
use super::builder::Builder;
use super::error::BuildError;
use super::linked;
use super::loaded::Loaded;
use super::stage::{Args, BITCODE, OBJECT, Stage, Subject, Tool};
use crate::manifest::{Language, TranslationUnit};

pub(super) const DEVICE_IR: &str = "device IR";
pub(super) const INSTRUMENT: &str = "instrument";

const TABLE: &str = "table.json";
const EXPLANATION: &str = "explanation.json";

/// One translation unit of a program, with its number.
pub(super) struct Unit<'a> {
    pub(super) program: &'a Program,
    pub(super) unit: &'a TranslationUnit,
    pub(super) index: usize,
    pub(super) name: String,
    /// Whether its device code may use that of other units.
    pub(super) linked: bool,
}

/// One piece of device code: a CUDA translation unit, or all of them when they were compiled to be linked.
pub(super) struct Module<'a> {
    pub(super) program: &'a Program,
    pub(super) units: Vec<Unit<'a>>,
    pub(super) index: usize,
    pub(super) name: String,
    /// What is loaded by an executable that is there already.
    pub(super) loaded: Option<Loaded>,
}

impl Module<'_> {
    pub(super) fn subject(&self) -> Subject<'_> {
        Subject {
            name: &self.name,
            folder: &self.program.folder,
        }
    }

    /// Its name in tables: its files.
    fn files(&self) -> String {
        if let Some(loaded) = &self.loaded {
            return loaded.files.clone();
        }
        let files = (self.units.iter()).map(|unit| unit.unit.file.to_string_lossy());
        files.collect::<Vec<_>>().join(" + ")
    }

    /// Whether its units were compiled to be linked.
    fn linked(&self) -> bool {
        self.units.iter().any(|unit| unit.linked)
    }
}

/// What stage 2 inserts into the modules of a program.
#[derive(Clone)]
pub(super) struct Inserted {
    pub(super) probe: Probe,
    /// The definition of a probe that a user defined.
    pub(super) spec: Option<PathBuf>,
    pub(super) handler: Option<PathBuf>,
    pub(super) support: Option<PathBuf>,
}

impl Inserted {
    /// On the CUDA backend, which needs no support.
    pub(super) fn on_cuda(probe: Probe, handler: Option<PathBuf>) -> Self {
        Self {
            probe,
            spec: None,
            handler,
            support: None,
        }
    }
}

/// A traced (or untraced, or counting) module: its device code and its table.
pub(super) struct Instrumented {
    pub(super) has_probe: bool,
    pub(super) bitcode: PathBuf,
    pub(super) table: PathBuf,
}

impl Builder {
    /// Stage 1: the device IR of each unit, the same for every backend and probe.
    pub(super) fn device_ir(&self, module: &Module<'_>) -> Result<Vec<PathBuf>, BuildError> {
        let units = module.units.par_iter();
        units.map(|unit| self.unit_device_ir(unit)).collect()
    }

    pub(super) fn unit_device_ir(&self, unit: &Unit<'_>) -> Result<PathBuf, BuildError> {
        let args = Args::of(["-x", "cuda", "--cuda-device-only"])
            .and(self.cuda_flags(unit)?)
            .texts(["-O2", "-g1", "-c", "-emit-llvm"])
            .and(own_flags(unit.program, &unit.program.flags.device));
        self.compile(DEVICE_IR, unit, args, BITCODE)
    }

    /// Stage 2: the probes, and for the CPU the retargeting.
    pub(super) fn instrument(
        &self,
        module: &Module<'_>,
        ir: &[PathBuf],
        inserted: &Inserted,
    ) -> Result<Instrumented, BuildError> {
        let mut args = self.instrumenter_args(module, ir, inserted.probe);
        for (flag, file) in [
            ("--spec", &inserted.spec),
            ("--handler", &inserted.handler),
            ("--support", &inserted.support),
        ] {
            if let Some(file) = file {
                args = args.text(flag).input(file);
            }
        }
        let folder = self.run_instrumenter(module, args, &[BITCODE, TABLE])?;
        Ok(Instrumented {
            has_probe: inserted.probe != Probe::None,
            bitcode: folder.join(BITCODE),
            table: folder.join(TABLE),
        })
    }

    /// The file in which stage 2 explains each memory operation of a module. Needs no handler.
    pub(super) fn explanation(
        &self,
        module: &Module<'_>,
        ir: &[PathBuf],
    ) -> Result<PathBuf, BuildError> {
        let args = self.instrumenter_args(module, ir, Probe::Trace);
        let args = args.output("--explain", EXPLANATION);
        let folder = self.run_instrumenter(module, args, &[EXPLANATION])?;
        Ok(folder.join(EXPLANATION))
    }

    fn instrumenter_args(&self, module: &Module<'_>, ir: &[PathBuf], probe: Probe) -> Args {
        let (backend, index) = (self.options.backend.to_string(), module.index.to_string());
        let (strict, opaque) = (self.options.strict, self.options.allow_opaque_asm);
        let args = Args::of(["--backend", &backend, "--probe", probe.name()])
            .texts(["--module-index", &index])
            .texts(["--module-name", &module.files(), "--whole-program"])
            .texts(strict.then_some("--strict"))
            .texts(opaque.then_some("--allow-opaque-asm"))
            .texts(["--at", self.options.position.word()]);
        let shared = module.loaded.as_ref().map(|_| "--shared-object");
        let gpu = format!("sm_{}", self.options.lowest_arch());
        let on_gpu = (self.options.backend == Backend::Cuda).then_some(["--target-cpu", &gpu]);
        let args = args.texts(shared).texts(on_gpu.into_iter().flatten());
        let args = ir.iter().fold(args, Args::input);
        args.output("-o", BITCODE).output("--table", TABLE)
    }

    fn run_instrumenter(
        &self,
        module: &Module<'_>,
        args: Args,
        outputs: &[&'static str],
    ) -> Result<PathBuf, BuildError> {
        let stage = Stage {
            name: INSTRUMENT,
            subject: module.subject(),
            tool: &self.tools.instrumenter,
            args,
            outputs,
        };
        stage.run(&self.runner)
    }

    /// Stages 3 and 4: everything that one module brings to the link. `code` was made from `ir`.
    pub(super) fn objects(
        &self,
        module: &Module<'_>,
        ir: &[PathBuf],
        code: &Instrumented,
    ) -> Result<Vec<PathBuf>, BuildError> {
        if let Some(loaded) = &module.loaded {
            return Ok(vec![self.loaded_line(module, loaded, ir, code)?]);
        }
        let (image, device) = match self.options.backend {
            Backend::Cpu => (
                self.cpu_image(module)?,
                self.cpu_object(module, &code.bitcode)?,
            ),
            Backend::Cuda => (
                self.fatbin(module, ir, code)?,
                self.registration_object(module, &code.table)?,
            ),
        };
        // Units that were compiled to be linked know nothing of the binary: it is registered once, for all of them.
        let linked = module.linked();
        let embedded = (!linked).then_some(image.as_path());
        let mut objects: Vec<PathBuf> = (module.units.par_iter())
            .map(|unit| self.host_object(unit, embedded))
            .collect::<Result<_, _>>()?;
        if linked {
            objects.push(self.linked_image_object(module, &image, None)?);
        }
        objects.push(device);
        Ok(objects)
    }

    fn cpu_object(&self, module: &Module<'_>, bitcode: &Path) -> Result<PathBuf, BuildError> {
        let args = Args::of(["-x", "ir", "-c", "-O3", "-fPIE", "-Wno-override-module"])
            .texts(self.options.cpu_flags())
            .input(bitcode);
        self.plain("x86 code", module, &self.tools.clangxx, args, OBJECT)
    }

    /// The text that stands where the CUDA binary would: it tells the CPU runtime which module registers itself.
    fn cpu_image(&self, module: &Module<'_>) -> Result<PathBuf, BuildError> {
        let text = format!("superstep-cpu-module {}\n\0", module.index);
        self.runner.text_file("module.txt", text.as_bytes())
    }

    pub(super) fn host_object(
        &self,
        unit: &Unit<'_>,
        image: Option<&Path>,
    ) -> Result<PathBuf, BuildError> {
        // The runtime looks up which line calls it.
        let mut args = Args::of(["-x", "cuda", "--cuda-host-only"])
            .and(self.cuda_flags(unit)?)
            .texts(["-O2", "-gline-tables-only", "-fPIE", "-c"]);
        if let Some(image) = image {
            args = args
                .texts(["-Xclang", "-fcuda-include-gpubinary", "-Xclang"])
                .input(image);
        }
        args = args.and(own_flags(unit.program, &unit.program.flags.host));
        self.compile("host code", unit, args, OBJECT)
    }

    /// An object of a C or C++ helper file.
    pub(super) fn helper_object(
        &self,
        program: &Program,
        unit: &TranslationUnit,
    ) -> Result<PathBuf, BuildError> {
        let unit = &Unit {
            program,
            unit,
            index: 0,
            name: unit_name(program, unit),
            linked: false,
        };
        let is_c = unit.unit.language == Language::C;
        let language = if is_c { "c" } else { "c++" };
        let args = Args::of(["-x", language, "-O2", "-fPIE", "-c"])
            .place("-isystem", &self.tools.cuda_include)
            .and(self.compatible_helper(is_c)?)
            .and(self.compatible_sources(unit)?)
            .and(own_flags(program, &program.flags.host));
        self.compile("helper", unit, args, OBJECT)
    }

    /// Flags that every compilation of a CUDA file needs, device or host.
    pub(super) fn cuda_flags(&self, unit: &Unit<'_>) -> Result<Args, BuildError> {
        let linked = [linked::FLAG, "--offload-new-driver"];
        Ok(Args::default()
            .place("--cuda-path=", &self.tools.cuda_root)
            // C++17 has no `register` variables; nvcc's host compiler only warns of them.
            .texts(["-Wno-unknown-cuda-version", "-Wno-register"])
            // Device and host compilation run apart, and static kernels and variables are matched by this identifier.
            .text(format!("-cuid=superstep{}", unit.index))
            // Both halves must see one list of architectures: CUB and Thrust name their kernels after it.
            .text(self.gpu_arch_flag())
            // Where a program finds <superstep/runtime.h>, unless it brings its own.
            .text("-idirafter")
            .place("", &self.installation.folder("probes/include")?)
            .and(self.compatible_cuda(unit.program)?)
            .and(self.compatible_sources(unit)?)
            .texts(linked.into_iter().filter(|_| unit.linked)))
    }

    pub(super) fn gpu_arch_flag(&self) -> String {
        format!("--cuda-gpu-arch=sm_{}", self.options.lowest_arch())
    }

    /// A compilation that reads headers; the source and the output are added here.
    pub(super) fn compile(
        &self,
        name: &'static str,
        unit: &Unit<'_>,
        args: Args,
        output: &'static str,
    ) -> Result<PathBuf, BuildError> {
        let source = unit.program.folder.join(&unit.unit.file);
        if self.runner.dry_run.is_none() {
            std::fs::metadata(&source).map_err(BuildError::source(&source))?;
        }
        // The result must not depend on where the sources lie.
        let args = args
            .text("-fdebug-compilation-dir=.")
            .reading_headers()
            .text(unit.unit.file.to_string_lossy());
        let subject = Subject {
            name: &unit.name,
            folder: &unit.program.folder,
        };
        let tool = &self.tools.clangxx;
        self.runner.file(name, tool, subject, args, output)
    }

    /// A stage that reads nothing but its inputs and writes one file.
    pub(super) fn plain(
        &self,
        name: &'static str,
        module: &Module<'_>,
        tool: &Tool,
        args: Args,
        output: &'static str,
    ) -> Result<PathBuf, BuildError> {
        let subject = module.subject();
        self.runner.file(name, tool, subject, args, output)
    }

    /// An object of a C file of ours that embeds the file `embedded`, whose path is the macro `name`.
    pub(super) fn embedding_object(
        &self,
        module: &Module<'_>,
        source: PathBuf,
        name: &str,
        embedded: &Path,
        flags: impl IntoIterator<Item = String>,
    ) -> Result<PathBuf, BuildError> {
        let args = Args::of(["-x", "c", "-std=c23", "-O2", "-fPIE", "-c"])
            .input_in(format!("-D{name}=\""), embedded, "\"")
            .texts(flags)
            .input(source);
        self.plain("registration", module, &self.tools.clangxx, args, OBJECT)
    }
}

/// Include folders, then the flags for everything, then those for one side.
pub(super) fn own_flags(program: &Program, side: &[String]) -> Args {
    let include = (program.include.iter()).map(|folder| format!("-I{}", folder.display()));
    let flags = program.flags.all.iter().chain(side);
    Args::of(include).texts(flags.filter(|flag| !linked::asks(flag)))
}

/// What messages call a unit: program and file.
pub(super) fn unit_name(program: &Program, unit: &TranslationUnit) -> String {
    format!("{}/{}", program.name, unit.file.display())
}
