//! `superstep info`: shows what a capture contains, and whether it is complete.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::capture::failure;
use crate::results::{Reporter, counted, human_bytes};
use serde::Serialize;
use superstep_build::exit_code;
use superstep_build::failure::Failure;
use superstep_trace::{Capture, Header, HostEvent, LaunchRecord, Outcome};

use crate::{capture, terminal};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Capture: its folder, any file in it, or the folder of a run.
    path: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Do not read the accesses. This is faster, but does not find damage in them.
    #[arg(long)]
    quick: bool,
}

#[derive(Serialize)]
struct Info<'a> {
    schema_version: u32,
    state: &'static str,
    problems: Vec<String>,
    header: &'a Header,
    outcome: Option<&'a Outcome>,
    stored_bytes: u64,
    thread_accesses: u64,
    /// Whether accesses were aggregated while kernels ran, so that the capture does not contain them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    in_situ: bool,
    modules: Vec<ModuleInfo<'a>>,
    #[serde(flatten)]
    contents: Contents,
}

#[derive(Serialize, Default)]
struct Contents {
    streams: Vec<StreamInfo>,
    kernels: Vec<KernelInfo>,
    launches: u64,
    /// Number of launches that were running when the capture stopped.
    launches_not_ended: u64,
    allocations: u64,
    allocated_bytes: u64,
    copies: u64,
    memsets: u64,
    /// Number of launches of code that Superstep did not build.
    opaque_launches: u64,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct ModuleInfo<'a> {
    module: u32,
    name: &'a str,
    sites: usize,
    kernels: usize,
}

#[derive(Serialize, Default)]
struct StreamInfo {
    stream: u32,
    launches: u64,
    thread_accesses: u64,
}

#[derive(Serialize, Default)]
struct KernelInfo {
    name: String,
    launches: u64,
    ctas: u64,
    thread_accesses: u64,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let capture = capture::open(&args.path)?;
    let problems = if args.quick {
        capture.problems.clone()
    } else {
        let _step = Reporter::single_step("verification", &capture);
        capture.verify().map_err(failure)?
    };
    // Opening a capture does not check the access data.
    let damaged = capture.damaged || problems.len() > capture.problems.len();
    let info = collect(&capture, problems, damaged)?;
    match args.json {
        true => terminal::print_json(&info)?,
        false => terminal::print(|out| print(out, &info))?,
    }
    if damaged {
        for problem in &info.problems {
            eprintln!("error: {problem}");
        }
        return Ok(exit_code::CAPTURE);
    }
    if capture.complete {
        return Ok(exit_code::OK);
    }
    eprintln!(
        "warning: the capture is incomplete: its program was killed, failed, or is still running"
    );
    Ok(exit_code::CAPTURE_INCOMPLETE)
}

fn collect<'a>(
    capture: &'a Capture,
    problems: Vec<String>,
    damaged: bool,
) -> Result<Info<'a>, Failure> {
    let modules = capture.modules.iter().map(|module| ModuleInfo {
        module: module.module,
        name: &module.name,
        sites: module.sites.len(),
        kernels: module.kernels.len(),
    });
    let mut info = Info {
        schema_version: 1,
        state: match (damaged, capture.complete) {
            (true, _) => "damaged",
            (false, true) => "complete",
            (false, false) => "incomplete",
        },
        problems,
        header: &capture.header,
        outcome: capture.outcome.as_ref(),
        stored_bytes: capture.stored_bytes().map_err(failure)?,
        thread_accesses: 0,
        in_situ: capture.is_in_situ(),
        modules: modules.collect(),
        contents: Contents::default(),
    };
    let contents = &mut info.contents;
    let mut streams: BTreeMap<u32, StreamInfo> = BTreeMap::new();
    for timed in capture.replay() {
        match timed.event {
            HostEvent::Launch(record) => {
                add_launch(contents, &mut streams, capture, &record);
            }
            HostEvent::Allocate(allocation) => {
                contents.allocations += 1;
                contents.allocated_bytes += allocation.bytes;
            }
            HostEvent::Copy(_) => contents.copies += 1,
            HostEvent::Memset(_) => contents.memsets += 1,
            HostEvent::OpaqueLaunch(_) => contents.opaque_launches += 1,
            HostEvent::Gap(gap) => contents.notes.push(gap.to_string()),
            HostEvent::Transport(transport) => contents.notes.push(transport.to_string()),
            HostEvent::Note(text) => contents.notes.push(text.to_owned()),
            HostEvent::LaunchEnd { .. } | HostEvent::OpaqueEnd { .. } | HostEvent::Free(_) => {}
        }
    }
    info.thread_accesses = streams.values().map(|stream| stream.thread_accesses).sum();
    contents.streams = streams.into_values().collect();
    if contents.launches == 0 && contents.opaque_launches == 0 && capture.complete {
        (contents.notes)
            .push("the program launched no kernel, so there are no accesses".to_owned());
    }
    Ok(info)
}

fn add_launch(
    contents: &mut Contents,
    streams: &mut BTreeMap<u32, StreamInfo>,
    capture: &Capture,
    record: &LaunchRecord,
) {
    let (launch, thread_accesses) = (record.launch, record.thread_accesses());
    let name = capture.sites().display_name(&launch.kernel);
    let mut known = contents.kernels.iter();
    let known = known.position(|kernel| kernel.name == name);
    let index = known.unwrap_or_else(|| {
        contents.kernels.push(KernelInfo {
            name: name.to_owned(),
            ..KernelInfo::default()
        });
        contents.kernels.len() - 1
    });
    let kernel = &mut contents.kernels[index];
    kernel.launches += 1;
    kernel.ctas += launch.ctas();
    kernel.thread_accesses += thread_accesses;
    let stream = streams.entry(launch.stream.0).or_default();
    stream.stream = launch.stream.0;
    stream.launches += 1;
    stream.thread_accesses += thread_accesses;
    contents.launches += 1;
    contents.launches_not_ended += u64::from(record.end.is_none());
}

fn print(out: &mut dyn Write, info: &Info<'_>) -> io::Result<()> {
    let mut line = |label: &str, text: String| writeln!(out, "{label:13} {text}");
    let (header, contents) = (info.header, &info.contents);
    line(
        "state",
        match info.state {
            "complete" => "complete".to_owned(),
            other => other.to_uppercase(),
        },
    )?;
    for problem in &info.problems {
        line("", problem.clone())?;
    }
    let arguments = header.arguments.join(" ");
    line("program", format!("{} {arguments}", header.program))?;
    if let Some(process) = header.process.filter(|process| process.rank.is_some()) {
        line("process", process.to_string())?;
    }
    if let Some(selection) = &header.selection {
        let selection = serde_json::to_string(selection).map_err(io::Error::from)?;
        let text = format!("only part of the program is recorded: {selection}");
        line("PARTIAL", text)?;
    }
    let ([major, minor], device) = (header.device.compute_capability, &header.device.name);
    let capability = format!("(compute capability {major}.{minor})");
    line(
        "backend",
        match device.is_empty() {
            true => format!("{}, not used", header.backend),
            false => format!("{} on {device} {capability}", header.backend),
        },
    )?;
    line("written by", format!("superstep {}", header.tool_version))?;
    line(
        "outcome",
        match info.outcome {
            Some(Outcome::Finished) => "finished".to_owned(),
            Some(Outcome::Failed(why)) => format!("failed: {why}"),
            None => "unknown".to_owned(),
        },
    )?;
    let mut all = counted(info.thread_accesses, "thread access");
    if info.in_situ {
        all.push_str(" added up in situ, none recorded");
    }
    if !header.cta_blocks.is_single_cta() {
        all.push_str(&format!("; transfers between {}", header.cta_blocks));
    }
    line(
        "size",
        format!("{} ({all})", human_bytes(info.stored_bytes)),
    )?;
    for module in &info.modules {
        let sites = counted(module.sites as u64, "site");
        let kernels = counted(module.kernels as u64, "kernel");
        let label = format!("module {:<6}", module.module);
        line(&label, format!("{}: {sites}, {kernels}", module.name))?;
    }
    let allocations = counted(contents.allocations, "allocation");
    let bytes = human_bytes(contents.allocated_bytes);
    let copies = contents.copies + contents.memsets;
    let copies = format!("copies and memsets by the host: {copies}");
    line(
        "memory",
        format!("{allocations}, {bytes} in total; {copies}"),
    )?;
    for stream in &contents.streams {
        let launches = counted(stream.launches, "launch");
        let label = format!("stream {:<6}", stream.stream);
        line(
            &label,
            format!(
                "{launches}, {}",
                counted(stream.thread_accesses, "thread access")
            ),
        )?;
    }
    let unfinished = contents.launches_not_ended;
    if unfinished > 0 {
        line(
            "unfinished",
            format!("{unfinished} of {} launches", contents.launches),
        )?;
    }
    for kernel in &contents.kernels {
        let launches = counted(kernel.launches, "launch");
        let ctas = counted(kernel.ctas, "CTA");
        let all = counted(kernel.thread_accesses, "thread access");
        line(
            "kernel",
            format!("{}: {launches}, {ctas}, {all}", kernel.name),
        )?;
    }
    if contents.opaque_launches > 0 {
        let launches = counted(contents.opaque_launches, "launch");
        line(
            "opaque",
            format!("{launches} of code that Superstep did not build; its writes are unknown"),
        )?;
    }
    for note in &contents.notes {
        line("note", note.clone())?;
    }
    Ok(())
}
