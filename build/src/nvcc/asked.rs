//! What a command line of nvcc's asks for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::flags::{Arithmetic, Meaning, Mode, Takes, look_up};
use super::words::{architectures, list, macros, parts, preprocessing, words};
use crate::compile::arithmetic::{FAST_DIVISIONS, FAST_FUNCTIONS, FULL_DIVISIONS, INEXACT_ROOTS};
use crate::compile::default_stream::DEFINITION;
use Meaning::*;

/// A file or a flag that the link takes, in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    File(PathBuf),
    Flag(String),
}

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Asked {
    pub mode: Mode,
    pub words: Vec<Word>,
    pub output: Option<PathBuf>,
    pub output_folder: Option<PathBuf>,
    /// What `-x` says of all files.
    pub language: Option<String>,
    pub host_compiler: Option<PathBuf>,
    pub archiver: Option<PathBuf>,
    pub archiver_options: Vec<String>,
    pub include: Vec<PathBuf>,
    /// For every compilation, CUDA or not.
    pub all: Vec<String>,
    /// For both halves of CUDA files, in front of the others.
    pub cuda: Vec<String>,
    pub device: Vec<String>,
    /// For host code, whatever compiles it, and for the link.
    pub host: Vec<String>,
    /// Virtual architectures named, 90 for compute_90.
    pub architectures: Vec<u32>,
    pub relocatable: bool,
    /// Relocatable device code is not linked.
    pub no_device_link: bool,
    /// `-cudart none`: the command line names the CUDA runtime itself.
    pub no_cudart: bool,
    /// Whether a list of the files read is written.
    pub dependencies: bool,
    /// Without those in folders of the system.
    pub own_dependencies: bool,
    pub dependency_file: Option<PathBuf>,
    pub dependency_target: Option<String>,
    /// Each file in the list is a target of its own, too.
    pub dependency_targets: bool,
    pub verbose: bool,
    pub dry_run: bool,
    /// What is not obeyed: the flag, and why.
    pub ignored: Vec<(String, &'static str)>,
    fast_math: bool,
    arithmetic: BTreeMap<Arithmetic, bool>,
    device_debug: bool,
    device_optimized: bool,
}

impl Asked {
    /// Reads a command line; the error is what nvcc would say.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut asked = Self::default();
        let mut unknown = Vec::new();
        let mut forward = false;
        let mut waiting: Vec<String> = arguments.into_iter().collect();
        waiting.reverse();
        while let Some(word) = waiting.pop() {
            let Some(name) = word.strip_prefix('-').filter(|name| !name.is_empty()) else {
                asked.words.push(Word::File(word.into()));
                continue;
            };
            let Some((meaning, takes, value)) = look_up(name.strip_prefix('-').unwrap_or(name))
            else {
                unknown.push(word);
                continue;
            };
            let value = match (takes, value) {
                (Takes::Nothing, _) => String::new(),
                (_, Some(value)) => value,
                (_, None) => (waiting.pop())
                    .ok_or_else(|| format!("Missing argument for option '{word}'"))?,
            };
            match meaning {
                Options => {
                    for file in list(&value).iter().rev() {
                        let text = std::fs::read_to_string(file).map_err(|error| {
                            format!("Could not open input file '{file}' ({error})")
                        })?;
                        waiting.extend(words(&text).into_iter().rev());
                    }
                }
                ForwardUnknown => forward = true,
                meaning => asked.take(&word, meaning, value)?,
            }
        }
        match unknown.first() {
            Some(first) if !forward => Err(format!("Unknown option '{first}'")),
            _ => {
                asked.host.extend(unknown);
                asked.device.extend(preprocessing(&asked.host));
                asked.device.extend(asked.of_arithmetic());
                Ok(asked)
            }
        }
    }

    /// The architecture that device code is compiled for when a GPU of `arch` is to run it: of those named, the highest that the GPU
    /// is not older than, as the driver would choose; else the lowest.
    pub fn architecture_for(&self, arch: u32) -> u32 {
        let named = || self.architectures.iter().copied();
        let fitting = named().filter(|&named| named <= arch).max();
        fitting.or(named().min()).unwrap_or(arch)
    }

    /// Clang's flags for how the device computes. What is said of a single kind of operation wins over `-use_fast_math`.
    fn of_arithmetic(&self) -> Vec<String> {
        let is = |what, otherwise| *self.arithmetic.get(&what).unwrap_or(&otherwise);
        let fast = self.fast_math;
        // Without optimisation, nvcc fuses nothing.
        let is_optimized = fast || !self.device_debug || self.device_optimized;
        let flags = [
            (FAST_FUNCTIONS, fast),
            (
                "-fgpu-flush-denormals-to-zero",
                is(Arithmetic::Flushed, fast),
            ),
            ("-ffp-contract=off", !is(Arithmetic::Fused, is_optimized)),
            (INEXACT_ROOTS, !is(Arithmetic::ExactRoot, !fast)),
            (
                if fast { FAST_DIVISIONS } else { FULL_DIVISIONS },
                !is(Arithmetic::ExactDivision, !fast),
            ),
        ];
        let asked = flags.into_iter().filter(|&(_, is_asked)| is_asked);
        asked.map(|(flag, _)| flag.to_owned()).collect()
    }

    fn take(&mut self, word: &str, meaning: Meaning, value: String) -> Result<(), String> {
        let ignored = |asked: &mut Self, why| {
            if !asked.ignored.iter().any(|(other, _)| other == word) {
                asked.ignored.push((word.to_owned(), why));
            }
        };
        match meaning {
            Met | Options | ForwardUnknown => {}
            Ignored(why) => ignored(self, why),
            // Most projects have the frontend of nvcc suppress warnings, which Clang's does not give.
            Frontend if parts(&value).all(|part| part.starts_with("--diag")) => {}
            Frontend => ignored(self, "Clang compiles the code"),
            Refused(why) => return Err(format!("Option '{word}' is not supported: {why}")),
            // `-rdc=true -c -shared`, `-shared -dlink`: what says more about the result wins.
            Makes(mode) if mode == Mode::SharedLibrary && self.mode != Mode::Link => {}
            Makes(mode) => self.make(mode),
            All(flag @ ("-D" | "-U")) => {
                self.all
                    .extend(macros(&value).map(|one| format!("{flag}{one}")));
            }
            All(flag) if flag.ends_with('=') || flag == "-w" => {
                self.all.push(format!("{flag}{value}"));
            }
            All(flag) => {
                let each = list(&value).into_iter();
                self.all.extend(each.flat_map(|one| [flag.to_owned(), one]));
            }
            Cuda(flag) => self.cuda.push(flag.to_owned()),
            Host(flag) => self.host.push(format!("{flag}{value}")),
            Compiler => self.host.extend(parts(&value)),
            Linker => {
                let parts = parts(&value);
                self.words
                    .extend(parts.map(|part| Word::Flag(format!("-Wl,{part}"))));
            }
            ArchiverOptions => self.archiver_options.extend(parts(&value)),
            Archiver => self.archiver = Some(value.into()),
            Link(flag) => {
                let each = list(&value).into_iter();
                self.words
                    .extend(each.map(|one| Word::Flag(format!("{flag}{one}"))));
            }
            Include => {
                let folders = list(&value).into_iter();
                self.include.extend(folders.map(PathBuf::from));
            }
            Output => self.output = Some(value.into()),
            OutputFolder => self.output_folder = Some(value.into()),
            Language => self.language = Some(value),
            HostCompiler => self.host_compiler = Some(value.into()),
            Machine if value == "64" => {}
            Architecture => {
                for (number, is_specific) in architectures(&value) {
                    self.architectures.push(number);
                    if is_specific {
                        ignored(
                            self,
                            "code is for all GPUs from this one on: suffixes a and f",
                        );
                    }
                }
            }
            Relocatable => self.relocatable = truth(word, &value)?,
            NoDeviceLink => self.no_device_link = true,
            Cudart => self.no_cudart = value == "none",
            DependenciesToo { own } => {
                self.dependencies = true;
                self.own_dependencies = own;
            }
            DependencyFile => self.dependency_file = Some(value.into()),
            DependencyTarget => self.dependency_target = Some(value),
            DependencyTargets => self.dependency_targets = true,
            DefaultStream => match value.as_str() {
                "per-thread" => self.all.push(DEFINITION.into()),
                "legacy" | "null" => {}
                _ => return Err(undefined(word, &value)),
            },
            DeviceDebug => {
                self.device_debug = true;
                self.cuda.push("-D__CUDACC_DEBUG__".into());
                ignored(
                    self,
                    "device code is optimised, but multiplications and additions are not fused",
                );
            }
            DeviceOptimization if value == "on" => self.device_optimized = true,
            FastMath => self.fast_math = true,
            Switch(what) => {
                self.arithmetic.insert(what, truth(word, &value)?);
            }
            Machine | DeviceOptimization => return Err(undefined(word, &value)),
            Verbose => self.verbose = true,
            DryRun => self.dry_run = true,
        }
        Ok(())
    }

    fn make(&mut self, mode: Mode) {
        use Mode::*;
        self.mode = match (self.mode, mode) {
            (RealArchitectures, VirtualArchitectures)
            | (VirtualArchitectures, RealArchitectures) => Architectures,
            (_, OwnDependencies) => {
                self.own_dependencies = true;
                Dependencies
            }
            (_, DeviceObjects) => {
                self.relocatable = true;
                Objects
            }
            (_, WholeObjects) => {
                self.relocatable = false;
                Objects
            }
            (_, mode) => mode,
        };
    }
}

/// A value that the flag `word` does not have.
fn undefined(word: &str, value: &str) -> String {
    let option = word.split('=').next().unwrap_or(word);
    format!("Value '{value}' is not defined for option '{option}'")
}

fn truth(word: &str, value: &str) -> Result<bool, String> {
    value.parse().map_err(|_| undefined(word, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Asked, String> {
        Asked::parse(words(line))
    }

    fn files(names: &[&str]) -> Vec<Word> {
        names.iter().map(|name| Word::File(name.into())).collect()
    }

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(|&text| text.into()).collect()
    }

    #[test]
    fn the_mode_is_what_says_most_about_the_result() {
        for (line, mode) in [
            ("a.cu -o a", Mode::Link),
            ("-c a.cu", Mode::Objects),
            ("-shared -o l.so a.o", Mode::SharedLibrary),
            ("-shared -dlink a.o -o d.o", Mode::DeviceLink),
            ("-dlink -shared a.o -o d.o", Mode::DeviceLink),
            ("--device-c a.cu", Mode::Objects),
            ("-MM a.cu", Mode::Dependencies),
            ("-x cu -ptx a.cpp", Mode::Ptx),
            ("-M a.cu", Mode::Dependencies),
            ("--version", Mode::Version),
            ("-V", Mode::Version),
            ("-h", Mode::Help),
            ("--list-gpu-arch", Mode::VirtualArchitectures),
            ("--list-gpu-code --list-gpu-arch", Mode::Architectures),
        ] {
            assert_eq!(parse(line).unwrap().mode, mode, "{line}");
        }
    }

    #[test]
    fn a_line_as_cmake_writes_it() {
        let asked = parse(
            "-forward-unknown-to-host-compiler -DA=1 -I/src/include -isystem=/sys --options-file /dev/null -O3 -DNDEBUG -std=c++17 \
             \"--generate-code=arch=compute_80,code=[compute_80,sm_80]\" -Xcompiler=-fPIC,-Wall --expt-relaxed-constexpr -Wextra \
             -MD -MT CMakeFiles/a.dir/a.cu.o -MF a.d -x cu -rdc=true -c /src/a.cu -o CMakeFiles/a.dir/a.cu.o",
        )
        .unwrap();
        let expected = Asked {
            mode: Mode::Objects,
            words: files(&["/src/a.cu"]),
            output: Some("CMakeFiles/a.dir/a.cu.o".into()),
            language: Some("cu".into()),
            include: vec!["/src/include".into()],
            all: texts(&["-DA=1", "-isystem", "/sys", "-DNDEBUG", "-std=c++17"]),
            cuda: texts(&["-D__CUDACC_RELAXED_CONSTEXPR__"]),
            host: texts(&["-O3", "-fPIC", "-Wall", "-Wextra"]),
            architectures: vec![80],
            relocatable: true,
            dependencies: true,
            dependency_file: Some("a.d".into()),
            dependency_target: Some("CMakeFiles/a.dir/a.cu.o".into()),
            ..Asked::default()
        };
        assert_eq!(asked, expected);
    }

    #[test]
    fn values_stand_behind_attached_or_after_an_equals_sign() {
        for line in [
            "-I inc a.cu",
            "-Iinc a.cu",
            "-I=inc a.cu",
            "--include-path inc a.cu",
            "--include-path=inc a.cu",
        ] {
            assert_eq!(
                parse(line).unwrap().include,
                [PathBuf::from("inc")],
                "{line}"
            );
        }
        for line in [
            "-arch sm_90a",
            "-arch=sm_90",
            "-gencode arch=compute_90,code=sm_90",
            "--gpu-architecture=compute_90",
        ] {
            assert!(
                parse(line)
                    .unwrap()
                    .architectures
                    .iter()
                    .all(|&arch| arch == 90),
                "{line}"
            );
        }
        assert!(parse("-arch=native a.cu").unwrap().architectures.is_empty());
        // What the binary is for does not matter to the code.
        let asked = parse("-arch compute_80 -code sm_86,compute_80 a.cu").unwrap();
        assert_eq!(asked.architectures, [80]);
        let several = parse("-gencode arch=compute_75,code=sm_75 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_120,code=sm_120 a.cu").unwrap();
        assert_eq!(
            [90, 86, 70].map(|gpu| several.architecture_for(gpu)),
            [90, 75, 75]
        );
        assert_eq!(parse("a.cu").unwrap().architecture_for(86), 86);
        assert_eq!(parse("-std c++20").unwrap().all, ["-std=c++20"]);
    }

    #[test]
    fn flags_are_mapped_passed_on_ignored_or_refused() {
        let asked = parse("-default-stream per-thread -maxrregcount=32 -Xptxas -v -Xptxas -O3 -Xcudafe --diag_suppress=20012 a.cu").unwrap();
        assert_eq!(asked.all, ["-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1"]);
        let ignored: Vec<&str> = asked
            .ignored
            .iter()
            .map(|(flag, _)| flag.as_str())
            .collect();
        assert_eq!(ignored, ["-maxrregcount=32", "-Xptxas"]);
        let asked = parse(
            "a.o -Llib -lfoo,bar b.a -Xlinker -rpath,/x -Xcompiler \"-Wall -O2\" -oapp -t4 -m64",
        )
        .unwrap();
        let flag = |text: &str| Word::Flag(text.into());
        let expected = [
            files(&["a.o"]),
            vec![flag("-Llib"), flag("-lfoo"), flag("-lbar")],
            files(&["b.a"]),
            vec![flag("-Wl,-rpath"), flag("-Wl,/x")],
        ];
        assert_eq!(asked.words, expected.concat());
        assert_eq!(asked.host, ["-Wall", "-O2"]);
        assert_eq!(asked.output, Some("app".into()));
        for (line, error) in [
            ("-nonsense a.cu", "Unknown option '-nonsense'"),
            ("-o", "Missing argument for option '-o'"),
            (
                "-rdc=maybe",
                "Value 'maybe' is not defined for option '-rdc'",
            ),
            (
                "-default-stream both",
                "Value 'both' is not defined for option '-default-stream'",
            ),
        ] {
            assert_eq!(parse(line).unwrap_err(), error);
        }
        for line in ["-m32 a.cu", "-run a.cu", "--enable-tile a.cu"] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(line.split(' ').next().unwrap()), "{error}");
        }
    }

    #[test]
    fn what_is_said_of_an_operation_wins_over_fast_mathematics() {
        let device = |line: &str| parse(&format!("{line} a.cu")).unwrap().device.join(" ");
        let [fast, flushed, unfused] = [
            FAST_FUNCTIONS,
            "-fgpu-flush-denormals-to-zero",
            "-ffp-contract=off",
        ];
        for (line, expected) in [
            (
                "-ftz=false -prec-div true -prec-sqrt=true -fmad=true",
                String::new(),
            ),
            (
                "-use_fast_math",
                format!("{fast} {flushed} {INEXACT_ROOTS} {FAST_DIVISIONS}"),
            ),
            (
                "-ftz=false -prec-sqrt=true -use_fast_math -fmad=false",
                format!("{fast} {unfused} {FAST_DIVISIONS}"),
            ),
            (
                "-prec-div=false --prec-sqrt=false",
                format!("{INEXACT_ROOTS} {FULL_DIVISIONS}"),
            ),
            ("-G", unfused.to_owned()),
            ("-G -dopt=on", String::new()),
        ] {
            assert_eq!(device(line), expected, "{line}");
        }
    }

    #[test]
    fn a_file_of_options_stands_where_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.rsp");
        std::fs::write(&file, "-I\"a folder\" -DTEXT=\\\"x\\\"\n one.o").unwrap();
        let asked = Asked::parse([
            "zero.o".into(),
            "--options-file".into(),
            file.display().to_string(),
            "two.o".into(),
        ])
        .unwrap();
        assert_eq!(asked.include, [PathBuf::from("a folder")]);
        assert_eq!(asked.all, ["-DTEXT=\"x\""]);
        assert_eq!(asked.words, files(&["zero.o", "one.o", "two.o"]));
    }
}
