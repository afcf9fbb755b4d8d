//! Examining a folder that may be a CUDA toolkit: is everything there, and of which version?

use std::path::{Path, PathBuf};

use crate::cuda::{Cuda, CudaOrigin};
use crate::version::{self, Version};

/// The oldest toolkit that is used: its `ptxas` must know sm_90, and its runtime must be `libcudart.so.12`.
pub(crate) const OLDEST: Version = Version {
    major: 12,
    minor: 0,
    patch: 0,
};

/// What `root` lacks to serve as a toolkit, in words, or its parts.
pub(crate) fn examine(root: &Path, origin: CudaOrigin) -> Result<Cuda, String> {
    if !root.is_dir() {
        return Err(format!("{} is not a folder", root.display()));
    }
    let ptxas = root.join("bin/ptxas");
    let fatbinary = root.join("bin/fatbinary");
    let include = root.join("include");
    let libdevice = root.join("nvvm/libdevice/libdevice.10.bc");
    let mut absent: Vec<String> = [
        ptxas.clone(),
        fatbinary.clone(),
        include.join("cuda_runtime.h"),
        include.join("curand_mtgp32_kernel.h"),
        libdevice.clone(),
    ]
    .iter()
    .filter(|file| !file.is_file())
    .map(|file| file.strip_prefix(root).unwrap_or(file))
    .map(|file| file.display().to_string())
    .collect();
    let cudart = shared_runtime(root);
    if cudart.is_none() {
        absent.push("lib64/libcudart.so.12".to_owned());
    }
    let (Some(cudart), true) = (cudart, absent.is_empty()) else {
        return Err(format!("{} has no {}", root.display(), absent.join(", ")));
    };
    let version = version::ask(&ptxas, ", V")?;
    if version < OLDEST {
        return Err(format!(
            "{} is version {version}, but {OLDEST} or newer is needed",
            root.display()
        ));
    }
    Ok(Cuda {
        root: root.to_owned(),
        origin,
        version,
        ptxas,
        fatbinary,
        include,
        libdevice,
        cudart,
    })
}

/// The shared runtime under its versioned name (`libcudart.so.12`), which is also the name that linked programs ask
/// for at start.
fn shared_runtime(root: &Path) -> Option<PathBuf> {
    ["lib64", "lib", "targets/x86_64-linux/lib"]
        .iter()
        .map(|folder| root.join(folder))
        .find_map(|folder| {
            (OLDEST.major..OLDEST.major + 20)
                .rev()
                .map(|major| folder.join(format!("libcudart.so.{major}")))
                .find(|file| file.is_file())
        })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::search::tests::fake_tool;

    /// A folder with every file that [`examine`] asks for, empty but for `ptxas`.
    pub(crate) fn fake_toolkit(root: &Path, version: &str) {
        fake_tool(&root.join("bin/ptxas"), &format!("release 0.0, V{version}"));
        fake_tool(&root.join("bin/fatbinary"), "");
        for file in [
            "include/cuda_runtime.h",
            "include/curand_mtgp32_kernel.h",
            "nvvm/libdevice/libdevice.10.bc",
            "lib64/libcudart.so.12",
        ] {
            let file = root.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
    }

    #[test]
    fn a_complete_folder_gives_its_parts() {
        let dir = tempfile::tempdir().unwrap();
        fake_toolkit(dir.path(), "12.9.86");
        let parts = examine(dir.path(), CudaOrigin::Toolkit).unwrap();
        assert_eq!(parts.version.to_string(), "12.9.86");
        assert_eq!(parts.cudart, dir.path().join("lib64/libcudart.so.12"));
    }

    #[test]
    fn everything_absent_is_named_at_once() {
        let dir = tempfile::tempdir().unwrap();
        fake_toolkit(dir.path(), "12.9.86");
        std::fs::remove_file(dir.path().join("bin/fatbinary")).unwrap();
        std::fs::remove_file(dir.path().join("lib64/libcudart.so.12")).unwrap();
        let why = examine(dir.path(), CudaOrigin::Toolkit).unwrap_err();
        assert!(
            why.ends_with("has no bin/fatbinary, lib64/libcudart.so.12"),
            "{why}"
        );
    }

    #[test]
    fn an_old_toolkit_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fake_toolkit(dir.path(), "11.8.89");
        let why = examine(dir.path(), CudaOrigin::Toolkit).unwrap_err();
        assert!(why.contains("11.8.89") && why.contains("12.0.0"), "{why}");
    }
}
