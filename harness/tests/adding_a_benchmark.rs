//! Follows `docs/adding-a-benchmark.md` exactly: writes its files and runs its commands.

mod common;

use std::fs;
use std::path::Path;

use common::{root, run, superstep};
use serde_json::Value;

/// A step on the page.
#[derive(Debug)]
enum Task {
    Write(String, String),
    Run(String),
}

/// Parses the page's steps. A code block preceded by a line with just a path and a colon is a file; lines that start
/// with `$` in a console block are commands.
fn tasks(page: &str) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut file = None;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let block: Vec<&str> = lines
                .by_ref()
                .take_while(|line| !line.starts_with("```"))
                .collect();
            match file.take() {
                Some(path) => tasks.push(Task::Write(path, block.join("\n") + "\n")),
                None => {
                    assert_eq!(language, "console", "a block without a file: {block:?}");
                    tasks.extend(block.iter().map(|line| {
                        let command = line.strip_prefix("$ ").expect("a command");
                        Task::Run(command.to_owned())
                    }));
                }
            }
        } else if let Some(path) = line
            .strip_prefix('`')
            .and_then(|rest| rest.strip_suffix("`:"))
        {
            file = Some(path.to_owned());
        }
    }
    tasks
}

/// Runs a command from the page in `folder` and returns its output.
fn follow(folder: &Path, command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    let mut superstep = superstep(folder);
    match words.as_slice() {
        ["superstep", rest @ ..] => superstep.args(rest),
        _ => panic!("the page contains a command that this test does not support: {command}"),
    };
    let (code, out, err) = run(&mut superstep);
    assert_eq!(code, 0, "{command}\n{out}\n{err}");
    out
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn following_the_page_gives_a_passing_benchmark() {
    let page = fs::read_to_string(root().join("docs/adding-a-benchmark.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (mut files, mut outputs) = (0, Vec::new());
    for task in tasks(&page) {
        match task {
            Task::Write(path, text) => {
                files += 1;
                let path = folder.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Task::Run(command) => outputs.push(follow(folder, &command)),
        }
    }
    assert_eq!((files, outputs.len()), (3, 7));
    assert!(
        outputs[1].contains("shift: 4 launches, 32 CTAs"),
        "{}",
        outputs[1]
    );
    let text = fs::read_to_string(folder.join("out/mine/latest/run.json")).unwrap();
    let ring = &serde_json::from_str::<Value>(&text).unwrap()["benchmarks"][0];
    let share = ring["communication"]["share"].as_f64().unwrap();
    assert!(
        (share - 0.75).abs() < 1e-9,
        "three of four launches are read: {share}"
    );
    // The blessed result is used from now on.
    let golden = folder.join("mine/golden/ring.tiny.json");
    assert!(folder.join("mine/golden/ring.small.json").is_file());
    let other = fs::read_to_string(&golden).unwrap().replace("4096", "4095");
    fs::write(&golden, other).unwrap();
    let (code, _, err) = run(superstep(folder).args(["suite", "./mine", "--backend", "cpu"]));
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("golden"), "{err}");
}
