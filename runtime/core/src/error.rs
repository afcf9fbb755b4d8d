//! Errors in the code that both runtimes share.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    #[error(
        "failed to register module {index} ({name}): {other} has the same index; give each translation unit its own"
    )]
    ModuleIndex {
        index: u32,
        name: String,
        other: String,
    },
    #[error("failed to load module {0}: {1}")]
    Module(String, ModuleError),
    /// The program itself opened a file with device code.
    #[error(
        "failed to load the device code of {}: the file was not named when the program was started; name it with --with {}",
        file.display(),
        file.file_name().unwrap_or_default().to_string_lossy()
    )]
    NotNamed { file: PathBuf },
    #[error(transparent)]
    Trace(#[from] superstep_trace::TraceError),
    /// A lock was not released in time; only `Session::finish` reports this.
    #[error("failed to {action}: another thread holds the session")]
    Busy { action: &'static str },
}

/// The reason why a module's code is not found.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    #[error("failed to {0} {1}: {2}")]
    Io(&'static str, PathBuf, std::io::Error),
    #[error("{0} is not a list of modules")]
    NotAList(PathBuf),
    #[error("failed to find the program's file")]
    NoProgram,
    #[error("`superstep modules` failed with {0}")]
    Build(std::process::ExitStatus),
    #[error("its file was not named when the program was started")]
    NotNamed,
    #[error("its file changed while the program was running")]
    Changed,
}
