//! Lists the required distribution packages, and installs them if this process has the necessary privileges.

use crate::variable::LLVM;
use std::process::{Command, Output};

use thiserror::Error;

use crate::Progress;
use crate::search::Purpose;

const TO_RUN: [&str; 4] = ["clang-22", "llvm-22", "lld-22", "libomp-22-dev"];

/// LLVM's headers and libraries; `llvm-config` lists Polly among them. The shared libLLVM needs no other development
/// packages: `llvm-config --system-libs --link-shared` prints nothing.
const TO_BUILD: [&str; 2] = ["llvm-22-dev", "libpolly-22-dev"];

const COMMANDS: [(&str, &[&str]); 3] = [
    ("g++", &["g++", "--version"]),
    ("curl", &["curl", "--version"]),
    ("python3-pip", &["python3", "-m", "pip", "--version"]),
];

pub fn all_to_run() -> Vec<&'static str> {
    let others = COMMANDS.map(|(package, _)| package);
    TO_RUN.into_iter().chain(others).collect()
}

pub(crate) fn needed(purpose: Purpose) -> Vec<&'static str> {
    let mut packages = TO_RUN.to_vec();
    if purpose == Purpose::Build {
        packages.extend(TO_BUILD);
    }
    let absent = COMMANDS
        .iter()
        .filter(|(_, command)| !runs(command[0], &command[1..]));
    packages.extend(absent.map(|(package, _)| package));
    packages
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

/// A failure to install packages, with the reason and a hint.
#[derive(Debug, Error)]
#[error("failed to install packages: {0}")]
pub struct PackageError(String);

/// Returns the commands that install `packages`, preceded by those that add LLVM's own package source if the
/// distribution's sources are known to lack Clang 22.
pub(crate) fn install_commands(packages: &[&str]) -> String {
    let install = format!("{INSTALL} {}", packages.join(" "));
    if packages.contains(&"clang-22") && lacks("clang-22") {
        format!("{}\n  {install}", add_llvm_source())
    } else {
        install
    }
}

const INSTALL: &str = "sudo apt-get update && sudo apt-get install -y --no-install-recommends";

/// Returns the commands that add the LLVM project's packages (apt.llvm.org) for this release of the distribution.
fn add_llvm_source() -> String {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = codename(&release).unwrap_or("RELEASE");
    format!(
        "{INSTALL} ca-certificates curl\n  \
         curl -fsSL https://apt.llvm.org/llvm-snapshot.gpg.key | sudo tee /etc/apt/trusted.gpg.d/apt.llvm.org.asc > /dev/null\n  \
         echo 'deb https://apt.llvm.org/{name}/ llvm-toolchain-{name}-22 main' | sudo tee /etc/apt/sources.list.d/llvm-22.list"
    )
}

/// Returns the release's codename from os-release, or Ubuntu's if the distribution is based on Ubuntu.
fn codename(os_release: &str) -> Option<&str> {
    let value = |key: &str| {
        let mut lines = os_release.lines();
        let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        value.map(|value| value.trim_matches('"'))
    };
    value("UBUNTU_CODENAME").or_else(|| value("VERSION_CODENAME"))
}

/// Returns whether apt has package lists (the first `apt-get update` creates them) but none of them contains `package`.
fn lacks(package: &str) -> bool {
    // libc6 is in every release.
    let offers = Command::new("apt-cache")
        .args(["madison", package, "libc6"])
        .output();
    offers.is_ok_and(|offers| {
        let offers = String::from_utf8_lossy(&offers.stdout).into_owned();
        // Each line contains a name, a version and a source.
        let names = offers.lines().filter_map(|line| line.split('|').next());
        let has = |package| names.clone().any(|name| name.trim() == package);
        has("libc6") && !has(package)
    })
}

pub fn install(packages: &[&str], progress: Progress) -> Result<(), PackageError> {
    if !runs("apt-get", &["--version"]) {
        let packages = packages.join(", ");
        return Err(PackageError(format!(
            "apt-get is not available; install {packages} by other means; to use another Clang and LLVM 22 (with headers), set {LLVM} to their prefix, the folder with bin/clang++"
        )));
    }
    let prefix: &[&str] = if rustix::process::geteuid().is_root() {
        &[]
    } else if runs("sudo", &["-n", "true"]) {
        &["sudo", "-n"]
    } else {
        let line = install_commands(packages);
        return Err(PackageError(format!(
            "this needs root privileges, and passwordless sudo is not available; run the following, then try again:\n  {line}"
        )));
    };
    progress("reading the package lists (apt-get update)");
    // An unreachable extra source makes `update` fail although the existing lists may be enough, so only a failure of
    // `install` is an error.
    if let Err(problem) = apt_get(prefix, &["update"]) {
        progress(&format!(
            "apt-get update failed; continuing with the existing lists: {problem}"
        ));
    }
    progress(&format!("installing {}", packages.join(" ")));
    let arguments = [&["install", "-y", "--no-install-recommends"], packages].concat();
    apt_get(prefix, &arguments).map_err(|error| {
        let mut llvm_packages = packages.iter().filter(|package| package.contains("-22"));
        match llvm_packages.find(|package| lacks(package)) {
            Some(package) => PackageError(format!(
                "this distribution's package sources have no `{package}`; set {LLVM} to the \
                 prefix of an LLVM 22, or add the LLVM project's own package source and install from there:\n  {}",
                add_llvm_source()
            )),
            None => error,
        }
    })
}

fn apt_get(prefix: &[&str], arguments: &[&str]) -> Result<(), PackageError> {
    // `env` is needed because sudo drops the caller's variables; the lock timeout lets another installation finish.
    let fixed = "env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300";
    let fixed: Vec<&str> = fixed.split(' ').collect();
    let words = [prefix, &fixed, arguments].concat();
    let line = words.join(" ");
    let (status, output) = match Command::new(words[0]).args(&words[1..]).output() {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => (output.status.to_string(), last_lines(&output)),
        Err(error) => (format!("an error: {error}"), String::new()),
    };
    let why = format!("`{line}` failed with {status}:\n{output}");
    Err(PackageError(why))
}

/// Returns the end of a failed command's output, which usually contains the reason.
pub(crate) fn last_lines(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = (text.lines().filter(|line| !line.trim().is_empty())).collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}

#[cfg(test)]
mod tests;
