//! Choosing where the CUDA pieces come from.

use std::path::{Path, PathBuf};

use crate::check;
use crate::llvm::Llvm;
use crate::missing::MissingTool;
use crate::search::Search;
use crate::toolkit;
use crate::version::Version;
use crate::wheels;

/// Where the CUDA pieces come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CudaOrigin {
    /// A toolkit that somebody installed.
    Toolkit,
    /// Pinned wheels, merged in the per-user cache.
    Wheels,
}

/// The CUDA compiler and runtime pieces. The paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cuda {
    /// The folder for Clang's `--cuda-path`.
    pub root: PathBuf,
    /// Whether it is an installed toolkit or our cache.
    pub origin: CudaOrigin,
    pub version: Version,
    pub ptxas: PathBuf,
    /// Packs cubins and PTX into one image.
    pub fatbinary: PathBuf,
    pub include: PathBuf,
    /// libdevice, the device mathematics library as bitcode.
    pub libdevice: PathBuf,
    /// The shared CUDA runtime, `libcudart.so.12` or its successor.
    pub cudart: PathBuf,
}

impl Cuda {
    /// The folder of the shared CUDA runtime, for `-rpath`.
    pub fn library_dir(&self) -> &Path {
        self.cudart.parent().unwrap_or(&self.root)
    }

    /// The newest PTX version that this `ptxas` reads and that was tried here, as `llc -mattr=+…` wants it, for
    /// example `ptx88`. Source: the release history in NVIDIA's PTX ISA manual.
    pub fn ptx_feature(&self) -> &'static str {
        match (self.version.major, self.version.minor) {
            (..12, _) | (12, 0) => "ptx80",
            (12, 1) => "ptx81",
            (12, 2) => "ptx82",
            (12, 3) => "ptx83",
            (12, 4) => "ptx84",
            (12, 5 | 6) => "ptx85",
            (12, 7) => "ptx86",
            (12, 8) => "ptx87",
            _ => "ptx88",
        }
    }
}

/// Looks at `SUPERSTEP_CUDA` alone when it is set, else at `CUDA_PATH`, `CUDA_HOME`, the usual folders and last at the
/// wheels in the cache. An installed toolkit must also compile a small program with this Clang, where there is one;
/// `left_aside` gets those that do not serve, each with the reason.
pub(crate) fn locate(
    search: &Search,
    llvm: Option<&Llvm>,
    left_aside: &mut Vec<String>,
) -> Result<Cuda, Vec<MissingTool>> {
    let missing = |name: &str, why, hint: &str| {
        let (name, hint) = (name.to_owned(), hint.to_owned());
        vec![MissingTool { name, why, hint }]
    };
    if let Some(root) = search.path("SUPERSTEP_CUDA") {
        let hint =
            "point SUPERSTEP_CUDA at a complete toolkit of version 12.0 or newer, or unset it";
        return usable(search, &root, llvm)
            .map_err(|why| missing("CUDA toolkit", format!("SUPERSTEP_CUDA: {why}"), hint));
    }
    for root in installed(search) {
        match usable(search, &root, llvm) {
            Ok(cuda) => return Ok(cuda),
            Err(why) => left_aside.push(why),
        }
    }
    from_wheels(search).map_err(|why| {
        let why = [&left_aside[..], &[why]].concat().join("; ");
        let hint = "`superstep setup` fetches them (in the repository, `cargo xtask setup`)";
        missing("CUDA compiler and runtime", why, hint)
    })
}

fn from_wheels(search: &Search) -> Result<Cuda, String> {
    let root = wheels::folder(search).ok_or_else(|| {
        "no cache folder, since none of SUPERSTEP_CACHE, XDG_CACHE_HOME and HOME is set".to_owned()
    })?;
    wheels::examine(&root)
}

fn installed(search: &Search) -> Vec<PathBuf> {
    let variables = ["CUDA_PATH", "CUDA_HOME"]
        .into_iter()
        .filter_map(|name| search.path(name));
    let mut roots: Vec<PathBuf> = Vec::new();
    for root in variables.chain(search.cuda_roots.iter().cloned()) {
        if root.is_dir() && !roots.contains(&root) {
            roots.push(root);
        }
    }
    roots
}

fn usable(search: &Search, root: &Path, llvm: Option<&Llvm>) -> Result<Cuda, String> {
    let cuda = toolkit::examine(root, CudaOrigin::Toolkit)?;
    if let Some(llvm) = llvm {
        check::accepted(search.cache_dir().as_deref(), llvm, &cuda)
            .map_err(|failure| format!("{}: {failure}", root.display()))?;
    }
    Ok(cuda)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolkit::tests::fake_toolkit;

    #[test]
    fn an_explicit_folder_is_not_passed_over_silently() {
        let good = tempfile::tempdir().unwrap();
        fake_toolkit(good.path(), "12.9.86");
        let search = Search::nowhere()
            .with_variable("SUPERSTEP_CUDA", "/nonexistent")
            .with_variable("CUDA_PATH", good.path());
        let missing = locate(&search, None, &mut Vec::new()).unwrap_err();
        let why = &missing[0].why;
        assert!(why.contains("/nonexistent"), "{why}");
    }

    #[test]
    fn an_incomplete_toolkit_is_passed_over_for_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let (old, good) = (dir.path().join("old"), dir.path().join("good"));
        fake_toolkit(&old, "11.8.89");
        fake_toolkit(&good, "12.4.131");
        let search = Search::nowhere()
            .with_variable("CUDA_PATH", &old)
            .with_variable("CUDA_HOME", &good);
        let mut left_aside = Vec::new();
        let cuda = locate(&search, None, &mut left_aside).unwrap();
        assert_eq!(
            (cuda.root.as_path(), cuda.origin),
            (good.as_path(), CudaOrigin::Toolkit)
        );
        assert_eq!(cuda.ptx_feature(), "ptx84");
        assert_eq!(cuda.library_dir(), good.join("lib64"));
        assert!(
            left_aside.len() == 1 && left_aside[0].contains("11.8.89"),
            "{left_aside:?}"
        );
    }

    #[test]
    fn nothing_anywhere_says_what_was_tried() {
        let cache = tempfile::tempdir().unwrap();
        let search = Search::nowhere().with_variable("SUPERSTEP_CACHE", cache.path());
        let missing = locate(&search, None, &mut Vec::new()).unwrap_err();
        assert_eq!(missing.len(), 1);
        assert!(missing[0].hint.contains("superstep setup"));
    }
}
