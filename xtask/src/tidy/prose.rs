//! Nothing is decided by the wording of a message: product code looks for words only in text of a format that others fixed.

use std::collections::BTreeSet;

use super::Finding;

/// Calls that look for a piece of text.
const CALLS: [&str; 13] = [
    "contains",
    "starts_with",
    "ends_with",
    "strip_prefix",
    "strip_suffix",
    "split_once",
    "rsplit_once",
    "find",
    "rfind",
    "matches",
    "trim_start_matches",
    "trim_end_matches",
    "eq_ignore_ascii_case",
];

/// Files that may look for words, with what they read; a name that ends with `/` is a folder.
const ALLOWED: [(&str, &str); 32] = [
    ("analysis/src/metrics/arrays.rs", "C++ sources"),
    ("bench/src/links/counters.rs", "what nvidia-smi prints"),
    (
        "bench/src/stress/outcome.rs",
        "what the stress programs print",
    ),
    (
        "build/src/compile/libraries.rs",
        "lines of ldd, names of libraries",
    ),
    ("build/src/compile/registers.rs", "PTX"),
    ("build/src/compile/support.rs", "file names"),
    ("build/src/compile/unit.rs", "Clang's flags"),
    (
        "build/src/fetch/git.rs",
        "Git's messages, which are shown without their marks",
    ),
    (
        "build/src/manifest/error.rs",
        "YAML's names of types, which are shown in words",
    ),
    (
        "build/src/manifest/rules.rs",
        "URLs, and the regex library's messages, which are shown without their marks",
    ),
    (
        "build/src/nvcc/",
        "flags of nvcc and linkers, names of GPU architectures",
    ),
    ("build/src/probe/check.rs", "names in a handler's source"),
    ("build/src/run/child.rs", "/proc"),
    ("build/src/run/closed.rs", "names of libraries and folders"),
    ("export/src/nvbit/", "NVBit's text and SASS"),
    ("harness/src/bundle/mod.rs", "file names"),
    (
        "harness/src/commands/common.rs",
        "names of GPU architectures",
    ),
    ("harness/src/counters/ncu.rs", "Nsight Compute's output"),
    (
        "harness/src/probe/injection/select.rs",
        "LLVM's names of instructions",
    ),
    ("harness/src/results/host.rs", "/proc"),
    (
        "harness/src/suite/execute.rs",
        "standard error, where the runtimes mark their own lines",
    ),
    ("harness/src/suite/options.rs", "/proc"),
    ("instrument/src/", "LLVM's names, PTX, and paths of headers"),
    ("toolchain/src/merge.rs", "names in a wheel"),
    ("toolchain/src/packages.rs", "apt's messages"),
    ("trace/src/capture/open.rs", "file names"),
    ("trace/src/memtrace_v1/export.rs", "file names"),
    ("trace/src/probe/spec.rs", "definitions of probes"),
    ("trace/src/names.rs", "mangled names"),
    ("trace/src/writer.rs", "file names"),
    ("xtask/src/", "the repository's own files"),
    ("table/src/declare.rs", "Rust's raw identifiers"),
];

/// The files of the list that need to be on it.
pub type Used = BTreeSet<&'static str>;

/// Places of product code that look for words; `used` gets the entries of the list that are needed.
pub fn check(name: &str, text: &str, used: &mut Used) -> Vec<Finding> {
    if !is_product(name) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (at, what) in decisions(without_tests(text)) {
        let is_allowed = |(file, _): &(&str, &str)| {
            name == *file || file.ends_with('/') && name.starts_with(file)
        };
        match ALLOWED.iter().find(|entry| is_allowed(entry)) {
            Some((file, _)) => _ = used.insert(*file),
            None => {
                let line = text[..at].lines().count().max(1);
                let what = format!(
                    "{what} decides by words: make it an enum, an event or a typed error; \
                     text of a format of others needs an entry in ALLOWED"
                );
                findings.push(Finding::new(name, line, what));
            }
        }
    }
    findings
}

/// Entries of the list that nothing needs any more.
pub fn unused(used: &Used) -> Vec<Finding> {
    let unused = ALLOWED.iter().filter(|(file, _)| !used.contains(file));
    let what = "looks for no words: drop its entry in ALLOWED";
    unused
        .map(|(file, _)| Finding::new(file, 0, what))
        .collect()
}

fn is_product(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    let is_test = file.contains("tests") || file.starts_with("test_") || name.contains("/tests/");
    file.ends_with(".rs") && name.contains("/src/") && !is_test
}

/// The text up to a module of tests.
fn without_tests(text: &str) -> &str {
    let is_module = |&(at, mark): &(usize, &str)| {
        let rest = text[at + mark.len()..].trim_start();
        let line = rest.lines().next().unwrap_or_default();
        line.contains("mod ") && line.ends_with('{')
    };
    let tests = text.match_indices("#[cfg(test)]").find(is_module);
    tests.map_or(text, |(at, _)| &text[..at])
}

/// Where the text is searched for words, or compared with a sentence, and how.
fn decisions(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for call in CALLS {
        for (at, _) in text.match_indices(call) {
            let before = text[..at].chars().next_back();
            let arguments = text[at + call.len()..].strip_prefix('(');
            let literal = arguments.and_then(|rest| literal(rest.trim_start()));
            if !before.is_some_and(is_name) && literal.is_some_and(is_word) {
                found.push((at, format!("`{call}({:?})`", literal.unwrap_or_default())));
            }
        }
    }
    for comparison in ["== ", "!= "] {
        for (at, mark) in text.match_indices(comparison) {
            if let Some(sentence) =
                literal(&text[at + mark.len()..]).filter(|text| is_sentence(text))
            {
                found.push((at, format!("`{comparison}{sentence:?}`")));
            }
        }
    }
    for (at, _) in text.match_indices('"') {
        if let Some(pattern) = literal(&text[at..]).filter(|text| is_sentence(text))
            && text[at + pattern.len() + 2..]
                .trim_start()
                .starts_with("=>")
        {
            found.push((at, format!("the pattern {pattern:?}")));
        }
    }
    found.sort();
    found
}

/// The string literal at the start of `code`, as it is written.
fn literal(code: &str) -> Option<&str> {
    let body = code.strip_prefix('&').unwrap_or(code).strip_prefix('"')?;
    let mut escaped = false;
    let end = body.find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    Some(&body[..end])
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A word or more; an extension of files is none.
fn is_word(text: &str) -> bool {
    !text.starts_with('.') && text.chars().any(char::is_alphabetic)
}

fn is_sentence(text: &str) -> bool {
    let words = text
        .split(' ')
        .filter(|part| part.starts_with(char::is_alphabetic));
    words.count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, code: &str) -> usize {
        check(name, code, &mut Used::new()).len()
    }

    #[test]
    fn a_decision_by_words_is_found_however_it_is_laid_out() {
        for code in [
            r#"if text.contains("not among the copies") {}"#,
            r#"text.strip_prefix("protocol stream: ")?;"#,
            "text\n    .starts_with(\n        \"failed to\",\n    )",
            r#"match note { "it was stopped" => 1, _ => 0 }"#,
            r#"if why == "no space left" {}"#,
            r#"warnings.iter().find(|text| text.contains("not traced"))"#,
            "#[cfg(test)]\nmod tests;\nfn f() { text.contains(\"word\"); }",
        ] {
            assert_eq!(found("analysis/src/analyse.rs", code), 1, "{code}");
        }
    }

    #[test]
    fn what_is_no_decision_by_words_passes() {
        for code in [
            r#"set.contains(&word); name.ends_with(".rs"); text.find(": ")"#,
            r#"let text = "it was stopped";"#,
            r#"match word { "stop" => 1, _ => 0 }"#,
            "#[cfg(test)]\nmod tests {\n    assert!(text.contains(\"it was stopped\"));\n}",
        ] {
            assert_eq!(found("analysis/src/analyse.rs", code), 0, "{code}");
        }
    }

    #[test]
    fn tests_and_files_of_the_list_may() {
        let code = r#"text.contains("not among the copies")"#;
        for name in [
            "trace/tests/replay.rs",
            "harness/src/verify/tests.rs",
            "trace/src/codec_tests.rs",
            "trace/src/memtrace_v1/export.rs",
            "export/src/nvbit/line.rs",
            "docs/a.md",
        ] {
            assert_eq!(found(name, code), 0, "{name}");
        }
        let mut used = Used::new();
        check("export/src/nvbit/line.rs", code, &mut used);
        assert_eq!(used.len(), 1);
        assert_eq!(unused(&used).len(), ALLOWED.len() - 1);
    }

    #[test]
    fn the_place_is_named() {
        let code = "//! A.\nfn f() {\n    text.contains(\"a word\");\n}\n";
        let findings = check("a/src/b.rs", code, &mut Used::new());
        let finding = findings[0].to_string();
        assert!(
            finding.starts_with("a/src/b.rs:3: `contains(\"a word\")`"),
            "{finding}"
        );
    }
}
