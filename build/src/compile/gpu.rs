//! The stages that only the CUDA backend has.

use std::fs;
use std::path::{Path, PathBuf};

use super::builder::Builder;
use super::error::BuildError;
use super::registers;
use super::stage::{Args, Stage};
use super::unit::{Instrumented, Module};

const PTX: &str = "out.ptx";
const FATBIN: &str = "out.fatbin";

impl Builder {
    /// Stage 3: the assembly of a module's device code.
    pub(super) fn ptx(&self, module: &Module, bitcode: &Path) -> Result<PathBuf, BuildError> {
        let args = Args::of([
            format!("-mcpu=sm_{}", self.options.lowest_arch()),
            format!("-mattr=+{}", self.tools.ptx_feature),
        ]);
        let args = args.text("-O3").input(bitcode);
        self.plain("PTX", module, &self.tools.llc, args, PTX)
    }

    /// The binaries of an assembly, one for each architecture.
    pub(super) fn cubins(&self, module: &Module, ptx: &Path) -> Result<Vec<PathBuf>, BuildError> {
        let assemble = |arch: &u32| {
            let args = Args::of([format!("-arch=sm_{arch}")])
                .text("-O3")
                .input(ptx);
            self.plain("cubin", module, &self.tools.ptxas, args, "out.cubin")
        };
        self.options.gpu_archs.iter().map(assemble).collect()
    }

    /// Stage 4: the binaries for all architectures asked for in one file, and the assembly for others.
    pub(super) fn fatbin(
        &self,
        module: &Module,
        code: &Instrumented,
    ) -> Result<PathBuf, BuildError> {
        let mut ptx = self.ptx(module, &code.bitcode)?;
        let mut cubins = self.cubins(module, &ptx)?;
        if code.has_probe
            && let Some(limited) = self.limited(module, &ptx, &cubins, code.as_resident)?
        {
            ptx = limited;
            cubins = self.cubins(module, &ptx)?;
        }
        let image = |kind, arch| format!("--image3=kind={kind},sm={arch},file=");
        let mut args = Args::of(["-64"]).output("--create", FATBIN);
        for (arch, cubin) in self.options.gpu_archs.iter().zip(cubins) {
            args = args.input_in(image("elf", *arch), cubin, "");
        }
        let args = args.input_in(image("ptx", self.options.lowest_arch()), ptx, "");
        let stage = Stage {
            name: "fatbin",
            subject: module.subject(),
            tool: &self.tools.fatbinary,
            args,
            outputs: &[FATBIN],
        };
        Ok(stage.run(&self.runner)?.join(FATBIN))
    }

    /// The assembly of a module with a probe, with limits for the kernels that take so many registers in `cubins` that they cannot be
    /// launched as without the probe, or of which fewer CTAs would be resident. A dry run does not know them.
    fn limited(
        &self,
        module: &Module,
        ptx: &Path,
        cubins: &[PathBuf],
        as_resident: bool,
    ) -> Result<Option<PathBuf>, BuildError> {
        let native = self.instrument(module, &self.nothing()?)?;
        let native = self.cubins(module, &self.ptx(module, &native.bitcode)?)?;
        if self.runner.dry_run.is_some() {
            return Ok(None);
        }
        let text = fs::read_to_string(ptx).map_err(BuildError::io("read", ptx))?;
        let (native, probed) = (registers::of_each(&native)?, registers::of_each(cubins)?);
        registers::limited(&text, &native, &probed, as_resident)
            .map(|text| self.runner.text_file(PTX, text.as_bytes()))
            .transpose()
    }
}
