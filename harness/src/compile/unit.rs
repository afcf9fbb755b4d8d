//! The stages of one translation unit.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use superstep_trace::{Backend, Probe};

use super::Program;
use super::builder::Builder;
use super::error::BuildError;
use super::linked;
use super::stage::{Arg, Stage, Tool};
use crate::manifest::{Language, TranslationUnit};

/// Name of stage 1 in messages.
pub(super) const DEVICE_IR: &str = "device IR";
/// Name of stage 2 in messages.
pub(super) const INSTRUMENT: &str = "instrument";

const BITCODE: &str = "out.bc";
pub(super) const OBJECT: &str = "out.o";
const TABLE: &str = "table.json";
const PTX: &str = "out.ptx";
const CUBIN: &str = "out.cubin";
const FATBIN: &str = "out.fatbin";
const DEPENDENCIES: &str = "out.d";
const EXPLANATION: &str = "explanation.json";

/// One translation unit of a program, with its number.
pub(super) struct Unit<'a> {
    pub(super) program: &'a Program,
    pub(super) unit: &'a TranslationUnit,
    pub(super) index: usize,
    pub(super) subject: String,
    /// Whether its device code may use that of other units.
    pub(super) linked: bool,
}

/// One piece of device code: a CUDA translation unit, or all of them when they were compiled to be linked.
pub(super) struct Module<'a> {
    pub(super) program: &'a Program,
    pub(super) units: Vec<Unit<'a>>,
    pub(super) index: usize,
    pub(super) subject: String,
}

impl Module<'_> {
    /// Its name in tables: its files.
    fn name(&self) -> String {
        let files = self
            .units
            .iter()
            .map(|unit| unit.unit.file.to_string_lossy());
        files.collect::<Vec<_>>().join(" + ")
    }

    /// Whether its units were compiled to be linked.
    fn linked(&self) -> bool {
        self.units.iter().any(|unit| unit.linked)
    }
}

/// A traced (or untraced, or counting) module: its device code and its table.
pub(super) struct Instrumented {
    pub(super) bitcode: PathBuf,
    pub(super) table: PathBuf,
}

impl Builder {
    /// Stage 1: the device IR of each unit, the same for every backend and probe.
    pub(super) fn device_ir(&self, module: &Module<'_>) -> Result<Vec<PathBuf>, BuildError> {
        let units = module.units.par_iter();
        units.map(|unit| self.unit_device_ir(unit)).collect()
    }

    /// Stage 1 for one unit.
    pub(super) fn unit_device_ir(&self, unit: &Unit<'_>) -> Result<PathBuf, BuildError> {
        let mut args: Vec<Arg> = vec!["-x".into(), "cuda".into(), "--cuda-device-only".into()];
        args.push(format!("--cuda-gpu-arch=sm_{}", self.options.lowest_arch()).into());
        args.extend(self.cuda_flags(unit)?);
        args.extend(["-O2", "-g1", "-c", "-emit-llvm"].map(Arg::from));
        args.extend(own_flags(unit.program, &unit.program.flags.device));
        let folder = self.compile(DEVICE_IR, unit, args, BITCODE)?;
        Ok(folder.join(BITCODE))
    }

    /// Stage 2: the probes, and for the CPU the retargeting.
    pub(super) fn instrument(
        &self,
        module: &Module<'_>,
        ir: &[PathBuf],
        probe: Probe,
        handler: Option<&Path>,
        support: Option<&Path>,
    ) -> Result<Instrumented, BuildError> {
        let mut args = self.instrumenter_args(module, ir, probe);
        if let Some(handler) = handler {
            args.extend(["--handler".into(), Arg::input(handler)]);
        }
        if let Some(support) = support {
            args.extend(["--support".into(), Arg::input(support)]);
        }
        let folder = self.run_instrumenter(module, args, &[BITCODE, TABLE])?;
        Ok(Instrumented {
            bitcode: folder.join(BITCODE),
            table: folder.join(TABLE),
        })
    }

    /// Stage 2 with a probe that a user defined.
    pub(super) fn instrument_defined(
        &self,
        module: &Module<'_>,
        ir: &[PathBuf],
        (spec, handler): (&Path, &Path),
        support: Option<&Path>,
    ) -> Result<Instrumented, BuildError> {
        let mut args = self.instrumenter_args(module, ir, Probe::Defined);
        args.extend(["--spec".into(), Arg::input(spec)]);
        args.extend(["--handler".into(), Arg::input(handler)]);
        if let Some(support) = support {
            args.extend(["--support".into(), Arg::input(support)]);
        }
        let folder = self.run_instrumenter(module, args, &[BITCODE, TABLE])?;
        Ok(Instrumented {
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
        let mut args = self.instrumenter_args(module, ir, Probe::Trace);
        args.extend(["--explain".into(), Arg::Output(EXPLANATION)]);
        let folder = self.run_instrumenter(module, args, &[EXPLANATION])?;
        Ok(folder.join(EXPLANATION))
    }

    fn instrumenter_args(&self, module: &Module<'_>, ir: &[PathBuf], probe: Probe) -> Vec<Arg> {
        let probe_name = match probe {
            Probe::None => "none",
            Probe::Trace => "trace",
            Probe::Count => "count",
            Probe::Defined => "defined",
        };
        let mut args: Vec<Arg> = vec![
            "--backend".into(),
            self.options.backend.to_string().into(),
            "--probe".into(),
            probe_name.into(),
        ];
        args.extend(["--module-index".into(), module.index.to_string().into()]);
        args.extend(["--module-name".into(), module.name().into()]);
        args.push("--whole-program".into());
        if self.options.strict {
            args.push("--strict".into());
        }
        if self.options.allow_opaque_asm {
            args.push("--allow-opaque-asm".into());
        }
        args.extend(["--at".into(), self.options.position.word().into()]);
        args.extend(ir.iter().map(Arg::input));
        args.extend([
            "-o".into(),
            Arg::Output(BITCODE),
            "--table".into(),
            Arg::Output(TABLE),
        ]);
        args
    }

    fn run_instrumenter(
        &self,
        module: &Module<'_>,
        args: Vec<Arg>,
        outputs: &[&'static str],
    ) -> Result<PathBuf, BuildError> {
        let stage = Stage {
            name: INSTRUMENT,
            subject: &module.subject,
            tool: &self.tools.instrumenter,
            args,
            folder: &module.program.folder,
            outputs,
            headers: None,
        };
        stage.run(&self.runner)
    }

    /// Stages 3 and 4: everything that one module brings to the link.
    pub(super) fn objects(
        &self,
        module: &Module<'_>,
        code: &Instrumented,
    ) -> Result<Vec<PathBuf>, BuildError> {
        let (image, device) = match self.options.backend {
            Backend::Cpu => (
                self.cpu_image(module)?,
                self.cpu_object(module, &code.bitcode)?,
            ),
            Backend::Cuda => (
                self.fatbin(module, &code.bitcode)?,
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
            objects.push(self.linked_image_object(module, &image)?);
        }
        objects.push(device);
        Ok(objects)
    }

    fn cpu_object(&self, module: &Module<'_>, bitcode: &Path) -> Result<PathBuf, BuildError> {
        let mut args: Vec<Arg> = vec![
            "-x".into(),
            "ir".into(),
            "-c".into(),
            "-O3".into(),
            "-fPIE".into(),
        ];
        args.push("-Wno-override-module".into());
        args.extend(self.options.cpu_flags());
        args.extend([Arg::input(bitcode), "-o".into(), Arg::Output(OBJECT)]);
        self.plain("x86 code", module, &self.tools.clangxx, args, OBJECT)
    }

    /// The text that stands where the CUDA binary would: it tells the CPU runtime which module registers itself.
    fn cpu_image(&self, module: &Module<'_>) -> Result<PathBuf, BuildError> {
        self.runner.text_file(
            "module.txt",
            format!("superstep-cpu-module {}\n\0", module.index).as_bytes(),
        )
    }

    /// Stage 3, CUDA: the assembly of a module's device code.
    pub(super) fn ptx(&self, module: &Module<'_>, bitcode: &Path) -> Result<PathBuf, BuildError> {
        let mut args: Vec<Arg> = vec![format!("-mcpu=sm_{}", self.options.lowest_arch()).into()];
        args.extend([
            format!("-mattr=+{}", self.tools.ptx_feature).into(),
            "-O3".into(),
        ]);
        args.extend([Arg::input(bitcode), "-o".into(), Arg::Output(PTX)]);
        self.plain("PTX", module, &self.tools.llc, args, PTX)
    }

    fn fatbin(&self, module: &Module<'_>, bitcode: &Path) -> Result<PathBuf, BuildError> {
        let lowest = self.options.lowest_arch();
        let ptx = self.ptx(module, bitcode)?;
        let mut args: Vec<Arg> = vec!["-64".into(), "--create".into(), Arg::Output(FATBIN)];
        for &arch in &self.options.gpu_archs {
            let cubin_args: Vec<Arg> = vec![
                format!("-arch=sm_{arch}").into(),
                "-O3".into(),
                Arg::input(&ptx),
                "-o".into(),
                Arg::Output(CUBIN),
            ];
            let cubin = self.plain("cubin", module, &self.tools.ptxas, cubin_args, CUBIN)?;
            args.push(Arg::Input(
                format!("--image3=kind=elf,sm={arch},file="),
                cubin,
                "",
            ));
        }
        args.push(Arg::Input(
            format!("--image3=kind=ptx,sm={lowest},file="),
            ptx,
            "",
        ));
        self.plain("fatbin", module, &self.tools.fatbinary, args, FATBIN)
    }

    fn host_object(&self, unit: &Unit<'_>, image: Option<&Path>) -> Result<PathBuf, BuildError> {
        let mut args: Vec<Arg> = vec!["-x".into(), "cuda".into(), "--cuda-host-only".into()];
        args.extend(self.cuda_flags(unit)?);
        // The runtime looks up which line calls it.
        args.extend(["-O2", "-gline-tables-only", "-fPIE", "-c"].map(Arg::from));
        if let Some(image) = image {
            args.extend(["-Xclang", "-fcuda-include-gpubinary", "-Xclang"].map(Arg::from));
            args.push(Arg::input(image));
        }
        args.extend(own_flags(unit.program, &unit.program.flags.host));
        Ok(self.compile("host code", unit, args, OBJECT)?.join(OBJECT))
    }

    /// CUDA only: an object that hands the module's table to the interposer when the program starts.
    fn registration_object(
        &self,
        module: &Module<'_>,
        table: &Path,
    ) -> Result<PathBuf, BuildError> {
        let source = self
            .runner
            .text_file("registration.c", include_bytes!("registration.c"))?;
        let mut args: Vec<Arg> = ["-x", "c", "-std=c23", "-O2", "-fPIE", "-c"]
            .map(Arg::from)
            .into();
        args.push(Arg::Input(
            "-DSUPERSTEP_TABLE=\"".into(),
            table.to_owned(),
            "\"",
        ));
        args.push(format!("-DSUPERSTEP_PROTOCOL=\"{}\"", self.options.protocol).into());
        args.extend([Arg::input(source), "-o".into(), Arg::Output(OBJECT)]);
        self.plain("registration", module, &self.tools.clangxx, args, OBJECT)
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
            subject: subject(program, unit),
            linked: false,
        };
        let is_c = unit.unit.language == Language::C;
        let language = if is_c { "c" } else { "c++" };
        let mut args: Vec<Arg> = vec![
            "-x".into(),
            language.into(),
            "-O2".into(),
            "-fPIE".into(),
            "-c".into(),
        ];
        args.push(Arg::Place(format!(
            "-isystem{}",
            self.tools.cuda_include.display()
        )));
        args.extend(self.compatible_helper(is_c)?);
        args.extend(self.compatible_sources(unit)?);
        args.extend(own_flags(program, &program.flags.host));
        Ok(self.compile("helper", unit, args, OBJECT)?.join(OBJECT))
    }

    /// Flags that every compilation of a CUDA file needs, device or host.
    fn cuda_flags(&self, unit: &Unit<'_>) -> Result<Vec<Arg>, BuildError> {
        let mut args = vec![
            Arg::Place(format!("--cuda-path={}", self.tools.cuda_root.display())),
            "-Wno-unknown-cuda-version".into(),
            // Device and host compilation run apart, and static kernels and variables are matched by this identifier.
            format!("-cuid=superstep{}", unit.index).into(),
        ];
        // Where a program finds <superstep/runtime.h>, unless it brings its own.
        let include = self.installation.folder("probes/include")?;
        args.extend([
            "-idirafter".into(),
            Arg::Place(include.display().to_string()),
        ]);
        args.extend(self.compatible_cuda(unit.program)?);
        args.extend(self.compatible_sources(unit)?);
        if unit.linked {
            args.extend([linked::FLAG, "--offload-new-driver"].map(Arg::from));
        }
        Ok(args)
    }

    /// A compilation that reads headers; the source and the output are added here.
    fn compile(
        &self,
        name: &'static str,
        unit: &Unit<'_>,
        mut args: Vec<Arg>,
        output: &'static str,
    ) -> Result<PathBuf, BuildError> {
        // The result must not depend on where the sources lie.
        args.extend([
            "-fdebug-compilation-dir=.".into(),
            "-MD".into(),
            "-MF".into(),
            Arg::Output(DEPENDENCIES),
        ]);
        args.extend([
            Arg::Text(unit.unit.file.to_string_lossy().into_owned()),
            "-o".into(),
            Arg::Output(output),
        ]);
        let source = unit.program.folder.join(&unit.unit.file);
        if self.runner.dry_run.is_none()
            && let Err(error) = std::fs::metadata(&source)
        {
            return Err(BuildError::Source {
                path: source,
                source: error,
            });
        }
        let outputs = [output];
        let stage = Stage {
            name,
            subject: &unit.subject,
            tool: &self.tools.clangxx,
            args,
            folder: &unit.program.folder,
            outputs: &outputs,
            headers: Some(DEPENDENCIES),
        };
        stage.run(&self.runner)
    }

    /// A stage that reads nothing but its inputs and writes one file.
    pub(super) fn plain(
        &self,
        name: &'static str,
        module: &Module<'_>,
        tool: &Tool,
        args: Vec<Arg>,
        output: &'static str,
    ) -> Result<PathBuf, BuildError> {
        let outputs = [output];
        let folder = &module.program.folder;
        let stage = Stage {
            name,
            subject: &module.subject,
            tool,
            args,
            folder,
            outputs: &outputs,
            headers: None,
        };
        Ok(stage.run(&self.runner)?.join(output))
    }
}

/// Include folders, then the flags for everything, then those for one side.
fn own_flags(program: &Program, side: &[String]) -> Vec<Arg> {
    let include = program
        .include
        .iter()
        .map(|folder| Arg::Text(format!("-I{}", folder.display())));
    include
        .chain(
            program
                .flags
                .all
                .iter()
                .chain(side)
                .filter(|flag| !linked::asks(flag))
                .map(|flag| Arg::Text(flag.clone())),
        )
        .collect()
}

/// What messages call a unit: program and file.
pub(super) fn subject(program: &Program, unit: &TranslationUnit) -> String {
    format!("{}/{}", program.name, unit.file.display())
}
