//! The rules that a schema cannot express, and the way from the raw file to the checked types.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use regex::Regex;

use super::error::{ManifestError, Text};
use super::model::{
    Benchmark, Checks, DataArchive, Determinism, Expected, Flags, Input, InputSource, Language,
    Sha256, Size, Source, Suite, TranslationUnit,
};
use super::schema::{
    BenchmarkFile, ExpectedEntry, GenerateEntry, InputEntry, SizeEntry, SourceEntry, SuiteFile,
};
use super::spans::{FlagOr, Located};
use crate::inputs::Generator;

type Checked<T> = Result<T, ManifestError>;

/// The only version of the schema so far.
const SCHEMA: u32 = 1;
/// Wall time of one run when the manifest does not say.
const DEFAULT_TIMEOUT_S: u64 = 300;

/// Checks `suite.yaml`; the benchmarks are read afterwards.
pub(super) fn suite(text: Text<'_>, folder: &Path, file: SuiteFile) -> Checked<Suite> {
    schema(text, &file.schema)?;
    let list = &file.benchmarks;
    if list.value.is_empty() {
        return Err(text.error(
            list.referenced,
            "the suite lists no benchmark",
            "name at least one",
        ));
    }
    let mut seen = BTreeSet::new();
    for name in &list.value {
        identifier(text, name, "benchmark")?;
        if !seen.insert(name.value.as_str()) {
            return Err(text.error(
                name.referenced,
                format!("benchmark `{}` is listed twice", name.value),
                "remove one of the two",
            ));
        }
    }
    let data = file.data.map(|data| {
        https(text, &data.archive_url)?;
        Ok::<_, ManifestError>(DataArchive {
            url: data.archive_url.value,
            sha256: sha256(text, &data.archive_sha256)?,
        })
    });
    Ok(Suite {
        folder: folder.to_owned(),
        name: identifier(text, &file.name, "suite")?,
        title: not_empty(text, file.title, "title")?,
        source: source(text, file.source)?,
        data: data.transpose()?,
        default_size: identifier(text, &file.default_size, "size")?,
        benchmarks: Vec::new(),
    })
}

/// Checks one benchmark's manifest.
pub(super) fn benchmark(text: Text<'_>, suite: &Suite, file: BenchmarkFile) -> Checked<Benchmark> {
    schema(text, &file.schema)?;
    let name = identifier(text, &file.name, "benchmark")?;
    if text.path.file_stem().and_then(|stem| stem.to_str()) != Some(name.as_str()) {
        return Err(text.error(
            file.name.referenced,
            format!("the benchmark is called `{name}`, its file is not"),
            format!("expected the file name {name}.yaml"),
        ));
    }
    let directory = match &file.directory {
        Some(directory) => inside(text, directory, Path::new(""), "the source")?,
        None => PathBuf::new(),
    };
    let below = |path: &Located<String>| {
        inside(text, path, &directory, "the source").map(|_| clean(&path.value))
    };
    let translation_units = units(text, &file.translation_units, &below)?;
    let include = file
        .include
        .iter()
        .map(&below)
        .collect::<Checked<Vec<_>>>()?;
    let sizes = sizes(text, file.sizes)?;
    let mut expected = BTreeMap::new();
    for (size, entry) in file.expected.0 {
        if !sizes.contains_key(&size.value) {
            return Err(text.error(
                size.referenced,
                format!(
                    "expected counts for a size `{}` that does not exist",
                    size.value
                ),
                format!(
                    "the sizes are: {}",
                    sizes.keys().cloned().collect::<Vec<_>>().join(", ")
                ),
            ));
        }
        expected.insert(size.value, counts(&entry.value));
    }
    let checks = Checks {
        exit_code: file.checks.exit_code,
        stdout_contains: file.checks.stdout_contains,
        volatile_lines: file
            .checks
            .volatile_lines
            .iter()
            .map(|line| regex(text, line))
            .collect::<Checked<_>>()?,
        output_files: file
            .checks
            .output_files
            .iter()
            .map(|path| inside(text, path, Path::new(""), "the working folder"))
            .collect::<Checked<_>>()?,
    };
    Ok(Benchmark {
        manifest: text.path.to_owned(),
        title: not_empty(text, file.title, "title")?,
        why: not_empty(text, file.why, "why")?,
        files: files(text, suite, &file.files, &translation_units, &below)?,
        flags: Flags {
            all: file.flags.all,
            device: file.flags.device,
            host: file.flags.host,
            link: file.flags.link,
        },
        deterministic: determinism(text, file.deterministic)?,
        timeout_s: match file.timeout_s {
            None => DEFAULT_TIMEOUT_S,
            Some(limit) if limit.value == 0 => {
                return Err(text.error(
                    limit.referenced,
                    "a time limit of 0 s",
                    "expected at least 1",
                ));
            }
            Some(limit) => limit.value,
        },
        name,
        directory,
        translation_units,
        include,
        sizes,
        checks,
        expected,
    })
}

fn schema(text: Text<'_>, version: &Located<u32>) -> Checked<()> {
    if version.value == SCHEMA {
        return Ok(());
    }
    Err(text.error(
        version.referenced,
        format!("schema {} is not known", version.value),
        format!("expected {SCHEMA}: this version of superstep reads no other"),
    ))
}

fn source(text: Text<'_>, entry: Located<SourceEntry>) -> Checked<Source> {
    let place = entry.referenced;
    match (entry.value.in_tree, entry.value.git) {
        (Some(flag), None) if flag.value => Ok(Source::InTree),
        (Some(flag), None) => Err(text.error(
            flag.referenced,
            "`in-tree: false` names no source",
            "expected {in-tree: true} or a git entry",
        )),
        (None, Some(git)) => {
            let commit = &git.commit.value;
            if commit.len() != 40 || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(text.error(
                    git.commit.referenced,
                    format!("`{commit}` is no full commit id"),
                    "expected 40 hex digits: branches and tags move, abbreviations become ambiguous",
                ));
            }
            if git.url.value.is_empty() || git.url.value.starts_with('-') {
                return Err(text.error(
                    git.url.referenced,
                    format!("`{}` is no URL", git.url.value),
                    "expected what git clone takes, such as https://host/owner/name",
                ));
            }
            Ok(Source::Git {
                url: git.url.value,
                commit: commit.to_ascii_lowercase(),
            })
        }
        _ => Err(text.error(
            place,
            "the source is not given exactly once",
            "expected either {in-tree: true} or {git: {url: …, commit: …}}",
        )),
    }
}

fn units(
    text: Text<'_>,
    entries: &Located<Vec<super::schema::UnitEntry>>,
    below: &impl Fn(&Located<String>) -> Checked<PathBuf>,
) -> Checked<Vec<TranslationUnit>> {
    if entries.value.is_empty() {
        return Err(text.error(
            entries.referenced,
            "no translation unit",
            "name at least one CUDA file",
        ));
    }
    let mut units: Vec<TranslationUnit> = Vec::new();
    for entry in &entries.value {
        let file = below(&entry.file)?;
        if units.iter().any(|unit| unit.file == file) {
            return Err(text.error(
                entry.file.referenced,
                format!("translation unit `{}` is there twice", entry.file.value),
                "remove one of the two",
            ));
        }
        let language = match entry.language.value.as_str() {
            "cuda" => Language::Cuda,
            "c" => Language::C,
            "c++" => Language::Cpp,
            other => {
                return Err(text.error(
                    entry.language.referenced,
                    format!("unknown language `{other}`"),
                    "expected `cuda`, `c` or `c++`",
                ));
            }
        };
        units.push(TranslationUnit { file, language });
    }
    Ok(units)
}

/// The files of a source: those listed and the translation units, each once. A git source must list them all, since
/// nothing else is fetched; forgetting a translation unit there would be a slip.
fn files(
    text: Text<'_>,
    suite: &Suite,
    entries: &[Located<String>],
    units: &[TranslationUnit],
    below: &impl Fn(&Located<String>) -> Checked<PathBuf>,
) -> Checked<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in entries {
        let path = below(entry)?;
        if files.contains(&path) {
            return Err(text.error(
                entry.referenced,
                format!("file `{}` is listed twice", entry.value),
                "remove one of the two",
            ));
        }
        files.push(path);
    }
    for unit in units {
        if files.contains(&unit.file) {
            continue;
        }
        if let (Source::Git { .. }, Some(first)) = (&suite.source, entries.first()) {
            return Err(text.error(
                first.referenced,
                format!(
                    "translation unit `{}` is missing in `files`",
                    unit.file.display()
                ),
                "list every file that is needed from a git source",
            ));
        }
        files.push(unit.file.clone());
    }
    Ok(files)
}

fn determinism(
    text: Text<'_>,
    entry: Option<Located<FlagOr<super::schema::BecauseEntry>>>,
) -> Checked<Determinism> {
    let Some(entry) = entry else {
        return Ok(Determinism::Deterministic);
    };
    match entry.value {
        FlagOr::Flag(true) => Ok(Determinism::Deterministic),
        FlagOr::Other(reason) if !reason.false_because.trim().is_empty() => {
            Ok(Determinism::Varies {
                because: reason.false_because,
            })
        }
        _ => Err(text.error(
            entry.referenced,
            "a program that is not deterministic needs a reason",
            "expected `true` or {false-because: \"the reason\"}",
        )),
    }
}

fn sizes(
    text: Text<'_>,
    entries: Located<super::spans::Entries<SizeEntry>>,
) -> Checked<BTreeMap<String, Size>> {
    if entries.value.0.is_empty() {
        return Err(text.error(
            entries.referenced,
            "no size",
            "give at least one, for example tiny",
        ));
    }
    let mut sizes = BTreeMap::new();
    for (name, entry) in entries.value.0 {
        let name = identifier(text, &name, "size")?;
        let mut inputs: Vec<Input> = Vec::new();
        for input_entry in &entry.inputs {
            let input = input(text, input_entry)?;
            if inputs.iter().any(|other| other.name == input.name) {
                return Err(text.error(
                    input_entry.value.name.referenced,
                    format!(
                        "size `{name}` has two inputs called `{}`",
                        input.name.display()
                    ),
                    "give each its own name in the working folder",
                ));
            }
            inputs.push(input);
        }
        sizes.insert(
            name,
            Size {
                args: entry.args,
                inputs,
            },
        );
    }
    Ok(sizes)
}

fn input(text: Text<'_>, entry: &Located<InputEntry>) -> Checked<Input> {
    let (place, entry) = (entry.referenced, &entry.value);
    let name = inside(text, &entry.name, Path::new(""), "the working folder")?;
    let shipped = entry
        .shipped
        .as_ref()
        .map(|path| inside(text, path, Path::new(""), "the suite"))
        .transpose()?;
    let data = entry
        .data
        .as_ref()
        .map(|path| inside(text, path, Path::new(""), "the data folder"))
        .transpose()?;
    if let Some(url) = &entry.url {
        https(text, url)?;
    }
    let generate = entry
        .generate
        .as_ref()
        .map(|generate| generator(text, generate))
        .transpose()?;
    let sources = InputSource {
        shipped,
        data,
        url: entry.url.as_ref().map(|url| url.value.clone()),
        generate,
    };
    let fetched = sources.data.is_some() || sources.url.is_some();
    let shown = name.display();
    if sources.shipped.is_some() && (fetched || sources.generate.is_some()) {
        return Err(text.error(
            place,
            format!("input `{shown}` is shipped and comes from elsewhere too"),
            "keep `shipped` alone, or remove it",
        ));
    }
    if sources.shipped.is_none() && !fetched && sources.generate.is_none() {
        return Err(text.error(
            place,
            format!("input `{shown}` comes from nowhere"),
            "give it `shipped`, `data`, `url` or `generate`",
        ));
    }
    if fetched && entry.sha256.is_none() {
        return Err(text.error(
            place,
            format!("input `{shown}` has no `sha256`"),
            "give the hash of the file: what is fetched is never used unchecked",
        ));
    }
    if let (Some(hash), false, None) = (&entry.sha256, fetched, &sources.shipped) {
        return Err(text.error(
            hash.referenced,
            format!("input `{shown}` is only generated, yet has a `sha256`"),
            "remove it: the seed fixes a generated file",
        ));
    }
    Ok(Input {
        name,
        sources,
        sha256: entry
            .sha256
            .as_ref()
            .map(|hash| sha256(text, hash))
            .transpose()?,
    })
}

fn generator(text: Text<'_>, entry: &GenerateEntry) -> Checked<Generator> {
    let parameters: Vec<_> = entry
        .parameters
        .0
        .iter()
        .map(|(name, value)| (name.value.as_str(), value.value))
        .collect();
    Generator::parse(&entry.generator.value, entry.seed, &parameters)
        .map_err(|error| text.error(entry.generator.referenced, error.to_string(), error.mend()))
}

fn counts(entry: &ExpectedEntry) -> Expected {
    Expected {
        launches: entry.launches,
        ctas: entry.ctas,
        ctas_each_launch: entry.ctas_each_launch,
        thread_loads: entry.thread_loads,
        thread_stores: entry.thread_stores,
        thread_atomics: entry.thread_atomics,
    }
}

fn regex(text: Text<'_>, pattern: &Located<String>) -> Checked<Regex> {
    Regex::new(&pattern.value).map_err(|error| {
        let reason = error.to_string();
        let last = reason
            .lines()
            .last()
            .unwrap_or_default()
            .trim_start_matches("error: ")
            .to_owned();
        text.error(
            pattern.referenced,
            format!("`{}` is no regular expression: {last}", pattern.value),
            "expected the syntax of the Rust regex crate; write \\ before a special character",
        )
    })
}

fn https(text: Text<'_>, url: &Located<String>) -> Checked<()> {
    if url.value.starts_with("https://") {
        return Ok(());
    }
    Err(text.error(
        url.referenced,
        format!("`{}` is no https URL", url.value),
        "expected https://…",
    ))
}

fn sha256(text: Text<'_>, hash: &Located<String>) -> Checked<Sha256> {
    Sha256::parse(&hash.value).ok_or_else(|| {
        text.error(
            hash.referenced,
            format!("`{}` is no SHA-256", hash.value),
            "expected 64 hex digits, as sha256sum prints them (in quotes when all are decimal)",
        )
    })
}

fn not_empty(text: Text<'_>, value: Located<String>, key: &str) -> Checked<String> {
    if value.value.trim().is_empty() {
        return Err(text.error(
            value.referenced,
            format!("`{key}` is empty"),
            "write a short text",
        ));
    }
    Ok(value.value)
}

/// Names end up in paths and glob patterns, so they are plain.
fn identifier(text: Text<'_>, name: &Located<String>, what: &str) -> Checked<String> {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b'.');
    let starts_plain = name
        .value
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric());
    if starts_plain && name.value.bytes().all(plain) {
        return Ok(name.value.clone());
    }
    Err(text.error(
        name.referenced,
        format!("`{}` cannot be the name of a {what}", name.value),
        "expected letters, digits, `-`, `_`, `+` and `.`, beginning with a letter or digit",
    ))
}

/// Checks that `base/path` stays inside its root and gives it without `.` and `..`.
fn inside(text: Text<'_>, path: &Located<String>, base: &Path, root: &str) -> Checked<PathBuf> {
    let wrong = |why: &str| {
        text.error(
            path.referenced,
            format!("path `{}` {why}", path.value),
            format!("expected a relative path that stays inside {root}"),
        )
    };
    if path.value.is_empty() {
        return Err(wrong("is empty"));
    }
    if Path::new(&path.value).is_absolute() {
        return Err(wrong("is absolute"));
    }
    normalised(&base.join(&path.value)).ok_or_else(|| wrong(&format!("leaves {root}")))
}

/// Removes `.` components and keeps `..` (the base decides what they mean).
fn clean(path: &str) -> PathBuf {
    Path::new(path)
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect()
}

/// The path without `.` and `..`; `None` when it leaves its root or is absolute.
pub(super) fn normalised(path: &Path) -> Option<PathBuf> {
    let mut result = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => result.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !result.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(result)
}
