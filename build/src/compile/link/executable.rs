//! Links a program's objects with the libcudart stub.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use superstep_trace::Backend;

use crate::compile::link::libraries::{libraries_of_flags, refuse_proprietary_libraries};
use crate::compile::steps::stage::{Args, OBJECT, Subject};
use crate::compile::{Builder, Program, Result};
use crate::run::proprietary::functions;

/// Prefixes of the runtime functions in the libcudart stub, including those for programs with their own probes.
const EXPORTED: [&str; 4] = ["cuda", "__cuda", "__superstep", "superstep_"];

impl Builder {
    pub(crate) fn link(
        &self,
        program: &Program,
        objects: impl FnOnce() -> Result<Vec<PathBuf>>,
    ) -> Result<PathBuf> {
        if self.options.backend == Backend::Cpu {
            refuse_proprietary_libraries(&program.name, &libraries_of_flags(&program.flags.link))?;
        }
        let objects = objects()?.into_iter();
        let args = (objects.fold(Args::default(), Args::input))
            .text("-Wl,--no-as-needed")
            .input(self.cudart_stub()?)
            // With DT_RPATH, paths in the flags also apply to indirect dependencies.
            .texts(["-Wl,--disable-new-dtags", "-lm", "-lpthread", "-ldl"])
            .and(self.with_drivers(&program.flags.link)?);
        let subject = Subject::of(&program.name, &program.folder);
        (self.runner).file("link", &self.clang(), subject, args, "program")
    }

    pub fn cudart_stub(&self) -> Result<PathBuf> {
        let runtime = self.installation.cpu_runtime()?;
        let mut exported = functions(&runtime, true)?;
        exported.append(&mut functions(&self.toolchain.cuda.cudart, true)?);
        exported.retain(|name| EXPORTED.iter().any(|start| name.starts_with(start)));
        let names = self.list_of_names(&exported)?;
        let source = include_bytes!("cudart_stub.c");
        let source = self.runner.text_file("cudart_stub.c", source)?;
        let args = Args::of(["-x", "c", "-std=gnu17", "-O2", "-fPIC", "-Wall", "-Werror"])
            .text("-c")
            .input_in("-DSUPERSTEP_NAMES=\"", names, "\"")
            .text(format!("-DSUPERSTEP_RUNTIME=\"{}\"", runtime.display()))
            .input(source);
        let subject = Subject::of("libcudart", Path::new("."));
        (self.runner).file("cudart stub", &self.clang(), subject, args, OBJECT)
    }

    /// Writes the file that `cudart_stub.c`, `driver.c` and `linked.c` include.
    pub(crate) fn list_of_names(&self, symbols: &BTreeSet<String>) -> Result<PathBuf> {
        let entries = symbols.iter().map(|name| format!("ENTRY({name})\n"));
        self.runner.text_file("names", entries.collect::<String>())
    }

    /// Returns the shared libraries in which the stub finds this backend's functions, the interposer first.
    pub fn runtime_libraries(&self) -> Result<Vec<PathBuf>> {
        Ok(match self.options.backend {
            Backend::Cpu => vec![self.installation.cpu_runtime()?],
            Backend::Cuda => {
                let cudart = self.toolchain.cuda.cudart.clone();
                vec![self.installation.cuda_runtime()?, cudart]
            }
        })
    }
}
