//! The rules that a manifest's types cannot express. An error contains the keys that lead to the value, from which
//! `position` finds the line.

use std::path::{Component, Path, PathBuf};

use super::model::{
    Benchmark, Constant, Determinism, GitSource, Input, Language, Size, Source, Suite,
    TranslationUnit,
};
use super::position::Step;
use crate::compile::source::sources;

#[derive(Debug)]
pub(crate) struct Broken {
    pub steps: Vec<Step>,
    pub problem: String,
    pub hint: String,
}

const REMOVE_ONE: &str = "remove one of the two";

pub(crate) type Valid<T = ()> = Result<T, Broken>;

pub(crate) fn broken<T>(problem: impl Into<String>, hint: impl Into<String>) -> Valid<T> {
    Err(Broken {
        steps: Vec::new(),
        problem: problem.into(),
        hint: hint.into(),
    })
}

pub(crate) fn require(holds: bool, problem: impl Into<String>, hint: impl Into<String>) -> Valid {
    if holds { Ok(()) } else { broken(problem, hint) }
}

pub(crate) trait At {
    fn at(self, step: impl Into<Step>) -> Self;
}

impl<T> At for Valid<T> {
    fn at(self, step: impl Into<Step>) -> Self {
        self.map_err(|mut broken| {
            broken.steps.push(step.into());
            broken
        })
    }
}

/// Checks each item of the list under `key`; `check` also receives the items before it.
pub(crate) fn each<T>(
    items: &mut [T],
    key: &str,
    mut check: impl FnMut(&mut T, &[T]) -> Valid,
) -> Valid {
    for index in 0..items.len() {
        let (before, rest) = items.split_at_mut(index);
        check(&mut rest[0], before).at(Step::Index(index)).at(key)?;
    }
    Ok(())
}

impl Suite {
    pub(super) fn validate(&mut self) -> Valid {
        identifier(&self.name, "suite").at("name")?;
        not_empty(&self.title, "title").at("title")?;
        self.source.validate().at("source")?;
        if let Some(data) = &self.data {
            https(&data.url).at("archive-url").at("data")?;
        }
        identifier(&self.default_size, "size").at("default-size")?;
        let problem = "the suite lists no benchmarks";
        require(!self.names.is_empty(), problem, "name at least one").at("benchmarks")?;
        each(&mut self.names, "benchmarks", |name, before| {
            identifier(name, "benchmark")?;
            let problem = format!("benchmark `{name}` is listed twice");
            require(!before.contains(name), problem, REMOVE_ONE)
        })?;
        for (group, members) in &mut self.groups {
            let valid_name = identifier(group, "group").at(Step::Name(group.clone()));
            let known = |member: &mut String, _: &[String]| {
                require(
                    self.names.contains(member),
                    format!(
                        "the group `{group}` names `{member}`, which is not a benchmark in the suite"
                    ),
                    "remove it from the group, or add it to `benchmarks`",
                )
            };
            let valid = valid_name.and_then(|()| each(members, group, known));
            valid.at("groups")?;
        }
        Ok(())
    }
}

impl Source {
    fn validate(&mut self) -> Valid {
        match (self.in_tree, &mut self.git) {
            (Some(true), None) => Ok(()),
            (Some(false), None) => broken(
                "`in-tree: false` names no source",
                "expected {in-tree: true} or a git entry",
            )
            .at("in-tree"),
            (None, Some(git)) => git.validate().at("git"),
            (None, None) | (Some(_), Some(_)) => broken(
                "the suite must have exactly one source",
                "expected either {in-tree: true} or {git: {url: …, commit: …}}",
            ),
        }
    }
}

impl GitSource {
    fn validate(&mut self) -> Valid {
        let Self { url, commit } = self;
        require(
            commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
            format!("`{commit}` is not a full commit id"),
            "expected 40 hex digits: branches and tags move, and abbreviations become ambiguous",
        )
        .at("commit")?;
        require(
            !url.is_empty() && !url.starts_with('-'),
            format!("`{url}` is not a URL"),
            "expected a URL that git clone accepts, such as https://host/owner/name",
        )
        .at("url")?;
        // `ext::` runs a command, and other remote helpers are programs that an untrusted manifest must not start.
        require(
            !url.contains("::"),
            format!("`{url}` names a git remote helper, not a repository"),
            "expected https://…, ssh://…, git://…, host:path or a folder",
        )
        .at("url")?;
        commit.make_ascii_lowercase();
        Ok(())
    }
}

impl Benchmark {
    /// Validates the benchmark in `<stem>.yaml` of a suite with `source`, and adds its translation units to `files`.
    pub(super) fn validate(&mut self, source: &Source, stem: &str) -> Valid {
        let name = &self.name;
        identifier(name, "benchmark").at("name")?;
        require(
            name == stem,
            format!("the benchmark is called `{name}`, but its file is not"),
            format!("expected the file name {name}.yaml"),
        )
        .at("name")?;
        not_empty(&self.title, "title").at("title")?;
        not_empty(&self.why, "why").at("why")?;
        folder(&mut self.directory, "the source").at("directory")?;
        folder(&mut self.start_in, "the working folder").at("start-in")?;
        let problem = "the time limit is 0 s";
        require(self.timeout_s > 0, problem, "expected at least 1").at("timeout-s")?;
        if let Some(mib) = self.memory_limit_mib {
            let problem = format!("the memory limit is {mib} MiB");
            let fits = (1..1 << 40).contains(&mib);
            require(fits, problem, "expected 1 to 2^40 - 1").at("memory-limit-mib")?;
        }
        self.validate_units(source)?;
        let directory = &self.directory;
        each(&mut self.include, "include", |path, _| {
            below(directory, path)
        })?;
        self.validate_files(source)?;
        each(&mut self.constants, "constants", |constant, _| {
            constant.validate(&self.directory, &self.files)
        })?;
        if let Determinism::Varies(variation) = &self.deterministic {
            require(
                !variation.false_because.trim().is_empty(),
                "`false-because` is empty",
                "expected `true` or {false-because: \"the reason\"}",
            )
            .at("deterministic")?;
        }
        require(
            !self.sizes.is_empty(),
            "the benchmark has no sizes",
            "give at least one, for example tiny",
        )
        .at("sizes")?;
        for (name, size) in &mut self.sizes {
            let valid_name = identifier(name, "size").at(Step::Name(name.clone()));
            valid_name
                .and_then(|()| size.validate(name).at(name.as_str()))
                .at("sizes")?;
        }
        let files = &mut self.checks.output_files;
        let valid = each(files, "output-files", |path, _| {
            *path = inside(path, Path::new(""), "the working folder")?;
            Ok(())
        });
        valid.at("checks")?;
        for size in self.expected.keys() {
            let known: Vec<&str> = self.sizes.keys().map(String::as_str).collect();
            require(
                self.sizes.contains_key(size),
                format!("`expected` has counts for size `{size}`, which does not exist"),
                format!("the sizes are: {}", known.join(", ")),
            )
            .at(Step::Name(size.clone()))
            .at("expected")?;
        }
        Ok(())
    }

    fn validate_units(&mut self, source: &Source) -> Valid {
        const UNITS: &str = "translation-units";
        let is_built = |unit: &TranslationUnit| unit.language == Language::Built;
        let units = &mut self.translation_units;
        let hint = "name at least one CUDA file";
        require(
            !units.is_empty(),
            "the benchmark has no translation units",
            hint,
        )
        .at(UNITS)?;
        each(units, UNITS, |unit, before| {
            below(&self.directory, &mut unit.file).at("file")?;
            require(
                before.iter().all(|other| other.file != unit.file),
                format!("translation unit `{}` appears twice", unit.file.display()),
                REMOVE_ONE,
            )
            .at("file")?;
            require(
                before.iter().all(|other| is_built(other) == is_built(unit)),
                "built and compiled translation units are mixed",
                "give all translation units the language `built`, or none",
            )
            .at("language")?;
            require(
                !is_built(unit) || source.git.is_none(),
                "a git source has no prebuilt files",
                "expected the source {in-tree: true} in suite.yaml",
            )
            .at("language")
        })?;
        let compiles = !self.include.is_empty()
            || !self.constants.is_empty()
            || self.flags != super::Flags::default();
        require(
            !units.iter().any(is_built) || !compiles,
            "no part of this program is compiled here, but it has flags, include folders or constants",
            "remove `flags`, `include` and `constants`",
        )
        .at(UNITS)
    }

    /// Adds the translation units to `files`. With a git source, `files` must be empty or list all of them.
    fn validate_files(&mut self, source: &Source) -> Valid {
        each(&mut self.files, "files", |path, before| {
            below(&self.directory, path)?;
            let problem = format!("file `{}` is listed twice", path.display());
            require(!before.contains(path), problem, REMOVE_ONE)
        })?;
        let lists_files = !self.files.is_empty();
        for TranslationUnit { file, .. } in &self.translation_units {
            if self.files.contains(file) {
                continue;
            }
            require(
                !lists_files || source.git.is_none(),
                format!(
                    "translation unit `{}` is missing from `files`",
                    file.display()
                ),
                "list every file that is needed from a git source",
            )
            .at(Step::Index(0))
            .at("files")?;
            self.files.push(file.clone());
        }
        Ok(())
    }
}

impl Constant {
    fn validate(&mut self, directory: &Path, files: &[PathBuf]) -> Valid {
        let shown = self.file.display().to_string();
        below(directory, &mut self.file).at("file")?;
        require(
            files.contains(&self.file),
            format!("file `{shown}` is not one of the program's files"),
            "expected a path that is listed in `files`, written the same way",
        )
        .at("file")?;
        let name = &self.name;
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        require(
            name.starts_with(|first: char| !first.is_ascii_digit()) && name.bytes().all(is_word),
            format!("`{name}` is not the name of a constant"),
            "expected the name of a macro or variable, without its type",
        )
        .at("name")
    }
}

impl Size {
    fn validate(&mut self, size: &str) -> Valid {
        each(&mut self.inputs, "inputs", |input, before| {
            input.validate()?;
            let shown = input.name.display();
            require(
                before.iter().all(|other| other.name != input.name),
                format!("size `{size}` has two inputs called `{shown}`"),
                "give each its own name in the working folder",
            )
            .at("name")
        })
    }
}

impl Input {
    fn validate(&mut self) -> Valid {
        let root = Path::new("");
        self.name = inside(&self.name, root, "the working folder").at("name")?;
        if let Some(path) = &mut self.shipped {
            *path = inside(path, root, "the suite").at("shipped")?;
        }
        if let Some(path) = &mut self.data {
            *path = inside(path, root, "the data folder").at("data")?;
        }
        if let Some(url) = &self.url {
            https(url).at("url")?;
        }
        let shown = self.name.display();
        let is_fetched = self.data.is_some() || self.url.is_some();
        let has_other_source = is_fetched || self.generate.is_some();
        require(
            self.shipped.is_none() || !has_other_source,
            format!("input `{shown}` is shipped but also has another source"),
            "keep only `shipped`, or remove it",
        )?;
        require(
            self.shipped.is_some() || has_other_source,
            format!("input `{shown}` has no source"),
            "give it `shipped`, `data`, `url` or `generate`",
        )?;
        require(
            !is_fetched || self.sha256.is_some(),
            format!("input `{shown}` has no `sha256`"),
            "give the hash of the file: fetched files are never used unchecked",
        )?;
        require(
            self.sha256.is_none() || is_fetched || self.shipped.is_some(),
            format!("input `{shown}` is only generated but has a `sha256`"),
            "remove it: the seed determines the file's content",
        )
        .at("sha256")
    }
}

fn https(url: &str) -> Valid {
    let problem = format!("`{url}` is not an https URL");
    require(url.starts_with("https://"), problem, "expected https://…")
}

fn not_empty(text: &str, key: &str) -> Valid {
    let problem = format!("`{key}` is empty");
    require(!text.trim().is_empty(), problem, "fill it in")
}

/// Checks that a name is plain, since it becomes part of paths and glob patterns.
fn identifier(name: &str, what: &str) -> Valid {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b'.');
    require(
        name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.bytes().all(is_plain),
        format!("`{name}` cannot be the name of a {what}"),
        "expected letters, digits, `-`, `_`, `+` and `.`, beginning with a letter or digit",
    )
}

fn folder(path: &mut PathBuf, root: &str) -> Valid {
    if !path.as_os_str().is_empty() {
        *path = inside(path, Path::new(""), root)?;
    }
    Ok(())
}

fn below(directory: &Path, path: &mut PathBuf) -> Valid {
    inside(path, directory, "the source")?;
    let parts = path.components().filter(|part| *part != Component::CurDir);
    *path = parts.collect();
    Ok(())
}

/// Returns `base/path` without `.` and `..`; fails if the path leaves its root.
fn inside(path: &Path, base: &Path, root: &str) -> Valid<PathBuf> {
    let invalid = |why: &str| {
        broken(
            format!("path `{}` {why}", path.display()),
            format!("expected a relative path that stays inside {root}"),
        )
    };
    if path.as_os_str().is_empty() {
        return invalid("is empty");
    }
    if path.is_absolute() {
        return invalid("is absolute");
    }
    normalised(&base.join(path)).map_or_else(|| invalid(&format!("is outside {root}")), Ok)
}

/// Returns the path without `.` and `..`; `None` if it leaves its root or is absolute.
pub(super) fn normalised(path: &Path) -> Option<PathBuf> {
    let path = sources::normalised(path);
    (path.is_relative() && !path.starts_with("..")).then_some(path)
}
