//! The reference for the native build: the same program, built by nvcc on the machine where both run. That machine
//! might have neither Clang nor the sources, so everything that nvcc needs is written into one file.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::compile::object::linked;
use crate::compile::source::constants;
use crate::compile::source::sources::{normalised, own_texts};
use crate::compile::{BuildError, Builder, Program, Result};
use crate::failure::IoError;
use crate::manifest::Language;
use crate::run::die_with_this_process;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Reference {
    #[default]
    NotBuilt,
    /// No reference was built; contains the reason.
    Refused(String),
    /// Both programs are built without fused multiply-adds: compilers fuse different operations, which changes the last
    /// digits of results.
    Recipe {
        /// A [`Recipe`] as JSON.
        recipe: PathBuf,
        /// The program to compare with nvcc's, built like the native one.
        native: PathBuf,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Recipe {
    /// Working folder of nvcc, relative to the folder with the files.
    folder: PathBuf,
    files: BTreeMap<PathBuf, String>,
    commands: Vec<Vec<String>>,
}

const PROGRAM: &str = "superstep-reference";

impl Builder {
    /// Builds the program that is compared with nvcc's build of `program`, and writes nvcc's commands to a file.
    pub(crate) fn reference(&self, program: &Program) -> Result<Reference> {
        if program.is_built() {
            let why = "the program's own build system built it";
            return Ok(Reference::Refused(why.to_owned()));
        }
        let mut unfused = program.clone();
        unfused.flags.all.push("-ffp-contract=off".to_owned());
        let parts = self.parts(&unfused)?;
        let no_probe = self.no_probe()?;
        let [native] = self.variants(&unfused, &parts, &[()], |()| Ok(no_probe.clone()))?;
        let recipe = Recipe::new(program, self.options.lowest_arch())?;
        let text = serde_json::to_vec(&recipe).map_err(|error| {
            BuildError::unsupported(
                &program.name,
                format!("its nvcc commands cannot be written: {error}"),
            )
        })?;
        let recipe = self.runner.text_file("nvcc.json", &text)?;
        Ok(Reference::Recipe { recipe, native })
    }
}

impl Recipe {
    fn new(program: &Program, arch: u32) -> Result<Self> {
        let mut files = constants::set(program)?;
        for unit in &program.units {
            for (file, text) in own_texts(program, unit) {
                files.entry(file).or_insert(text);
            }
        }
        // Files and folders above the program's folder keep their position relative to it.
        let above = |path: &PathBuf| {
            let parts = path.components();
            let parts = parts.take_while(|part| *part == Component::ParentDir);
            parts.count()
        };
        let depth = files.keys().chain(&program.include).map(above).max();
        let levels = (0..depth.unwrap_or(0)).map(|level| level.to_string());
        let folder: PathBuf = levels.collect();
        let placed = |(file, text): (PathBuf, String)| (normalised(&folder.join(file)), text);
        Ok(Self {
            files: files.into_iter().map(placed).collect(),
            commands: commands(program, arch),
            folder,
        })
    }

    pub fn build(recipe: &Path, nvcc: &Path, folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
        let text = fs::read(recipe).map_err(IoError::at("read", recipe))?;
        let recipe: Self = serde_json::from_slice(&text)
            .map_err(|error| IoError::at("read", recipe)(error.into()))?;
        let write = |path: &Path, text: &str| {
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(path, text)
        };
        for (file, text) in &recipe.files {
            let path = folder.join(file);
            write(&path, text).map_err(IoError::at("write", &path))?;
        }
        let working_folder = folder.join(&recipe.folder);
        fs::create_dir_all(&working_folder).map_err(IoError::at("create", &working_folder))?;
        for arguments in &recipe.commands {
            let mut command = Command::new(nvcc);
            command.args(arguments).current_dir(&working_folder);
            die_with_this_process(&mut command);
            let output = command.output().map_err(IoError::at("run", nvcc))?;
            if !output.status.success() {
                let text = [output.stderr, output.stdout].concat();
                let text = String::from_utf8_lossy(&text);
                let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                let first = lines.next().unwrap_or("no message");
                return Err(format!("nvcc failed: {first}").into());
            }
        }
        Ok(working_folder.join(PROGRAM))
    }
}

/// Finds nvcc from a CUDA toolkit on this machine. A real toolkit contains `cicc`; Superstep's stand-in does not.
pub fn find_nvcc() -> Option<PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"].into_iter();
    let named = named.filter_map(|name| Some(PathBuf::from(std::env::var_os(name)?).join("bin")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = named
        .chain(std::env::split_paths(&path))
        .chain(["/usr/local/cuda/bin".into()]);
    folders.map(|folder| folder.join("nvcc")).find(|nvcc| {
        let nvcc = nvcc.canonicalize();
        nvcc.is_ok_and(|nvcc| nvcc.with_file_name("../nvvm/bin/cicc").is_file())
    })
}

fn commands(program: &Program, arch: u32) -> Vec<Vec<String>> {
    let device = [format!("-arch=sm_{arch}"), "-fmad=false".to_owned()];
    let linked = linked::is_requested(&program.flags).then(|| "-rdc=true".to_owned());
    let include = program.include.iter();
    let include = include.map(|folder| format!("-I{}", folder.display()));
    let mut objects = Vec::new();
    let mut list = Vec::new();
    for (number, unit) in program.units.iter().enumerate() {
        let object = format!("superstep-{number}.o");
        let language = match unit.language {
            Language::Cuda => "cu",
            Language::C => "c",
            Language::Cpp | Language::Built => "c++",
        };
        let host = compiler_flags(program.flags.all.iter().chain(&program.flags.host));
        let mut command =
            Vec::from(["-x", language, "-O3", "-w", "-c", "-o", &object].map(str::to_owned));
        command.extend(include.clone().chain(host));
        if unit.language == Language::Cuda {
            command.extend(["--extended-lambda", "--expt-relaxed-constexpr"].map(str::to_owned));
            command.extend(device.iter().cloned().chain(linked.clone()));
        }
        command.push(unit.file.display().to_string());
        objects.push(object);
        list.push(command);
    }
    let mut link = Vec::from(["-o", PROGRAM, &device[0]].map(str::to_owned));
    link.extend(linked.into_iter().chain(objects));
    link.extend(linker_flags(&program.flags.link));
    list.push(link);
    list
}

/// Flags that take a value and that both compilers accept.
const COMMON: [&str; 5] = ["-D", "-I", "-U", "-include", "-isystem"];

/// Converts Clang's flags to nvcc's, with `-Xcompiler` before those of the host compiler.
fn compiler_flags<'a>(flags: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut result = Vec::new();
    let mut takes_value = false;
    for flag in flags.filter(|flag| !linked::is_flag(flag)) {
        let starts = |start: &&str| flag.starts_with(start);
        let is_common = COMMON
            .iter()
            .chain(&["-std=", "--default-stream"])
            .any(starts);
        if !takes_value && !is_common {
            result.push("-Xcompiler".to_owned());
        }
        result.push(flag.clone());
        takes_value = COMMON.contains(&flag.as_str());
    }
    result
}

fn linker_flags(flags: &[String]) -> Vec<String> {
    let mut result = Vec::new();
    for flag in flags {
        if !matches!(flag.as_bytes(), [b'-', b'l' | b'L', ..]) {
            result.push("-Xcompiler".to_owned());
        }
        result.push(flag.clone());
    }
    result
}

#[cfg(test)]
mod tests;
