//! Runs on the CPU backend that are interrupted at chosen and random points, and resumed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::toys::{SuiteProcess, files, reproducible, runs, suite, summary, write_suite};
use crate::common::{run, superstep};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::Value;
use superstep_testing::synthetic::{self, Pattern};

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_killed_and_resumed_run_has_the_results_of_an_uninterrupted_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let benchmarks = [("a", "slow", ""), ("b", "slow", ""), ("c", "slow", "")];
    write_suite(folder, &benchmarks);
    // Kills the run while it is building: there is either nothing to resume yet or an empty run.
    let mut process = SuiteProcess::start(folder, &["--resume"]);
    process.wait_for("build-step", 2);
    process.signal("KILL");
    let (code, _, err) = run(&mut suite(folder, &[]));
    assert_eq!(code, 0, "{err}");
    let uninterrupted = runs(folder).pop().unwrap();
    assert_eq!(summary(&uninterrupted)["complete"], true);

    // The newest run is complete, so this starts a new one. It is killed repeatedly, each time a little later.
    let count = runs(folder).len() + 1;
    for (reason, number, milliseconds, signal) in [
        ("run-started", 1, 0, "KILL"),
        ("benchmark-started", 1, 40, "KILL"),
        ("benchmark-started", 1, 250, "KILL"),
        ("benchmark-finished", 1, 0, "KILL"),
        ("benchmark-started", 2, 90, "INT"),
        ("benchmark-started", 2, 300, "KILL"),
        ("build-step", 1, 0, "INT"),
        ("benchmark-started", 3, 20, "TERM"),
        ("benchmark-finished", 3, 0, "KILL"),
    ] {
        let mut process = SuiteProcess::start(folder, &["--resume"]);
        process.wait_for(reason, number);
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        let code = process.signal(signal);
        let expected = if signal == "KILL" { -1 } else { 130 };
        assert_eq!(code, expected, "{reason} {number}");
        assert_eq!(runs(folder).len(), count, "the same run each time");
        let incomplete = summary(&runs(folder).pop().unwrap());
        assert_eq!(incomplete["complete"], false, "{reason} {number}");
    }
    // The link still points to the run that has a page.
    let latest = || folder.join("out/toys/latest/run.json");
    assert_eq!(
        fs::read(latest()).unwrap(),
        fs::read(uninterrupted.join("run.json")).unwrap()
    );
    let (code, _, err) = run(&mut suite(folder, &["--resume"]));
    assert_eq!(code, 0, "{err}");
    assert_ne!(
        fs::read(latest()).unwrap(),
        fs::read(uninterrupted.join("run.json")).unwrap()
    );
    assert!(
        err.contains("3 of 3 benchmarks already have results"),
        "{err}"
    );
    assert_eq!(runs(folder).len(), count);
    let resumed = runs(folder).pop().unwrap();
    let (a, b) = (summary(&uninterrupted), summary(&resumed));
    assert_eq!(b["resumed"].as_array().unwrap().len(), 9);
    assert_eq!(reproducible(a), reproducible(b));
    assert_eq!(files(&uninterrupted), files(&resumed));
    let (code, out, _) = run(superstep(folder)
        .arg("compare")
        .args([&uninterrupted, &resumed]));
    assert_eq!(code, 0, "{out}");

    // A run cannot be resumed with different options; without --resume, a new run starts.
    let mut process = SuiteProcess::start(folder, &[]);
    process.wait_for("benchmark-finished", 1);
    process.signal("KILL");
    let (code, _, err) = run(&mut suite(folder, &["--resume", "--only", "a"]));
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("this command selects a"), "{err}");
    let (code, _, err) = run(&mut suite(
        folder,
        &[&format!("--resume={}", resumed.display())],
    ));
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("is already complete"), "{err}");
}

/// The interrupted program leaves a file between its captures, so that its captures cannot be collected.
#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_benchmark_that_fails_because_it_was_interrupted_is_not_finished() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_suite(folder, &[("a", "litters, litter", "")]);
    let mut process = SuiteProcess::start(folder, &[]);
    process.wait_for("benchmark-started", 1);
    let litter = || {
        runs(folder)
            .pop()
            .unwrap()
            .join("benchmarks/a/capture/litter")
    };
    while !litter().exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(process.signal("INT"), 130);
    let interrupted = summary(&runs(folder).pop().unwrap());
    assert_eq!(interrupted["complete"], false);
    assert_eq!(interrupted["benchmarks"][0]["status"], "skipped");
}

/// Tests commands that read all of a large capture.
#[test]
fn commands_on_a_large_capture_exit_within_two_seconds_of_ctrl_c() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("capture");
    synthetic::write(&capture, 8, 1 << 22, |_| Pattern::Regular).unwrap();
    for format in ["csv", "json", "parquet", "memtrace-v1"] {
        let mut command = superstep(folder.path());
        command.args(["export", "--format", format]).arg(&capture);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        assert!(send("INT", child.id(), false), "{format}");
        let signalled = Instant::now();
        let code = child.wait().unwrap().code();
        let delay = signalled.elapsed();
        assert_eq!(code, Some(130), "{format}");
        assert!(delay < Duration::from_secs(2), "{format}: {delay:?}");
    }
    let (code, _, err) = run(superstep(folder.path()).arg("info").arg(&capture));
    assert_eq!(code, 0, "the capture is unchanged: {err}");
}

/// Returns a number from the environment, or `default`.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text}: not a number"))
    })
}

/// Sends `signal` to a process, or to its process group if `group` is set. Returns false if it had already ended.
fn send(signal: &str, process: u32, group: bool) -> bool {
    let target = if group {
        format!("-{process}")
    } else {
        process.to_string()
    };
    let mut kill = Command::new("kill");
    kill.args(["-s", signal, "--", &target]);
    kill.stderr(Stdio::null()).status().unwrap().success()
}

/// Returns the part of a run's summary that does not depend on its time or folder.
fn result(run: &Path) -> Value {
    let text = summary(run).to_string();
    let path = run.canonicalize().unwrap().display().to_string();
    reproducible(serde_json::from_str(&text.replace(&path, "RUN")).unwrap())
}

/// Returns the places where two values differ.
fn differences(one: &Value, two: &Value) -> Vec<String> {
    match (one, two) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<_> = a.keys().chain(b.keys()).collect();
            names
                .into_iter()
                .flat_map(|name| {
                    let found = differences(&one[name], &two[name]);
                    let place = move |it| format!("{name}: {it}");
                    found.into_iter().map(place)
                })
                .collect()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .flat_map(|(a, b)| differences(a, b))
            .collect(),
        _ if one == two => Vec::new(),
        _ => vec![format!("{one} != {two}")],
    }
}

/// Returns the text of a run's tables, except for the table of times.
fn tables(run: &Path) -> BTreeMap<String, String> {
    let folder = run.join("tables");
    files(&folder)
        .into_iter()
        .filter(|name| name.file_stem().is_none_or(|stem| stem != "timeline"))
        .map(|name| {
            let text = fs::read_to_string(folder.join(&name)).unwrap();
            (name.display().to_string(), text)
        })
        .collect()
}

/// `SUPERSTEP_TEST_INTERRUPTIONS` sets the number of interruptions, and `SUPERSTEP_TEST_SEED` sets the seed
/// for points and signals.
#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_run_interrupted_at_random_points_has_the_results_of_an_uninterrupted_one() {
    let (wanted, seed) = (
        number("SUPERSTEP_TEST_INTERRUPTIONS", 12),
        number("SUPERSTEP_TEST_SEED", 1),
    );
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let folder = tempfile::tempdir().unwrap();
    let (one, many) = (folder.path().join("one"), folder.path().join("many"));
    for folder in [&one, &many] {
        write_suite(
            folder,
            &[
                ("a", "slow", ""),
                (
                    "fails",
                    "wrong",
                    "checks: {stdout-contains: [nothing like it]}",
                ),
                ("c", "slow", ""),
            ],
        );
    }
    // Starts with an empty cache, so that builds are also interrupted.
    let started = Instant::now();
    let (code, _, err) = run(&mut suite(&one, &[]));
    let (cold_ms, uninterrupted) = (
        started.elapsed().as_millis() as u64,
        runs(&one).pop().unwrap(),
    );
    assert_eq!(code, 1, "one program does not match its manifest: {err}");
    let (expected, expected_files) = (result(&uninterrupted), files(&uninterrupted));
    assert_eq!(expected["complete"], true);
    let started = Instant::now();
    let (_, _, _) = run(&mut suite(&one, &[]));
    let warm_ms = started.elapsed().as_millis() as u64;

    let (mut interruptions, mut history) = (0, Vec::new());
    let mut longest_ms = cold_ms;
    let mut last = false;
    loop {
        let mut command = suite(&many, &["--resume"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.process_group(0).spawn().unwrap();
        let (signal, group) = [
            ("INT", false),
            ("TERM", true),
            ("KILL", false),
            ("KILL", true),
        ][random.next_u32() as usize % 4];
        let wait_ms = u64::from(random.next_u32()) % longest_ms;
        let before = Instant::now();
        let mut ended = child.try_wait().unwrap();
        while ended.is_none() && (last || before.elapsed() < Duration::from_millis(wait_ms)) {
            std::thread::sleep(Duration::from_millis(2));
            ended = child.try_wait().unwrap();
        }
        let ended = match ended {
            Some(status) => status,
            None => {
                send(signal, child.id(), group);
                child.wait().unwrap()
            }
        };
        history.push(format!(
            "{signal}{} after {} ms: {ended}",
            if group { " to all" } else { "" },
            before.elapsed().as_millis()
        ));
        let newest = runs(&many)
            .pop()
            .filter(|run| run.join("run.json").exists());
        // A signal after the last write changes nothing.
        let complete = newest
            .as_ref()
            .is_some_and(|run| summary(run)["complete"] == true);
        if ended.code() != Some(1) {
            assert!(matches!(ended.code(), None | Some(130)), "{history:#?}");
            interruptions += 1;
        }
        if !complete {
            assert_ne!(ended.code(), Some(1), "{history:#?}");
            last = interruptions >= wanted;
            continue;
        }
        let resumed = newest.unwrap();
        let different = differences(&expected, &result(&resumed));
        assert!(different.is_empty(), "{different:#?} {history:#?}");
        assert_eq!(files(&resumed), expected_files, "{history:#?}");
        let found = tables(&resumed);
        for (name, text) in tables(&uninterrupted) {
            assert!(found.get(&name) == Some(&text), "{name}: {history:#?}");
        }
        if interruptions >= wanted {
            break;
        }
        // The next run uses cached builds.
        (longest_ms, last) = (warm_ms, false);
    }
    eprintln!("seed {seed}: {history:#?}");
}
