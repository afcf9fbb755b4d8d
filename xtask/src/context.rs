//! Context shared by all commands: the repository's root, the target folder, a shell, and exit codes.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use superstep_toolchain::{InstallError, LLVM_PREFIX_VARIABLE, Missing, Toolchain};
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

    /// Returns the members of the workspace and their dependencies from `cargo metadata` with these `options`.
    pub fn metadata(&self, options: &[&str]) -> Result<serde_json::Value> {
        let text = cmd!(self.shell, "cargo metadata --format-version 1 --locked").args(options);
        serde_json::from_str(&text.quiet().read()?)
            .context("failed to read the output of cargo metadata")
    }

    /// Returns the target folder, which depends on `CARGO_TARGET_DIR` and Cargo's configuration.
    pub fn target_dir(&self) -> Result<PathBuf> {
        let metadata = self.metadata(&["--no-deps"])?;
        let target = metadata["target_directory"].as_str();
        Ok(Path::new(target.context("cargo metadata names no target folder")?).to_owned())
    }

    pub fn has_cargo(&self, subcommand: &str) -> bool {
        let version = cmd!(self.shell, "cargo {subcommand} --version").quiet();
        version.ignore_stderr().read().is_ok()
    }

    /// Installs this version of a Cargo subcommand if none is installed.
    pub fn ensure_cargo(&self, subcommand: &str, version: &str) -> Result<()> {
        if self.has_cargo(subcommand) {
            return Ok(());
        }
        let package = format!("cargo-{subcommand}@{version}");
        cmd!(self.shell, "cargo install --locked {package}")
            .run()
            .with_context(|| format!("failed to install {package}"))
    }

    /// Returns `cargo` with LLVM's prefix in its environment, which `instrument` needs. The value is always the same,
    /// since a change would cause a rebuild.
    pub fn cargo(&self, toolchain: &Toolchain) -> Cmd<'_> {
        cmd!(self.shell, "cargo").env(LLVM_PREFIX_VARIABLE, &toolchain.llvm.prefix)
    }
}

/// A missing tool that is not installed automatically.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ToolMissing(pub String);

/// Returns the exit code for an error, as in docs/exit-codes.md; 1 if a child process failed.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    let is_tool = error.is::<ToolMissing>() || error.is::<InstallError>() || error.is::<Missing>();
    if is_tool { 5 } else { 1 }
}
