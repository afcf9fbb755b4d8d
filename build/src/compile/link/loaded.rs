//! Lists the modules that a program's executable loads when it starts, one list per variant.
//!
//! The modules of an executable and its libraries are compiled in the same stages, regardless of the build system. When
//! a module registers itself (`runtime/core/src/loaded.rs`), the runtime finds the result, a shared object or GPU
//! binary, in the list that an environment variable names. Thus, one executable serves both backends and all probes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use superstep_abi::variable::{MODULES, RUNTIME};
use superstep_trace::Backend;

use crate::compile::object::record;
use crate::compile::steps::hash::{self, KeyHasher};
use crate::compile::steps::stage::{BITCODE, quote, quote_path};
use crate::compile::unit::{Inserted, Module, TABLE, unit_name};
use crate::compile::{BuildError, Builder, Program, Result};
use crate::manifest::Language;

const LIST: &str = "modules.txt";
const LINE_HEAD: usize = 3;

/// Name of a variant's start script; its executable and list are next to it.
const START: &str = "program";
const EXECUTABLE: &str = "executable";

impl Program {
    pub(crate) fn is_built(&self) -> bool {
        let mut units = self.units.iter();
        units.any(|unit| unit.language == Language::Built)
    }
}

pub fn started_by(start: &Path) -> PathBuf {
    let executable = start.with_file_name(EXECUTABLE).canonicalize();
    executable.unwrap_or_else(|_| start.to_owned())
}

/// Returns the identity of a variant, independent of its location: a hash of its executable and of everything that it
/// loads. A bundle's script contains it.
pub fn identity(start: &Path) -> std::io::Result<String> {
    let list = start.with_file_name(LIST);
    if !list.is_file() {
        return hash::of_file(start);
    }
    let mut key = KeyHasher::new("variant");
    key.text(&hash::of_file(&started_by(start))?);
    for line in fs::read_to_string(list)?.lines() {
        for (index, word) in line.split('\t').enumerate() {
            match index {
                0..LINE_HEAD => key.text(word),
                _ => key.text(&hash::of_file(Path::new(word))?),
            };
        }
    }
    Ok(key.finish())
}

impl Builder {
    pub(crate) fn built_modules(&self, program: &Program) -> Result<Vec<Module>> {
        let mut records = Vec::new();
        for unit in &program.units {
            if unit.language != Language::Built {
                return Err(BuildError::unsupported(
                    unit_name(program, unit),
                    "an executable's sources are compiled by its own build system; name only the executable, and the libraries that it opens at run time",
                ));
            }
            let file = program.folder.join(&unit.file);
            if self.options.backend == Backend::Cpu {
                self.check_runs_on_cpu(&program.name, &file)?;
            }
            record::read_program(&file, &mut records)?;
        }
        if records.is_empty() {
            return Err(BuildError::unsupported(
                &program.name,
                "it and its shared libraries contain no device code; build it with `superstep build -- make`, or another command after `--`; use --with to name the programs that a script starts",
            ));
        }
        let modules = (self.options.first_module..).zip(&records);
        let modules = modules.map(|(index, record)| {
            let units = record.units();
            let ir = units.map(|unit| self.runner.text_file("unit.bc", unit));
            let ir = ir.collect::<Result<_, _>>()?;
            Ok(Module::new(program, index, record, ir))
        });
        modules.collect()
    }

    /// Writes the list of the instrumented `modules`.
    pub(crate) fn loaded_list(&self, modules: &[Module], inserted: &Inserted) -> Result<PathBuf> {
        let lines = modules.par_iter();
        let lines = lines.map(|module| self.loaded_line(module, inserted));
        let lines: Vec<String> = lines.collect::<Result<_, _>>()?;
        self.runner.text_file(LIST, lines.concat())
    }

    fn loaded_line(&self, module: &Module, inserted: &Inserted) -> Result<String> {
        let code = self.instrument(module, inserted)?;
        let bitcode = code.join(BITCODE);
        let mut files = match self.options.backend {
            Backend::Cpu => vec![self.cpu_library(module, &bitcode)?],
            Backend::Cuda => vec![self.fatbin(module, inserted, &bitcode)?, code.join(TABLE)],
        };
        files.extend(inserted.host.clone());
        let protocol = self.options.protocol;
        let mut line = format!("{}\t{}\t{protocol}", module.hash, module.index);
        for file in &files {
            line.push_str(&format!("\t{}", file.display()));
        }
        Ok(line + "\n")
    }

    pub fn loaded_modules(&self, program: &Program) -> Result<PathBuf> {
        self.loaded_list(&self.parts(program)?.modules, &self.no_probe()?)
    }

    pub(crate) fn start(&self, executable: &Path, search: &str, list: &Path) -> Result<PathBuf> {
        if self.runner.dry_run.is_some() {
            return Ok(PathBuf::from("@cache").join(START));
        }
        let runtime = self.runtime_libraries()?;
        let runtime: Vec<String> = runtime.iter().map(quote_path).collect();
        let variables = self.variables(&runtime.join(":"), &runtime[0], &quote_path(list));
        let script = script(&format!("{search}{variables}"), &quote_path(executable));
        let mut key = KeyHasher::new("start");
        key.text(&script);
        let write = |folder: &Path| {
            symlink(executable, folder.join(EXECUTABLE))?;
            symlink(list, folder.join(LIST))?;
            write_script(&folder.join(START), &script)
        };
        let folder = (self.runner).folder(key, &[START, EXECUTABLE, LIST], write)?;
        Ok(folder.join(START))
    }

    pub(crate) fn library_search(&self, executable: &Path) -> Result<String> {
        let superstep = quote_path(self.installation.binaries.join("superstep"));
        let runtime = quote_path(self.installation.cpu_runtime()?);
        let paths = [&superstep[..], &quote_path(executable), &runtime];
        Ok(self.proprietary_search(executable, paths)? + &self.driver_search(executable)?)
    }

    fn variables(&self, runtime: &str, first: &str, list: &str) -> String {
        let variables = format!("{RUNTIME}={runtime} {MODULES}={list} ");
        match self.options.backend {
            Backend::Cpu => variables,
            // Proprietary libraries look up driver functions with `dlsym`, which finds the interposer only if it is
            // preloaded.
            Backend::Cuda => {
                format!("{variables}LD_PRELOAD=\"${{LD_PRELOAD:+$LD_PRELOAD:}}\"{first} ")
            }
        }
    }

    /// Copies the modules that `start` loads into a bundle's folder `place`, and writes a script `name` there that starts
    /// `executable`, a file in `place/built`. The script and the list use relative paths; the bundle's shared libraries
    /// are in `lib`.
    pub fn place(&self, start: &Path, executable: &str, place: &Path, name: &str) -> Result<()> {
        let identity = identity(start);
        let identity = identity.map_err(BuildError::io("read the files loaded by", start))?;
        let mut head = String::from(
            "here=$(CDPATH= cd \"$(dirname \"$0\")\" && pwd) || exit\nlib=$here/../../lib\n\
             export LD_LIBRARY_PATH=\"$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\n",
        );
        let built = format!("\"$here\"/built/{}", quote(executable));
        let list = start.with_file_name(LIST);
        if list.is_file() {
            place_modules(&list, &place.join("modules"), name)?;
            let runtime = self.runtime_libraries()?;
            let names = runtime.iter().filter_map(|path| path.file_name()?.to_str());
            let names: Vec<&str> = names.collect();
            let runtime = names.iter().map(|name| format!("$lib/{name}"));
            let runtime = runtime.collect::<Vec<_>>().join(":");
            let list = format!("$here/modules/{name}.txt");
            let first = format!("\"$lib\"/{}", names[0]);
            let paths = ["\"$lib\"/../superstep", &built, &first];
            head.push_str(&self.proprietary_search(&started_by(start), paths)?);
            head.push_str(&self.variables(&runtime, names[0], &list));
        }
        let script = script(&head, &built) + &format!("# {identity}\n");
        let start = place.join(name);
        write_script(&start, &script).map_err(BuildError::io("write", &start))
    }
}

fn place_modules(list: &Path, modules: &Path, name: &str) -> Result<()> {
    fs::create_dir_all(modules).map_err(BuildError::io("create", modules))?;
    let text = fs::read_to_string(list).map_err(BuildError::io("read", list))?;
    let mut placed = String::new();
    // Every line names the probe's host code, which must be copied only once.
    let mut names: Vec<PathBuf> = Vec::new();
    for line in text.lines() {
        let mut words: Vec<String> = line.split('\t').map(str::to_owned).collect();
        for word in words.iter_mut().skip(LINE_HEAD) {
            let from = PathBuf::from(&*word);
            let known = names.iter().position(|known| *known == from);
            let number = known.unwrap_or(names.len());
            let extension = from.extension().unwrap_or_default().to_string_lossy();
            *word = format!("{name}-{number}.{extension}");
            if known.is_none() {
                let to = modules.join(&*word);
                fs::copy(&from, &to).map_err(BuildError::io("write", to))?;
                names.push(from);
            }
        }
        placed.push_str(&words.join("\t"));
        placed.push('\n');
    }
    let list = modules.join(format!("{name}.txt"));
    fs::write(&list, placed).map_err(BuildError::io("write", &list))
}

fn script(variables: &str, executable: &str) -> String {
    format!("#!/bin/sh\n{variables}exec {executable} \"$@\"\n")
}

pub(crate) fn write_script(path: &Path, text: &str) -> std::io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}
