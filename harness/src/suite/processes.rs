//! Collects the files of a run's processes. Processes without kernel launches, such as shells, launchers and parents
//! that only fork, are ignored.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use superstep_analysis::run_summary::Check;
use superstep_build::failure::Failure;
use superstep_build::run::Summary;
use superstep_trace::{
    Backend, Capture, CaptureWriter, Header, KernelTotals, Outcome, Process, TraceError,
    captures_in, end_capture,
};

use crate::verify::{self, NoSummary};

/// A process that launched kernels, in a run with more than one such process.
#[derive(Debug, Clone)]
pub struct ProcessRun {
    pub process: Process,
    pub summary: Result<Summary, NoSummary>,
    pub capture: Option<PathBuf>,
}

pub struct Collected {
    pub summary: Result<Summary, NoSummary>,
    /// Processes that launched kernels, in rank order; empty if at most one did.
    pub processes: Vec<ProcessRun>,
    /// Processes that launched kernels and ended without running exit handlers.
    pub early: Vec<EarlyEnd>,
}

/// A process that ended through `_exit`, `quick_exit`, `exec` or a signal.
#[derive(Debug, Clone, Copy)]
pub struct EarlyEnd {
    pub process: Process,
    /// Whether all of its launches had completed.
    pub is_complete: bool,
}

/// Returns the folder of the processes' journals, or of their summaries if more than one process launched kernels.
pub fn summaries(run_folder: &Path) -> PathBuf {
    run_folder.join("summaries")
}

#[derive(Default)]
struct ProcessFiles {
    summary: Option<Summary>,
    capture: Option<PathBuf>,
    early: Option<EarlyEnd>,
}

/// Collects the [`summaries`] of `run_folder` and the captures, one folder per process, in `capture`. The files of a
/// single process become `summary.json` and `capture` itself. `is_over` means that the program was not stopped and its
/// files are complete.
pub fn collect(
    run_folder: &Path,
    capture: Option<&Path>,
    backend: Backend,
    is_over: bool,
) -> Result<Collected, Failure> {
    let folder = summaries(run_folder);
    let mut found: BTreeMap<String, ProcessFiles> = BTreeMap::new();
    for entry in fs::read_dir(&folder).map_err(Failure::io("read", &folder))? {
        let path = entry.map_err(Failure::io("read", &folder))?.path();
        found.entry(name_of(&path)).or_default().summary = Summary::read(&path).ok();
    }
    let captures = capture.filter(|folder| folder.is_dir()).map(captures_in);
    let captures = captures.transpose().map_err(crate::capture::failure)?;
    for path in captures.unwrap_or_default() {
        let found = found.entry(name_of(&path)).or_default();
        found.capture = Some(path);
    }
    for found in found.values_mut().filter(|_| is_over) {
        found.early = early_end(found);
    }
    let early = found.values().filter_map(|found| found.early).collect();
    let mut active: Vec<ProcessRun> = Vec::new();
    let mut idle: Vec<ProcessFiles> = Vec::new();
    for found in found.into_values() {
        match process(&found) {
            Some(process) => active.push(process),
            None => idle.push(found),
        }
    }
    fs::remove_dir_all(&folder).map_err(Failure::io("remove", &folder))?;
    let write = |summary: &Summary, path: PathBuf| {
        summary.write(&path).map_err(Failure::io("write", &path))
    };
    if active.len() > 1 {
        active.sort_by_key(|run| run.process);
        idle.iter().try_for_each(remove)?;
        fs::create_dir(&folder).map_err(Failure::io("create", &folder))?;
        for run in &active {
            if let Ok(summary) = &run.summary {
                write(summary, folder.join(format!("{}.json", run.process)))?;
            }
        }
        return Ok(Collected {
            summary: total(&active),
            processes: active,
            early,
        });
    }
    // The program may have launched nothing. A missing summary means that it did not use CUDA or ended early.
    let is_idle = active.is_empty();
    let single = match active.pop() {
        Some(single) => ProcessFiles {
            summary: single.summary.ok(),
            capture: single.capture,
            early: None,
        },
        None => idle.pop().unwrap_or_default(),
    };
    idle.iter().try_for_each(remove)?;
    if let Some(summary) = &single.summary {
        write(summary, run_folder.join("summary.json"))?;
    }
    if let (Some(capture), Some(path)) = (capture, &single.capture) {
        let temporary = run_folder.join("capture-of-one");
        let moved = fs::rename(path, &temporary)
            .and_then(|()| fs::remove_dir(capture))
            .and_then(|()| fs::rename(&temporary, capture));
        moved.map_err(Failure::io("move", path))?;
    }
    let summary = match single.summary {
        None if is_idle && is_over => Ok(Summary::new(backend)),
        summary => summary.ok_or(NoSummary::Program),
    };
    if let (Some(capture), true, Ok(summary)) = (capture, is_over, &summary) {
        let ended = match &single.capture {
            None => empty_capture(capture, summary),
            Some(_) if is_idle => end_idle(capture),
            Some(_) => Ok(()),
        };
        ended.map_err(crate::capture::failure)?;
    }
    Ok(Collected {
        summary,
        processes: Vec::new(),
        early,
    })
}

/// Ends the capture of a process that ended early after launching a kernel.
fn early_end(found: &ProcessFiles) -> Option<EarlyEnd> {
    let summary = found.summary.as_ref().filter(|summary| !summary.ended)?;
    let is_complete = match &found.capture {
        None => (summary.launches > 0).then_some(true),
        Some(folder) => end(folder, summary),
    };
    Some(EarlyEnd {
        process: summary.process?,
        is_complete: is_complete?,
    })
}

/// Ends the capture of a process that ended early. Returns whether all launches had completed, or `None` if there
/// were none.
fn end(folder: &Path, summary: &Summary) -> Option<bool> {
    let Ok(capture) = Capture::open(folder) else {
        return Some(false);
    };
    let mut launches = capture.launches().peekable();
    launches.peek()?;
    if capture.outcome.is_some() {
        return Some(true);
    }
    let fault = summary.faults.first().cloned();
    let outcome = fault.map_or(Outcome::Finished, Outcome::Failed);
    // A capture without an end chunk fails verification.
    let can_end = !capture.damaged && launches.all(|record| record.end.is_some());
    Some(can_end && end_capture(folder, &outcome).is_ok())
}

fn end_idle(folder: &Path) -> Result<(), TraceError> {
    match Capture::open(folder)?.outcome {
        Some(_) => Ok(()),
        None => end_capture(folder, &Outcome::Finished),
    }
}

fn empty_capture(folder: &Path, summary: &Summary) -> Result<(), TraceError> {
    let header = Header {
        device: summary.device.clone(),
        process: summary.process,
        ..Header::new(summary.backend)
    };
    CaptureWriter::create(folder, &header)?.finish(&Outcome::Finished)
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns the process if it launched kernels or failed.
fn process(found: &ProcessFiles) -> Option<ProcessRun> {
    let Some(summary) = &found.summary else {
        // The capture shows whether the process launched kernels.
        let path = found.capture.as_ref()?;
        let capture = Capture::open(path).ok()?;
        capture.launches().next()?;
        let process = capture.header.process?;
        return Some(ProcessRun {
            process,
            summary: Err(NoSummary::Process(process)),
            capture: found.capture.clone(),
        });
    };
    let is_active = found.early.is_some()
        || summary.launches > 0
        || !summary.opaque.is_empty()
        || !summary.faults.is_empty();
    Some(ProcessRun {
        process: summary.process.filter(|_| is_active)?,
        summary: Ok(summary.clone()),
        capture: found.capture.clone(),
    })
}

fn remove(found: &ProcessFiles) -> Result<(), Failure> {
    if let Some(path) = &found.capture {
        fs::remove_dir_all(path).map_err(Failure::io("remove", path))?;
    }
    Ok(())
}

pub fn early_ends(early: &[EarlyEnd]) -> Option<Check> {
    const NAME: &str = "process-ends";
    let how =
        "ended without running exit handlers: through `_exit`, `quick_exit`, `exec` or a signal";
    let [first, ..] = early else {
        return None;
    };
    let number = early.len();
    let subject = match early {
        [_] => first.process.to_string(),
        _ => format!("{number} processes (the first is {})", first.process),
    };
    Some(match early.iter().find(|early| !early.is_complete) {
        None => verify::passed(NAME, format!("{subject} {how}; all launches had completed")),
        Some(incomplete) => verify::failed(
            NAME,
            format!(
                "{subject} {how}; a launch of {} had not completed, and its effect is unknown; synchronise before the process exits",
                incomplete.process
            ),
        ),
    })
}

/// Adds up the summaries of at least one process.
fn total(processes: &[ProcessRun]) -> Result<Summary, NoSummary> {
    let first = processes[0].summary.clone()?;
    let mut sum = Summary {
        device: first.device,
        ..Summary::new(first.backend)
    };
    for run in processes {
        let summary = run.summary.as_ref().map_err(|why| *why)?;
        let named = |text: &String| format!("{}: {text}", run.process);
        sum.launches += summary.launches;
        sum.host_threads += summary.host_threads;
        sum.kernel_ns += summary.kernel_ns;
        sum.records_lost += summary.records_lost;
        sum.bad_addresses += summary.bad_addresses;
        sum.faults.extend(summary.faults.iter().map(named));
        sum.warnings.extend(summary.warnings.iter().map(named));
        add(&mut sum.kernels, &summary.kernels);
        add(&mut sum.opaque, &summary.opaque);
    }
    Ok(sum)
}

fn add(sum: &mut Vec<KernelTotals>, kernels: &[KernelTotals]) {
    for kernel in kernels {
        match sum.iter_mut().find(|known| known.name == kernel.name) {
            Some(known) => {
                known.launches += kernel.launches;
                known.ns += kernel.ns;
                known.resources = known.resources.or(kernel.resources);
            }
            None => sum.push(kernel.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
