//! The rules that a schema cannot express, and the way from the raw file to the checked types.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_saphyr::Location;

use super::error::Text;
use super::model::{
    Benchmark, Checks, Constant, DataArchive, Determinism, Expected, Flags, Language, Size, Source,
    Suite, TranslationUnit,
};
use super::rules::{Checked, clean, https, identifier, inside, not_empty, regex, sha256};
use super::schema::{
    BecauseEntry, BenchmarkFile, ChecksEntry, ConstantEntry, ExpectedEntry, SourceEntry, SuiteFile,
    UnitEntry,
};
use super::sizes::sizes;
use super::spans::{Entries, FlagOr, Located};

/// The only version of the schema so far.
const SCHEMA: u32 = 1;
/// Wall time of one run when the manifest does not say.
const DEFAULT_TIMEOUT_S: u64 = 300;

/// Checks `suite.yaml`; the benchmarks are read afterwards.
pub(super) fn suite(text: Text<'_>, folder: &Path, file: SuiteFile) -> Checked<Suite> {
    schema(text, &file.schema)?;
    let data = match file.data {
        None => None,
        Some(data) => {
            https(text, &data.archive_url)?;
            let sha256 = sha256(text, &data.archive_sha256)?;
            Some(DataArchive {
                url: data.archive_url.value,
                sha256,
            })
        }
    };
    Ok(Suite {
        folder: folder.to_owned(),
        name: identifier(text, &file.name, "suite")?,
        title: not_empty(text, file.title, "title")?,
        source: source(text, file.source)?,
        data,
        default_size: identifier(text, &file.default_size, "size")?,
        benchmarks: Vec::new(),
        groups: BTreeMap::new(),
    })
}

/// Checks the groups of benchmarks.
pub(super) fn groups(
    text: Text<'_>,
    names: &[Located<String>],
    groups: Entries<Vec<Located<String>>>,
) -> Checked<BTreeMap<String, Vec<String>>> {
    let mut checked = BTreeMap::new();
    for (group, members) in groups.0 {
        for member in &members {
            if !names.iter().any(|name| name.value == member.value) {
                return Err(text.error(
                    member.referenced,
                    format!(
                        "the group `{}` names `{}`, which is not a benchmark of the suite",
                        group.value, member.value
                    ),
                    "remove it from the group, or add it to `benchmarks`",
                ));
            }
        }
        let members = members.into_iter().map(|member| member.value).collect();
        checked.insert(identifier(text, &group, "group")?, members);
    }
    Ok(checked)
}

/// Checks the list of benchmarks.
pub(super) fn names(text: Text<'_>, place: Location, names: &[Located<String>]) -> Checked<()> {
    if names.is_empty() {
        return Err(text.error(place, "the suite lists no benchmark", "name at least one"));
    }
    let mut seen = BTreeSet::new();
    for name in names {
        identifier(text, name, "benchmark")?;
        if !seen.insert(name.value.as_str()) {
            return Err(text.error(
                name.referenced,
                format!("benchmark `{}` is listed twice", name.value),
                "remove one of the two",
            ));
        }
    }
    Ok(())
}

pub(super) fn benchmark(text: Text<'_>, suite: &Suite, file: BenchmarkFile) -> Checked<Benchmark> {
    schema(text, &file.schema)?;
    let name = identifier(text, &file.name, "benchmark")?;
    if text.path.file_stem().and_then(|stem| stem.to_str()) != Some(name.as_str()) {
        return Err(text.error(
            file.name.referenced,
            format!("the benchmark is called `{name}`, but its file is not"),
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
    let expected = expected(text, file.expected, &sizes)?;
    let files = files(text, suite, &file.files, &translation_units, &below)?;
    Ok(Benchmark {
        manifest: text.path.to_owned(),
        title: not_empty(text, file.title, "title")?,
        why: not_empty(text, file.why, "why")?,
        constants: (file.constants.iter())
            .map(|entry| constant(text, entry, &files, &below))
            .collect::<Checked<_>>()?,
        files,
        flags: Flags {
            all: file.flags.all,
            device: file.flags.device,
            host: file.flags.host,
            link: file.flags.link,
        },
        only_on: file.only_on,
        deterministic: determinism(text, file.deterministic)?,
        start_in: match &file.start_in {
            Some(folder) => inside(text, folder, Path::new(""), "the working folder")?,
            None => PathBuf::new(),
        },
        timeout_s: match file.timeout_s {
            None => DEFAULT_TIMEOUT_S,
            Some(limit) if limit.value == 0 => {
                let what = "a time limit of 0 s";
                return Err(text.error(limit.referenced, what, "expected at least 1"));
            }
            Some(limit) => limit.value,
        },
        memory_limit_mib: match file.memory_limit_mib {
            None => None,
            Some(limit) if !(1..1 << 40).contains(&limit.value) => {
                let what = format!("a memory limit of {} MiB", limit.value);
                return Err(text.error(limit.referenced, what, "expected 1 to 2^40 - 1"));
            }
            Some(limit) => Some(limit.value),
        },
        name,
        directory,
        translation_units,
        include,
        sizes,
        checks: checks(text, file.checks)?,
        expected,
    })
}

fn checks(text: Text<'_>, entry: ChecksEntry) -> Checked<Checks> {
    let volatile = entry.volatile_lines.iter();
    let output = entry.output_files.iter();
    Ok(Checks {
        exit_code: entry.exit_code,
        stdout_contains: entry.stdout_contains,
        volatile_lines: volatile
            .map(|line| regex(text, line))
            .collect::<Checked<_>>()?,
        output_files: output
            .map(|path| inside(text, path, Path::new(""), "the working folder"))
            .collect::<Checked<_>>()?,
    })
}

/// The expected counts of each of `sizes` that has any.
fn expected(
    text: Text<'_>,
    entries: Entries<Located<ExpectedEntry>>,
    sizes: &BTreeMap<String, Size>,
) -> Checked<BTreeMap<String, Expected>> {
    let mut expected = BTreeMap::new();
    for (size, entry) in entries.0 {
        if !sizes.contains_key(&size.value) {
            let known: Vec<&str> = sizes.keys().map(String::as_str).collect();
            return Err(text.error(
                size.referenced,
                format!(
                    "expected counts for a size `{}` that does not exist",
                    size.value
                ),
                format!("the sizes are: {}", known.join(", ")),
            ));
        }
        expected.insert(size.value, counts(&entry.value));
    }
    Ok(expected)
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
                    format!("`{commit}` is not a full commit id"),
                    "expected 40 hex digits: branches and tags move, abbreviations become ambiguous",
                ));
            }
            if git.url.value.is_empty() || git.url.value.starts_with('-') {
                return Err(text.error(
                    git.url.referenced,
                    format!("`{}` is not a URL", git.url.value),
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
    entries: &Located<Vec<UnitEntry>>,
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
                format!("translation unit `{}` appears twice", entry.file.value),
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

/// A constant in one of the benchmark's files.
fn constant(
    text: Text<'_>,
    entry: &ConstantEntry,
    files: &[PathBuf],
    below: &impl Fn(&Located<String>) -> Checked<PathBuf>,
) -> Checked<Constant> {
    let file = below(&entry.file)?;
    if !files.contains(&file) {
        return Err(text.error(
            entry.file.referenced,
            format!("file `{}` is not one of the program's", entry.file.value),
            "expected a path that is listed in `files`, written the same way",
        ));
    }
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let name = &entry.name.value;
    if name.is_empty() || name.as_bytes()[0].is_ascii_digit() || !name.bytes().all(word) {
        return Err(text.error(
            entry.name.referenced,
            format!("`{name}` is not the name of a constant"),
            "expected the name of a macro or variable, without its type",
        ));
    }
    Ok(Constant {
        file,
        name: name.clone(),
        value: entry.value,
    })
}

fn determinism(
    text: Text<'_>,
    entry: Option<Located<FlagOr<BecauseEntry>>>,
) -> Checked<Determinism> {
    let Some(entry) = entry else {
        return Ok(Determinism::Deterministic);
    };
    match entry.value {
        FlagOr::Flag(true) => Ok(Determinism::Deterministic),
        FlagOr::Other(reason) if !reason.false_because.trim().is_empty() => {
            Ok(Determinism::Varies {
                because: reason.false_because,
                on: reason.on,
                same: reason.same,
                results_differ: reason.results_differ,
            })
        }
        _ => Err(text.error(
            entry.referenced,
            "a program that is not deterministic needs a reason",
            "expected `true` or {false-because: \"the reason\"}",
        )),
    }
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
