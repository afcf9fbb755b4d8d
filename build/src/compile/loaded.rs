//! Programs that their own build system builds once, and that are instrumented when they are run.
//!
//! The stand-in for nvcc makes a host object whose image is a text with the name of its module, and which carries the module's device
//! code as a record. The records of an executable and its libraries go through the same stages as any device code. What comes
//! out, a shared object or a GPU binary for each module, is loaded by the runtime when the module registers itself
//! (`runtime/core/src/loaded.rs`), from a list that one environment variable names. So one executable serves both backends and all probes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use superstep_trace::{Backend, Probe};

use super::builder::{Builder, Parts};
use super::error::BuildError;
use super::hash::{self, KeyHasher};
use super::link::RuntimePath;
use super::record::{self, Head, Record, SECTION};
use super::stage::{Args, DEPENDENCIES, LIBRARY, MESSAGES, OBJECT, quote};
use super::unit::{Instrumented, Module, Unit, own_flags, unit_name};
use super::{Program, depfile};
use crate::manifest::Language;

const LIST: &str = "modules.txt";
/// Words of its lines before the files.
const LINE_HEAD: usize = 3;
const PREPROCESSED: &str = "out.ii";

/// What a CUDA file was compiled to.
pub struct CarryingObject {
    pub object: PathBuf,
    /// The files that were read, as the compiler named them.
    pub dependencies: Vec<PathBuf>,
    /// The compiler's warnings.
    pub messages: String,
}

impl Program {
    /// Whether its own build system built it.
    pub fn is_built(&self) -> bool {
        self.units
            .iter()
            .any(|unit| unit.language == Language::Built)
    }

    /// How code is compiled that is linked with its modules: they become executables, or shared objects.
    pub(super) fn place_flags(&self) -> &'static [&'static str] {
        match self.is_built() {
            true => &["-fPIC", "-fvisibility=hidden"],
            false => &["-fPIE"],
        }
    }
}

impl Builder {
    /// The object of the only unit of `program`, which carries its device code.
    pub fn carrying_object(
        &self,
        program: &Program,
        relocatable: bool,
    ) -> Result<CarryingObject, BuildError> {
        let unit = only_unit(program, relocatable);
        let ir = self.unit_device_ir(&unit)?;
        let bitcode = fs::read(&ir).map_err(BuildError::io("read", &ir))?;
        let record = Record {
            head: Head {
                name: unit.unit.file.display().to_string(),
                folder: text(&program.folder)?,
                relocatable,
                units: vec![bitcode.len()],
            },
            bitcode,
        };
        let mut with_record = program.clone();
        with_record.flags.host.extend(self.carry(&record)?);
        let unit = Unit {
            program: &with_record,
            ..unit
        };
        let image = if relocatable {
            None
        } else {
            Some(self.loaded_image(&record)?)
        };
        let object = self.host_object(&unit, image.as_deref())?;
        let beside = |file: &Path, name: &str| {
            let path = file.parent().unwrap_or(Path::new(".")).join(name);
            fs::read_to_string(path).unwrap_or_default()
        };
        let mut dependencies = depfile::parse(&beside(&object, DEPENDENCIES));
        dependencies.extend(depfile::parse(&beside(&ir, DEPENDENCIES)));
        // What the cache holds may vanish from it.
        dependencies.retain(|path| !path.starts_with(self.runner.cache.root()));
        let mut seen = std::collections::HashSet::new();
        dependencies.retain(|path| seen.insert(path.clone()));
        Ok(CarryingObject {
            messages: beside(&object, MESSAGES),
            object,
            dependencies,
        })
    }

    /// The host half of the only unit of `program`, preprocessed.
    pub fn preprocessed(&self, program: &Program) -> Result<PathBuf, BuildError> {
        let unit = only_unit(program, false);
        let args = Args::of(["-x", "cuda", "--cuda-host-only", "-E"])
            .and(self.cuda_flags(&unit)?)
            .and(own_flags(program, &program.flags.host));
        self.compile("preprocess", &unit, args, PREPROCESSED)
    }

    /// The device code of the only unit of `program`, without probes, as `kind`: ptx, cubin or fatbin.
    pub fn device_code_as(&self, program: &Program, kind: &str) -> Result<PathBuf, BuildError> {
        let unit = only_unit(program, false);
        let ir = self.unit_device_ir(&unit)?;
        let module = Module {
            program,
            name: unit.name.clone(),
            units: vec![unit],
            index: 0,
            loaded: None,
        };
        if kind == "fatbin" {
            let code = Instrumented {
                has_probe: false,
                table: ir.clone(),
                bitcode: ir.clone(),
            };
            return self.fatbin(&module, &[ir], &code);
        }
        let ptx = self.ptx(&module, &ir)?;
        if kind == "ptx" {
            return Ok(ptx);
        }
        let cubins = self.cubins(&module, &ptx)?;
        Ok(cubins.into_iter().next().unwrap_or(ptx))
    }

    /// The object that registers all relocatable device code in `files`, linked; `None` when there is none.
    pub fn device_link(
        &self,
        folder: &Path,
        files: &[PathBuf],
    ) -> Result<Option<PathBuf>, BuildError> {
        let mut records = Vec::new();
        for file in files {
            records.extend(record::read(file)?);
        }
        records.retain(|record| record.head.relocatable);
        if records.is_empty() {
            return Ok(None);
        }
        let names: Vec<&str> = records
            .iter()
            .map(|record| record.head.name.as_str())
            .collect();
        let linked = Record::linked(names.join(" + "), text(folder)?, &records);
        let image = self.loaded_image(&linked)?;
        let carried = self.carry(&linked)?;
        let program = nothing(folder);
        let module = loaded_module(&program, 0, &linked);
        self.linked_image_object(&module, &image, carried).map(Some)
    }

    /// An object with nothing in it.
    pub fn empty_object(&self) -> Result<PathBuf, BuildError> {
        let source = self.runner.text_file("nothing.c", b"")?;
        let program = nothing(Path::new("."));
        let module = Module {
            program: &program,
            units: Vec::new(),
            index: 0,
            name: "device link".into(),
            loaded: None,
        };
        let args = Args::of(["-x", "c", "-c"]).input(source);
        self.plain("device link", &module, &self.tools.clangxx, args, OBJECT)
    }

    /// Flags that put `record` into the object that is compiled with them.
    fn carry(&self, record: &Record) -> Result<[String; 2], BuildError> {
        let file = self.runner.text_file("module.bin", &record.encode())?;
        let path = file
            .to_string_lossy()
            .replace('\\', "\\\\")
            .replace('"', "\\\"");
        let header = format!(
            "__asm__(\".pushsection {SECTION},\\\"\\\",@progbits\\n.incbin \\\"{path}\\\"\\n.popsection\");\n"
        );
        let header = self.runner.text_file("module.h", header.as_bytes())?;
        Ok(["-include".into(), header.display().to_string()])
    }

    /// The text that stands where the CUDA binary would.
    fn loaded_image(&self, record: &Record) -> Result<PathBuf, BuildError> {
        let text = format!("superstep-module {}\n\0", record.hash());
        self.runner.text_file("module.txt", text.as_bytes())
    }

    /// What a program's executable and libraries carry, in place of what would be compiled.
    pub(super) fn loaded_parts<'a>(&self, program: &'a Program) -> Result<Parts<'a>, BuildError> {
        let mut records: Vec<Record> = Vec::new();
        for unit in &program.units {
            if unit.language != Language::Built {
                return Err(BuildError::Unsupported {
                    subject: unit_name(program, unit),
                    reason: "an executable's sources are compiled by its own build system; name only the executable, and the libraries that it opens while it runs".into(),
                });
            }
            let file = program.folder.join(&unit.file);
            if self.options.backend == Backend::Cpu {
                self.runs_on_the_cpu(&program.name, &file)?;
            }
            for record in record::of_program(&file)? {
                if !records.contains(&record) {
                    records.push(record);
                }
            }
        }
        if records.is_empty() {
            return Err(BuildError::Unsupported {
                subject: program.name.clone(),
                reason: "it and its shared libraries carry no device code; build it with `superstep build -- make`, or whatever builds it"
                    .into(),
            });
        }
        let mut device_code = Vec::new();
        for record in &records {
            let units = record
                .units()
                .map(|unit| self.runner.text_file("unit.bc", unit));
            device_code.push(units.collect::<Result<_, _>>()?);
        }
        let modules = (self.options.first_module..).zip(&records);
        let modules = modules.map(|(index, record)| loaded_module(program, index, record));
        Ok(Parts {
            modules: modules.collect(),
            device_code,
            helpers: Vec::new(),
            support: self.support(program.place_flags())?,
            place_flags: program.place_flags(),
        })
    }

    /// The line of the list of modules that says what the runtime loads for one.
    pub(super) fn loaded_line(
        &self,
        module: &Module<'_>,
        loaded: &Loaded,
        ir: &[PathBuf],
        code: &Instrumented,
    ) -> Result<PathBuf, BuildError> {
        let mut files = match self.options.backend {
            Backend::Cpu => vec![self.loaded_library(module, &code.bitcode)?],
            Backend::Cuda => vec![self.fatbin(module, ir, code)?, code.table.clone()],
        };
        if self.runner.dry_run.is_none() {
            for file in &mut files {
                *file = file
                    .canonicalize()
                    .map_err(BuildError::io("find", &*file))?;
            }
        }
        let mut line = format!(
            "{}\t{}\t{}",
            loaded.hash, module.index, self.options.protocol
        );
        for file in &files {
            line.push_str(&format!("\t{}", file.display()));
        }
        self.runner.text_file("module.txt", line.as_bytes())
    }

    fn loaded_library(&self, module: &Module<'_>, bitcode: &Path) -> Result<PathBuf, BuildError> {
        let args = Args::of([
            "-x",
            "ir",
            "-O3",
            "-fPIC",
            "-shared",
            "-Wno-override-module",
        ])
        .texts(self.options.cpu_flags())
        .input(bitcode);
        self.plain("x86 code", module, &self.tools.clangxx, args, LIBRARY)
    }

    /// The list of modules made of `lines`. Each loads `host` too, a probe's host code; only the first one does something.
    fn loaded_list(&self, lines: &[PathBuf], host: Option<&Path>) -> Result<PathBuf, BuildError> {
        let mut list = String::new();
        for line in lines.iter().filter(|_| self.runner.dry_run.is_none()) {
            list.push_str(&fs::read_to_string(line).map_err(BuildError::io("read", line))?);
            if let Some(host) = host {
                list.push_str(&format!("\t{}", host.display()));
            }
            list.push('\n');
        }
        self.runner.text_file(LIST, list.as_bytes())
    }

    /// What starts the program with the modules that `lines` list: a script, which is as good as an executable of its own. For another
    /// machine the list itself, which [`Builder::place_loaded`] puts in its place there.
    pub(super) fn loaded_start(
        &self,
        program: &Program,
        lines: &[PathBuf],
        host: Option<&Path>,
    ) -> Result<PathBuf, BuildError> {
        let list = self.loaded_list(lines, host)?;
        let (Some(unit), RuntimePath::Here) = (program.units.first(), &self.options.runtime_path)
        else {
            return Ok(list);
        };
        let executable = program.folder.join(&unit.file);
        let word = |path: &Path| quote(&path.to_string_lossy());
        let runtime = self.runtime_libraries()?;
        let runtime: Vec<_> = runtime.iter().map(|path| path.to_string_lossy()).collect();
        let preload = self.preload(&runtime);
        let superstep = word(&self.installation.binaries.join("superstep"));
        let closed = self.find_closed(
            &executable,
            [&superstep, &word(&executable), &quote(&runtime[0])],
        )?;
        let mut script = format!(
            "#!/bin/sh\n{closed}SUPERSTEP_RUNTIME={} SUPERSTEP_MODULES={} {preload}exec {} \"$@\"\n",
            quote(&runtime.join(":")),
            word(&list),
            word(&executable),
        );
        if self.runner.dry_run.is_none() {
            // Whoever compares two runs by what was started sees another build.
            let hash = hash::of_file(&executable).map_err(BuildError::source(&executable))?;
            script.push_str(&format!("# {hash}\n"));
        }
        let path = self.runner.text_file("program", script.as_bytes())?;
        if self.runner.dry_run.is_none() {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
                .map_err(BuildError::io("make executable", &path))?;
        }
        Ok(path)
    }

    /// Puts `list`, which was made for [`RuntimePath::Relative`], and the code in it below the folder `place`, and there, as `name`,
    /// the script that starts `executable`. The script and the list know files by their own places.
    pub fn place_loaded(
        &self,
        list: &Path,
        executable: &Path,
        place: &Path,
        name: &str,
    ) -> Result<(), BuildError> {
        let modules = place.join("modules");
        fs::create_dir_all(&modules).map_err(BuildError::io("create", &modules))?;
        let text = fs::read_to_string(list).map_err(BuildError::io("read", list))?;
        let executable_hash = hash::of_file(executable).map_err(BuildError::source(executable))?;
        let mut key = KeyHasher::new("placed");
        key.text(&executable_hash);
        let mut placed = String::new();
        // A probe's host code is in each line and must be one file.
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
                    key.text(&hash::of_file(&from).map_err(BuildError::io("read", &from))?);
                    names.push(from);
                }
            }
            placed.push_str(&words.join("\t"));
            placed.push('\n');
        }
        let list = modules.join(format!("{name}.txt"));
        fs::write(&list, placed).map_err(BuildError::io("write", &list))?;
        let RuntimePath::Relative(libraries) = &self.options.runtime_path else {
            return Ok(());
        };
        let runtime = self.runtime_libraries()?;
        let names = runtime
            .iter()
            .map(|path| path.file_name().unwrap_or_default());
        let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
        let preload = self.preload(&names);
        let runtime: Vec<String> = names.iter().map(|name| format!("$lib/{name}")).collect();
        let file_name = executable.file_name().unwrap_or_default();
        let built = format!("\"$here\"/built/{}", quote(&file_name.to_string_lossy()));
        let closed = self.find_closed(
            executable,
            [
                "\"$lib\"/../superstep",
                &built,
                &format!("\"{}\"", runtime[0]),
            ],
        )?;
        let script = format!(
            "#!/bin/sh\nhere=$(CDPATH= cd \"$(dirname \"$0\")\" && pwd) || exit\nlib=$here/{libraries}\n\
             export LD_LIBRARY_PATH=\"$lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\"\n{closed}SUPERSTEP_RUNTIME={} \
             SUPERSTEP_MODULES=$here/modules/{name}.txt {preload}exec {built} \"$@\"\n# {}\n",
            runtime.join(":"),
            key.finish(),
        );
        let start = place.join(name);
        fs::write(&start, script).map_err(BuildError::io("write", &start))?;
        fs::set_permissions(&start, fs::Permissions::from_mode(0o755))
            .map_err(BuildError::io("make executable", &start))
    }

    /// Before a command: closed libraries find the driver by `dlsym`, which is the interposer's only where it comes before the C library.
    fn preload(&self, runtime: &[std::borrow::Cow<'_, str>]) -> String {
        match (self.options.backend, runtime.first()) {
            (Backend::Cuda, Some(interposer)) => {
                let interposer = quote(interposer);
                format!("LD_PRELOAD={interposer}\"${{LD_PRELOAD:+:$LD_PRELOAD}}\" ")
            }
            _ => String::new(),
        }
    }

    /// The list of the modules of `program`, untraced.
    pub fn loaded_modules(&self, program: &Program) -> Result<PathBuf, BuildError> {
        let parts = self.loaded_parts(program)?;
        let nothing = self.inserted(Probe::None, &parts)?;
        self.loaded_list(&self.all_objects(&parts, &nothing)?, None)
    }
}

/// A folder in which the compiler runs.
fn text(folder: &Path) -> Result<String, BuildError> {
    let text = folder.to_str().map(str::to_owned);
    text.ok_or_else(|| BuildError::Unsupported {
        subject: folder.display().to_string(),
        reason: "the folder's name is not UTF-8; build in another folder".into(),
    })
}

/// A module that the runtime loads when it registers itself.
pub(super) struct Loaded {
    pub(super) hash: String,
    /// Its name in tables.
    pub(super) files: String,
}

fn loaded_module<'a>(program: &'a Program, index: usize, record: &Record) -> Module<'a> {
    Module {
        program,
        units: Vec::new(),
        index,
        name: format!("{}/{}", program.name, record.head.name),
        loaded: Some(Loaded {
            hash: record.hash(),
            files: record.head.name.clone(),
        }),
    }
}

/// The only unit of `program`. Its static kernels and variables are told from those of other files by a number made of everything
/// that decides what it is, since nobody numbers the files of a project.
fn only_unit(program: &Program, relocatable: bool) -> Unit<'_> {
    let unit = &program.units[0];
    let mut key = KeyHasher::new("unit");
    key.text(&program.folder.join(&unit.file).to_string_lossy());
    key.text(&format!("{:?}{:?}", program.include, program.flags));
    Unit {
        program,
        unit,
        index: usize::from_str_radix(&key.finish()[..12], 16).unwrap_or_default(),
        name: unit_name(program, unit),
        linked: relocatable,
    }
}

/// A program that only gives commands a folder.
fn nothing(folder: &Path) -> Program {
    Program {
        name: "nvcc".into(),
        folder: folder.to_owned(),
        units: Vec::new(),
        include: Vec::new(),
        flags: crate::manifest::Flags::default(),
        constants: Vec::new(),
    }
}
