//! The distribution's packages: which are needed, and installing them where this process may.

use std::process::Command;

use thiserror::Error;

/// Clang, LLVM's libraries and headers (Polly is named by `llvm-config`), the linker, and OpenMP for the host code of projects. The
/// shared libLLVM needs no further development packages: `llvm-config --system-libs --link-shared` prints nothing.
const PACKAGES: [&str; 5] = [
    "clang-22",
    "llvm-22-dev",
    "libpolly-22-dev",
    "lld-22",
    "libomp-22-dev",
];

/// [`PACKAGES`], and what compiling for the host and downloads take where that is not there by other means.
fn needed() -> Vec<&'static str> {
    let mut packages = PACKAGES.to_vec();
    if !runs("g++", &["--version"]) {
        packages.push("g++");
    }
    if !runs("curl", &["--version"]) {
        packages.push("curl");
    }
    if !runs("python3", &["-m", "pip", "--version"]) {
        packages.push("python3-pip");
    }
    packages
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

#[derive(Debug, Error)]
pub enum PackageError {
    #[error(
        "failed to install packages: that takes root, and sudo without a password is not available; \
         run this line and then `cargo xtask setup` again:\n  {line}"
    )]
    NeedsRoot {
        /// The exact line to run.
        line: String,
    },
    #[error(
        "failed to install packages: there is no apt-get here; install Clang and LLVM 22 (with headers) by other \
         means and set SUPERSTEP_LLVM to their prefix, the folder with bin/clang++"
    )]
    NoApt,
    #[error(
        "failed to install packages: this distribution's package sources have no `{package}`; add the LLVM project's \
         own package source for this release (its version 22), or set SUPERSTEP_LLVM to the prefix of an LLVM 22"
    )]
    NotOffered {
        /// The package that apt-get did not find.
        package: String,
    },
    #[error("failed to install packages: `{line}` ended with {status}:\n{output}")]
    Failed {
        line: String,
        /// Its exit status in words.
        status: String,
        /// The last lines it printed.
        output: String,
    },
}

/// The exact line that installs every package, for a person to run.
pub fn install_line() -> String {
    format!(
        "sudo apt-get update && sudo apt-get install -y --no-install-recommends {}",
        needed().join(" ")
    )
}

/// Installs the packages, with `apt-get update` first.
pub(crate) fn install(progress: &mut dyn FnMut(&str)) -> Result<(), PackageError> {
    if Command::new("apt-get").arg("--version").output().is_err() {
        return Err(PackageError::NoApt);
    }
    let prefix: &[&str] = if rustix::process::geteuid().is_root() {
        &[]
    } else if runs("sudo", &["-n", "true"]) {
        &["sudo", "-n"]
    } else {
        let line = install_line();
        return Err(PackageError::NeedsRoot { line });
    };
    progress("reading the package lists (apt-get update)");
    // An unreachable extra source makes `update` fail although the lists at hand may do; only `install` decides.
    if let Err(problem) = apt_get(prefix, &["update"]) {
        progress(&format!(
            "apt-get update failed, continuing with the lists that are there: {problem}"
        ));
    }
    let packages = needed();
    progress(&format!("installing {}", packages.join(" ")));
    let arguments = [&["install", "-y", "--no-install-recommends"], &packages[..]].concat();
    apt_get(prefix, &arguments)
}

fn apt_get(prefix: &[&str], arguments: &[&str]) -> Result<(), PackageError> {
    // `env` because sudo drops the caller's variables; the lock's wait lets another installation finish first.
    let fixed = "env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300";
    let fixed: Vec<&str> = fixed.split(' ').collect();
    let words = [prefix, &fixed, arguments].concat();
    let line = words.join(" ");
    let output = Command::new(words[0])
        .args(&words[1..])
        .output()
        .map_err(|error| PackageError::Failed {
            line: line.clone(),
            status: format!("an error: {error}"),
            output: String::new(),
        })?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    Err(classify(line, output.status.to_string(), &text))
}

fn classify(line: String, status: String, text: &str) -> PackageError {
    let absent = text.lines().find_map(|line| {
        let line = line.strip_prefix("E: ")?;
        line.strip_prefix("Unable to locate package ").or_else(|| {
            line.strip_prefix("Package '")?
                .strip_suffix("' has no installation candidate")
        })
    });
    if let Some(package) = absent {
        let package = package.trim().to_owned();
        return PackageError::NotOffered { package };
    }
    let lines: Vec<&str> = text.lines().collect();
    let output = lines[lines.len().saturating_sub(8)..].join("\n");
    PackageError::Failed {
        line,
        status,
        output,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_package_is_named() {
        let of =
            |text: &str| classify("apt-get".into(), "exit status: 100".into(), text).to_string();
        let text = of("Reading package lists...\nE: Unable to locate package clang-22\n");
        assert!(text.contains("have no `clang-22`"), "{text}");
        let text = of("E: Package 'lld-22' has no installation candidate");
        assert!(text.contains("have no `lld-22`"), "{text}");
    }

    #[test]
    fn other_failures_keep_the_last_lines() {
        let text = (0..40).map(|n| format!("line {n}\n")).collect::<String>() + "E: disk full\n";
        let error =
            classify("apt-get install".into(), "exit status: 100".into(), &text).to_string();
        assert!(
            error.contains("E: disk full") && !error.contains("line 3\n"),
            "{error}"
        );
        assert!(
            error.contains("`apt-get install` ended with exit status: 100"),
            "{error}"
        );
    }
}
