//! The reference for the native build: the program as stock Clang makes it, each CUDA file by one command that compiles device and
//! host code together, unless Clang is known to compile its device code wrongly. A native build with a mistake in it would otherwise agree with the traced one that shares the mistake.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::Program;
use super::builder::Builder;
use super::error::BuildError;
use super::stage::{Args, OBJECT};
use super::unit::{Unit, own_flags, units};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Plain {
    /// It was not asked for.
    #[default]
    NotBuilt,
    /// Stock Clang cannot build the program, and why.
    Refused(String),
    /// Two executables of one program without fused multiplications: which are fused depends on the order of passes, and the results'
    /// last digits with it.
    Built {
        plain: PathBuf,
        /// Built as the native one is.
        native: PathBuf,
    },
}

impl Builder {
    /// Builds `program` without any stage of ours, where stock Clang can, and what it is compared with.
    pub(super) fn plain_build(&self, program: &Program) -> Result<Plain, BuildError> {
        if program.is_built() {
            let why = "the program's own build system built it";
            return Ok(Plain::Refused(why.to_owned()));
        }
        let mut unfused = program.clone();
        unfused.flags.all.push("-ffp-contract=off".to_owned());
        let units = units(&unfused)?;
        if units.iter().any(|unit| unit.linked) {
            let reason = "stock Clang links device code with nvlink, which is not installed here";
            return Ok(Plain::Refused(reason.to_owned()));
        }
        match self.plain_program(&unfused, &units) {
            Ok(plain) => {
                let parts = self.parts(&unfused)?;
                let native = self.variant(&unfused, &parts, &self.nothing()?, None)?;
                Ok(Plain::Built { plain, native })
            }
            Err(error @ BuildError::Command { .. }) => Ok(Plain::Refused(error.to_string())),
            Err(error) => Err(error),
        }
    }

    fn plain_program(&self, program: &Program, units: &[Unit<'_>]) -> Result<PathBuf, BuildError> {
        let objects = units.par_iter().map(|unit| self.plain_object(unit));
        let mut objects: Vec<PathBuf> = objects.collect::<Result<_, _>>()?;
        objects.extend(self.helpers(program)?);
        let cudart = &self.tools.cudart;
        let folder = cudart.parent().unwrap_or(Path::new("."));
        let name = cudart.file_name().unwrap_or_default().to_string_lossy();
        let runtime = (Args::default().place("-L", folder))
            .text(format!("-l:{name}"))
            .text(format!("-Wl,-rpath,{}", folder.display()));
        self.link_with(program, objects, runtime)
    }

    fn plain_object(&self, unit: &Unit<'_>) -> Result<PathBuf, BuildError> {
        let carried = self.carried(unit.clone(), String::new())?;
        if self.runner.dry_run.is_none() && carried.ir.has_undeclared_effects()? {
            // Stock Clang might leave out inline PTX that writes memory: only the host code is its own.
            let args = Args::of(["-Xclang", "-fcuda-include-gpubinary", "-Xclang"]);
            return self.host_object(unit, args.input(self.fatbin_of(&carried)?));
        }
        let flags = &unit.program.flags;
        let of_device = (flags.device.iter()).flat_map(|flag| ["-Xarch_device", flag]);
        // Clang's newer way to pack device code needs a program that distributions leave out.
        let args = Args::of(["-x", "cuda"])
            .and(self.cuda_flags(unit)?)
            .texts(["--no-offload-new-driver", "-O2", "-fPIE", "-c"])
            .and(own_flags(unit.program, &flags.host))
            .texts(of_device);
        self.compile("plain build", unit, args, OBJECT)
    }
}
