//! A cached command in the pipeline: its tool and arguments, its key, and its outputs.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::compile::steps::cache::StepCache;
use crate::compile::steps::depfile;
use crate::compile::steps::hash::{self, KeyHasher};
use crate::compile::{BuildError, BuildEvent, Result};
use crate::interrupt;
use crate::run::die_with_this_process;

pub(crate) const BITCODE: &str = "out.bc";
pub(crate) const OBJECT: &str = "out.o";
pub(crate) const LIBRARY: &str = "out.so";
pub(crate) const DEPENDENCIES: &str = "out.d";
/// Warnings from a successful compilation.
pub(crate) const MESSAGES: &str = "messages.txt";

#[derive(Debug, Clone)]
pub struct Tool {
    pub path: PathBuf,
    /// Version, or hash of the executable. Part of every key.
    pub identity: String,
}

#[derive(Debug, Clone)]
enum Arg {
    Text(String),
    /// A path that does not affect the result and therefore is not part of the key.
    Place(String),
    /// An input file, between a prefix and a suffix. The key contains its content, not its path.
    Input(String, PathBuf, &'static str),
    Output(&'static str),
}

#[must_use]
#[derive(Debug, Clone, Default)]
pub struct Args {
    list: Vec<Arg>,
    /// Whether the command reads headers and lists them in [`DEPENDENCIES`].
    reads_headers: bool,
}

impl Args {
    pub fn of<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::default().texts(texts)
    }

    pub fn texts<T: Into<String>>(self, texts: impl IntoIterator<Item = T>) -> Self {
        self.with(texts.into_iter().map(|text| Arg::Text(text.into())))
    }

    pub fn text(self, text: impl Into<String>) -> Self {
        self.texts([text])
    }

    pub fn place(self, prefix: &str, place: &Path) -> Self {
        self.with([Arg::Place(format!("{prefix}{}", place.display()))])
    }

    pub fn input(self, path: impl Into<PathBuf>) -> Self {
        self.input_in(String::new(), path, "")
    }

    pub fn input_in(
        self,
        prefix: impl Into<String>,
        path: impl Into<PathBuf>,
        suffix: &'static str,
    ) -> Self {
        self.with([Arg::Input(prefix.into(), path.into(), suffix)])
    }

    pub fn output(self, flag: &str, name: &'static str) -> Self {
        self.text(flag).with([Arg::Output(name)])
    }

    /// Includes in the key the content of the headers that the compiler reads.
    pub fn reading_headers(self) -> Self {
        Self {
            reads_headers: true,
            ..self.text("-MD").output("-MF", DEPENDENCIES)
        }
    }

    pub fn and(self, others: Args) -> Self {
        self.with(others.list)
    }

    fn with(mut self, args: impl IntoIterator<Item = Arg>) -> Self {
        self.list.extend(args);
        self
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub name: &'a str,
    pub folder: &'a Path,
}

impl<'a> Subject<'a> {
    pub fn of(name: &'a str, folder: &'a Path) -> Self {
        Self { name, folder }
    }
}

#[derive(Debug, Clone)]
pub struct Stage<'a> {
    pub name: &'static str,
    pub subject: Subject<'a>,
    pub tool: &'a Tool,
    pub args: Args,
    pub outputs: &'a [&'static str],
}

pub struct Runner {
    pub cache: StepCache,
    pub dry_run: Option<Mutex<Vec<String>>>,
    pub observer: Box<dyn Fn(BuildEvent<'_>) + Send + Sync>,
}

impl Runner {
    pub fn text_file(&self, name: &'static str, content: impl AsRef<[u8]>) -> Result<PathBuf> {
        let mut key = KeyHasher::new("text file");
        key.text(name).bytes(content.as_ref());
        let write = |folder: &Path| fs::write(folder.join(name), content);
        Ok(self.folder(key, &[name], write)?.join(name))
    }

    /// Returns the folder with `outputs`, which `write` fills if it is not in the cache.
    pub fn folder(
        &self,
        key: KeyHasher,
        outputs: &[&str],
        write: impl FnOnce(&Path) -> std::io::Result<()>,
    ) -> Result<PathBuf> {
        let key = key.finish();
        if self.dry_run.is_some() {
            return Ok(PathBuf::from(format!("@cache/{}", &key[..12])));
        }
        self.cache.exclusively(&key, || {
            if let Some(folder) = self.cache.find(&key, outputs) {
                return Ok(folder);
            }
            let scratch = self.cache.scratch()?;
            write(scratch.path()).map_err(BuildError::io("write into", scratch.path()))?;
            self.cache.keep(&key, outputs, scratch)
        })
    }

    pub fn file(
        &self,
        name: &'static str,
        tool: &Tool,
        subject: Subject<'_>,
        args: Args,
        output: &'static str,
    ) -> Result<PathBuf> {
        let stage = Stage {
            name,
            subject,
            tool,
            args: args.output("-o", output),
            outputs: &[output],
        };
        Ok(stage.run(self)?.join(output))
    }
}

impl Stage<'_> {
    pub fn run(&self, runner: &Runner) -> Result<PathBuf> {
        if let Some(commands) = &runner.dry_run {
            return Ok(self.record(commands));
        }
        let report = |cached| {
            (runner.observer)(BuildEvent {
                stage: self.name,
                subject: self.subject.name,
                cached,
            });
        };
        let command_key = self.command_key()?;
        runner.cache.exclusively(&command_key, || {
            if let Some(folder) = self.cached(runner, &command_key) {
                report(true);
                return Ok(folder);
            }
            if interrupt::requested() {
                return Err(BuildError::Interrupted);
            }
            let scratch = runner.cache.scratch()?;
            self.execute(scratch.path())?;
            let key = self.headers_key(runner, &command_key, scratch.path())?;
            let folder = runner.cache.keep(&key, self.outputs, scratch)?;
            report(false);
            Ok(folder)
        })
    }

    fn cached(&self, runner: &Runner, command_key: &str) -> Option<PathBuf> {
        let key = match self.args.reads_headers {
            false => command_key.to_owned(),
            true => self.key_with(command_key, &runner.cache.headers(command_key)?)?,
        };
        runner.cache.find(&key, self.outputs)
    }

    /// Returns the key of a step that ran in `folder`, and stores the list of the headers that it read.
    fn headers_key(&self, runner: &Runner, command_key: &str, folder: &Path) -> Result<String> {
        if !self.args.reads_headers {
            return Ok(command_key.to_owned());
        }
        let path = folder.join(DEPENDENCIES);
        let text =
            fs::read_to_string(&path).map_err(BuildError::io("read the dependency file", &path))?;
        let list = depfile::parse(&text);
        let changed = || {
            BuildError::unsupported(
                self.subject.name,
                "a header changed or disappeared during compilation; build again",
            )
        };
        let key = self.key_with(command_key, &list).ok_or_else(changed)?;
        runner.cache.keep_headers(command_key, &list)?;
        Ok(key)
    }

    fn command_key(&self) -> Result<String> {
        let mut key = KeyHasher::new(self.name);
        key.text(&self.tool.identity);
        for arg in &self.args.list {
            match arg {
                Arg::Text(text) => key.text("text").text(text),
                Arg::Place(_) => key.text("place"),
                Arg::Input(prefix, path, suffix) => {
                    let path = self.subject.folder.join(path);
                    let hash = hash::of_file(&path).map_err(BuildError::source(&path))?;
                    key.text("input").text(prefix).text(&hash).text(suffix)
                }
                Arg::Output(name) => key.text("output").text(name),
            };
        }
        Ok(key.finish())
    }

    fn key_with(&self, command_key: &str, list: &[PathBuf]) -> Option<String> {
        let mut key = KeyHasher::new(command_key);
        for file in list {
            key.text(&hash::of_file(&self.subject.folder.join(file)).ok()?);
        }
        Some(key.finish())
    }

    fn arguments(&self, outputs: &Path) -> Vec<OsString> {
        let argument = |arg: &Arg| match arg {
            Arg::Text(text) | Arg::Place(text) => OsString::from(text),
            Arg::Input(prefix, path, suffix) => {
                let mut text = OsString::from(prefix);
                text.push(path);
                text.push(suffix);
                text
            }
            Arg::Output(name) => outputs.join(name).into_os_string(),
        };
        self.args.list.iter().map(argument).collect()
    }

    fn execute(&self, outputs: &Path) -> Result<()> {
        let arguments = self.arguments(outputs);
        let mut command = Command::new(&self.tool.path);
        command
            .args(&arguments)
            .current_dir(self.subject.folder)
            .stdin(Stdio::null());
        die_with_this_process(&mut command);
        let output = command.output();
        let output = output.map_err(BuildError::tool(&self.tool.path))?;
        if output.status.success() && self.outputs.iter().all(|name| outputs.join(name).is_file()) {
            if self.args.reads_headers && !output.stderr.is_empty() {
                let path = outputs.join(MESSAGES);
                fs::write(&path, output.stderr).map_err(BuildError::io("write", &path))?;
            }
            return Ok(());
        }
        if interrupt::requested_after_failure() {
            return Err(BuildError::Interrupted);
        }
        let status = if output.status.success() {
            "succeeded but did not write all expected output files".to_owned()
        } else {
            format!("failed with {}", output.status)
        };
        let text = [output.stdout, output.stderr].concat();
        Err(BuildError::Command {
            subject: self.subject.name.to_owned(),
            stage: self.name,
            status,
            command: command_line(&self.tool.path, &arguments),
            output: String::from_utf8_lossy(&text).into_owned(),
        })
    }

    fn record(&self, commands: &Mutex<Vec<String>>) -> PathBuf {
        let mut key = KeyHasher::new(self.name);
        key.text(self.subject.name)
            .list(self.arguments(Path::new("@out")));
        let folder = PathBuf::from(format!("@cache/{}", &key.finish()[..12]));
        let line = format!(
            "cd {} && {}",
            quote_path(self.subject.folder),
            command_line(&self.tool.path, &self.arguments(&folder))
        );
        let mut commands = commands.lock().unwrap_or_else(PoisonError::into_inner);
        if !commands.contains(&line) {
            commands.push(line);
        }
        folder
    }
}

pub(crate) fn command_line(program: &Path, arguments: &[impl AsRef<std::ffi::OsStr>]) -> String {
    let arguments = arguments.iter().map(AsRef::as_ref);
    let words = std::iter::once(program.as_os_str()).chain(arguments);
    let words: Vec<String> = words.map(quote_path).collect();
    words.join(" ")
}

pub(crate) fn quote_path(path: impl AsRef<Path>) -> String {
    quote(&path.as_ref().to_string_lossy())
}

pub fn quote(word: &str) -> String {
    let plain =
        |character: char| character.is_ascii_alphanumeric() || "-_./=+:,@%".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests;
