//! Tests for malformed manifests and their errors, and for the suites in this repository.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use superstep_trace::{Backend, Reproducibility};

use super::error::Text;
use super::load;
use super::*;
use crate::failure::Failure;

const SUITE: &str = "\
schema: 1
name: demo
title: Demonstration
source: {git: {url: \"https://example.org/demo\", commit: 0123456789abcdef0123456789abcdef01234567}}
default-size: tiny
benchmarks: [one]
";

const BENCHMARK: &str = "\
schema: 1
name: one
title: One
why: shows something
directory: cuda/one
files: [one.cu, helper.cpp]
translation-units:
  - {file: one.cu, language: cuda}
  - {file: helper.cpp, language: c++}
sizes:
  tiny:
    args: [512, a.txt]
    inputs:
      - name: a.txt
        data: one/a.txt
        sha256: 503e20bbed397d6799dd55ce928dadc300c0a7834bf7d9ad69eda73c67d23172
        generate: {generator: random-bytes, seed: 1, parameters: {bytes: 16}}
checks:
  volatile-lines: [\"^Time:\"]
  output-files: [out.txt]
expected:
  tiny: {launches: 1}
";

fn text<'a>(path: &'a str, content: &str) -> Text<'a> {
    Text {
        path: Path::new(path),
        content: content.to_owned(),
        manual: load::MANUAL,
    }
}

fn suite(content: &str) -> Result<Suite, Failure> {
    let text = text("suites/demo/suite.yaml", content);
    load::suite(&text, Path::new("suites/demo"))
}

fn suite_error(content: &str) -> String {
    match suite(content) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn parsed(content: &str) -> Result<Benchmark, Failure> {
    load::benchmark(&text("suites/demo/one.yaml", content), &suite(SUITE)?)
}

/// Returns the error for the benchmark's manifest after one replacement.
fn error(from: &str, to: &str) -> String {
    assert_eq!(
        BENCHMARK.matches(from).count(),
        1,
        "`{from}` does not occur exactly once"
    );
    match parsed(&BENCHMARK.replace(from, to)) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_correct_manifest_is_read() {
    let benchmark = parsed(BENCHMARK).expect("the manifest is correct");
    assert_eq!(benchmark.name, "one");
    assert_eq!(benchmark.timeout_s, 300);
    assert_eq!(benchmark.deterministic, Determinism::Deterministic);
    assert_eq!(
        benchmark.files,
        [PathBuf::from("one.cu"), PathBuf::from("helper.cpp")]
    );
    assert_eq!(
        benchmark.in_source(Path::new("../two/./two.h")),
        Path::new("cuda/two/two.h")
    );
    assert_eq!(benchmark.translation_units[1].language, Language::Cpp);
    assert_eq!(benchmark.sizes["tiny"].args, ["512", "a.txt"]);
    assert_eq!(benchmark.expected["tiny"].launches, Some(1));
    let input = &benchmark.sizes["tiny"].inputs[0];
    assert_eq!(
        input.sha256.map(|hash| hash.to_string()).as_deref(),
        Some("503e20bbed397d6799dd55ce928dadc300c0a7834bf7d9ad69eda73c67d23172")
    );
    assert!(benchmark.checks.volatile_lines[0].is_match("Time: 3"));
}

#[test]
fn constants_must_name_a_file_in_the_program() {
    let with = |entry: &str| format!("constants: [{entry}]\nsizes:\n");
    let correct = BENCHMARK.replace("sizes:\n", &with("{file: one.cu, name: N, value: 4}"));
    let constant = Constant {
        file: PathBuf::from("one.cu"),
        name: "N".to_owned(),
        value: 4,
    };
    assert_eq!(
        parsed(&correct).expect("it is correct").constants,
        [constant]
    );
    for (entry, message) in [
        (
            "{file: two.cu, name: N, value: 4}",
            "file `two.cu` is not one of the program's",
        ),
        (
            "{file: one.cu, name: int N, value: 4}",
            "`int N` is not the name of a constant",
        ),
    ] {
        let text = error("sizes:\n", &with(entry));
        assert!(text.contains(message), "{text}");
    }
}

macro_rules! malformed {
    ($($name:ident: $error:expr;)*) => {
        $(#[test] fn $name() { insta::assert_snapshot!(stringify!($name), $error); })*
    };
}

malformed! {
    unknown_key: error("    args: [512, a.txt]", "    args: [512, a.txt]\n    argz: [1]");
    missing_key: error("title: One\n", "");
    duplicate_key: error("title: One\n", "title: One\ntitle: Two\n");
    misspelt_key: error("sizes:", "timeout: 5\nsizes:");
    wrong_type: error("schema: 1", "schema: one");
    number_expected: error("sizes:", "timeout-s: soon # five\nsizes:");
    list_expected: error("files: [one.cu, helper.cpp]", "files: one.cu");
    broken_yaml: error("files: [one.cu, helper.cpp]", "files: [one.cu, helper.cpp");
    empty_file: suite_error("");
    other_schema: error("schema: 1", "schema: 2");
    name_differs_from_file: error("name: one", "name: two");
    size_without_args: error("    args: [512, a.txt]\n", "");
    no_size: error(&BENCHMARK[BENCHMARK.find("sizes:").unwrap()..], "sizes: {}\n");
    unknown_language: error("language: cuda", "language: opencl");
    built_and_compiled: error("language: c++", "language: built");
    built_from_git: error(
        "  - {file: one.cu, language: cuda}\n  - {file: helper.cpp, language: c++}",
        "  - {file: one.cu, language: built}"
    );
    leaves_the_source: error("files: [one.cu, helper.cpp]", "files: [one.cu, ../../../helper.cpp]");
    leaves_the_working_folder: error("name: a.txt", "name: ../a.txt");
    starts_outside_the_working_folder: error("schema: 1\n", "schema: 1\nstart-in: ../out\n");
    absolute_output_file: error("[out.txt]", "[/etc/passwd]");
    absolute_source_file: error("files: [one.cu, helper.cpp]", "files: [one.cu, /etc/passwd]");
    absolute_directory: error("directory: cuda/one", "directory: /etc");
    absolute_input: error("name: a.txt", "name: /tmp/a.txt");
    absolute_data: error("data: one/a.txt", "data: /etc/passwd");
    absolute_include_folder: error("sizes:", "include: [/usr/include]\nsizes:");
    git_url_with_an_option: suite_error(&SUITE.replace("https://example.org/demo", "--upload-pack=touch evil"));
    git_url_that_runs_a_command: suite_error(&SUITE.replace("https://example.org/demo", "ext::sh -c 'touch evil'"));
    short_hash: error("d23172", "d2317");
    hash_missing: error("        sha256: 503e20bbed397d6799dd55ce928dadc300c0a7834bf7d9ad69eda73c67d23172\n", "");
    input_from_nowhere: error(
        "      - name: a.txt\n        data: one/a.txt\n        sha256: 503e20bbed397d6799dd55ce928dadc300c0a7834bf7d9ad69eda73c67d23172\n        generate: {generator: random-bytes, seed: 1, parameters: {bytes: 16}}\n",
        "      - name: a.txt\n"
    );
    broken_regular_expression: error("^Time:", "^Time(");
    expected_for_unknown_size: error("  tiny: {launches: 1}", "  large: {launches: 1}");
    false_without_reason: error("sizes:", "deterministic: false\nsizes:");
    false_with_an_unknown_rest: error("sizes:", "deterministic: {false-because: a race, same: output}\nsizes:");
    unlisted_unit: error("[one.cu, helper.cpp]", "[one.cu]");
    benchmark_listed_twice: suite_error(&SUITE.replace("[one]", "[one, two, one]"));
    abbreviated_commit: suite_error(&SUITE.replace("0123456789abcdef0123456789abcdef01234567", "01234567"));
    two_sources: suite_error(&SUITE.replace("source: {", "source: {in-tree: true, "));
    name_with_slash: suite_error(&SUITE.replace("[one]", "[one/two]"));
    plain_http: suite_error(&(SUITE.to_owned() + "data: {archive-url: \"http://example.org/d\", archive-sha256: \"00\"}\n"));
}

#[test]
fn reasons_for_nondeterminism_are_preserved() {
    let text = BENCHMARK.replace(
        "sizes:",
        "deterministic: {false-because: \"atomics race\"}\nsizes:",
    );
    let benchmark = parsed(&text).expect("the manifest is correct");
    assert_eq!(
        benchmark.deterministic,
        Determinism::Varies(Variation::new("atomics race"))
    );
    assert_eq!(
        benchmark.deterministic.same(Backend::Cpu),
        Reproducibility::Launches
    );
    let text = BENCHMARK.replace(
        "sizes:",
        "deterministic: {false-because: a race, on: cuda, same: counts-each-launch, results-differ: true}\nsizes:",
    );
    let determinism = parsed(&text)
        .expect("the manifest is correct")
        .deterministic;
    assert_eq!(determinism.same(Backend::Cpu), Reproducibility::Digests);
    assert_eq!(
        determinism.same(Backend::Cuda),
        Reproducibility::CountsEachLaunch
    );
    assert!(determinism.results_differ(Backend::Cuda) && !determinism.results_differ(Backend::Cpu));
}

#[test]
fn a_missing_benchmark_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("suite.yaml"), SUITE).unwrap();
    let error = load_suite(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("suite.yaml:6:14: benchmark `one` has no manifest"),
        "{error}"
    );
    let error = load_suite(&folder.path().join("none"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("is a folder with a suite.yaml"), "{error}");
}

/// Returns this repository's folder.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn the_thesis_suite_has_its_six_programs() {
    let suite =
        load_suite(&repository().join("suites/thesis")).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<_> = suite
        .benchmarks
        .iter()
        .map(|benchmark| benchmark.name.as_str())
        .collect();
    assert_eq!(names, ["hs2d", "hs3d", "hist", "nbody", "path", "bfs"]);
    for benchmark in &suite.benchmarks {
        for size in ["tiny", "small", "thesis"] {
            assert!(
                benchmark.sizes.contains_key(size),
                "{} lacks {size}",
                benchmark.name
            );
        }
        for file in &benchmark.files {
            let path = suite.folder.join(benchmark.in_source(file));
            assert!(path.is_file(), "{} is missing", path.display());
        }
    }
}

#[test]
fn the_rodinia_suite_contains_the_known_counts() {
    let suite =
        load_suite(&repository().join("suites/rodinia")).unwrap_or_else(|error| panic!("{error}"));
    let expected = suite.benchmark("hotspot").unwrap().expected["small"];
    assert_eq!(
        (expected.ctas, expected.thread_loads, expected.thread_stores),
        (Some(1849), Some(924_800), Some(262_144))
    );
    let expected = suite.benchmark("pathfinder").unwrap().expected["small"];
    assert_eq!(
        (
            expected.ctas_each_launch,
            expected.thread_loads,
            expected.thread_stores
        ),
        (Some(463), Some(11_350_200), Some(500_000))
    );
}

/// Returns a benchmark whose manifest contains every mapping.
fn complete() -> Benchmark {
    let text = BENCHMARK.replace(
        "sizes:\n",
        "constants: [{file: one.cu, name: N, value: 4}]\ndeterministic: {false-because: a race}\nsizes:\n",
    );
    parsed(&text).expect("the manifest is correct")
}

#[test]
fn a_written_manifest_is_read_back_unchanged() {
    let json = serde_json::to_string(&complete()).unwrap();
    let again = parsed(&json).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(format!("{again:?}"), format!("{:?}", complete()));
}

#[test]
fn the_documentation_names_every_key() {
    fn collect(value: &serde_json::Value, keys: &mut BTreeSet<String>) {
        if let Some(list) = value.as_array() {
            list.iter().for_each(|value| collect(value, keys));
        }
        for (key, value) in value.as_object().into_iter().flatten() {
            keys.insert(key.clone());
            collect(value, keys);
        }
    }
    let data = "data: {archive-url: \"https://example.org/d\", archive-sha256: 503e20bbed397d6799dd55ce928dadc300c0a7834bf7d9ad69eda73c67d23172}\n";
    let suite = suite(&(SUITE.to_owned() + data)).unwrap();
    let mut keys = BTreeSet::new();
    collect(&serde_json::to_value(suite).unwrap(), &mut keys);
    collect(&serde_json::to_value(complete()).unwrap(), &mut keys);
    // These two are the names of a size and of a generator's parameter.
    keys.retain(|key| !["tiny", "bytes"].contains(&key.as_str()));
    assert!(keys.len() > 40, "only {} keys", keys.len());
    let page = std::fs::read_to_string(repository().join("docs/manifest.md")).unwrap();
    for key in keys {
        let is_documented = page.contains(&format!("`{key}`"));
        assert!(is_documented, "docs/manifest.md does not explain {key}");
    }
}
