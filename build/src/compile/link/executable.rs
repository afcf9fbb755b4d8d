//! Links a program's objects with the stub of libcudart.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol};
use superstep_trace::Backend;

use crate::compile::link::libraries::{libraries_of_flags, refuse_proprietary_libraries};
use crate::compile::steps::stage::{Args, OBJECT, Subject};
use crate::compile::{BuildError, Builder, Program, Result};

/// Prefixes of the runtime's functions in the stub of libcudart, including those for programs with their own probes.
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
        let objects = objects()?;
        self.link_with(program, objects, Args::default().input(self.cudart_stub()?))
    }

    pub(crate) fn link_with(
        &self,
        program: &Program,
        objects: Vec<PathBuf>,
        runtime: Args,
    ) -> Result<PathBuf> {
        let args = (objects.into_iter().fold(Args::default(), Args::input))
            .text("-Wl,--no-as-needed")
            .and(runtime)
            // Paths in the flags also hold for indirect dependencies, with the old tags.
            .texts(["-Wl,--disable-new-dtags", "-lm", "-lpthread", "-ldl"])
            .and(self.with_drivers(&program.flags.link)?);
        let subject = Subject::of(&program.name, &program.folder);
        let tool = &self.tools.clangxx;
        self.runner.file("link", tool, subject, args, "program")
    }

    pub fn cudart_stub(&self) -> Result<PathBuf> {
        let runtime = self.installation.cpu_runtime()?;
        let mut functions = functions_of(&runtime)?;
        functions.append(&mut functions_of(&self.tools.cudart)?);
        let entries = functions.iter().map(|name| format!("ENTRY({name})\n"));
        let names = entries.collect::<String>();
        let names = self.runner.text_file("names", names.as_bytes())?;
        let source = include_bytes!("cudart_stub.c");
        let source = self.runner.text_file("cudart_stub.c", source)?;
        let args = Args::of(["-x", "c", "-std=gnu17", "-O2", "-fPIC", "-Wall", "-Werror"])
            .text("-c")
            .input_in("-DSUPERSTEP_NAMES=\"", names, "\"")
            .text(format!("-DSUPERSTEP_RUNTIME=\"{}\"", runtime.display()))
            .input(source);
        let subject = Subject::of("libcudart", Path::new("."));
        let tool = &self.tools.clangxx;
        self.runner.file("cudart stub", tool, subject, args, OBJECT)
    }

    /// The shared libraries in which the stub finds this backend's functions, the interposer first.
    pub fn runtime_libraries(&self) -> Result<Vec<PathBuf>> {
        Ok(match self.options.backend {
            Backend::Cpu => vec![self.installation.cpu_runtime()?],
            Backend::Cuda => vec![self.installation.cuda_runtime()?, self.tools.cudart.clone()],
        })
    }
}

fn functions_of(library: &Path) -> Result<BTreeSet<String>> {
    let bytes = fs::read(library).map_err(BuildError::io("read", library))?;
    let file = object::File::parse(bytes.as_slice()).map_err(|error| {
        BuildError::installation(
            format!("the functions of {}", library.display()),
            format!(
                "{error}; unpack the archive anew (in the repository, run `cargo xtask build`)"
            ),
        )
    })?;
    let symbols = file.dynamic_symbols().filter(ObjectSymbol::is_definition);
    let names = symbols.filter_map(|symbol| symbol.name().ok().map(str::to_owned));
    let is_called = |name: &String| EXPORTED.iter().any(|start| name.starts_with(start));
    Ok(names.filter(is_called).collect())
}
