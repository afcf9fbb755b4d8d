//! Calls of the stand-in for nvcc during one `superstep build`.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Environment variable with the path of a file that gets a line of JSON for each call.
pub const REPORT_VARIABLE: &str = "SUPERSTEP_NVCC_REPORT";

/// Files of a call; none if it failed or compiled nothing of the project.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct NvccCall {
    pub cuda_files: Vec<PathBuf>,
    pub program: Option<PathBuf>,
}

/// Adds `call` to the report, if there is one; an error is not worth failing the build.
pub(super) fn append(call: &NvccCall) {
    let Some(path) = std::env::var_os(REPORT_VARIABLE) else {
        return;
    };
    let file = OpenOptions::new().append(true).open(path);
    if let (Ok(mut file), Ok(line)) = (file, serde_json::to_string(call)) {
        let _ = file.write_all((line + "\n").as_bytes());
    }
}

/// Reads the report in `path`.
pub fn nvcc_calls(path: &Path) -> Vec<NvccCall> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let calls = text.lines().map(serde_json::from_str);
    calls.filter_map(Result::ok).collect()
}
