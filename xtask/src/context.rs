//! What every command needs: the repository's root, the target folder, a shell, and exit codes.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use superstep_toolchain::{InstallError, Missing, Toolchain};
use xshell::{Cmd, Shell, cmd};

pub struct Context {
    /// A shell whose working folder is the root.
    pub shell: Shell,
    pub root: PathBuf,
}

impl Context {
    /// Finds the repository from Cargo's own variables.
    pub fn new() -> Result<Context> {
        let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest_dir
            .parent()
            .context("failed to find the repository: xtask has no parent folder")?;
        let shell = Shell::new()?;
        shell.change_dir(root);
        Ok(Context {
            shell,
            root: root.to_owned(),
        })
    }

    /// The folder into which the release build puts its binaries and libraries; honours `CARGO_TARGET_DIR` and
    /// Cargo's configuration.
    pub fn release_dir(&self) -> Result<PathBuf> {
        let metadata = metadata(&self.shell)?;
        let target = metadata["target_directory"]
            .as_str()
            .context("cargo metadata names no target folder")?;
        Ok(Path::new(target).join("release"))
    }

    /// Whether Cargo has this subcommand.
    pub fn has_cargo(&self, subcommand: &str) -> bool {
        let asked = cmd!(self.shell, "cargo {subcommand} --version").quiet();
        asked.ignore_stderr().read().is_ok()
    }

    /// `cargo` with the place of LLVM, so that `instrument` builds, and always the same, so that nothing is built
    /// again because the place changed.
    pub fn cargo(&self, toolchain: &Toolchain) -> Cmd<'_> {
        let (name, prefix) = toolchain.llvm_build_variable();
        cmd!(self.shell, "cargo").env(name, prefix)
    }
}

/// The members of the workspace and their dependencies as Cargo understands them.
pub fn metadata(shell: &Shell) -> Result<serde_json::Value> {
    let text = cmd!(shell, "cargo metadata --format-version 1 --no-deps")
        .quiet()
        .read()?;
    serde_json::from_str(&text).context("failed to read the output of cargo metadata")
}

/// An error that has its own exit code.
#[derive(Debug)]
pub struct WithCode {
    code: u8,
    message: String,
}

impl fmt::Display for WithCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for WithCode {}

pub fn usage(message: String) -> anyhow::Error {
    let code = crate::USAGE;
    WithCode { code, message }.into()
}

pub fn tool_missing(message: String) -> anyhow::Error {
    let code = TOOL;
    WithCode { code, message }.into()
}

/// Exit code when a tool is missing and could not be installed; see docs/exit-codes.md.
const TOOL: u8 = 5;

/// The exit code of an error, as docs/exit-codes.md lists them; a child's failure counts as 1.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    if let Some(error) = error.downcast_ref::<WithCode>() {
        error.code
    } else if error.is::<InstallError>() || error.is::<Missing>() {
        TOOL
    } else {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_error_has_its_code() {
        assert_eq!(exit_code(&usage("no such command".into())), 2);
        assert_eq!(exit_code(&tool_missing("no clang".into())), 5);
        let missing = anyhow::Error::from(Missing { tools: Vec::new() });
        assert_eq!(exit_code(&missing.context("failed to set up")), 5);
        assert_eq!(exit_code(&anyhow::anyhow!("a test failed")), 1);
    }
}
