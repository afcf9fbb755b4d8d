//! The life of one process: started in its own group, watched, ended with everything it started.

use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use superstep_abi::variable;

use super::{End, RunError, RunOutcome, RunSpec, output};
use crate::interrupt;

/// Longest pause between two looks at a running program's memory and time.
const PAUSE: Duration = Duration::from_millis(20);

/// The same where the program is to be killed at a moment.
const SHORT_PAUSE: Duration = Duration::from_millis(1);

/// Runs a program to its end, or to its limits.
///
/// # Errors
/// It could not be started, or its output files could not be written. A program that fails is not an error here.
pub fn run(spec: &RunSpec) -> Result<RunOutcome, RunError> {
    let create = |path: &Path| File::create(path).map_err(RunError::at("create", path));
    let (stdout_file, stderr_file) = (create(&spec.stdout)?, create(&spec.stderr)?);
    let mut command = Command::new(&spec.program);
    command
        .arg0(&spec.name)
        .args(&spec.args)
        .current_dir(&spec.folder);
    // What the caller set for itself must not reach the program: it would write someone else's capture.
    command
        .env_remove(variable::CAPTURE)
        .env_remove(variable::SOURCES)
        .env_remove(variable::SUMMARY)
        .envs(spec.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    die_with_this_process(&mut command);
    let started = Instant::now();
    let spawned = command.spawn();
    let mut child = spawned.map_err(RunError::at("start", &spec.program))?;
    let limit_bytes = spec.output_limit_bytes;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let stdout = thread::spawn(move || output::copy(stdout, stdout_file, limit_bytes));
    let stderr = thread::spawn(move || output::copy(stderr, stderr_file, limit_bytes));

    let watched = watch(&child, spec, started);
    let wall = started.elapsed();
    // Whatever the program started goes with it; it would keep the pipes open otherwise.
    signal_group(child.id(), libc::SIGKILL);
    let collect = |copier: thread::JoinHandle<io::Result<bool>>, path: &Path| {
        let copied = copier.join().unwrap_or(Ok(true));
        copied.map_err(RunError::at("write", path))
    };
    let stdout_truncated = collect(stdout, &spec.stdout)?;
    let stderr_truncated = collect(stderr, &spec.stderr)?;
    let (end, peak_memory_bytes) = watched.map_err(RunError::at("wait for", &spec.program))?;
    Ok(RunOutcome {
        end,
        wall,
        peak_memory_bytes,
        stdout_truncated,
        stderr_truncated,
    })
}

/// Has the kernel end the program when this process is killed, so that a later one does not meet it in the same folder.
/// The thread that starts the program must outlive it, as that of [`run`] does.
pub(crate) fn die_with_this_process(command: &mut Command) {
    let parent = std::process::id();
    let ask = move || {
        // SAFETY: prctl takes numbers here, and getppid nothing; both may be called between fork and exec.
        let orphan = unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::getppid()
        } as u32
            != parent;
        // The parent may have died before the request.
        if orphan {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    };
    // SAFETY: the closure makes two system calls and no allocation (an error of a kind has none), as is required between
    // fork and exec.
    unsafe { command.pre_exec(ask) };
}

/// Waits for the child and ends it when it goes too far. Returns how it ended and its peak memory in bytes.
fn watch(child: &Child, spec: &RunSpec, started: Instant) -> io::Result<(End, u64)> {
    let pid = child.id();
    let bell = Bell::new(pid);
    let (mut ended_for, mut kill_at) = (None, None);
    loop {
        if let Some((status, peak_memory_bytes)) = reap(pid)? {
            let end = match (ended_for, status.code(), status.signal()) {
                (Some(reason), ..) => reason,
                (None, Some(code), _) => End::Exited(code),
                (None, None, signal) => End::Signalled(signal.unwrap_or(0)),
            };
            return Ok((end, peak_memory_bytes));
        }
        if ended_for.is_none() {
            let memory_limit = spec.memory_limit_bytes;
            ended_for = if interrupt::requested() {
                Some(End::Interrupted)
            } else if started.elapsed() >= spec.timeout {
                Some(End::TimedOut)
            } else if memory_limit.is_some_and(|limit| resident_bytes(pid) > limit) {
                Some(End::OutOfMemory)
            } else {
                None
            };
            if ended_for.is_some() {
                signal_group(pid, libc::SIGKILL);
            }
        }
        if let Some(kill) = &spec.kill {
            if kill_at.is_none() && kill.file.exists() {
                kill_at = Some(Instant::now() + kill.after);
            }
            if kill_at.is_some_and(|at| Instant::now() >= at) {
                signal_group(pid, libc::SIGKILL);
            }
        }
        let left = spec.timeout.saturating_sub(started.elapsed());
        bell.wait(match (&spec.kill, ended_for) {
            (Some(_), None) => SHORT_PAUSE,
            (None, None) => PAUSE.min(left),
            (_, Some(_)) => PAUSE,
        });
    }
}

/// The child's status and peak resident memory in bytes, once it has ended.
fn reap(pid: u32) -> io::Result<Option<(ExitStatus, u64)>> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value of that plain C struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live local variables of the types that wait4 writes.
    let waited = unsafe {
        libc::wait4(
            pid as libc::pid_t,
            &raw mut status,
            libc::WNOHANG,
            &raw mut usage,
        )
    };
    match waited {
        0 => Ok(None),
        -1 => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            error => Err(error),
        },
        // Linux gives the peak in KiB.
        _ => Ok(Some((
            ExitStatus::from_raw(status),
            u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
        ))),
    }
}

fn signal_group(pid: u32, signal: libc::c_int) {
    if pid > 1 {
        // SAFETY: killpg takes no pointers. The group was created by this process for this child (process_group(0)), so
        // that no other program is in it; its number stays taken as long as a member of it is alive.
        unsafe { libc::killpg(pid as libc::pid_t, signal) };
    }
}

/// Resident memory of a process in bytes; 0 when it is gone.
fn resident_bytes(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line
        .and_then(|line| line.split_whitespace().next())
        .and_then(|number| number.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Rings when a process ends, so that short programs are not measured in whole pauses.
struct Bell(Option<std::os::fd::OwnedFd>);

impl Bell {
    fn new(pid: u32) -> Self {
        use std::os::fd::FromRawFd;
        // SAFETY: pidfd_open takes a process number and flags, no pointers.
        let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
        let descriptor = i32::try_from(descriptor)
            .ok()
            .filter(|descriptor| *descriptor >= 0);
        // SAFETY: the kernel just returned this descriptor, and nobody else owns it.
        Self(descriptor.map(|descriptor| unsafe { std::os::fd::OwnedFd::from_raw_fd(descriptor) }))
    }

    fn wait(&self, at_most: Duration) {
        use std::os::fd::AsRawFd;
        let Some(descriptor) = &self.0 else {
            // A kernel before 5.3, or a sandbox without the call.
            return thread::sleep(at_most.min(Duration::from_millis(1)));
        };
        let mut entry = libc::pollfd {
            fd: descriptor.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let milliseconds = i32::try_from(at_most.as_millis())
            .unwrap_or(i32::MAX)
            .max(1);
        // SAFETY: `entry` is one live pollfd, as the count says.
        unsafe { libc::poll(&raw mut entry, 1, milliseconds) };
    }
}

#[cfg(test)]
mod tests {
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
    fn output_and_exit_code_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo $SUPERSTEP_SUMMARY; echo bad >&2; exit 7";
        let outcome = run(&shell(folder.path(), script)).unwrap();
        assert_eq!(outcome.end, End::Exited(7));
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!([read("stdout"), read("stderr")], ["here\n", "bad\n"]);
        assert!(!outcome.stdout_truncated && outcome.peak_memory_bytes > 0);
    }

    #[test]
    fn a_signal_is_told_from_an_exit() {
        let folder = tempfile::tempdir().unwrap();
        let outcome = run(&shell(folder.path(), "kill -SEGV $$")).unwrap();
        assert_eq!(outcome.end, End::Signalled(libc::SIGSEGV));
        assert_eq!(outcome.end.to_string(), "was ended by signal 11 (SIGSEGV)");
    }

    #[test]
    fn time_over_ends_the_whole_group() {
        let folder = tempfile::tempdir().unwrap();
        let spec = RunSpec {
            timeout: Duration::from_millis(200),
            ..shell(folder.path(), "sleep 30 & echo $!; sleep 30")
        };
        let started = Instant::now();
        assert_eq!(run(&spec).unwrap().end, End::TimedOut);
        assert!(started.elapsed() < Duration::from_secs(10));
        let grandchild = fs::read_to_string(folder.path().join("stdout")).unwrap();
        let gone = || {
            let status = fs::read_to_string(format!("/proc/{}/status", grandchild.trim()))
                .unwrap_or_default();
            status.is_empty() || status.contains("State:\tZ")
        };
        // The signal is sent; when it arrives is up to the scheduler.
        let gone_soon = (0..500).any(|_| {
            thread::sleep(Duration::from_millis(10));
            gone()
        });
        assert!(gone_soon, "the grandchild lives on");
    }

    #[test]
    fn it_is_killed_when_the_file_has_been_there_so_long() {
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
    fn too_much_memory_ends_it() {
        let folder = tempfile::tempdir().unwrap();
        let script = "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done";
        let spec = RunSpec {
            memory_limit_bytes: Some(64 << 20),
            ..shell(folder.path(), script)
        };
        assert_eq!(run(&spec).unwrap().end, End::OutOfMemory);
    }

    #[test]
    fn long_output_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let outcome = run(&shell(folder.path(), "head -c 100000 /dev/zero")).unwrap();
        assert!(outcome.end == End::Exited(0) && outcome.stdout_truncated);
        let kept = fs::metadata(folder.path().join("stdout")).unwrap();
        assert_eq!(kept.len(), 1000);
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
}
