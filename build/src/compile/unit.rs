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

/// What stage 2 inserts into a module.
#[derive(Clone, Copy)]
pub(super) struct Inserted<'a> {
    pub(super) probe: Probe,
    /// The definition of a probe that a user defined.
    pub(super) spec: Option<&'a Path>,
    /// Bitcode of the probe's handler.
    pub(super) handler: Option<&'a Path>,
    /// Bitcode of the CPU backend's support.
    pub(super) support: Option<&'a Path>,
}

impl<'a> Inserted<'a> {
    pub(super) fn nothing(support: Option<&'a Path>) -> Self {
        Self {
            probe: Probe::None,
            spec: None,
            handler: None,
            support,
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

    /// Stage 1 for one unit.
    pub(super) fn unit_device_ir(&self, unit: &Unit<'_>) -> Result<PathBuf, BuildError> {
        let mut args: Vec<Arg> = vec!["-x".into(), "cuda".into(), "--cuda-device-only".into()];
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
        inserted: &Inserted<'_>,
    ) -> Result<Instrumented, BuildError> {
        let mut args = self.instrumenter_args(module, ir, inserted.probe);
        for (flag, file) in [
            ("--spec", inserted.spec),
            ("--handler", inserted.handler),
            ("--support", inserted.support),
        ] {
            if let Some(file) = file {
                args.extend([flag.into(), Arg::input(file)]);
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

    /// Stages 3 and 4: everything that one module brings to the link. `code` was made from `ir`.
    pub(super) fn objects(
        &self,
        module: &Module<'_>,
        ir: &[PathBuf],
        code: &Instrumented,
    ) -> Result<Vec<PathBuf>, BuildError> {
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
    pub(super) fn cuda_flags(&self, unit: &Unit<'_>) -> Result<Vec<Arg>, BuildError> {
        let mut args = vec![
            Arg::Place(format!("--cuda-path={}", self.tools.cuda_root.display())),
            "-Wno-unknown-cuda-version".into(),
            // Device and host compilation run apart, and static kernels and variables are matched by this identifier.
            format!("-cuid=superstep{}", unit.index).into(),
            // Both halves must see one list of architectures: CUB and Thrust name their kernels after it.
            format!("--cuda-gpu-arch=sm_{}", self.options.lowest_arch()).into(),
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
    pub(super) fn compile(
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
pub(super) fn own_flags(program: &Program, side: &[String]) -> Vec<Arg> {
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
