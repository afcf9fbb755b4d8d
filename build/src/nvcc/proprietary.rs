//! NVIDIA's proprietary libraries in the toolkit folder: headers and stubs that let projects compile and link without
//! the libraries.
//!
//! ```text
//! <cache>/proprietary-<hash>/
//!     include/cublas_v2.h        includes the header below, or says how to get it
//!     lib64/libcublas.so         linker script for the stub below, or a placeholder
//!     cublas/include, cublas/lib64/libcublas.so.12
//!                                headers, and a stub with the library's functions
//! ```

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use superstep_toolchain::proprietary::{PROPRIETARY_PACKAGES, ProprietaryPackage};
use superstep_toolchain::{Progress, Toolchain, replace_file};

use super::toolkit;
use crate::compile::steps::hash::KeyHasher;
use crate::compile::{BuildError, Result};
use crate::installation::names_in;
use crate::run::proprietary::functions;

pub(super) struct ProprietaryFolder {
    pub(super) root: PathBuf,
    missing: Vec<&'static ProprietaryPackage>,
}

impl ProprietaryFolder {
    pub(super) fn new(toolchain: &Toolchain, cache: &Path) -> Self {
        let include = &toolchain.cuda.include;
        let has_none = |package: &&ProprietaryPackage| {
            let mut headers = package.headers();
            // An empty version of this header exists for Clang.
            !headers.any(|name| name != CLANG_HEADER && include.join(name).is_file())
        };
        let missing: Vec<_> = PROPRIETARY_PACKAGES.iter().filter(has_none).collect();
        let mut key = KeyHasher::new("proprietary");
        for package in &missing {
            key.text(package.sha256);
        }
        Self {
            root: cache.join(format!("proprietary-{}", &key.finish()[..12])),
            missing,
        }
    }

    pub(super) fn headers(&self) -> impl Iterator<Item = &'static str> {
        let missing = self.missing.iter();
        missing.flat_map(|package| package.headers())
    }

    pub(super) fn libraries(&self) -> impl Iterator<Item = &'static str> {
        let missing = self.missing.iter();
        missing.flat_map(|package| package.libraries())
    }

    pub(super) fn prepare(&self) -> Result<()> {
        for name in ["include", "lib64"] {
            let folder = self.root.join(name);
            fs::create_dir_all(&folder).map_err(BuildError::io("create", &folder))?;
        }
        for package in &self.missing {
            for header in package.headers() {
                let place = self.root.join(package.name).join("include").join(header);
                let text = forwarding_header(package, header, &place);
                put(&self.root.join("include").join(header), &text)?;
            }
            for library in package.libraries() {
                let script = self.script(library);
                if !script.is_file() {
                    put(&script, PLACEHOLDER)?;
                }
            }
        }
        Ok(())
    }

    fn script(&self, library: &str) -> PathBuf {
        self.root.join("lib64").join(format!("lib{library}.so"))
    }

    pub(super) fn add(&self, toolchain: &Toolchain, name: &str, progress: Progress) -> Result<()> {
        let Some(package) = self.missing.iter().find(|package| package.name == name) else {
            let root = toolchain.cuda.root.display();
            progress(&format!("{root} already contains {name}"));
            return Ok(());
        };
        for needed in package.needs {
            self.add(toolchain, needed, progress)?;
        }
        let place = self.root.join(package.name);
        if place.is_dir() {
            progress(&format!("{} was already added", package.title));
            return Ok(());
        }
        let staging =
            tempfile::tempdir_in(&self.root).map_err(BuildError::io("create", &self.root))?;
        let from = match package.installed() {
            Some(folder) => folder,
            None => {
                let fetched = package.fetch(staging.path(), progress);
                fetched
                    .map_err(|error| BuildError::installation(package.title, error.to_string()))?;
                staging.path().to_owned()
            }
        };
        progress(&format!("adding {} from {}", package.title, from.display()));
        let made = staging.path().join("made");
        copy_headers(&from.join("include"), &made.join("include"))?;
        fs::create_dir(made.join("lib64")).map_err(BuildError::io("create", &made))?;
        let mut scripts = Vec::new();
        // Most packages have `lib`; libNVVM and fetched packages have `lib64`.
        let mut libraries = from.join("lib");
        if !libraries.is_dir() {
            libraries = from.join("lib64");
        }
        for library in package.libraries() {
            let shared = library.trim_end_matches("_static");
            let (file, name) = shared_library(&libraries, shared)?;
            make_stub(
                toolchain,
                &made.join("lib64"),
                &name,
                functions(&file, true)?,
            )?;
            scripts.push((library, linker_script(&place.join("lib64").join(&name))));
        }
        toolkit::place(&made, &place)?;
        for (library, script) in scripts {
            put(&self.script(library), &script)?;
        }
        Ok(())
    }
}

const PLACEHOLDER: &str = "/* placeholder: run `superstep toolkit add` to install the library */\n";

/// A header that Clang includes in every CUDA file, before the program's own headers.
const CLANG_HEADER: &str = "curand_mtgp32_kernel.h";

fn forwarding_header(package: &ProprietaryPackage, header: &str, place: &Path) -> String {
    let place = place.display();
    let fallback = match header {
        CLANG_HEADER => String::new(),
        // Compilers continue after `#error`, but not after a missing include.
        _ => format!(
            "#else\n#error \"{header} belongs to {}, which is not installed yet\"\n#include \"run `superstep toolkit add {}`\"\n",
            package.title, package.name
        ),
    };
    format!("#if __has_include(\"{place}\")\n#include \"{place}\"\n{fallback}#endif\n")
}

fn put(place: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(place).is_ok_and(|existing| existing == text) {
        return Ok(());
    }
    replace_file(place, |file| file.write_all(text.as_bytes()))
        .map_err(BuildError::io("write", place))
}

fn copy_headers(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).map_err(BuildError::io("create", to))?;
    let names = names_in(from);
    names
        .iter()
        .filter(|name| name.ends_with(".h"))
        .try_for_each(|name| {
            let to = to.join(name);
            let copied = fs::copy(from.join(name), &to).map(drop);
            copied.map_err(BuildError::io("write", to))
        })
}

fn shared_library(folder: &Path, stem: &str) -> Result<(PathBuf, String)> {
    let prefix = format!("lib{stem}.so.");
    // libNVVM's file has no version in its name.
    let plain = format!("lib{stem}.so");
    let is_versioned = |name: &String| {
        let major = name.strip_prefix(&prefix);
        major.is_some_and(|major| major.bytes().all(|letter| letter.is_ascii_digit()))
    };
    let mut names = names_in(folder);
    names.retain(|name| *name == plain || is_versioned(name));
    // The names are sorted, so the plain name comes before the versioned one.
    let name = names.pop().ok_or_else(|| {
        let why = format!("{} does not contain it", folder.display());
        BuildError::installation(plain, why)
    })?;
    Ok((folder.join(&name), name))
}

pub(super) fn linker_script(library: &Path) -> String {
    format!("INPUT(AS_NEEDED(\"{}\"))\n", library.display())
}

/// Creates a shared library `name` in `folder` for programs to link against. Its `functions` only trap and have no
/// symbol versions, so programs can also start with the library from another CUDA version. The loader reports missing
/// functions when a program starts.
fn make_stub(
    toolchain: &Toolchain,
    folder: &Path,
    name: &str,
    functions: BTreeSet<String>,
) -> Result<()> {
    let mut source = String::from(".text\n");
    for function in functions {
        source.push_str(&format!(
            ".globl {function}\n.type {function}, @function\n{function}: ud2\n"
        ));
    }
    let file = folder.join(name).with_extension("s");
    fs::write(&file, source).map_err(BuildError::io("write", &file))?;
    toolkit::run(
        Command::new(toolchain.llvm.tool("clang++"))
            .args(["-shared", "-nostdlib"])
            .arg(format!("-Wl,-soname,{name}"))
            .arg(&file)
            .arg("-o")
            .arg(folder.join(name)),
    )?;
    fs::remove_file(&file).map_err(BuildError::io("remove", &file))
}
