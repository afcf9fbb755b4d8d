//! What a command line of nvcc's asks for.

use std::path::PathBuf;

use super::flags::{Meaning, Mode, Takes, look_up};
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
    pub include: Vec<PathBuf>,
    /// For every compilation, CUDA or not.
    pub all: Vec<String>,
    pub device: Vec<String>,
    /// For host code, whatever compiles it, and for the link.
    pub host: Vec<String>,
    /// Architectures named, 90 for sm_90.
    pub architectures: Vec<u32>,
    pub relocatable: bool,
    /// Whether a list of the files read is written.
    pub dependencies: bool,
    pub dependency_file: Option<PathBuf>,
    pub dependency_target: Option<String>,
    pub verbose: bool,
    pub dry_run: bool,
    /// What is not obeyed: the flag, and why.
    pub ignored: Vec<(String, &'static str)>,
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
                    let text = std::fs::read_to_string(&value).map_err(|error| {
                        format!("Could not open input file '{value}' ({error})")
                    })?;
                    waiting.extend(words(&text).into_iter().rev());
                }
                ForwardUnknown => forward = true,
                meaning => asked.take(&word, meaning, value)?,
            }
        }
        match unknown.first() {
            Some(first) if !forward => Err(format!("Unknown option '{first}'")),
            _ => {
                asked.host.extend(unknown);
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

    fn take(&mut self, word: &str, meaning: Meaning, value: String) -> Result<(), String> {
        let list = || parts(&value, &[',', ' ']).into_iter();
        match meaning {
            Met | Options | ForwardUnknown => {}
            Ignored(why) => {
                if !self.ignored.iter().any(|(other, _)| other == word) {
                    self.ignored.push((word.to_owned(), why));
                }
            }
            Refused(why) => return Err(format!("Option '{word}' is not supported: {why}")),
            // `-rdc=true -c -shared`, `-shared -dlink`: what says more about the result wins.
            Makes(mode) if mode == Mode::SharedLibrary && self.mode != Mode::Link => {}
            Makes(mode) => {
                self.relocatable |= mode == Mode::DeviceObjects;
                self.mode = mode;
            }
            All(flag) if flag.len() > 2 && !flag.ends_with('=') => {
                self.all.extend([flag.to_owned(), value])
            }
            // A comma that is escaped divides nothing, and neither do others here: nobody writes two macros in one word.
            All(flag) => self
                .all
                .push(format!("{flag}{}", value.replace("\\,", ","))),
            Device(flags) => self
                .device
                .extend(flags.iter().map(|&flag| flag.to_owned())),
            Host(flag) => self.host.push(format!("{flag}{value}")),
            Compiler => self.host.extend(list()),
            Linker => self
                .words
                .extend(list().map(|part| Word::Flag(format!("-Wl,{part}")))),
            Link(flag) => self.words.push(Word::Flag(format!("{flag}{value}"))),
            Include => {
                let folders = parts(&value, &[',']).into_iter();
                self.include.extend(folders.map(PathBuf::from));
            }
            Output => self.output = Some(value.into()),
            OutputFolder => self.output_folder = Some(value.into()),
            Language => self.language = Some(value),
            HostCompiler => self.host_compiler = Some(value.into()),
            Architecture => self.architectures.extend(architectures(&value)),
            Relocatable => self.relocatable = value == "true",
            DependenciesToo => self.dependencies = true,
            DependencyFile => self.dependency_file = Some(value.into()),
            DependencyTarget => self.dependency_target = Some(value),
            DefaultStream => match value.as_str() {
                "per-thread" => self.all.push(DEFINITION.into()),
                "legacy" | "null" => {}
                _ => return Err(undefined(word, &value)),
            },
            Unless(flag) | If(flag) => {
                if (value == "true") == matches!(meaning, If(_)) {
                    self.device.push(flag.to_owned());
                }
            }
            Verbose => self.verbose = true,
            DryRun => self.dry_run = true,
        }
        Ok(())
    }
}

/// A value that the flag `word` does not have.
fn undefined(word: &str, value: &str) -> String {
    format!("Value '{value}' is not defined for option '{word}'")
}

/// The parts of `text` between `dividers`, none of them empty. `\,` is a comma of a part's own.
fn parts(text: &str, dividers: &[char]) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let escaped = letter == '\\' && letters.peek() == Some(&',');
        match parts.last_mut() {
            Some(part) if escaped => part.extend(letters.next()),
            Some(part) if !dividers.contains(&letter) => part.push(letter),
            _ => parts.push(String::new()),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The numbers behind `sm_` and `compute_` in `text`.
fn architectures(text: &str) -> impl Iterator<Item = u32> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter_map(|word| {
        let number = word
            .strip_prefix("sm_")
            .or_else(|| word.strip_prefix("compute_"))?;
        number.trim_end_matches(['a', 'f']).parse().ok()
    })
}

/// The words of a text as a shell splits them, without what else a shell does.
pub(super) fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
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
            ("--device-c a.cu", Mode::DeviceObjects),
            ("-x cu -ptx a.cpp", Mode::Ptx),
            ("-M a.cu", Mode::Dependencies),
            ("--version", Mode::Version),
            ("-V", Mode::Version),
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
            host: texts(&["-O3", "-fPIC", "-Wall", "-Wextra"]),
            architectures: vec![80, 80, 80],
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
        let asked = parse("-use_fast_math -fmad=false -ftz=false -default-stream per-thread -maxrregcount=32 -Xptxas -v -Xptxas -O3 a.cu").unwrap();
        assert_eq!(
            asked.device,
            [
                "-fgpu-approx-transcendentals",
                "-fgpu-flush-denormals-to-zero",
                "-ffp-contract=off"
            ]
        );
        assert_eq!(asked.all, ["-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1"]);
        let ignored: Vec<&str> = asked
            .ignored
            .iter()
            .map(|(flag, _)| flag.as_str())
            .collect();
        assert_eq!(ignored, ["-maxrregcount=32", "-Xptxas"]);
        let asked = parse("a.o -Llib -lfoo b.a -Xlinker -rpath,/x -Xcompiler \"-Wall -O2\" -o app")
            .unwrap();
        let flag = |text: &str| Word::Flag(text.into());
        let expected = [
            files(&["a.o"]),
            vec![flag("-Llib"), flag("-lfoo")],
            files(&["b.a"]),
            vec![flag("-Wl,-rpath"), flag("-Wl,/x")],
        ];
        assert_eq!(asked.words, expected.concat());
        assert_eq!(asked.host, ["-Wall", "-O2"]);
        let asked = parse("'-DN=1\\,2' -I/a,/b '-Xcompiler=-DF(x\\,y)=x,-Wall' a.cu").unwrap();
        assert_eq!(asked.all, ["-DN=1,2"]);
        assert_eq!(asked.include, [PathBuf::from("/a"), "/b".into()]);
        assert_eq!(asked.host, ["-DF(x,y)=x", "-Wall"]);
        assert_eq!(
            parse("-nonsense a.cu").unwrap_err(),
            "Unknown option '-nonsense'"
        );
        assert_eq!(parse("-o").unwrap_err(), "Missing argument for option '-o'");
        assert!(parse("-m32 a.cu").unwrap_err().contains("-m32"));
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
