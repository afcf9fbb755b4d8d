//! An nvcc command line.

use std::path::PathBuf;

use super::Failure;
use super::flags::{Meaning, Mode, Takes, look_up};
use super::words::{architectures, list, macros, parts, preprocessing, words};
use crate::compile::source::arithmetic::{
    FAST_DIVISIONS, FAST_FUNCTIONS, FLUSH, FULL_DIVISIONS, INEXACT_ROOTS,
};
use crate::compile::source::default_stream::DEFINITION;
use Meaning::*;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    File(PathBuf),
    Flag(String),
}

impl Word {
    pub(super) fn file(&self) -> Option<&std::path::Path> {
        match self {
            Word::File(file) => Some(file),
            Word::Flag(_) => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct NvccInvocation {
    pub mode: Mode,
    pub words: Vec<Word>,
    pub output: Option<PathBuf>,
    pub output_folder: Option<PathBuf>,
    pub language: Option<String>,
    pub host_compiler: Option<PathBuf>,
    pub archiver: Option<PathBuf>,
    pub archiver_options: Vec<String>,
    pub include: Vec<PathBuf>,
    pub all: Vec<String>,
    pub cuda: Vec<String>,
    pub device: Vec<String>,
    pub host: Vec<String>,
    pub architectures: Vec<u32>,
    pub relocatable: bool,
    pub no_device_link: bool,
    /// `-cudart none`: the command line itself names the CUDA runtime.
    pub no_cudart: bool,
    pub dependencies: bool,
    pub own_dependencies: bool,
    pub dependency_file: Option<PathBuf>,
    pub dependency_target: Option<String>,
    pub dependency_targets: bool,
    pub verbose: bool,
    pub dry_run: bool,
    pub ignored: Vec<(String, &'static str)>,
    pub fast_math: bool,
    pub fused: Option<bool>,
    pub flushed: Option<bool>,
    pub exact_division: Option<bool>,
    pub exact_root: Option<bool>,
    device_debug: bool,
    device_optimized: bool,
}

impl NvccInvocation {
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, Failure> {
        let mut invocation = Self::default();
        let mut unknown = Vec::new();
        let mut forward = false;
        let mut pending: Vec<String> = arguments.into_iter().collect();
        pending.reverse();
        while let Some(word) = pending.pop() {
            let Some(name) = word.strip_prefix('-').filter(|name| !name.is_empty()) else {
                invocation.words.push(Word::File(word.into()));
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
                (_, None) => {
                    let missing =
                        || Failure::Fatal(format!("Missing argument for option '{word}'"));
                    pending.pop().ok_or_else(missing)?
                }
            };
            match meaning {
                Options => {
                    for file in list(&value).iter().rev() {
                        let text = std::fs::read_to_string(file).map_err(|error| {
                            Failure::Fatal(format!("Could not open input file '{file}' ({error})"))
                        })?;
                        pending.extend(words(&text).into_iter().rev());
                    }
                }
                ForwardUnknown => forward = true,
                meaning => invocation.apply(&word, meaning, value)?,
            }
        }
        match unknown.first() {
            Some(first) if !forward => Err(Failure::Fatal(format!("Unknown option '{first}'"))),
            _ => {
                invocation.host.extend(unknown);
                invocation.device.extend(preprocessing(&invocation.host));
                invocation.device.extend(invocation.arithmetic_flags());
                Ok(invocation)
            }
        }
    }

    /// Returns the architecture to compile device code for, so that a GPU with architecture `arch` can run it: the
    /// highest of the named architectures that the GPU supports, as the driver would choose, or else the lowest.
    pub fn architecture_for(&self, arch: u32) -> u32 {
        let named = || self.architectures.iter().copied();
        let supported = named().filter(|&named| named <= arch).max();
        supported.or(named().min()).unwrap_or(arch)
    }

    /// Returns Clang's flags for device arithmetic. Flags for a single kind of operation take precedence over
    /// `-use_fast_math`.
    fn arithmetic_flags(&self) -> Vec<String> {
        let fast = self.fast_math;
        // Without optimisation, nvcc does not fuse operations.
        let is_optimized = fast || !self.device_debug || self.device_optimized;
        let (root, division) = (self.exact_root, self.exact_division);
        let divisions = if fast { FAST_DIVISIONS } else { FULL_DIVISIONS };
        let flags = [
            (FAST_FUNCTIONS, fast),
            (FLUSH, self.flushed.unwrap_or(fast)),
            ("-ffp-contract=off", !self.fused.unwrap_or(is_optimized)),
            (INEXACT_ROOTS, !root.unwrap_or(!fast)),
            (divisions, !division.unwrap_or(!fast)),
        ];
        let flags = flags.into_iter().filter(|&(_, is_on)| is_on);
        flags.map(|(flag, _)| flag.to_owned()).collect()
    }

    fn apply(&mut self, word: &str, meaning: Meaning, value: String) -> Result<(), Failure> {
        let ignore = |invocation: &mut Self, why| {
            if !invocation.ignored.iter().any(|(other, _)| other == word) {
                invocation.ignored.push((word.to_owned(), why));
            }
        };
        match meaning {
            Accepted | Options | ForwardUnknown => {}
            Ignored(why) => ignore(self, why),
            // Most projects use these to suppress warnings from nvcc's front end, which Clang does not emit.
            Frontend if parts(&value).all(|part| part.starts_with("--diag")) => {}
            Frontend => ignore(self, "Clang compiles the code"),
            Refused(why) => {
                let problem = format!("Option '{word}' is not supported: {why}");
                return Err(Failure::Fatal(problem));
            }
            // In `-rdc=true -c -shared` and `-shared -dlink`, the more specific mode wins.
            Selects(mode) if mode == Mode::SharedLibrary && self.mode != Mode::Link => {}
            Selects(mode) => {
                self.mode = match (self.mode, mode) {
                    (Mode::RealArchitectures, Mode::VirtualArchitectures)
                    | (Mode::VirtualArchitectures, Mode::RealArchitectures) => Mode::Architectures,
                    (_, mode) => mode,
                };
            }
            All(flag @ ("-D" | "-U")) => {
                let macros = macros(&value).into_iter();
                self.all.extend(macros.map(|name| format!("{flag}{name}")));
            }
            All(flag) if flag.ends_with('=') || flag == "-w" => {
                self.all.push(format!("{flag}{value}"));
            }
            All(flag) => {
                let values = list(&value).into_iter();
                self.all
                    .extend(values.flat_map(|value| [flag.to_owned(), value]));
            }
            Cuda(flag) => self.cuda.push(flag.to_owned()),
            Host(flag) => self.host.push(format!("{flag}{value}")),
            Link(flag) => self.link(list(&value), flag),
            Does(effect) => effect(self, value),
            Machine if value == "64" => {}
            Architecture => {
                for (number, is_specific) in architectures(&value) {
                    self.architectures.push(number);
                    if is_specific {
                        ignore(
                            self,
                            "suffixes a and f have no effect; the code runs on this architecture and all later ones",
                        );
                    }
                }
            }
            Relocatable => self.relocatable = parse_bool(word, &value)?,
            DefaultStream => match value.as_str() {
                "per-thread" => self.all.push(DEFINITION.into()),
                "legacy" | "null" => {}
                _ => return Err(undefined(word, &value)),
            },
            DeviceDebug => {
                self.device_debug = true;
                self.cuda.push("-D__CUDACC_DEBUG__".into());
                ignore(
                    self,
                    "device code is optimised, but multiplications and additions are not fused",
                );
            }
            DeviceOptimization if value == "on" => self.device_optimized = true,
            Switch(field) => *field(self) = Some(parse_bool(word, &value)?),
            Machine | DeviceOptimization => return Err(undefined(word, &value)),
        }
        Ok(())
    }

    pub fn link(&mut self, words: impl IntoIterator<Item = String>, flag: &str) {
        let words = words.into_iter();
        (self.words).extend(words.map(|word| Word::Flag(format!("{flag}{word}"))));
    }
}

fn undefined(word: &str, value: &str) -> Failure {
    let option = word.split('=').next().unwrap_or(word);
    Failure::Fatal(format!(
        "Value '{value}' is not defined for option '{option}'"
    ))
}

fn parse_bool(word: &str, value: &str) -> Result<bool, Failure> {
    value.parse().map_err(|_| undefined(word, value))
}

#[cfg(test)]
mod tests;
