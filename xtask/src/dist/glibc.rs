//! Which version of glibc the packed binaries need, as their tables of symbol versions say.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use xshell::{Shell, cmd};

use super::layout::BINARIES;

/// The oldest glibc that releases run with.
pub const OLDEST: &str = "2.28";

/// Checks every binary of an unpacked archive.
pub fn check(shell: &Shell, tree: &Path) -> Result<()> {
    for name in BINARIES {
        let file = tree.join("bin").join(name);
        let needed = needed(shell, &file)?;
        if newer(&needed, OLDEST) {
            bail!(
                "{} needs glibc {needed}, but releases run with {OLDEST}",
                file.display()
            );
        }
        eprintln!("xtask: {name} needs glibc {needed}");
    }
    Ok(())
}

/// The newest version of glibc of which a file needs a function.
fn needed(shell: &Shell, file: &PathBuf) -> Result<String> {
    let text = cmd!(shell, "readelf --version-info --wide {file}")
        .env("LC_ALL", "C")
        .quiet()
        .read()
        .context("failed to run readelf, which binutils has")?;
    let version = newest(&text);
    ensure!(
        version.is_some(),
        "readelf finds no versions of glibc in {}",
        file.display()
    );
    Ok(version.unwrap_or_default())
}

/// The newest version that `readelf` names.
fn newest(text: &str) -> Option<String> {
    let versions = text.split("GLIBC_").skip(1).map(|rest| {
        let is_version = |c: char| !c.is_ascii_alphanumeric() && c != '.';
        rest.split(is_version).next().unwrap_or_default().to_owned()
    });
    versions.reduce(|one, other| if newer(&other, &one) { other } else { one })
}

/// Whether the first version is the newer one. `PRIVATE`, which promises nothing, is newer than any.
fn newer(one: &str, other: &str) -> bool {
    let numbers = |version: &str| -> Vec<u32> {
        version
            .split('.')
            .map(|part| part.parse().unwrap_or(u32::MAX))
            .collect()
    };
    numbers(one) > numbers(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_counts_and_not_the_last() {
        let text = "  0x0010:   Name: GLIBC_2.28  Flags: none  Version: 5\n  \
                    0x0020:   Name: GLIBC_2.3.4  Flags: none  Version: 4\n  \
                    0x0030:   Name: LLVM_22.1  Flags: none  Version: 3\n";
        assert_eq!(newest(text).as_deref(), Some("2.28"));
        assert_eq!(newest("Name: LLVM_22.1"), None);
        assert!(newer("2.28", "2.3.4") && newer("2.34", OLDEST) && newer("3.0", "2.99"));
        assert!(!newer(OLDEST, OLDEST) && !newer("2.2.5", OLDEST));
        assert!(newer("PRIVATE", OLDEST));
    }

    #[test]
    fn this_program_needs_some_glibc() {
        let shell = Shell::new().unwrap();
        let version = needed(&shell, &std::env::current_exe().unwrap()).unwrap();
        assert!(newer(&version, "2.1"), "{version}");
    }
}
