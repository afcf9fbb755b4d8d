//! The rules that a schema cannot express, and the way from the raw file to the checked types.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_saphyr::Location;

use super::error::Text;
use super::model::{
    Benchmark, Checks, Constant, DataArchive, Determinism, Language, Size, Source, Suite,
    TranslationUnit,
};
use super::rules::{Checked, clean, https, identifier, inside, not_empty, regex, sha256};
use super::schema::{
    BecauseEntry, BenchmarkFile, ChecksEntry, ConstantEntry, DataEntry, Expected, Flags,
    SourceEntry, SuiteFile, UnitEntry,
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
    let archive = |data: DataEntry| {
        https(text, &data.archive_url)?;
        Ok(DataArchive {
            sha256: sha256(text, &data.archive_sha256)?,
            url: data.archive_url.value,
        })
    };
    Ok(Suite {
        folder: folder.to_owned(),
        name: identifier(text, &file.name, "suite")?,
        title: not_empty(text, file.title, "title")?,
        source: source(text, file.source)?,
        data: file.data.map(archive).transpose()?,
        default_size: identifier(text, &file.default_size, "size")?,
        benchmarks: Vec::new(),
        groups: BTreeMap::new(),
    })
}

pub(super) fn groups(
    text: Text<'_>,
    names: &[Located<String>],
    groups: Entries<Vec<Located<String>>>,
) -> Checked<BTreeMap<String, Vec<String>>> {
    let mut checked = BTreeMap::new();
    for (group, members) in groups.0 {
        for member in &members {
            text.require(
                names.iter().any(|name| name.value == member.value),
                member.referenced,
                format!(
                    "the group `{}` names `{}`, which is not a benchmark of the suite",
                    group.value, member.value
                ),
                "remove it from the group, or add it to `benchmarks`",
            )?;
        }
        let members = members.into_iter().map(|member| member.value).collect();
        checked.insert(identifier(text, &group, "group")?, members);
    }
    Ok(checked)
}

pub(super) fn names(text: Text<'_>, place: Location, names: &[Located<String>]) -> Checked<()> {
    let problem = "the suite lists no benchmark";
    text.require(!names.is_empty(), place, problem, "name at least one")?;
    let mut seen = BTreeSet::new();
    for name in names {
        identifier(text, name, "benchmark")?;
        text.require(
            seen.insert(name.value.as_str()),
            name.referenced,
            format!("benchmark `{}` is listed twice", name.value),
            "remove one of the two",
        )?;
    }
    Ok(())
}

pub(super) fn benchmark(text: Text<'_>, suite: &Suite, file: BenchmarkFile) -> Checked<Benchmark> {
    schema(text, &file.schema)?;
    let name = identifier(text, &file.name, "benchmark")?;
    text.require(
        text.path.file_stem() == Some(name.as_ref()),
        file.name.referenced,
        format!("the benchmark is called `{name}`, but its file is not"),
        format!("expected the file name {name}.yaml"),
    )?;
    let folder = |path: &Option<Located<String>>, root: &str| match path {
        Some(path) => inside(text, path, Path::new(""), root),
        None => Ok(PathBuf::new()),
    };
    let directory = folder(&file.directory, "the source")?;
    let below = |path: &Located<String>| {
        inside(text, path, &directory, "the source").map(|_| clean(&path.value))
    };
    if let Some(limit) = &file.timeout_s {
        let (what, mend) = ("a time limit of 0 s", "expected at least 1");
        text.require(limit.value > 0, limit.referenced, what, mend)?;
    }
    if let Some(limit) = &file.memory_limit_mib {
        let fits = (1..1 << 40).contains(&limit.value);
        let what = format!("a memory limit of {} MiB", limit.value);
        text.require(fits, limit.referenced, what, "expected 1 to 2^40 - 1")?;
    }
    let translation_units = units(text, &suite.source, &file.translation_units, &below)?;
    let is_built = (translation_units.iter()).any(|unit| unit.language == Language::Built);
    let has_flags = !file.include.is_empty() || file.flags != Flags::default();
    text.require(
        !is_built || !has_flags && file.constants.is_empty(),
        file.translation_units.referenced,
        "nothing of this program is compiled here, but there are flags, include folders or constants",
        "remove `flags`, `include` and `constants`",
    )?;
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
        flags: file.flags,
        only_on: file.only_on,
        deterministic: determinism(text, file.deterministic)?,
        start_in: folder(&file.start_in, "the working folder")?,
        timeout_s: file.timeout_s.map_or(DEFAULT_TIMEOUT_S, |s| s.value),
        memory_limit_mib: file.memory_limit_mib.map(|mib| mib.value),
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
    entries: Entries<Expected>,
    sizes: &BTreeMap<String, Size>,
) -> Checked<BTreeMap<String, Expected>> {
    let mut expected = BTreeMap::new();
    for (size, entry) in entries.0 {
        let (place, size) = (size.referenced, size.value);
        let known: Vec<&str> = sizes.keys().map(String::as_str).collect();
        text.require(
            sizes.contains_key(&size),
            place,
            format!("expected counts for a size `{size}` that does not exist"),
            format!("the sizes are: {}", known.join(", ")),
        )?;
        expected.insert(size, entry);
    }
    Ok(expected)
}

fn schema(text: Text<'_>, version: &Located<u32>) -> Checked<()> {
    text.require(
        version.value == SCHEMA,
        version.referenced,
        format!("schema {} is not known", version.value),
        format!("expected {SCHEMA}: this version of superstep reads no other"),
    )
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
            let (url, commit) = (git.url.value, &git.commit.value);
            text.require(
                commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
                git.commit.referenced,
                format!("`{commit}` is not a full commit id"),
                "expected 40 hex digits: branches and tags move, abbreviations become ambiguous",
            )?;
            text.require(
                !url.is_empty() && !url.starts_with('-'),
                git.url.referenced,
                format!("`{url}` is not a URL"),
                "expected what git clone takes, such as https://host/owner/name",
            )?;
            // `ext::` runs a command, and other helpers are programs of the user's that a stranger's manifest may not start.
            text.require(
                !url.contains("::"),
                git.url.referenced,
                format!("`{url}` names a program of git's, not a repository"),
                "expected https://…, ssh://…, git://…, host:path or a folder",
            )?;
            Ok(Source::Git {
                url,
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
    source: &Source,
    entries: &Located<Vec<UnitEntry>>,
    below: &impl Fn(&Located<String>) -> Checked<PathBuf>,
) -> Checked<Vec<TranslationUnit>> {
    text.require(
        !entries.value.is_empty(),
        entries.referenced,
        "no translation unit",
        "name at least one CUDA file",
    )?;
    let mut units: Vec<TranslationUnit> = Vec::new();
    for entry in &entries.value {
        let file = below(&entry.file)?;
        text.require(
            !units.iter().any(|unit| unit.file == file),
            entry.file.referenced,
            format!("translation unit `{}` appears twice", entry.file.value),
            "remove one of the two",
        )?;
        let language = match entry.language.value.as_str() {
            "cuda" => Language::Cuda,
            "c" => Language::C,
            "c++" => Language::Cpp,
            "built" => Language::Built,
            other => {
                return Err(text.error(
                    entry.language.referenced,
                    format!("unknown language `{other}`"),
                    "expected `cuda`, `c`, `c++` or `built`",
                ));
            }
        };
        let is_built = |unit: &TranslationUnit| unit.language == Language::Built;
        let unit = TranslationUnit { file, language };
        text.require(
            units.iter().all(|other| is_built(other) == is_built(&unit)),
            entry.language.referenced,
            "a program is either built elsewhere or compiled here",
            "give all translation units the language `built`, or none",
        )?;
        text.require(
            !is_built(&unit) || *source == Source::InTree,
            entry.language.referenced,
            "a git source holds nothing that is built",
            "expected the source {in-tree: true} in suite.yaml",
        )?;
        units.push(unit);
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
        text.require(
            !files.contains(&path),
            entry.referenced,
            format!("file `{}` is listed twice", entry.value),
            "remove one of the two",
        )?;
        files.push(path);
    }
    for TranslationUnit { file, .. } in units {
        if files.contains(file) {
            continue;
        }
        if let (Source::Git { .. }, Some(first)) = (&suite.source, entries.first()) {
            return Err(text.error(
                first.referenced,
                format!(
                    "translation unit `{}` is missing in `files`",
                    file.display()
                ),
                "list every file that is needed from a git source",
            ));
        }
        files.push(file.clone());
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
    text.require(
        files.contains(&file),
        entry.file.referenced,
        format!("file `{}` is not one of the program's", entry.file.value),
        "expected a path that is listed in `files`, written the same way",
    )?;
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let name = &entry.name.value;
    let starts_well = !name.is_empty() && !name.as_bytes()[0].is_ascii_digit();
    text.require(
        starts_well && name.bytes().all(word),
        entry.name.referenced,
        format!("`{name}` is not the name of a constant"),
        "expected the name of a macro or variable, without its type",
    )?;
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
