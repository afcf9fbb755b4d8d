//! The rules by which wheels become one folder that Clang takes as `--cuda-path`.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::cuda::wheels::WheelError;

/// Goes up with every change of [`RULES`] or [`finish`], which invalidates folders merged before.
pub(crate) const RULES_VERSION: u32 = 1;

/// Rules for the wheels that are always fetched. Nothing here uses the rest: libnvvm, nvcc, cudafe++, nvlink, the static runtime, the
/// device runtime.
const RULES: [Rule; 6] = [
    rule(
        "nvidia-cuda-nvcc-cu12",
        "nvidia/cuda_nvcc/",
        &["bin/ptxas", "include/", "nvvm/libdevice/"],
    ),
    rule(
        "nvidia-cuda-runtime-cu12",
        "nvidia/cuda_runtime/",
        &["include/", "lib/libcudart.so.12"],
    ),
    rule("nvidia-cuda-cccl-cu12", "nvidia/cuda_cccl/", &["include/"]),
    rule("nvidia-cuda-nvcc", "nvidia/cu13/", &["bin/fatbinary"]),
    rule("nvidia-nvml-dev-cu12", "nvidia/nvml_dev/", &["include/"]),
    rule("nvidia-nvtx-cu12", "nvidia/nvtx/", &["include/"]),
];

pub(crate) struct Rule {
    pub(crate) package: &'static str,
    pub(crate) folder: &'static str,
    pub(crate) taken: &'static [&'static str],
}

const fn rule(package: &'static str, folder: &'static str, taken: &'static [&'static str]) -> Rule {
    Rule {
        package,
        folder,
        taken,
    }
}

pub(crate) fn rule_of(package: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.package == package)
}

/// Where a wheel's member goes: by the rules, or into `licenses/` if it is the licence, or nowhere.
fn destination(rule: &Rule, member: &str) -> Option<PathBuf> {
    if member.ends_with('/') || member.ends_with("/__init__.py") {
        return None;
    }
    if member.contains(".dist-info/") && member.ends_with("/License.txt") {
        return Some(PathBuf::from(format!("licenses/{}.txt", rule.package)));
    }
    let name = member.strip_prefix(rule.folder)?;
    let is_taken = |what: &&str| {
        if what.ends_with('/') {
            name.starts_with(*what)
        } else {
            name == *what
        }
    };
    rule.taken.iter().find(|what| is_taken(what))?;
    Some(match name.strip_prefix("lib/") {
        Some(library) => Path::new("lib64").join(library), // as in an installed toolkit
        None => PathBuf::from(name),
    })
}

pub(crate) fn wheel(rule: &Rule, file: &Path, root: &Path) -> Result<(), WheelError> {
    let damaged = |error: ZipError| match error {
        ZipError::Io(source) => WheelError::io(file)(source),
        error => WheelError::Merge(format!("{} is damaged: {error}", file.display())),
    };
    let reader = File::open(file).map_err(WheelError::io(file))?;
    let mut archive = ZipArchive::new(io::BufReader::new(reader)).map_err(damaged)?;
    for index in 0..archive.len() {
        let mut member = archive.by_index(index).map_err(damaged)?;
        // A name that leads out of the folder is no member we take.
        let Some(name) = member.enclosed_name() else {
            continue;
        };
        let Some(to) = name.to_str().and_then(|name| destination(rule, name)) else {
            continue;
        };
        if member.is_dir() {
            continue;
        }
        let to = root.join(to);
        create_parent(&to)?;
        let mut out = File::create(&to).map_err(WheelError::io(&to))?;
        io::copy(&mut member, &mut out).map_err(WheelError::io(&to))?;
        // Wheels often carry no permission bits.
        if to.parent().is_some_and(|dir| dir.ends_with("bin")) {
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&to, executable).map_err(WheelError::io(&to))?;
        }
    }
    Ok(())
}

/// Adds what no wheel has. Clang's CUDA wrapper includes cuRAND's header of generator tables; nothing here uses
/// cuRAND, so an empty one serves.
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
