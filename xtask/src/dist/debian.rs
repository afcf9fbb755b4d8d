//! The Debian package: the archive's folder in `/usr/lib/superstep`, and the command in `/usr/bin`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use superstep_toolchain::all_packages_to_run;
use xshell::cmd;

use super::{VERSION, commit_time, glibc};
use crate::context::Context;

const COPYRIGHT: &str = "\
Superstep may be used under the MIT licence or the Apache licence, version 2.0, at your choice:
/usr/lib/superstep/LICENSE-MIT, /usr/lib/superstep/LICENSE-APACHE.
The licences of the libraries in it are in /usr/lib/superstep/licenses.
";

/// Packs `tree` as a package in the folder `place`.
pub fn package(context: &Context, tree: &Path, place: &Path) -> Result<()> {
    let (shell, root) = (&context.shell, place.join("debian"));
    let library = root.join("usr/lib/superstep");
    let (bin, about) = (root.join("usr/bin"), root.join("usr/share/doc/superstep"));
    for folder in [&root.join("DEBIAN"), &root.join("usr/lib"), &bin, &about] {
        fs::create_dir_all(folder)
            .with_context(|| format!("failed to create {}", folder.display()))?;
    }
    cmd!(shell, "cp --recursive {tree} {library}").run()?;
    cmd!(
        shell,
        "ln -s ../lib/superstep/bin/superstep {bin}/superstep"
    )
    .run()?;
    let copyright = about.join("copyright");
    fs::write(&copyright, COPYRIGHT)
        .with_context(|| format!("failed to write {}", copyright.display()))?;
    cmd!(shell, "chmod --recursive u=rwX,go=rX {root}").run()?;
    let size = cmd!(shell, "du --summarize --block-size=1024 {library}").read()?;
    let size = size.split_whitespace().next().unwrap_or_default();
    let control = root.join("DEBIAN/control");
    fs::write(&control, self::control(size))
        .with_context(|| format!("failed to write {}", control.display()))?;
    cmd!(
        shell,
        "dpkg-deb --root-owner-group -Zxz --build {root} {place}/superstep_{VERSION}_amd64.deb"
    )
    .env("SOURCE_DATE_EPOCH", commit_time(context)?)
    .run()
    .context("failed to make the Debian package")?;
    fs::remove_dir_all(&root).with_context(|| format!("failed to remove {}", root.display()))
}

/// What apt reads. `size` is in KiB.
fn control(size: &str) -> String {
    format!(
        "Package: superstep\n\
         Version: {VERSION}\n\
         Architecture: amd64\n\
         Maintainer: The Superstep authors <superstep@localhost>\n\
         Section: devel\n\
         Priority: optional\n\
         Installed-Size: {size}\n\
         Depends: libc6 (>= {}), {}\n\
         Recommends: git\n\
         Description: traces the global-memory accesses of CUDA programs\n \
          Compiles CUDA programs with Clang, records every access of their kernels to\n \
          global memory, on a GPU or a CPU, and shows how thread blocks communicate.\n",
        glibc::OLDEST,
        all_packages_to_run().join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_depends_on_what_the_first_run_names() {
        let control = control("1");
        for package in ["clang-22", "llvm-22", "lld-22", "g++", "python3-pip"] {
            let listed = |line: &str| line.split(", ").any(|name| name == package);
            assert!(control.lines().any(listed), "{package}: {control}");
        }
        // A field that goes on has a blank in front, and the file ends with a newline.
        assert!(control.contains("\n Compiles") && control.ends_with(".\n"));
    }
}
