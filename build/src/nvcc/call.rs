//! Executes a single invocation of `nvcc`: compiles, archives or links.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::flags::Mode;
use super::invocation::{NvccInvocation, Word};
use super::{CallResult, Failure, Nvcc, failed, runtime_libraries};
use crate::compile::source::macros::nvcc_macros;
use crate::compile::{Builder, HostObject, Program};
use crate::manifest::{Flags, Language, TranslationUnit};

pub(super) struct Call<'a> {
    pub(super) nvcc: &'a Nvcc,
    pub(super) builder: Builder,
    pub(super) args: NvccInvocation,
    pub(super) folder: PathBuf,
    pub(super) scratch: tempfile::TempDir,
}

impl Call<'_> {
    pub(super) fn run(&self) -> CallResult {
        let files = || self.args.words.iter().filter_map(Word::file);
        if files().next().is_none() {
            let why = "No input files specified; use option --help for more information";
            return Err(Failure::Fatal(why.into()));
        }
        for file in files() {
            self.kind(file)?;
            fs::metadata(self.folder.join(file)).map_err(|error| {
                let file = file.display();
                Failure::Fatal(format!("Could not open input file '{file}' ({error})"))
            })?;
        }
        match self.args.mode {
            Mode::Link | Mode::SharedLibrary => self.link(),
            Mode::DeviceLink => {
                let object = match self.link_device_code(&self.objects()?)? {
                    Some(object) => object,
                    None => self.builder.empty_object()?,
                };
                self.put(&object, self.output("a_dlink.o"))
            }
            Mode::Archive => {
                let objects = self.objects()?;
                let archive = self.folder.join(self.output("a.a"));
                let archiver = self.args.archiver.as_deref();
                let mut command = Command::new(archiver.unwrap_or(Path::new("ar")));
                command.arg("rcs").args(&self.args.archiver_options);
                command
                    .arg(archive)
                    .args(objects.iter().filter_map(Word::file));
                execute(&mut command)
            }
            _ => files().try_for_each(|file| self.translate(file)),
        }
    }

    pub(super) fn cuda_files(&self) -> Vec<PathBuf> {
        let files = self.args.words.iter().filter_map(Word::file);
        let files = files.filter(|file| matches!(self.kind(file), Ok(Language::Cuda)));
        files.map(|file| self.folder.join(file)).collect()
    }

    fn output<'a>(&'a self, default: &'a str) -> &'a Path {
        self.args.output.as_deref().unwrap_or(Path::new(default))
    }

    fn kind(&self, file: &Path) -> Result<Language, Failure> {
        let error = || Failure::Fatal(format!("Don't know what to do with '{}'", file.display()));
        let extension = file.extension().and_then(std::ffi::OsStr::to_str);
        Ok(match (self.args.language.as_deref(), extension) {
            (_, Some("o" | "obj" | "a" | "so")) => Language::Built,
            (Some("cu"), _) => Language::Cuda,
            (Some("c++"), _) => Language::Cpp,
            (Some("c"), _) => Language::C,
            (None, Some("cu")) => Language::Cuda,
            (None, Some("cpp" | "cc" | "cxx" | "c++" | "C")) => Language::Cpp,
            (None, Some("c")) => Language::C,
            // `libx.so.1`
            _ if file.to_string_lossy().contains(".so.") => Language::Built,
            _ => return Err(error()),
        })
    }

    fn translate(&self, file: &Path) -> CallResult {
        let extension = match self.args.mode {
            Mode::Ptx => "ptx",
            Mode::Cubin => "cubin",
            Mode::Fatbin => "fatbin",
            _ => "o",
        };
        let named =
            |extension| Path::new(file.file_name().unwrap_or_default()).with_extension(extension);
        let output = self.args.output.clone().unwrap_or_else(|| {
            let folder = self.args.output_folder.as_deref();
            folder.unwrap_or(Path::new("")).join(named(extension))
        });
        match (self.args.mode, self.kind(file)?) {
            (Mode::Objects, Language::Built) => Ok(()),
            (Mode::Objects, source) => self.object(file, source, &output),
            (Mode::Dependencies, Language::Cuda) => {
                self.write_dependencies(&self.cuda_object(file)?, &named("o"))
            }
            (Mode::Preprocessed, Language::Cuda) => {
                let text = self.builder.preprocessed(&self.program(file))?;
                if let Some(to) = &self.args.output {
                    return self.put(&text, to);
                }
                let text = fs::read_to_string(&text);
                let text = text.map_err(|error| failed("read the preprocessed file", error))?;
                print!("{text}");
                Ok(())
            }
            (Mode::Ptx | Mode::Cubin | Mode::Fatbin, Language::Cuda) => {
                let program = self.program(file);
                self.put(&self.builder.device_code_as(&program, extension)?, &output)
            }
            (Mode::Preprocessed | Mode::Dependencies, source @ (Language::C | Language::Cpp)) => {
                let flag = match (self.args.mode, self.args.own_dependencies) {
                    (Mode::Preprocessed, _) => "-E",
                    (_, true) => "-MM",
                    (_, false) => "-M",
                };
                let mut command = self.host_compiler(source);
                command.arg(flag).arg(file);
                if let Some(to) = &self.args.output {
                    command.arg("-o").arg(to);
                }
                execute(&mut command)
            }
            _ => {
                let file = file.display();
                let why = format!("'{file}' cannot be compiled to .{extension}");
                Err(Failure::Fatal(why))
            }
        }
    }

    fn object(&self, file: &Path, source: Language, output: &Path) -> CallResult {
        if let Language::Cuda = source {
            let object = self.cuda_object(file)?;
            eprint!("{}", object.messages);
            if self.args.dependencies {
                self.write_dependencies(&object, output)?;
            }
            return self.put(&object.object, output);
        }
        let mut command = self.host_compiler(source);
        command.arg("-c").arg(file).arg("-o").arg(output);
        if self.args.dependencies {
            let is_own = self.args.own_dependencies;
            command
                .arg(if is_own { "-MMD" } else { "-MD" })
                .args(self.args.dependency_targets.then_some("-MP"))
                .arg("-MF")
                .arg(self.dependency_file(output));
            if let Some(target) = &self.args.dependency_target {
                command.arg("-MT").arg(target);
            }
        }
        execute(&mut command)
    }

    fn cuda_object(&self, file: &Path) -> Result<HostObject, Failure> {
        let program = self.program(file);
        Ok((self.builder).object_with_device_code(&program, self.args.relocatable)?)
    }

    fn program(&self, file: &Path) -> Program {
        let args = &self.args;
        // nvcc's own macros come first, so that flags can undefine them.
        let mut all = [self.macros(), args.cuda.clone(), args.all.clone()].concat();
        if let Some(proprietary) = self.proprietary_headers() {
            all.extend(["-isystem".into(), proprietary.display().to_string()]);
        }
        // CMake identifies the compiler by compiling a file with this name. In other files, the macro selects code that
        // only nvcc accepts.
        if file.ends_with("CMakeCUDACompilerId.cu") {
            all.push("-D__NVCC__".into());
        }
        // All device flags come from Superstep, so an unused one is an error.
        let device = ["-Werror=unused-command-line-argument".into()];
        // g++ does not issue these warnings.
        let host = ["-Qunused-arguments", "-Wno-unknown-warning-option"].map(String::from);
        Program {
            name: "nvcc".into(),
            folder: self.folder.clone(),
            units: vec![TranslationUnit {
                file: file.to_owned(),
                language: Language::Cuda,
            }],
            include: args.include.clone(),
            flags: Flags {
                all,
                device: [&device, &args.device[..]].concat(),
                host: [&host, &args.host[..]].concat(),
                ..Flags::default()
            },
            ..Program::default()
        }
    }

    fn proprietary_headers(&self) -> Option<PathBuf> {
        fs::read_link(self.nvcc.toolkit.join("proprietary")).ok()
    }

    fn macros(&self) -> Vec<String> {
        nvcc_macros(self.nvcc.toolchain.cuda.version, &self.args.architectures)
    }

    fn host_compiler(&self, source: Language) -> Command {
        let mut command = Command::new(match (&self.args.host_compiler, source) {
            (Some(folder), _) if folder.is_dir() => folder.join("g++"),
            (Some(path), _) => path.clone(),
            (None, Language::C) => "gcc".into(),
            (None, _) => "g++".into(),
        });
        if self.args.language.is_some() {
            let is_c = matches!(source, Language::C);
            command.args(["-x", if is_c { "c" } else { "c++" }]);
        }
        let include = self.args.include.iter();
        command
            .arg("-D__NVCC__")
            .args(self.macros())
            .args(include.map(|folder| format!("-I{}", folder.display())))
            .args(&self.args.all)
            .args(&self.args.host)
            .arg("-isystem")
            .arg(self.nvcc.toolkit.join("include"));
        command
    }

    fn dependency_file(&self, output: &Path) -> PathBuf {
        let file = self.args.dependency_file.clone();
        file.unwrap_or_else(|| output.with_extension("d"))
    }

    fn write_dependencies(&self, object: &HostObject, output: &Path) -> CallResult {
        let escape = |path: &str| path.replace(' ', "\\ ").replace('$', "$$");
        let target = self.args.dependency_target.clone();
        let mut text = target.unwrap_or_else(|| escape(&output.to_string_lossy())) + ":";
        let is_wanted =
            |file: &&PathBuf| !self.args.own_dependencies || !self.is_system_header(file);
        let files = object.dependencies.iter().filter(is_wanted);
        let files = files.map(|file| escape(&file.to_string_lossy()));
        text.extend(files.clone().map(|file| format!(" \\\n  {file}")));
        text.push('\n');
        if self.args.dependency_targets {
            // The first file is the source.
            text.extend(files.skip(1).map(|file| format!("\n{file}:\n")));
        }
        let args = &self.args;
        let to = match (args.mode, &args.dependency_file, &args.output) {
            (Mode::Dependencies, None, None) => {
                print!("{text}");
                return Ok(());
            }
            (Mode::Dependencies, None, Some(output)) => output.clone(),
            _ => self.dependency_file(output),
        };
        let to = self.folder.join(to);
        fs::write(&to, text).map_err(|error| failed(format_args!("write {}", to.display()), error))
    }

    fn is_system_header(&self, file: &Path) -> bool {
        let mut folders = vec![PathBuf::from("/usr"), self.nvcc.toolkit.clone()];
        folders.extend(self.proprietary_headers());
        self.builder.provides_header(file) || folders.iter().any(|folder| file.starts_with(folder))
    }

    /// Returns the words of the link command, with an object in place of each source.
    fn objects(&self) -> Result<Vec<Word>, Failure> {
        let compile = |(index, word): (usize, &Word)| {
            let Word::File(file) = word else {
                return Ok(word.clone());
            };
            let source = self.kind(file)?;
            if let Language::Built = source {
                return Ok(word.clone());
            }
            let object = self.scratch.path().join(format!("{index}.o"));
            self.object(file, source, &object)?;
            Ok(Word::File(object))
        };
        self.args.words.iter().enumerate().map(compile).collect()
    }

    fn link_device_code(&self, words: &[Word]) -> Result<Option<PathBuf>, Failure> {
        let folders = words.iter().filter_map(|word| match word {
            Word::Flag(flag) => flag.strip_prefix("-L"),
            Word::File(_) => None,
        });
        let archive = |name: &str| {
            let in_folder = |folder| self.folder.join(folder).join(format!("lib{name}.a"));
            folders.clone().map(in_folder).find(|path| path.is_file())
        };
        let files: Vec<PathBuf> = (words.iter())
            .filter_map(|word| match word {
                Word::File(file) => Some(self.folder.join(file)),
                Word::Flag(flag) => archive(flag.strip_prefix("-l")?),
            })
            .collect();
        Ok(self.builder.device_link(&self.folder, &files)?)
    }

    fn link(&self) -> CallResult {
        let words = self.objects()?;
        let registration = match self.args.no_device_link {
            true => None,
            false => self.link_device_code(&words)?,
        };
        let mut command = match &self.args.host_compiler {
            Some(path) if path.is_file() => Command::new(path),
            _ => Command::new(self.nvcc.toolchain.llvm.tool("clang++")),
        };
        let default = if self.args.mode == Mode::SharedLibrary {
            command.arg("-shared");
            "a.so"
        } else {
            "a.out"
        };
        command
            .args(&self.args.host)
            .arg("-o")
            .arg(self.output(default))
            .args(registration);
        for word in &words {
            match word {
                Word::File(file) => command.arg(file),
                Word::Flag(flag) => command.arg(flag),
            };
        }
        for folder in ["lib64/stubs", "lib64"] {
            command.arg(format!("-L{}/{folder}", self.nvcc.toolkit.display()));
        }
        execute(command.args(runtime_libraries(&self.args)))
    }

    fn put(&self, from: &Path, to: &Path) -> CallResult {
        let to = self.folder.join(to);
        // Overwriting the file in place would also change it for processes that have it open.
        let _ = fs::remove_file(&to);
        fs::copy(from, &to)
            .map(drop)
            .map_err(|error| failed(format_args!("write {}", to.display()), error))
    }
}

/// Runs a compiler or linker, which prints its own errors.
fn execute(command: &mut Command) -> CallResult {
    let status = command.status();
    let program = command.get_program().to_string_lossy();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            let why = format!("error: {program} failed with {status}");
            Err(Failure::Failed(why))
        }
        Err(error) => Err(failed(format_args!("start {program}"), error)),
    }
}
