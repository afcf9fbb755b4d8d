//! Generates inputs with the script `suites/inputs.py`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use superstep_toolchain::KeyHasher;

use crate::fetch::{FetchError, io as io_error};

const SCRIPT: &str = include_str!("../../../suites/inputs.py");

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generator {
    #[serde(rename = "generator")]
    pub name: String,
    pub seed: u64,
    #[serde(default)]
    pub parameters: BTreeMap<String, u64>,
}

impl Generator {
    pub(super) fn arguments(&self) -> Vec<String> {
        let parameters = self.parameters.iter();
        let mut arguments = vec![self.name.clone(), format!("seed={}", self.seed)];
        arguments.extend(parameters.map(|(name, value)| format!("{name}={value}")));
        arguments
    }

    /// Returns the generated file's cache key, which changes whenever the script does.
    pub(super) fn key(&self) -> String {
        let mut key = KeyHasher::new("generated");
        key.text(SCRIPT).list(self.arguments());
        key.finish()
    }

    pub(super) fn write(&self, writer: &mut dyn Write) -> Result<(), FetchError> {
        let error = FetchError::tool("python3");
        let mut python = Command::new("python3");
        python.args(["-I", "-c", SCRIPT]).args(self.arguments());
        python.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = python.stderr(Stdio::piped()).spawn().map_err(&error)?;
        // The script prints at most a few lines of error messages, which fit in a pipe's buffer.
        let copied = io::copy(&mut child.stdout.take().expect("it is a pipe"), writer);
        let finished = child.wait_with_output().map_err(error)?;
        copied.map_err(io_error("write generated file", Path::new(&self.name)))?;
        if finished.status.success() {
            return Ok(());
        }
        let problem = String::from_utf8_lossy(&finished.stderr);
        Err(FetchError::Generator(problem.trim_end().to_owned()))
    }
}
