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
    #[error("failed to load module {hash}: {reason}")]
    Module { hash: String, reason: String },
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
