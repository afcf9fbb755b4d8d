//! Build stages specific to the CUDA backend.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use superstep_trace::Probe;

use crate::compile::device::{ptxas, registers};
use crate::compile::steps::stage::{Args, BITCODE, Stage};
use crate::compile::unit::{Inserted, Module};
use crate::compile::{BuildError, Builder, Result};

const PTX: &str = "out.ptx";
const FATBIN: &str = "out.fatbin";

impl Builder {
    pub(crate) fn ptx(
        &self,
        module: &Module,
        bitcode: &Path,
        flag: Option<&str>,
    ) -> Result<PathBuf> {
        let args = Args::of([
            format!("-mcpu=sm_{}", self.options.lowest_arch()),
            format!("-mattr=+{}", self.toolchain.cuda.ptx_feature()),
        ]);
        let args = args.text("-O3").texts(flag).input(bitcode);
        (self.runner).file("PTX", &self.llvm_tool("llc"), module.subject(), args, PTX)
    }

    pub(crate) fn cubins(&self, module: &Module, ptx: &Path, waits: Waits) -> Result<Vec<PathBuf>> {
        let assemble = |arch: &u32| {
            let args = Args::of([format!("-arch=sm_{arch}")])
                .text("-O3")
                .texts((waits == Waits::Never).then_some("-noFwdPrg"))
                .input(ptx);
            let tool = &self.cuda_tool(&self.toolchain.cuda.ptxas);
            (self.runner).file("cubin", tool, module.subject(), args, "out.cubin")
        };
        self.options.gpu_archs.iter().map(assemble).collect()
    }

    /// Stage 4: packs binaries for all requested architectures, and PTX for others, into one file.
    pub(crate) fn fatbin(
        &self,
        module: &Module,
        inserted: &Inserted,
        bitcode: &Path,
    ) -> Result<PathBuf> {
        let mut ptx = self.ptx(module, bitcode, None)?;
        if inserted.probe == Probe::None {
            let cubins = self.cubins(module, &ptx, Waits::Maybe)?;
            return self.packed(module, cubins, ptx);
        }
        ptx = self.fixed(ptx)?;
        let (native, waits) = self.native(module, self.adds_up(inserted.probe))?;
        let mut cubins = self.cubins(module, &ptx, waits)?;
        if let Some(limited) = self.limited(&ptx, &native, &cubins, inserted.as_resident)? {
            ptx = limited;
            cubins = self.cubins(module, &ptx, waits)?;
        }
        self.packed(module, cubins, ptx)
    }

    pub(crate) fn packed(
        &self,
        module: &Module,
        cubins: Vec<PathBuf>,
        ptx: PathBuf,
    ) -> Result<PathBuf> {
        let image = |kind, arch| format!("--image3=kind={kind},sm={arch},file=");
        let mut args = Args::of(["-64"]).output("--create", FATBIN);
        for (arch, cubin) in self.options.gpu_archs.iter().zip(cubins) {
            args = args.input_in(image("elf", *arch), cubin, "");
        }
        let args = args.input_in(image("ptx", self.options.lowest_arch()), ptx, "");
        let stage = Stage {
            name: "fatbin",
            subject: module.subject(),
            tool: &self.cuda_tool(&self.toolchain.cuda.fatbinary),
            args,
            outputs: &[FATBIN],
        };
        Ok(stage.run(&self.runner)?.join(FATBIN))
    }

    /// Replaces PTX instructions that ptxas miscompiles.
    fn fixed(&self, ptx: PathBuf) -> Result<PathBuf> {
        if self.runner.dry_run.is_some() {
            return Ok(ptx);
        }
        let text = fs::read_to_string(&ptx).map_err(BuildError::io("read", &ptx))?;
        match ptxas::rewrite_miscompiled(&text) {
            Cow::Borrowed(_) => Ok(ptx),
            Cow::Owned(text) => self.runner.text_file(PTX, text),
        }
    }

    /// Builds a module without a probe, and decides whether lanes of the probed module may wait for each other. They
    /// never do if the probe never waits and ptxas generates the same native binaries with `-noFwdPrg`.
    fn native(&self, module: &Module, probe_never_waits: bool) -> Result<(Vec<PathBuf>, Waits)> {
        let code = self.instrument(module, &self.no_probe()?)?;
        let ptx = self.ptx(module, &code.join(BITCODE), None)?;
        let cubins = self.cubins(module, &ptx, Waits::Maybe)?;
        let mut waits = Waits::Maybe;
        if probe_never_waits
            && self.runner.dry_run.is_none()
            && let Ok(others) = self.cubins(module, &ptx, Waits::Never)
        {
            let read = |path: &PathBuf| fs::read(path).map_err(BuildError::io("read", path));
            let read_all = |paths: &[PathBuf]| paths.iter().map(read).collect::<Result<Vec<_>>>();
            if read_all(&cubins)? == read_all(&others)? {
                waits = Waits::Never;
            }
        }
        Ok((cubins, waits))
    }

    /// Returns PTX with register limits for kernels that, in `cubins`, use too many registers for a launch or residency
    /// that is possible without the probe; `None` if there are no such kernels, or in a dry run.
    fn limited(
        &self,
        ptx: &Path,
        native: &[PathBuf],
        cubins: &[PathBuf],
        as_resident: bool,
    ) -> Result<Option<PathBuf>> {
        if self.runner.dry_run.is_some() {
            return Ok(None);
        }
        let text = fs::read_to_string(ptx).map_err(BuildError::io("read", ptx))?;
        let (native, probed) = (registers::read_all(native)?, registers::read_all(cubins)?);
        registers::limited(&text, &native, &probed, as_resident)
            .map(|text| self.runner.text_file(PTX, text))
            .transpose()
    }
}

/// Whether lanes of a warp may wait for each other in loops. If so, ptxas generates code that lets other lanes proceed.
/// Lanes that wait to reconverge after a branch then also proceed and stay diverged, which doubles the number of
/// instructions that the warp executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    Never,
    Maybe,
}
