//! Stand-ins for the driver libraries. Programs are linked with them, and load them at run time on the CPU backend,
//! which has no driver.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use superstep_trace::Backend;

use crate::compile::steps::stage::{Args, Subject, quote_path};
use crate::compile::{Builder, Library, Result, libraries};

pub struct Driver {
    pub link: &'static str,
    pub file: &'static str,
    headers: &'static [&'static str],
    start: &'static str,
    /// Whether the real library works with the CPU backend. libcuda does not: it cannot access the backend's memory.
    works_with_cpu: bool,
}

pub const DRIVERS: [Driver; 2] = [
    Driver {
        link: "cuda",
        file: "libcuda.so.1",
        headers: &["cuda.h", "cudaEGL.h", "cudaGL.h", "cudaVDPAU.h"],
        start: "cu",
        works_with_cpu: false,
    },
    Driver {
        link: "nvidia-ml",
        file: "libnvidia-ml.so.1",
        headers: &["nvml.h"],
        start: "nvml",
        works_with_cpu: true,
    },
];

impl Driver {
    /// Returns the names of the library's functions, from the headers in `include`; empty if they are missing.
    fn functions(&self, include: &Path) -> BTreeSet<String> {
        let header = |name: &&str| fs::read_to_string(include.join(name)).ok();
        let text: String = self.headers.iter().filter_map(header).collect();
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let is_function = |word: &&str| {
            let rest = word.strip_prefix(self.start);
            rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
        };
        words.filter(is_function).map(str::to_owned).collect()
    }
}

impl Builder {
    /// Builds the stand-in for a driver library; `None` if the CUDA toolkit lacks its headers.
    pub fn driver(&self, driver: &Driver) -> Result<Option<PathBuf>> {
        let functions = driver.functions(&self.toolchain.cuda.include);
        if functions.is_empty() {
            return Ok(None);
        }
        let names = self.list_of_names(&functions)?;
        let source = (self.runner).text_file("driver.c", include_bytes!("driver.c"))?;
        let args = Args::of(["-x", "c", "-O2", "-fPIC", "-Wall", "-Werror", "-shared"])
            .text(format!("-Wl,-soname,{}", driver.file))
            .input_in("-DSUPERSTEP_NAMES=\"", names, "\"")
            .input(source)
            .texts(["-x", "none"])
            .input(self.cudart_stub()?)
            .text("-ldl");
        let subject = Subject::of(driver.file, Path::new("."));
        let library = (self.runner).file("driver", &self.clang(), subject, args, driver.file)?;
        Ok(Some(library))
    }

    /// Replaces the driver libraries in the linker flags with stand-ins, so that programs build without a driver.
    pub(crate) fn with_drivers(&self, flags: &[String]) -> Result<Args> {
        flags.iter().try_fold(Args::default(), |args, flag| {
            let mut drivers = DRIVERS.iter();
            let driver = drivers.find(|driver| *flag == format!("-l{}", driver.link));
            let library = driver.map(|driver| self.driver(driver)).transpose()?;
            Ok(match library.flatten() {
                Some(library) => args.input(library),
                None => args.text(flag),
            })
        })
    }

    /// Returns the stand-in that a program needs for a library on the CPU backend, if any.
    pub fn driver_stand_in(&self, library: &Library) -> Result<Option<PathBuf>> {
        let is_library = |driver: &&Driver| driver.file == library.file_name();
        match DRIVERS.iter().find(is_library) {
            Some(driver) if driver.works_with_cpu && library.path.is_some() => Ok(None),
            Some(driver) if self.options.backend == Backend::Cpu => self.driver(driver),
            _ => Ok(None),
        }
    }

    /// Returns the first lines of a start script, which let `executable` find the stand-ins for the driver libraries.
    pub(crate) fn driver_search(&self, executable: &Path) -> Result<String> {
        if self.runner.dry_run.is_some() || self.options.backend != Backend::Cpu {
            return Ok(String::new());
        }
        let mut lines = String::new();
        for library in libraries(executable)? {
            let Some(folder) = self.driver_stand_in(&library)? else {
                continue;
            };
            let folder = folder.parent().unwrap_or(Path::new("."));
            let folder = quote_path(folder);
            lines.push_str(&format!(
                "export LD_LIBRARY_PATH={folder}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\n"
            ));
        }
        Ok(lines)
    }
}
