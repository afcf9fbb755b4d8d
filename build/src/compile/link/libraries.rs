//! Shared libraries that an executable needs, and where to get each of them on another machine.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSection, ObjectSymbol, ReadCache};
use superstep_trace::Backend;

use crate::compile::{BuildError, Builder, Result};
use crate::run::proprietary::functions;

/// A shared library that an executable needs, directly or indirectly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// Name as given in the executable. A name that contains a folder is not searched for.
    pub name: String,
    pub path: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supplier {
    /// The machine itself: libraries that every distribution includes, and the driver.
    Machine,
    /// NVIDIA's installer: these libraries are proprietary and occupy hundreds of megabytes.
    Nvidia,
    Program,
}

const SYSTEM_LIBRARIES: &str = "ld-linux libanl.so libc.so libcuda.so libdl.so libgcc_s.so libm.so libmvec.so libnsl.so \
    libnvidia- libpthread.so libresolv.so librt.so libstdc++.so libutil.so linux-gate.so \
    linux-vdso.so";

const NVIDIA_LIBRARIES: &str = "libcublas libcudart.so libcudnn libcufft libcufile libcupti libcurand libcusolver \
    libcusparse libnccl libnpp libnvJitLink libnvToolsExt libnvblas libnvjpeg libnvperf \
    libnvptxcompiler libnvrtc libnvvm";

impl Library {
    pub fn file_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    /// Returns whether this is cuBLAS; the CPU backend provides those of its functions that OpenBLAS implements.
    pub fn is_blas(&self) -> bool {
        self.file_name().starts_with("libcublas.so")
    }

    pub fn supplier(&self) -> Supplier {
        let is_one_of = |starts: &str| {
            let name = self.file_name();
            starts.split(' ').any(|start| name.starts_with(start))
        };
        if is_one_of(SYSTEM_LIBRARIES) {
            Supplier::Machine
        } else if is_one_of(NVIDIA_LIBRARIES) {
            Supplier::Nvidia
        } else {
            Supplier::Program
        }
    }
}

pub(crate) fn refuse_proprietary_libraries(program: &str, libraries: &[Library]) -> Result<()> {
    // These two are replaced or left out.
    const WITHOUT_GPU_CODE: [&str; 2] = ["libcudart", "libnvToolsExt"];
    let mut names = (libraries.iter())
        .filter(|library| library.supplier() == Supplier::Nvidia)
        .map(Library::file_name);
    let proprietary =
        names.find(|name| !WITHOUT_GPU_CODE.iter().any(|start| name.starts_with(start)));
    proprietary.map_or(Ok(()), |library| {
        let why = format!(
            "it needs {library}, which contains precompiled code that runs only on a GPU; run it with --backend cuda on a machine with a GPU, or build it without {library}"
        );
        let what = format!("{program} for the CPU backend");
        Err(BuildError::unsupported(what, why))
    })
}

impl Builder {
    /// Returns the first lines of a start script, which find NVIDIA's libraries or replacements if the program needs
    /// any. The strings are the shell-quoted paths of superstep, the executable and the runtime.
    pub(crate) fn proprietary_search(
        &self,
        executable: &Path,
        [superstep, started, runtime]: [&str; 3],
    ) -> Result<String> {
        if self.runner.dry_run.is_some() {
            return Ok(String::new());
        }
        let needed = libraries(executable)?;
        let options = match self.options.backend {
            Backend::Cpu if needed.iter().any(Library::is_blas) => format!(" --blas {runtime}"),
            Backend::Cuda if needed.iter().any(|it| it.supplier() == Supplier::Nvidia) => "".into(),
            _ => return Ok(String::new()),
        };
        Ok(format!(
            "LD_LIBRARY_PATH=$({superstep} libraries{options} {started}) || exit\nexport LD_LIBRARY_PATH\n"
        ))
    }

    /// Fails if `file` needs a library with precompiled GPU code that has no CPU replacement.
    pub(crate) fn check_runs_on_cpu(&self, program: &str, file: &Path) -> Result<()> {
        let (blas, others): (Vec<_>, Vec<_>) =
            libraries(file)?.into_iter().partition(Library::is_blas);
        refuse_proprietary_libraries(program, &others)?;
        if blas.is_empty() {
            return Ok(());
        }
        let provided = functions(&self.installation.cpu_runtime()?, true)?;
        let called = functions(file, false)?;
        let mut called = called.iter().filter(|name| name.starts_with("cublas"));
        let missing = called.find(|name| !provided.contains(*name));
        missing.map_or(Ok(()), |function| {
            let why = format!(
                "it calls the cuBLAS function {function}, for which OpenBLAS has no replacement; run it with --backend cuda on a machine with a GPU"
            );
            let what = format!("{program} for the CPU backend");
            Err(BuildError::unsupported(what, why))
        })
    }
}

/// Returns whether `files`, or the program's own libraries that they need, query how many CTAs can be resident.
pub(crate) fn queries_residency(files: &[PathBuf]) -> Result<bool> {
    let mut all = files.to_vec();
    for file in files {
        let own = libraries(file)?.into_iter();
        let own = own.filter(|library| library.supplier() == Supplier::Program);
        all.extend(own.filter_map(|library| library.path));
    }
    for file in all {
        if calls(&file, "cudaOccupancy")? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether the code in a file calls a stub function with the prefix `start`. The linker has resolved the
/// calls to offsets from the next instruction. Returns true for a file without symbols, since it might call one.
fn calls(file: &Path, start: &str) -> Result<bool> {
    let bytes = std::fs::read(file).map_err(BuildError::io("read", file))?;
    let Ok(parsed) = object::File::parse(bytes.as_slice()) else {
        return Ok(false);
    };
    let Some(text) = parsed.section_by_name(".text") else {
        return Ok(false);
    };
    if parsed.symbols().next().is_none() {
        return Ok(true);
    }
    let symbols = (parsed.symbols()).filter(|symbol| symbol.is_definition());
    let functions: Vec<u64> = symbols
        .filter(|symbol| symbol.name().is_ok_and(|name| name.starts_with(start)))
        .map(|symbol| symbol.address())
        .collect();
    let is_distance = |(at, bytes): (u64, &[u8])| {
        let distance = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        functions.contains(&(at + 4).wrapping_add_signed(distance.into()))
    };
    let code = text.data().unwrap_or_default();
    Ok((text.address()..).zip(code.windows(4)).any(is_distance))
}

pub(crate) fn libraries_of_flags(flags: &[String]) -> Vec<Library> {
    let names = flags.iter().filter_map(|flag| flag.strip_prefix("-l"));
    let library = |name| Library {
        name: format!("lib{name}.so"),
        path: None,
    };
    names.map(library).collect()
}

pub fn libraries(file: &Path) -> Result<Vec<Library>> {
    if !has_section(file, ".dynamic")? {
        return Ok(Vec::new());
    }
    let output = Command::new("ldd").arg(file).output();
    let output = output.map_err(BuildError::tool("ldd"))?;
    if !output.status.success() {
        let (status, text) = (output.status, String::from_utf8_lossy(&output.stderr));
        let text = text.trim_end();
        let why = format!(
            "the dynamic loader cannot load it on this machine: `ldd` failed with {status}: {text}"
        );
        return Err(BuildError::unsupported(file.to_string_lossy(), why));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(library).collect())
}

pub(crate) fn has_section(file: &Path, name: &str) -> Result<bool> {
    let content = ReadCache::new(File::open(file).map_err(BuildError::io("read", file))?);
    let parsed = object::File::parse(&content);
    Ok(parsed.is_ok_and(|file| file.section_by_name(name).is_some()))
}

/// Parses a line of `ldd`: `name => path (address)` or `path (address)`. The line for a missing library has no address.
fn library(line: &str) -> Option<Library> {
    let path = |found: &str| Some(found.rsplit_once('(')?.0.trim().to_owned());
    let (name, path) = match line.split_once("=>") {
        Some((name, found)) => (name.trim().to_owned(), path(found)),
        None => {
            let path = path(line)?;
            (path.clone(), Some(path))
        }
    };
    // The Linux kernel's vDSO has no file.
    let path = path.filter(|path| path.contains('/')).map(PathBuf::from);
    Some(Library { name, path })
}

#[cfg(test)]
mod tests;
