//! The reference for the native build: the program as stock Clang makes it, each CUDA file by one command that compiles device and
//! host code together. A native build with a mistake in it would otherwise agree with the traced one that shares the mistake.

use std::path::PathBuf;

use rayon::prelude::*;
use superstep_trace::Probe;

use super::Program;
use super::builder::Builder;
use super::error::BuildError;
use super::stage::{Args, OBJECT};
use super::unit::{Unit, own_flags};

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
        let mut unfused = program.clone();
        unfused.flags.all.push("-ffp-contract=off".to_owned());
        let parts = self.parts(&unfused)?;
        let units: Vec<&Unit<'_>> = (parts.modules.iter())
            .flat_map(|module| &module.units)
            .collect();
        if units.iter().any(|unit| unit.linked) {
            let reason = "stock Clang links device code with nvlink, which is not installed here";
            return Ok(Plain::Refused(reason.to_owned()));
        }
        match self.plain_program(&unfused, &units, &parts.helpers) {
            Ok(plain) => {
                let nothing = self.inserted(Probe::None, &parts)?;
                let native = self.executable(&unfused, &parts, &nothing, None)?;
                Ok(Plain::Built { plain, native })
            }
            Err(error @ BuildError::Command { .. }) => Ok(Plain::Refused(error.to_string())),
            Err(error) => Err(error),
        }
    }

    fn plain_program(
        &self,
        program: &Program,
        units: &[&Unit<'_>],
        helpers: &[PathBuf],
    ) -> Result<PathBuf, BuildError> {
        let objects = units.par_iter().map(|unit| self.plain_object(unit));
        let mut objects: Vec<PathBuf> = objects.collect::<Result<_, _>>()?;
        objects.extend_from_slice(helpers);
        self.link_with(program, objects, std::slice::from_ref(&self.tools.cudart))
    }

    fn plain_object(&self, unit: &Unit<'_>) -> Result<PathBuf, BuildError> {
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
