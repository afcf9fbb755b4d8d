//! The Debian package: the archive's folder in `/usr/lib/superstep`, and the command in `/usr/bin`.

use std::path::Path;

use anyhow::{Context as _, Result};
use superstep_toolchain::all_packages_to_run;
use xshell::cmd;

use super::{GLIBC, VERSION, commit_time};
use crate::context::Context;

const COPYRIGHT: &str = "\
Superstep may be used under the MIT licence or the Apache licence, version 2.0, at your option:
/usr/lib/superstep/LICENSE-MIT, /usr/lib/superstep/LICENSE-APACHE.
The licences of the bundled libraries are in /usr/lib/superstep/licenses.
";

pub fn package(context: &Context, tree: &Path, place: &Path) -> Result<()> {
    let (shell, root) = (&context.shell, place.join("debian"));
    let library = root.join("usr/lib/superstep");
    shell.write_file(root.join("usr/share/doc/superstep/copyright"), COPYRIGHT)?;
    shell.create_dir(root.join("usr/lib"))?;
    let bin = shell.create_dir(root.join("usr/bin"))?;
    cmd!(shell, "cp --recursive {tree} {library}").run()?;
    cmd!(
        shell,
        "ln -s ../lib/superstep/bin/superstep {bin}/superstep"
    )
    .run()?;
    cmd!(shell, "chmod --recursive u=rwX,go=rX {root}").run()?;
    let size = cmd!(shell, "du --summarize --block-size=1024 {library}").read()?;
    let size = size.split_whitespace().next().unwrap_or_default();
    shell.write_file(root.join("DEBIAN/control"), control(size))?;
    cmd!(
        shell,
        "dpkg-deb --root-owner-group -Zxz --build {root} {place}/superstep_{VERSION}_amd64.deb"
    )
    .env("SOURCE_DATE_EPOCH", commit_time(context)?)
    .run()
    .context("failed to build the Debian package")?;
    Ok(shell.remove_path(&root)?)
}

/// Returns the control file. `size` is in KiB.
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
        GLIBC,
        all_packages_to_run().join(", "),
    )
}
