//! Errors of the runtimes' common part.

use std::path::PathBuf;

/// What can go wrong before and while a traced program runs.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// An environment variable has an unusable value.
    #[error(transparent)]
    Variable(#[from] superstep_abi::VariableError),
    /// Two modules of the program have the same index.
    #[error(
        "failed to register module {index} ({name}): {other} has the same index; give each translation unit its own"
    )]
    ModuleIndex {
        index: u32,
        /// Name of the module that came second.
        name: String,
        /// Name of the one that came first.
        other: String,
    },
    /// There is no code for a module that the program carries as bitcode.
    #[error("failed to load module {hash}: {reason}")]
    Module { hash: String, reason: String },
    /// A file with device code that was not named when the program was started, which it has opened itself.
    #[error(
        "failed to load the device code of {}: the file was not named when the program was started; name it with --with {}",
        file.display(),
        file.file_name().unwrap_or_default().to_string_lossy()
    )]
    NotNamed { file: PathBuf },
    /// The capture cannot be written or a table not be read.
    #[error(transparent)]
    Trace(#[from] superstep_trace::TraceError),
    /// The summary cannot be written.
    #[error("failed to write the summary {}: {source}", path.display())]
    Summary {
        path: PathBuf,
        source: std::io::Error,
    },
    /// A lock was not free in time; only a fault handler sees this.
    #[error("failed to {action}: another thread holds the session")]
    Busy { action: &'static str },
}
