//! Programs without a manifest, described on the command line of `superstep run` or `superstep bundle`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use regex::Regex;
use superstep_build::bail;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::manifest::{
    Benchmark, Checks, Determinism, Flags, Input, Language, Size, Suite, TranslationUnit,
    Variation, load_suite,
};

use crate::results::write_json;

const STARTER: &str = "/usr/bin/env";

const SIZE: &str = "run";

/// The program's other files, compiler options, inputs and expected results.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "The program")]
pub struct SourceArgs {
    /// Additional source files: CUDA, C or C++.
    #[arg(value_name = "MORE.cu")]
    more: Vec<PathBuf>,
    /// Arguments for the program; a manifest has its own.
    #[arg(last = true)]
    args: Vec<String>,
    /// Additional source file, like MORE.cu, or an executable that a script starts.
    #[arg(long, value_name = "FILE")]
    with: Vec<PathBuf>,
    /// Folder to search for headers.
    #[arg(long, short = 'I', value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Macro to define in every compilation.
    #[arg(long, short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Folder to search for libraries.
    #[arg(long, short = 'L', value_name = "DIR")]
    library_path: Vec<PathBuf>,
    /// Host library to link with.
    #[arg(long, short = 'l', value_name = "NAME")]
    library: Vec<String>,
    /// Compiler flag; -O3, -g, -std=c++20 and -arch=sm_90 work as with nvcc.
    ///
    /// For example `--flag=-funroll-loops`. As with nvcc, -O and -g are for host code; device code is always optimised
    /// and has line numbers.
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    flag: Vec<String>,
    /// Flag for compiling host code.
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    host_flag: Vec<String>,
    /// Flag for linking.
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    link_flag: Vec<String>,
    /// File or folder that the program reads.
    ///
    /// It is copied into the folder in which the program runs: to the same place if the path is relative, or under its
    /// last component if it is absolute or contains `..`.
    #[arg(long, value_name = "PATH")]
    input: Vec<PathBuf>,
    /// Exit code of a successful run [default: 0].
    #[arg(long, value_name = "CODE", allow_hyphen_values = true)]
    exit_code: Option<i32>,
    /// Do not compare output lines that match this regular expression, such as timings, which differ from run to run.
    #[arg(long, value_name = "REGEX")]
    volatile_lines: Vec<Regex>,
    /// Compare only the launches, because the program's accesses differ from run to run.
    #[arg(long)]
    nondeterministic: bool,
}

/// Converts nvcc's flags to options of [`SourceArgs`] and to `--gpu-arch`, up to `--`.
pub fn without_nvcc_flags(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut result: Vec<OsString> = Vec::new();
    let (mut is_ours, mut is_value) = (true, false);
    for word in words {
        is_ours &= word != "--";
        let (is_option, text) = (is_ours && !is_value, word.to_string_lossy());
        is_value = ["--flag", "--host-flag", "--link-flag"].contains(&&*text);
        match text.split('=').next() {
            Some("-std") if is_option => result.push(format!("--flag={text}").into()),
            Some("-arch") if is_option => result.push(text.replacen("-", "--gpu-", 1).into()),
            // Line numbers are always included.
            Some("-lineinfo") if is_option => {}
            Some(flag) if is_option && (flag == "-g" || flag.starts_with("-O")) => {
                result.push(format!("--host-flag={text}").into());
            }
            _ => result.push(word),
        }
    }
    result
}

impl SourceArgs {
    /// Returns arguments for compiling files without running them.
    pub fn compiled(more: &[PathBuf], include: &[PathBuf], flag: &[String]) -> Self {
        Self {
            more: more.to_vec(),
            include: include.to_vec(),
            flag: flag.to_vec(),
            ..Self::default()
        }
    }

    /// Returns whether any option that corresponds to a manifest key was given.
    pub fn has_any(&self) -> bool {
        let lists = [&self.more, &self.with, &self.input];
        lists.iter().any(|list| !list.is_empty())
            || !self.args.is_empty()
            || self.build_options().iter().any(|(_, is_given)| *is_given)
            || self.exit_code.is_some()
            || !self.volatile_lines.is_empty()
            || self.nondeterministic
    }

    fn build_options(&self) -> [(&'static str, bool); 7] {
        [
            ("--include", !self.include.is_empty()),
            ("--define", !self.define.is_empty()),
            ("--library-path", !self.library_path.is_empty()),
            ("--library", !self.library.is_empty()),
            ("--flag", !self.flag.is_empty()),
            ("--host-flag", !self.host_flag.is_empty()),
            ("--link-flag", !self.link_flag.is_empty()),
        ]
    }

    /// Returns a hint about options that a failed program may need; a manifest has keys for them.
    pub fn hint(&self, kind: FailureKind) -> Option<&'static str> {
        match kind {
            FailureKind::Run if self.input.is_empty() => Some(
                "each run starts in a new folder: use --input to name the files that the program reads, put its arguments after `--`, and give the exit code of a successful run with --exit-code",
            ),
            FailureKind::Verification => Some(
                "--volatile-lines excludes output lines that differ from run to run; --nondeterministic is for programs whose accesses differ",
            ),
            _ => None,
        }
    }

    /// Returns a suite that contains only `program`.
    pub fn suite(&self, program: &Path) -> Result<Suite, Failure> {
        let main = self.absolute(program)?;
        let folder = main.parent().unwrap_or(Path::new("/")).to_owned();
        let name = name_of(&main);
        let mut units = vec![unit(&folder, &main, true)?];
        for file in self.more.iter().chain(&self.with) {
            units.push(unit(&folder, &self.absolute(file)?, false)?);
        }
        if units[0].language == Language::Built
            && let Some((option, _)) = self.build_options().iter().find(|(_, is_given)| *is_given)
        {
            bail!(
                Usage,
                "{option} is a compiler option, but {} is already built; add the option to the project's build, or name the CUDA file",
                program.display()
            );
        }
        let include = (self.include.iter())
            .map(|folder| self.absolute(folder))
            .collect::<Result<_, _>>()?;
        let mut link: Vec<String> = Vec::new();
        for folder in &self.library_path {
            let folder = self.absolute(folder)?;
            // The loader must also find shared libraries there.
            link.extend([
                format!("-L{}", folder.display()),
                format!("-Wl,-rpath,{}", folder.display()),
            ]);
        }
        link.extend(self.library.iter().map(|name| format!("-l{name}")));
        link.extend(self.link_flag.iter().cloned());
        let size = Size {
            args: self.args.clone(),
            inputs: self.inputs()?,
        };
        let defines = self.define.iter().map(|define| format!("-D{define}"));
        let deterministic = if self.nondeterministic {
            Determinism::Varies(Variation::new("--nondeterministic"))
        } else {
            Determinism::Deterministic
        };
        let benchmark = Benchmark {
            manifest: main.clone(),
            name: name.clone(),
            title: name.clone(),
            why: "a program given on the command line".to_owned(),
            files: units.iter().map(|unit| unit.file.clone()).collect(),
            translation_units: units,
            include,
            flags: Flags {
                all: defines.chain(self.flag.iter().cloned()).collect(),
                host: self.host_flag.clone(),
                link,
                ..Flags::default()
            },
            deterministic,
            timeout_s: 600,
            sizes: BTreeMap::from([(SIZE.to_owned(), size)]),
            checks: Checks {
                exit_code: self.exit_code.unwrap_or(0),
                volatile_lines: self.volatile_lines.clone(),
                ..Checks::default()
            },
            ..Benchmark::default()
        };
        Ok(Suite {
            folder,
            name: name.clone(),
            title: name.clone(),
            default_size: SIZE.to_owned(),
            names: vec![name],
            benchmarks: vec![benchmark],
            ..Suite::default()
        })
    }

    /// Returns a suite for a command that starts executables: its executable arguments and those given by `--with`.
    pub fn suite_of_command(&self) -> Result<Suite, Failure> {
        let mut words = self.args.clone();
        let mut with = self.with.clone();
        // The command starts in another folder, so paths must be absolute.
        for word in &mut words {
            let path = PathBuf::from(&*word);
            let Ok(metadata) = path.metadata() else {
                continue;
            };
            let is_executable = metadata.is_file() && metadata.permissions().mode() & 0o111 != 0;
            let is_program = is_executable && is_elf(&path);
            // A script named without a folder is looked up in PATH.
            if is_program || is_executable && path.components().count() > 1 {
                let path = self.absolute(&path)?;
                *word = path.display().to_string();
                with.extend(is_program.then_some(path));
            }
        }
        let first = with.first().map_or(Path::new(&words[0]), PathBuf::as_path);
        let (name, folder) = (name_of(first), first.parent().map(Path::to_owned));
        let source = Self {
            args: words,
            with,
            ..self.clone()
        };
        let mut suite = source.suite(Path::new(STARTER))?;
        for benchmark in &mut suite.benchmarks {
            for unit in &mut benchmark.translation_units {
                unit.file = suite.folder.join(&unit.file);
            }
            let units = benchmark.translation_units.iter();
            benchmark.files = units.map(|unit| unit.file.clone()).collect();
            (benchmark.name, benchmark.title) = (name.clone(), name.clone());
        }
        (suite.name, suite.title, suite.names) = (name.clone(), name.clone(), vec![name]);
        suite.folder = match folder {
            Some(folder) if folder.is_absolute() => folder,
            _ => std::env::current_dir().map_err(Failure::io("open", &Path::new(".")))?,
        };
        Ok(suite)
    }

    fn absolute(&self, path: &Path) -> Result<PathBuf, Failure> {
        let hint = match self.more.iter().any(|more| more == path) {
            true => "the program's own arguments go after `--`",
            false => "give a path that exists",
        };
        match path.canonicalize() {
            Ok(path) => Ok(path),
            Err(error) => bail!(Fetch, "failed to read {}: {error}; {hint}", path.display()),
        }
    }

    /// Returns the files given by `--input`, with their paths in the working folder.
    fn inputs(&self) -> Result<Vec<Input>, Failure> {
        let mut inputs = Vec::new();
        for path in &self.input {
            let from = self.absolute(path)?;
            let parts = || (path.components()).filter(|part| *part != Component::CurDir);
            let is_inside = parts().all(|part| matches!(part, Component::Normal(_)));
            let to: PathBuf = match is_inside {
                true => parts().collect(),
                false => from.file_name().map(PathBuf::from).unwrap_or_default(),
            };
            collect(&from, &to, &mut inputs)?;
        }
        Ok(inputs)
    }
}

/// Adds the file `from`, or each file below the folder `from`.
fn collect(from: &Path, to: &Path, inputs: &mut Vec<Input>) -> Result<(), Failure> {
    if !from.is_dir() {
        inputs.push(Input {
            name: to.to_owned(),
            shipped: Some(from.to_owned()),
            ..Input::default()
        });
        return Ok(());
    }
    let entries = fs::read_dir(from);
    let mut entries = match entries.and_then(|entries| entries.collect::<Result<Vec<_>, _>>()) {
        Ok(entries) => entries,
        Err(error) => bail!(
            Fetch,
            "failed to read the folder {}: {error}; give a readable folder with --input",
            from.display()
        ),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        collect(&entry.path(), &to.join(entry.file_name()), inputs)?;
    }
    Ok(())
}

/// Returns the program's name: the file's stem, limited to characters that paths and globs accept.
fn name_of(file: &Path) -> String {
    let stem = (file.file_stem()).map_or_else(Default::default, OsStr::to_string_lossy);
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_+.".contains(letter);
    let name = stem.replace(|letter| !is_plain(letter), "_");
    match name.starts_with(|letter: char| letter.is_ascii_alphanumeric()) {
        true => name,
        false => format!("program{name}"),
    }
}

/// Returns a translation unit, with a path relative to `folder` if the file is inside it. The `first` unit is compiled
/// as CUDA even if it is a C or C++ file.
fn unit(folder: &Path, file: &Path, first: bool) -> Result<TranslationUnit, Failure> {
    let language = match file.extension().and_then(OsStr::to_str) {
        Some("cu") => Language::Cuda,
        Some("c" | "cc" | "cpp" | "cxx") if first => Language::Cuda,
        Some("c") => Language::C,
        Some("cc" | "cpp" | "cxx") => Language::Cpp,
        _ if is_elf(file) => Language::Built,
        _ => bail!(
            Usage,
            "failed to determine the language of {}: expected .cu, .c, .cc, .cpp, .cxx, or an executable; the program's own arguments go after `--`",
            file.display()
        ),
    };
    Ok(TranslationUnit {
        file: file.strip_prefix(folder).unwrap_or(file).to_owned(),
        language,
    })
}

pub fn is_elf(file: &Path) -> bool {
    let mut start = [0; 4];
    let read = fs::File::open(file).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *b"\x7fELF"
}

/// Writes a suite's manifests and inputs into `folder`, for a machine without a compiler. Returns the suite in
/// `folder`.
pub fn write_manifests(suite: &Suite, folder: &Path) -> Result<Suite, Failure> {
    // YAML is a superset of JSON.
    write_json(&folder.join("suite.yaml"), suite)?;
    for benchmark in &suite.benchmarks {
        let unit = benchmark.translation_units.first().cloned();
        let executable = unit.map(|unit| TranslationUnit {
            file: unit.file.file_name().unwrap_or_default().into(),
            ..unit
        });
        let mut manifest = Benchmark {
            files: Vec::new(),
            translation_units: executable.into_iter().collect(),
            include: Vec::new(),
            flags: Flags::default(),
            ..benchmark.clone()
        };
        let sizes = manifest.sizes.values_mut();
        for input in sizes.flat_map(|size| &mut size.inputs) {
            let Some(from) = &input.shipped else {
                continue;
            };
            let shipped = Path::new("inputs").join(&input.name);
            let to = folder.join(&shipped);
            fs::create_dir_all(to.parent().unwrap_or(folder))
                .and_then(|()| fs::copy(suite.folder.join(from), &to))
                .map_err(Failure::io("write", &to))?;
            input.shipped = Some(shipped);
        }
        write_json(&folder.join(format!("{}.yaml", benchmark.name)), &manifest)?;
    }
    load_suite(folder)
}

#[cfg(test)]
mod tests;
