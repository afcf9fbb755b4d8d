//! Runs a traced program of the suite `stress` and looks at what it leaves.

use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use superstep_abi::Config;
use superstep_trace::{
    Capture, LaunchDigest, LaunchOutcome, LaunchRecord, LaunchSums, Summary, digest,
};

use super::cases::{Case, End, How};

#[derive(Debug)]
pub struct Ran {
    /// How it ended; `None`: it had to be killed, because it did not.
    pub status: Option<ExitStatus>,
    pub stdout: String,
    pub stderr: String,
    pub seconds: f64,
}

impl Ran {
    pub fn ended(&self) -> String {
        let Some(status) = self.status else {
            return "did not end".to_owned();
        };
        match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "unknown end".to_owned(),
        }
    }

    /// The number behind `expected-accesses:`.
    pub fn announced(&self) -> Option<u64> {
        let line = |line: &str| line.strip_prefix("expected-accesses: ")?.parse().ok();
        self.stdout.lines().find_map(line)
    }

    /// The lines of JSON that it printed.
    pub fn figures(&self) -> Vec<serde_json::Value> {
        let lines = self.stdout.lines().filter(|line| line.starts_with('{'));
        let values = lines.filter_map(|line| serde_json::from_str(line).ok());
        values.collect()
    }
}

/// Runs `program` for `case` in `folder`, which records as `config` says.
pub fn run(
    program: &Path,
    case: &Case,
    config: &Config,
    folder: &Path,
    timeout: Duration,
) -> io::Result<Ran> {
    let mut command = match case.how {
        How::FileLimitKib(kib) => {
            // A shell sets the limit, and lets writing fail instead of ending the program, as a full disk does.
            let mut shell = Command::new("bash");
            let script = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" \"$@\"");
            shell.arg("-c").arg(script).arg(program);
            shell
        }
        How::Plain | How::KilledAfter(_) => Command::new(program),
    };
    let (out, err) = (folder.join("stdout"), folder.join("stderr"));
    let begin = Instant::now();
    let mut child = command
        .args(&case.arguments)
        .envs(config.to_env())
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?)
        .spawn()?;
    let mut kill_at = None;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if begin.elapsed() > timeout {
            let _ = child.kill();
            let _ = child.wait();
            break None;
        }
        if let How::KilledAfter(seconds) = case.how {
            if kill_at.is_none() && std::fs::read_to_string(&out)?.contains("running") {
                kill_at = Some(Instant::now() + Duration::from_secs(seconds.into()));
            }
            if kill_at.is_some_and(|at| Instant::now() >= at) {
                child.kill()?;
                break Some(child.wait()?);
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let read =
        |path: &Path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Ran {
        status,
        stdout: read(&out)?,
        stderr: read(&err)?,
        seconds: begin.elapsed().as_secs_f64(),
    })
}

/// What is in a capture.
#[derive(Debug, Default)]
pub struct Found {
    pub launches: usize,
    /// Launches that ended well, with all the accesses that their ends announce.
    pub whole_launches: usize,
    pub accesses: u64,
    /// Rows of the table of transfers, where accesses were added up.
    pub transfers: usize,
    /// Whether the capture says that it is complete.
    pub complete: bool,
    /// Of each launch, what must not change from run to run.
    pub fingerprints: Vec<Fingerprint>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fingerprint {
    Digest(LaunchDigest),
    /// Threads and bytes of loads, stores and atomics, added up.
    Sums([(u64, u64); 3]),
}

fn fingerprint(sums: &LaunchSums) -> Fingerprint {
    let tallies = [sums.loads, sums.stores, sums.atomics];
    Fingerprint::Sums(tallies.map(|tally| (tally.threads, tally.bytes)))
}

pub fn read(folder: &Path, with_fingerprints: bool) -> Result<Found, String> {
    let capture = Capture::open(folder).map_err(|error| error.to_string())?;
    match capture.is_in_situ() {
        true => Ok(added_up(&capture)),
        false => recorded(&capture, with_fingerprints),
    }
}

fn added_up(capture: &Capture) -> Found {
    let mut found = Found {
        complete: capture.complete,
        ..Found::default()
    };
    for record in capture.launches() {
        found.launches += 1;
        found.transfers += record.received.len();
        let Some(sums) = record.sums else { continue };
        found.accesses += sums.thread_accesses();
        found.fingerprints.push(fingerprint(sums));
        let is_whole = record.end.is_some_and(|end| {
            let accesses = end.thread_accesses;
            end.outcome == LaunchOutcome::Completed && accesses == sums.thread_accesses()
        });
        found.whole_launches += usize::from(is_whole);
    }
    found
}

fn recorded(capture: &Capture, with_fingerprints: bool) -> Result<Found, String> {
    let (mut counted, mut accesses) = (std::collections::HashMap::new(), 0);
    capture
        .groups(|record, group| {
            let lanes = u64::from(group.mask.count_ones());
            *counted.entry(record.number).or_insert(0) += lanes;
            accesses += lanes;
        })
        .map_err(|error| error.to_string())?;
    let is_whole = |record: &LaunchRecord| {
        let in_files = counted.get(&record.number).copied().unwrap_or(0);
        record.end.is_some_and(|end| {
            end.outcome == LaunchOutcome::Completed && end.thread_accesses == in_files
        })
    };
    let whole_launches = capture.launches().filter(is_whole).count();
    let fingerprints = if with_fingerprints {
        let launches = digest::launches(capture).map_err(|error| error.to_string())?;
        let digests = launches.into_iter();
        digests.map(|(_, it)| Fingerprint::Digest(it)).collect()
    } else {
        Vec::new()
    };
    Ok(Found {
        launches: capture.launches().count(),
        whole_launches,
        accesses,
        transfers: 0,
        complete: capture.complete,
        fingerprints,
    })
}

/// Everything that is wrong with a run; empty when it passed. `native` is the same program's run without a trace.
pub fn problems(
    case: &Case,
    ran: &Ran,
    native: Option<&Ran>,
    summary: Option<&Summary>,
    found: &Result<Found, String>,
) -> Vec<String> {
    let mut problems = Vec::new();
    let Some(status) = ran.status else {
        return vec!["it hangs".to_owned()];
    };
    let as_expected = match case.end {
        End::Code(code) => status.code() == Some(code),
        End::Signal => status.code().is_none(),
        End::Any => true,
    };
    if !as_expected {
        let last = ran.stdout.lines().chain(ran.stderr.lines()).last();
        problems.push(format!("{}: {}", ran.ended(), last.unwrap_or_default()));
    }
    if let Some(native) = native.filter(|_| case.end != End::Any)
        && native.ended() != ran.ended()
    {
        problems.push(format!("{} instead of {}", ran.ended(), native.ended()));
    }
    if case.end == End::Code(0) && !ran.stdout.contains("PASSED") {
        problems.push("the program's own results are wrong".to_owned());
    }
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            problems.push(format!("the capture cannot be read: {error}"));
            return problems;
        }
    };
    if found.whole_launches < case.least_whole_launches {
        let (got, least) = (found.whole_launches, case.least_whole_launches);
        problems.push(format!("{got} whole launches, not {least}"));
    }
    if case.transfers && found.transfers == 0 {
        problems.push("no transfers".to_owned());
    }
    if case.complete.is_some_and(|wanted| wanted != found.complete) {
        problems.push(format!("complete: {}", found.complete));
    }
    if case.exact {
        match ran.announced() {
            Some(expected) if expected == found.accesses => {}
            Some(expected) => {
                problems.push(format!("{} accesses, not {expected}", found.accesses));
            }
            None => problems.push("no number of accesses was printed".to_owned()),
        }
        if found.whole_launches != found.launches {
            let (whole, all) = (found.whole_launches, found.launches);
            problems.push(format!("{whole} of {all} launches whole"));
        }
    }
    match summary {
        Some(summary) => told(case, summary, &mut problems),
        None if case.end == End::Signal || case.end == End::Any => {}
        None => problems.push("no summary was left".to_owned()),
    }
    problems
}

/// Whether the summary says what happened, and nothing else.
fn told(case: &Case, summary: &Summary, problems: &mut Vec<String>) {
    let contains = |list: &[String], text: &str| list.iter().any(|line| line.contains(text));
    if let Some(fault) = case.fault.filter(|fault| !contains(&summary.faults, fault)) {
        problems.push(format!("no fault says {fault:?}"));
    }
    let warning = case.warning;
    if let Some(text) = warning.filter(|text| !contains(&summary.warnings, text)) {
        problems.push(format!("no warning says {text:?}"));
    }
    if case.fault.is_none() && case.end != End::Any {
        problems.extend(summary.faults.first().cloned());
        if summary.records_lost > 0 {
            problems.push(format!("{} accesses lost", summary.records_lost));
        }
        if summary.bad_addresses > 0 {
            let stray = summary.bad_addresses;
            problems.push(format!("{stray} accesses outside every allocation"));
        }
    }
}
