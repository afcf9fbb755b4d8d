//! Tests for compiler steps, their cache and their failures.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn runner(folder: &Path) -> (Runner, Arc<AtomicUsize>) {
    let executed = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&executed);
    let runner = Runner {
        cache: StepCache::new(folder.join("cache")),
        dry_run: None,
        observer: Box::new(move |event: BuildEvent<'_>| {
            counter.fetch_add(usize::from(!event.cached), Ordering::Relaxed);
        }),
    };
    (runner, executed)
}

fn tool(path: &str) -> Tool {
    Tool {
        path: path.into(),
        identity: "1".into(),
    }
}

/// Returns a stage that copies `in` to `out`, and reports that it also read `header`.
fn copy<'a>(tool: &'a Tool, folder: &'a Path) -> Stage<'a> {
    let script = r#"cat "$1" header > "$2"; printf 'out: header\n' > "$3""#;
    Stage {
        name: "copy",
        subject: Subject {
            name: "toy",
            folder,
        },
        tool,
        args: Args {
            reads_headers: true,
            ..Args::of(["-c", script, "sh"])
                .input("in")
                .with(["out", DEPENDENCIES].map(Arg::Output))
        },
        outputs: &["out"],
    }
}

#[test]
fn a_step_is_repeated_only_after_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let (runner, executed) = runner(folder.path());
    let tool = tool("/bin/sh");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let run = |tool: &Tool| {
        let output = copy(tool, folder.path()).run(&runner).unwrap().join("out");
        let text = fs::read_to_string(output).unwrap();
        format!("{text} {}", executed.load(Ordering::Relaxed))
    };
    write("in", "a");
    write("header", "b");
    assert_eq!([run(&tool), run(&tool)], ["ab 1", "ab 1"]);
    write("header", "cc");
    assert_eq!(run(&tool), "acc 2", "the header is part of the key");
    write("header", "b");
    assert_eq!(run(&tool), "ab 2", "the old result is still cached");
    write("in", "dd");
    assert_eq!(run(&tool), "ddb 3", "the input is part of the key");
    let newer = Tool {
        identity: "2".into(),
        ..tool
    };
    assert_eq!(
        run(&newer),
        "ddb 4",
        "the tool's version is part of the key"
    );
}

#[test]
fn a_failing_command_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (runner, _) = runner(folder.path());
    let tool = tool("/bin/sh");
    let stage = Stage {
        args: Args::of(["-c", "echo it is broken >&2; exit 3"]),
        ..copy(&tool, folder.path())
    };
    let text = stage.run(&runner).unwrap_err().to_string();
    assert!(text.contains("copy failed with exit status: 3"), "{text}");
    assert!(
        text.contains("/bin/sh -c 'echo it is broken >&2; exit 3'"),
        "{text}"
    );
    assert!(text.contains("  it is broken"), "{text}");
}

#[test]
fn a_tool_that_does_not_exist_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (runner, _) = runner(folder.path());
    let tool = tool("/nonexistent/clang");
    let stage = Stage {
        args: Args::default(),
        ..copy(&tool, folder.path())
    };
    let error = stage.run(&runner).unwrap_err();
    assert!(matches!(error, BuildError::Tool(_)), "{error}");
    let text = error.to_string();
    assert!(
        text.starts_with("failed to start /nonexistent/clang: "),
        "{text}"
    );
}

#[test]
fn a_shell_reads_quoted_words_back() {
    let words = ["plain", "", "it's", "a b", "$HOME/x*"];
    let line = words.map(quote).join(" ");
    let mut shell = Command::new("/bin/sh");
    let shell = shell.args(["-c", &format!("printf '%s|' {line}")]);
    let printed = shell.env("HOME", "$HOME").output().unwrap().stdout;
    let printed = String::from_utf8(printed).unwrap();
    assert_eq!(printed, "plain||it's|a b|$HOME/x*|");
}
