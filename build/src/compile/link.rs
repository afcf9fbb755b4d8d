//! The last stage: objects and a runtime become an executable.

use std::path::{Path, PathBuf};

use superstep_trace::Backend;

use super::Program;
use super::builder::Builder;
use super::error::BuildError;
use super::libraries::{libraries_of_flags, no_closed_library};
use super::stage::{Args, Subject};

/// Where an executable looks for the runtime libraries when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimePath {
    Here,
    /// In this folder, given relative to the executable's own folder (a bundle that is carried elsewhere).
    Relative(String),
}

impl Builder {
    /// Links `objects` with the shared libraries `runtimes`.
    pub(super) fn link_with(
        &self,
        program: &Program,
        objects: impl IntoIterator<Item = PathBuf>,
        runtimes: &[PathBuf],
    ) -> Result<PathBuf, BuildError> {
        if self.options.backend == Backend::Cpu {
            no_closed_library(&program.name, &libraries_of_flags(&program.flags.link))?;
        }
        let args = objects.into_iter().fold(Args::default(), Args::input);
        let mut args = args.text("-Wl,--no-as-needed");
        for library in runtimes {
            let folder = library.parent().unwrap_or(Path::new("."));
            let name = library.file_name().unwrap_or_default().to_string_lossy();
            args = args.place("-L", folder).text(format!("-l:{name}"));
            if self.options.runtime_path == RuntimePath::Here {
                args = args.text(format!("-Wl,-rpath,{}", folder.display()));
            }
        }
        if let RuntimePath::Relative(folder) = &self.options.runtime_path {
            // Unlike new tags, which are the default of some linkers, old ones hold for libraries that libraries need.
            args = args
                .text(format!("-Wl,-rpath,$ORIGIN/{folder}"))
                .text("-Wl,--disable-new-dtags");
        }
        let args = args
            .texts(["-lm", "-lpthread", "-ldl"])
            .texts(&program.flags.link);
        let subject = Subject {
            name: &program.name,
            folder: &program.folder,
        };
        let tool = &self.tools.clangxx;
        self.runner.file("link", tool, subject, args, "program")
    }

    /// The shared libraries that an executable of this backend needs, in link order: the interposer stands in front of libcudart.
    pub fn runtime_libraries(&self) -> Result<Vec<PathBuf>, BuildError> {
        Ok(match self.options.backend {
            Backend::Cpu => vec![self.installation.cpu_runtime()?],
            Backend::Cuda => vec![self.installation.cuda_runtime()?, self.tools.cudart.clone()],
        })
    }
}
