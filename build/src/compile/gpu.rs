//! The stages that only the CUDA backend has.

use std::fs;
use std::path::{Path, PathBuf};

use super::builder::Builder;
use super::error::BuildError;
use super::registers;
use super::stage::Arg;
use super::unit::{Inserted, Instrumented, Module, OBJECT};

const PTX: &str = "out.ptx";
const CUBIN: &str = "out.cubin";
const FATBIN: &str = "out.fatbin";

impl Builder {
    /// Stage 3: the assembly of a module's device code.
    pub(super) fn ptx(&self, module: &Module<'_>, bitcode: &Path) -> Result<PathBuf, BuildError> {
        let mut args: Vec<Arg> = vec![format!("-mcpu=sm_{}", self.options.lowest_arch()).into()];
        args.extend([
            format!("-mattr=+{}", self.tools.ptx_feature).into(),
            "-O3".into(),
        ]);
        args.extend([Arg::input(bitcode), "-o".into(), Arg::Output(PTX)]);
        self.plain("PTX", module, &self.tools.llc, args, PTX)
    }

    /// The binaries of an assembly, one for each architecture.
    fn cubins(&self, module: &Module<'_>, ptx: &Path) -> Result<Vec<PathBuf>, BuildError> {
        let assemble = |arch: &u32| {
            let args: Vec<Arg> = vec![
                format!("-arch=sm_{arch}").into(),
                "-O3".into(),
                Arg::input(ptx),
                "-o".into(),
                Arg::Output(CUBIN),
            ];
            self.plain("cubin", module, &self.tools.ptxas, args, CUBIN)
        };
        self.options.gpu_archs.iter().map(assemble).collect()
    }

    /// Stage 4: the binaries for all architectures asked for in one file, and the assembly for others.
    pub(super) fn fatbin(
        &self,
        module: &Module<'_>,
        ir: &[PathBuf],
        code: &Instrumented,
    ) -> Result<PathBuf, BuildError> {
        let mut ptx = self.ptx(module, &code.bitcode)?;
        let mut cubins = self.cubins(module, &ptx)?;
        if code.has_probe
            && let Some(limited) = self.limited(module, ir, &ptx, &cubins)?
        {
            ptx = limited;
            cubins = self.cubins(module, &ptx)?;
        }
        let mut args: Vec<Arg> = vec!["-64".into(), "--create".into(), Arg::Output(FATBIN)];
        for (arch, cubin) in self.options.gpu_archs.iter().zip(cubins) {
            args.push(Arg::Input(
                format!("--image3=kind=elf,sm={arch},file="),
                cubin,
                "",
            ));
        }
        let lowest = self.options.lowest_arch();
        args.push(Arg::Input(
            format!("--image3=kind=ptx,sm={lowest},file="),
            ptx,
            "",
        ));
        self.plain("fatbin", module, &self.tools.fatbinary, args, FATBIN)
    }

    /// The assembly of a module with a probe, with limits for the kernels that take so many registers in `cubins` that they cannot be
    /// launched as without the probe. A dry run does not know them.
    fn limited(
        &self,
        module: &Module<'_>,
        ir: &[PathBuf],
        ptx: &Path,
        cubins: &[PathBuf],
    ) -> Result<Option<PathBuf>, BuildError> {
        let native = self.instrument(module, ir, &Inserted::nothing(None))?;
        let native = self.cubins(module, &self.ptx(module, &native.bitcode)?)?;
        if self.runner.dry_run.is_some() {
            return Ok(None);
        }
        let text = fs::read_to_string(ptx).map_err(BuildError::io("read", ptx))?;
        let (native, probed) = (registers::of_each(&native)?, registers::of_each(cubins)?);
        registers::limited(&text, &native, &probed)
            .map(|text| self.runner.text_file(PTX, text.as_bytes()))
            .transpose()
    }

    /// An object that hands the module's table to the interposer when the program starts.
    pub(super) fn registration_object(
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
}
