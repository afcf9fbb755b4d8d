//! Merges wheels into one folder that Clang accepts as `--cuda-path`.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::cuda::wheels::{Wheel, WheelError};

/// Version of the merge rules: `Wheel::extracted` and [`finish`]. A new version invalidates previously merged folders.
pub(crate) const RULES_VERSION: u32 = 1;

/// Returns the path to which the rules extract a wheel's member (in `licenses/` if it is the licence); `None` if it is
/// not extracted.
fn destination(wheel: &Wheel, member: &str) -> Option<PathBuf> {
    if member.ends_with('/') || member.ends_with("/__init__.py") {
        return None;
    }
    if member.contains(".dist-info/") && member.ends_with("/License.txt") {
        return Some(PathBuf::from(format!("licenses/{}.txt", wheel.package())));
    }
    let name = member.strip_prefix(wheel.folder)?;
    let is_extracted = |what: &str| name == what || what.ends_with('/') && name.starts_with(what);
    wheel.extracted.iter().find(|what| is_extracted(what))?;
    Some(match name.strip_prefix("lib/") {
        Some(library) => Path::new("lib64").join(library), // as in an installed toolkit
        None => PathBuf::from(name),
    })
}

pub(crate) fn extract(wheel: &Wheel, file: &Path, root: &Path) -> Result<(), WheelError> {
    let damaged = |error: ZipError| match error {
        ZipError::Io(source) => WheelError::io(file)(source),
        error => WheelError::Merge(format!("{} is damaged: {error}", file.display())),
    };
    let reader = File::open(file).map_err(WheelError::io(file))?;
    let mut archive = ZipArchive::new(io::BufReader::new(reader)).map_err(damaged)?;
    for index in 0..archive.len() {
        let mut member = archive.by_index(index).map_err(damaged)?;
        // Members with names that point outside the folder are ignored.
        let Some(name) = member.enclosed_name() else {
            continue;
        };
        let Some(path) = name.to_str().and_then(|name| destination(wheel, name)) else {
            continue;
        };
        if member.is_dir() {
            continue;
        }
        let to = root.join(path);
        create_parent(&to)?;
        let mut out = File::create(&to).map_err(WheelError::io(&to))?;
        io::copy(&mut member, &mut out).map_err(WheelError::io(&to))?;
        // Wheels often lack permission bits.
        if to.parent().is_some_and(|dir| dir.ends_with("bin")) {
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&to, executable).map_err(WheelError::io(&to))?;
        }
    }
    Ok(())
}

/// Adds a file that no wheel contains: Clang's CUDA wrapper includes cuRAND's header with generator tables. Superstep
/// does not use cuRAND, so an empty header is enough.
pub(crate) fn finish(root: &Path) -> Result<(), WheelError> {
    let shim = root.join("include/curand_mtgp32_kernel.h");
    create_parent(&shim)?;
    let text =
        "// Empty on purpose: Clang's CUDA wrapper includes this header, and cuRAND is not used.\n";
    std::fs::write(&shim, text).map_err(WheelError::io(&shim))
}

fn create_parent(file: &Path) -> Result<(), WheelError> {
    let dir = file.parent().unwrap_or(file);
    std::fs::create_dir_all(dir).map_err(WheelError::io(dir))
}

#[cfg(test)]
mod tests;
