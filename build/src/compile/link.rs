//! The last stage: objects and a runtime become an executable.

use std::path::{Path, PathBuf};

use superstep_trace::Backend;

use super::Program;
use super::builder::Builder;
use super::error::BuildError;
use super::stage::{Arg, Stage};

const PROGRAM: &str = "program";

/// Where an executable looks for the runtime libraries when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimePath {
    Here,
    /// In this folder, given relative to the executable's own folder (a bundle that is carried elsewhere).
    Relative(String),
}

impl Builder {
    /// Links `objects` with the runtime of the backend.
    pub(super) fn link(
        &self,
        program: &Program,
        objects: Vec<PathBuf>,
    ) -> Result<PathBuf, BuildError> {
        self.link_with(program, objects, &self.runtime_libraries()?)
    }

    /// Links `objects` with the shared libraries `runtimes`.
    pub(super) fn link_with(
        &self,
        program: &Program,
        objects: Vec<PathBuf>,
        runtimes: &[PathBuf],
    ) -> Result<PathBuf, BuildError> {
        let mut args: Vec<Arg> = objects.into_iter().map(Arg::input).collect();
        args.extend([
            "-o".into(),
            Arg::Output(PROGRAM),
            "-Wl,--no-as-needed".into(),
        ]);
        for library in runtimes {
            let folder = library.parent().unwrap_or(Path::new("."));
            let name = library
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            args.push(Arg::Place(format!("-L{}", folder.display())));
            args.push(format!("-l:{name}").into());
            if self.options.runtime_path == RuntimePath::Here {
                args.push(format!("-Wl,-rpath,{}", folder.display()).into());
            }
        }
        if let RuntimePath::Relative(folder) = &self.options.runtime_path {
            args.push(format!("-Wl,-rpath,$ORIGIN/{folder}").into());
        }
        args.extend(["-lm", "-lpthread", "-ldl"].map(Arg::from));
        args.extend(
            program
                .flags
                .link
                .iter()
                .map(|flag| Arg::Text(flag.clone())),
        );
        let stage = Stage {
            name: "link",
            subject: &program.name,
            tool: &self.tools.clangxx,
            args,
            folder: &program.folder,
            outputs: &[PROGRAM],
            headers: None,
        };
        Ok(stage.run(&self.runner)?.join(PROGRAM))
    }

    /// The shared libraries that an executable of this backend needs, in link order: the interposer stands in front of libcudart.
    pub fn runtime_libraries(&self) -> Result<Vec<PathBuf>, BuildError> {
        Ok(match self.options.backend {
            Backend::Cpu => vec![self.installation.cpu_runtime()?],
            Backend::Cuda => vec![self.installation.cuda_runtime()?, self.tools.cudart.clone()],
        })
    }
}
