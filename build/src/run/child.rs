//! Runs one process in its own group, watches it, and kills everything that it started.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, kill_process_group, pidfd_open,
    set_parent_process_death_signal,
};
use superstep_abi::variable;

use super::{End, RunOutcome, RunSpec, output};
use crate::failure::IoError;
use crate::interrupt;

const PAUSE: Duration = Duration::from_millis(20);

const SHORT_PAUSE: Duration = Duration::from_millis(1);

/// Runs a program until it exits or exceeds a limit. Fails if the program cannot be started or its output files cannot
/// be written; a program that itself fails is not an error.
pub fn run(spec: &RunSpec) -> Result<RunOutcome, IoError> {
    let create = |path: &Path| File::create(path).map_err(IoError::at("create", path));
    let (stdout_file, stderr_file) = (create(&spec.stdout)?, create(&spec.stderr)?);
    let mut command = Command::new(&spec.program);
    command
        .arg0(&spec.name)
        .args(&spec.args)
        .current_dir(&spec.folder)
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
    let mut child = spawned.map_err(IoError::at("start", &spec.program))?;
    let limit_bytes = spec.output_limit_bytes;
    let pid = Pid::from_child(&child);
    let stdout = child.stdout.take().expect("it is a pipe");
    let stderr = child.stderr.take().expect("it is a pipe");
    let stdout = thread::spawn(move || output::copy(stdout, stdout_file, limit_bytes));
    let stderr = thread::spawn(move || output::copy(stderr, stderr_file, limit_bytes));

    let watched = watch(pid, spec, started);
    let wall = started.elapsed();
    // Also kills the processes that the program started, which would keep the pipes open.
    kill_group(pid);
    let collect = |copier: thread::JoinHandle<io::Result<bool>>, path: &Path| {
        let copied = copier.join().unwrap_or(Ok(true));
        copied.map_err(IoError::at("write", path))
    };
    let stdout_truncated = collect(stdout, &spec.stdout)?;
    let stderr_truncated = collect(stderr, &spec.stderr)?;
    let (end, peak_memory_bytes) = watched.map_err(IoError::at("wait for", &spec.program))?;
    Ok(RunOutcome {
        end,
        wall,
        peak_memory_bytes,
        stdout_truncated,
        stderr_truncated,
    })
}

/// Makes the kernel kill the program if this process is killed, so that it does not keep running in the folder of a
/// later run. The thread that starts the program must outlive it, as the caller of [`run`] does.
pub(crate) fn die_with_this_process(command: &mut Command) {
    let parent = getpid();
    let request = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the request.
        match getppid() {
            Some(pid) if pid == parent => Ok(()),
            _ => Err(io::ErrorKind::Interrupted.into()),
        }
    };
    // SAFETY: the closure makes two system calls and does not allocate (nor does an error created from an `ErrorKind`),
    // as required between fork and exec.
    unsafe { command.pre_exec(request) };
}

fn watch(pid: Pid, spec: &RunSpec, started: Instant) -> io::Result<(End, u64)> {
    let process = pidfd_open(pid, PidfdFlags::empty()).ok();
    let (mut stop_reason, mut kill_at) = (None, None);
    loop {
        if let Some((status, peak_memory_bytes)) = reap(pid)? {
            let end = match (stop_reason, status.code(), status.signal()) {
                (Some(reason), ..) => reason,
                (None, Some(code), _) => End::Exited(code),
                (None, None, signal) => End::Signalled(signal.unwrap_or(0)),
            };
            return Ok((end, peak_memory_bytes));
        }
        if stop_reason.is_none() {
            let memory_limit = spec.memory_limit_bytes;
            stop_reason = if interrupt::requested() {
                Some(End::Interrupted)
            } else if started.elapsed() >= spec.timeout {
                Some(End::TimedOut)
            } else if memory_limit.is_some_and(|limit| resident_bytes(pid) > limit) {
                Some(End::OutOfMemory)
            } else {
                None
            };
            if stop_reason.is_some() {
                kill_group(pid);
            }
        }
        if let Some(kill) = &spec.kill {
            if kill_at.is_none() && kill.file.exists() {
                kill_at = Some(Instant::now() + kill.after);
            }
            if kill_at.is_some_and(|at| Instant::now() >= at) {
                kill_group(pid);
            }
        }
        let remaining = spec.timeout.saturating_sub(started.elapsed());
        let pause = match (&spec.kill, stop_reason) {
            (Some(_), None) => SHORT_PAUSE,
            (None, None) => PAUSE.min(remaining),
            (_, Some(_)) => PAUSE,
        };
        wait(process.as_ref(), pause);
    }
}

fn reap(pid: Pid) -> io::Result<Option<(ExitStatus, u64)>> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value of that plain C struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers refer to live local variables of the types that wait4 writes.
    let waited = unsafe {
        let pid = pid.as_raw_nonzero().get();
        libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage)
    };
    match waited {
        0 => Ok(None),
        -1 => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            error => Err(error),
        },
        // Linux reports the peak in KiB.
        _ => Ok(Some((
            ExitStatus::from_raw(status),
            u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
        ))),
    }
}

fn kill_group(pid: Pid) {
    let _ = kill_process_group(pid, Signal::KILL);
}

fn resident_bytes(pid: Pid) -> u64 {
    let pid = pid.as_raw_nonzero();
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mut lines = text.lines();
    let kib = lines.find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.parse().ok()).unwrap_or(0) * 1024
}

/// Waits until the process that a descriptor refers to exits, so that the measured times of short programs are not
/// rounded up to multiples of the pause.
fn wait(process: Option<&OwnedFd>, at_most: Duration) {
    let Some(process) = process else {
        // The kernel is older than 5.3, or a sandbox blocks the call.
        return thread::sleep(at_most.min(SHORT_PAUSE));
    };
    let timeout = Timespec::try_from(at_most.max(SHORT_PAUSE)).ok();
    let mut ends = [PollFd::new(process, PollFlags::IN)];
    let _ = poll(&mut ends, timeout.as_ref());
}

#[cfg(test)]
mod tests;
