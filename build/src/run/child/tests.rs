//! Tests for programs that exit, hang, or are killed.

use super::super::Kill;
use super::*;
use std::fs;

fn shell(folder: &Path, script: &str) -> RunSpec {
    RunSpec {
        program: "/bin/sh".into(),
        name: "toy".into(),
        args: vec!["-c".into(), script.into()],
        folder: folder.to_owned(),
        environment: vec![(variable::SUMMARY, "here".into())],
        stdout: folder.join("stdout"),
        stderr: folder.join("stderr"),
        timeout: Duration::from_secs(20),
        memory_limit_bytes: None,
        output_limit_bytes: 1000,
        kill: None,
    }
}

#[test]
fn output_and_exit_code_are_returned() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo $SUPERSTEP_SUMMARY; echo bad >&2; exit 7";
    let outcome = run(&shell(folder.path(), script)).unwrap();
    assert_eq!(outcome.end, End::Exited(7));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!([read("stdout"), read("stderr")], ["here\n", "bad\n"]);
    assert!(!outcome.stdout_truncated && outcome.peak_memory_bytes > 0);
}

#[test]
fn a_signal_is_distinguished_from_an_exit() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = run(&shell(folder.path(), "kill -SEGV $$")).unwrap();
    assert_eq!(outcome.end, End::Signalled(libc::SIGSEGV));
    assert_eq!(outcome.end.to_string(), "was killed by signal 11 (SIGSEGV)");
}

#[test]
fn a_timeout_kills_the_whole_process_group() {
    let folder = tempfile::tempdir().unwrap();
    let spec = RunSpec {
        timeout: Duration::from_millis(200),
        ..shell(folder.path(), "sleep 30 & echo $!; sleep 30")
    };
    let started = Instant::now();
    assert_eq!(run(&spec).unwrap().end, End::TimedOut);
    assert!(started.elapsed() < Duration::from_secs(10));
    let grandchild = fs::read_to_string(folder.path().join("stdout")).unwrap();
    let is_gone = || {
        let status =
            fs::read_to_string(format!("/proc/{}/status", grandchild.trim())).unwrap_or_default();
        status.is_empty() || status.contains("State:\tZ")
    };
    // The signal has been sent, but the scheduler decides when it takes effect.
    let gone_soon = (0..500).any(|_| {
        thread::sleep(Duration::from_millis(10));
        is_gone()
    });
    assert!(gone_soon, "the grandchild is still running");
}

#[test]
fn a_program_is_killed_with_a_delay_after_a_file_appears() {
    let folder = tempfile::tempdir().unwrap();
    let kill = Kill {
        file: folder.path().join("here"),
        after: Duration::from_millis(100),
    };
    let spec = |script| RunSpec {
        kill: Some(kill.clone()),
        ..shell(folder.path(), script)
    };
    let ended = |script| run(&spec(script)).unwrap();
    assert_eq!(ended("sleep 0.3").end, End::Exited(0));
    let outcome = ended("sleep 0.2; touch here; sleep 20");
    assert_eq!(outcome.end, End::Signalled(libc::SIGKILL));
    assert!(outcome.wall >= Duration::from_millis(300));
}

#[test]
fn a_program_above_its_memory_limit_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let script = "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done";
    let spec = RunSpec {
        memory_limit_bytes: Some(64 << 20),
        ..shell(folder.path(), script)
    };
    assert_eq!(run(&spec).unwrap().end, End::OutOfMemory);
}

#[test]
fn long_output_is_truncated() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = run(&shell(folder.path(), "head -c 100000 /dev/zero")).unwrap();
    assert!(outcome.end == End::Exited(0) && outcome.stdout_truncated);
    let stdout = fs::metadata(folder.path().join("stdout")).unwrap();
    assert_eq!(stdout.len(), 1000);
}

#[test]
fn a_missing_program_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let spec = RunSpec {
        program: "/nonexistent".into(),
        ..shell(folder.path(), "")
    };
    let error = run(&spec).unwrap_err().to_string();
    assert!(error.starts_with("failed to start /nonexistent: "));
}
