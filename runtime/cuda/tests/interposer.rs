//! The library between a program and a stand-in for libcudart, without a GPU: launches, events, faults and ends.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};
use superstep_trace::{
    Allocation, AllocationKind, Capture, LaunchEnd, LaunchOutcome, LaunchRecord, Step, StreamId,
    Summary,
};

/// The cdylib that cargo built along with this test. (The copy one folder up is only renewed by `cargo build`.)
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("this test is a file");
    test.with_file_name("libsuperstep_cuda.so")
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake")
}

struct Program {
    folder: tempfile::TempDir,
}

struct Run {
    status: ExitStatus,
    stdout: String,
    stderr: String,
    summary: Option<Summary>,
    capture: Capture,
}

fn compile(arguments: &[&std::ffi::OsStr]) -> Output {
    let output = Command::new("cc")
        .args(["-O1", "-g", "-w"])
        .args(arguments)
        .output()
        .expect("cc starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

impl Program {
    fn build(probe: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::copy(library(), at("libsuperstep_cuda.so")).expect("cargo built the library");
        compile(&[
            "-shared".as_ref(),
            "-Wl,-Bsymbolic".as_ref(),
            "-fPIC".as_ref(),
            "-pthread".as_ref(),
            "-Wl,-soname,libcudart.so.12".as_ref(),
            sources().join("cudart.c").as_os_str(),
            "-o".as_ref(),
            at("libcudart.so.12").as_os_str(),
        ]);
        for (source, library) in [("cuda.c", "libcuda.so.1"), ("closed.c", "libclosed.so")] {
            compile(&[
                "-shared".as_ref(),
                "-Wl,-Bsymbolic".as_ref(),
                "-fPIC".as_ref(),
                format!("-Wl,-soname,{library}").as_ref(),
                sources().join(source).as_os_str(),
                "-o".as_ref(),
                at(library).as_os_str(),
            ]);
        }
        compile(&[
            format!("-DPROBE=\"{probe}\"").as_ref(),
            "-pthread".as_ref(),
            sources().join("program.c").as_os_str(),
            at("libsuperstep_cuda.so").as_os_str(),
            at("libcudart.so.12").as_os_str(),
            "-Wl,-rpath,$ORIGIN".as_ref(),
            "-o".as_ref(),
            at("program").as_os_str(),
        ]);
        Program { folder }
    }

    fn run(&self, mode: &str) -> Run {
        self.run_with(mode, &[])
    }

    fn run_with(&self, mode: &str, environment: &[(&str, &str)]) -> Run {
        let at = |name: &str| self.folder.path().join(name);
        let mut child = Command::new(at("program"))
            .arg(mode)
            .env("LD_LIBRARY_PATH", self.folder.path())
            .env("SUPERSTEP_CAPTURE", at("capture"))
            .env("SUPERSTEP_SUMMARY", at("summary.json"))
            .env("SUPERSTEP_BINS", "2")
            .env("SUPERSTEP_BIN_RECORDS", "64")
            .env("SUPERSTEP_PROTOCOL", "thesis")
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let started = Instant::now();
        while child
            .try_wait()
            .expect("the child can be waited for")
            .is_none()
        {
            if started.elapsed() > Duration::from_secs(60) {
                let _ = child.kill();
                panic!("{mode}: the program hangs");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let output = child.wait_with_output().expect("the output can be read");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let summary = std::fs::read(at("summary.json")).ok();
        Run {
            status: output.status,
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            summary: summary
                .map(|json| serde_json::from_slice(&json).expect("the summary is JSON")),
            capture: Capture::open(at("capture")).expect("the capture can be read"),
        }
    }
}

impl Run {
    fn summary(&self) -> &Summary {
        self.summary
            .as_ref()
            .unwrap_or_else(|| panic!("no summary; {}", self.stderr))
    }

    /// Stream, launch, kernel, accesses of every launch that ended, and why it failed.
    fn endings(&self) -> Vec<(u32, u32, u64, Option<String>)> {
        let ending = |end: &LaunchEnd| {
            let failure = match &end.outcome {
                LaunchOutcome::Completed => None,
                LaunchOutcome::Failed(reason) => Some(reason.clone()),
            };
            (end.stream.0, end.launch.0, end.thread_accesses, failure)
        };
        let ends = self.capture.launches().filter_map(|record| record.end);
        let mut endings: Vec<_> = ends.map(ending).collect();
        endings.sort();
        endings
    }

    /// Accesses in the stream files, checked on the way.
    fn accesses(&self, stream: u32) -> u64 {
        let mut accesses = 0;
        let check = |record: &LaunchRecord, group: &superstep_trace::AccessGroup| {
            let launch = record.launch;
            if launch.stream != StreamId(stream) {
                return;
            }
            assert_eq!(
                (group.mask, group.width_bytes, group.warp),
                (u32::MAX, 4, 0)
            );
            assert!(group.site.0 < 2 && group.cta < 8 && launch.kernel.contains("Pfm"));
            assert!(
                group
                    .active_addresses()
                    .windows(2)
                    .all(|pair| pair[1] == pair[0] + 4)
            );
            accesses += 32;
        };
        self.capture.groups(check).expect("the stream can be read");
        accesses
    }
}

/// Accesses of a launch with so many rounds: 8 CTAs, 2 sites, 32 lanes.
const fn accesses_of(rounds: u64) -> u64 {
    rounds * 8 * 2 * 32
}

#[test]
fn every_access_arrives_in_its_launch() {
    let run = Program::build("trace").run("ok");
    assert!(run.status.success(), "{}", run.stderr);
    let is_warning = |line: &&str| line.contains("that Superstep did not build (_Z5plainPf first)");
    assert_eq!(
        run.stderr.lines().filter(is_warning).count(),
        1,
        "{}",
        run.stderr
    );
    assert!(
        run.capture.complete && run.capture.problems.is_empty(),
        "{:?}",
        run.capture.problems
    );
    let summary = run.summary();
    assert_eq!(
        (summary.launches, summary.records_lost, summary.faults.len()),
        (10, 0, 0),
        "{:?}",
        summary.faults
    );
    assert_eq!(summary.device.name, "Fake GPU");
    let traced = |stream: u32, number: u32| accesses_of(50 * u64::from(number * 2 + stream));
    let mut expected: Vec<_> = (0..2)
        .flat_map(|stream| (0..5).map(move |number| (stream, number, traced(stream, number), None)))
        .collect();
    expected.sort();
    assert_eq!(run.endings(), expected);
    let [plain] = &summary.opaque[..] else {
        panic!("{:?}", summary.opaque);
    };
    assert_eq!((&*plain.name, plain.launches), ("_Z5plainPf", 10));
    for stream in 0..2 {
        let whole: u64 = (0..5).map(|number| traced(stream, number)).sum();
        assert_eq!(run.accesses(stream), whole);
    }
}

/// Its library reaches the driver by `dlsym` alone, and the stand-in for libcudart launches through the driver, too.
#[test]
fn what_a_closed_library_launches_is_opaque() {
    let run = Program::build("trace").run("closed");
    assert!(run.status.success(), "{}", run.stderr);
    assert!(run.capture.complete, "{:?}", run.capture.problems);
    let summary = run.summary();
    assert_eq!((summary.launches, &summary.faults), (2, &vec![]));
    let opaque: Vec<_> = (summary.opaque.iter())
        .map(|kernel| (&*kernel.name, kernel.launches))
        .collect();
    let unnamed = superstep_trace::OpaqueLaunch::UNNAMED;
    let expected = [("_Z4gemmPf", 3), ("_Z5otherv", 1), (unnamed, 1)];
    assert_eq!(opaque, expected);
    assert!(summary.opaque[0].ns >= 6_000_000, "{:?}", summary.opaque);

    let mut order = Vec::new();
    let mut ends = 0;
    for moment in run.capture.replay() {
        match moment.step {
            Step::Launch(_) => order.push("launch".to_owned()),
            Step::Copy(copy) if copy.bytes == 64 && copy.stream == StreamId(0) => {
                order.push("copy".to_owned());
            }
            Step::Memset(fill) if fill.bytes == 32 => order.push("fill".to_owned()),
            Step::OpaqueLaunch(launch) => {
                let block = launch.geometry.map_or(0, |geometry| geometry.block[0]);
                order.push(format!("{} {block} {}", launch.name(), launch.stream));
            }
            Step::OpaqueEnd { .. } => ends += 1,
            _ => {}
        }
    }
    let start = order.iter().position(|step| step == "launch").unwrap();
    let gemm = "_Z4gemmPf 128 1";
    let unnamed = format!("{unnamed} 0 1");
    let expected = [
        "launch",
        "copy",
        "fill",
        gemm,
        gemm,
        gemm,
        "_Z5otherv 32 0",
        &unnamed,
        "launch",
    ];
    assert_eq!(order[start..], expected);
    assert_eq!(ends, 5);

    let run = Program::build("none").run("closed");
    assert!(run.status.success(), "{}", run.stderr);
    assert_eq!(run.summary().opaque.len(), 3, "untraced as well");
}

#[test]
fn host_actions_are_recorded() {
    let run = Program::build("trace").run("ok");
    let count = |is_one: fn(&Step) -> bool| {
        let steps = run.capture.replay().map(|moment| moment.step);
        steps.filter(is_one).count()
    };
    assert_eq!(
        count(|step| matches!(step, Step::Copy(_))),
        1 + 4 + 1,
        "one copy, four rows, one symbol"
    );
    let kinds: Vec<_> = (run.capture.allocations().iter())
        .map(|allocation| (allocation.bytes, allocation.kind.clone()))
        .collect();
    let symbol = AllocationKind::Symbol {
        name: "variable".to_owned(),
    };
    assert_eq!(kinds, [(1024, AllocationKind::Device), (256, symbol)]);
    let is_fill =
        |step: &Step| matches!(step, Step::Memset(fill) if (fill.bytes, fill.value) == (512, 3));
    assert!(count(is_fill) > 0);
    assert_eq!(count(|step| matches!(step, Step::Free(_))), 1);
    let launch = (run.capture.launches().next())
        .expect("there are launches")
        .launch;
    assert_eq!(
        (launch.grid, launch.block, launch.static_shared_bytes),
        ([8, 1, 1], [32, 1, 1], 48)
    );
}

#[test]
fn the_counting_probe_counts_what_the_trace_holds() {
    let run = Program::build("count").run("ok");
    assert!(run.status.success(), "{}", run.stderr);
    let counts = run.summary().counts.as_ref().expect("counts");
    let mut seen: Vec<_> = counts
        .iter()
        .map(|count| (count.stream, count.launch, count.sites.clone()))
        .collect();
    seen.sort();
    let of = |rounds: u64| {
        if rounds == 0 {
            vec![]
        } else {
            vec![(0, rounds * 256), (1, rounds * 256)]
        }
    };
    let mut expected: Vec<_> = (0..5).map(|n| (0, n * 3, of(u64::from(n) * 100))).collect();
    expected.extend((0..5).map(|n| (1, n, of(u64::from(n) * 100 + 50))));
    expected.sort();
    assert_eq!(seen, expected);
}

#[test]
fn an_untraced_program_is_only_timed() {
    // The kernels then have no trailing parameters, so only the one without any is launched.
    let run = Program::build("none").run("graph");
    assert_eq!(
        run.status.code(),
        Some(1),
        "without a probe a captured launch is passed on"
    );
    assert!(run.summary().faults.is_empty());
}

#[test]
fn a_fault_ends_the_run_and_keeps_what_came_before() {
    let run = Program::build("trace").run("fault");
    assert_eq!(run.status.code(), Some(5));
    assert_eq!(run.stdout, "700\n700\n");
    let failed: Vec<_> = run
        .endings()
        .into_iter()
        .filter(|ending| ending.3.is_some())
        .collect();
    let reason = "cudaErrorIllegalAddress (as the test wanted)";
    assert!(
        failed.contains(&(1, 5, accesses_of(20), Some(reason.to_owned()))),
        "{failed:?}"
    );
    assert!(failed.iter().any(|ending| ending.2 == 0
        && ending.3.as_deref() == Some(&format!("did not run: {reason}")[..])));
    assert!(
        run.summary()
            .faults
            .iter()
            .any(|fault| fault.contains("_Z8faultingPfm") && fault.contains(reason))
    );
    assert_eq!(run.summary().records_lost, 5);
    assert!(run.accesses(1) >= accesses_of(20));
}

#[test]
fn whatever_way_the_program_ends_its_accesses_are_there() {
    let program = Program::build("trace");
    let all: u64 = (0..10).map(|i| accesses_of(50 * i)).sum();
    let run = program.run("exit");
    assert_eq!(run.status.code(), Some(6));
    assert!(run.capture.complete);
    assert_eq!(run.accesses(0) + run.accesses(1), all);

    let run = program.run("kill");
    assert_eq!(run.status.code(), None);
    assert!(!run.capture.complete, "nobody wrote the end");
    assert_eq!(run.accesses(0) + run.accesses(1), all);

    let run = program.run("endless");
    assert!(run.status.success(), "{}", run.stderr);
    assert_eq!(run.accesses(0) + run.accesses(1), all + accesses_of(20));
    assert!(
        run.summary()
            .faults
            .iter()
            .any(|fault| fault.contains("the program ended before the kernel did"))
    );
}

#[test]
fn a_reset_ends_everything_and_lets_the_program_begin_again() {
    let run = Program::build("trace").run("reset");
    assert!(run.status.success(), "{}", run.stderr);
    assert!(
        run.summary().faults.is_empty(),
        "{:?}",
        run.summary().faults
    );
    assert_eq!(
        run.endings()
            .iter()
            .find(|ending| ending.0 == 0 && ending.1 == 5)
            .map(|e| e.2),
        Some(accesses_of(7))
    );
    let is_symbol =
        |allocation: &&Allocation| matches!(allocation.kind, AllocationKind::Symbol { .. });
    assert_eq!(
        run.capture.allocations().iter().filter(is_symbol).count(),
        2
    );
}

#[test]
fn streams_come_and_go() {
    let run = Program::build("trace").run("streams");
    assert!(run.status.success(), "{}", run.stderr);
    for stream in 2..22 {
        assert_eq!(run.accesses(stream), accesses_of(3));
    }
}

#[test]
fn what_cannot_be_traced_is_refused_by_name() {
    let program = Program::build("trace");
    let run = program.run("graph");
    assert!(run.status.success(), "{}", run.stderr);
    assert!(
        run.summary()
            .faults
            .iter()
            .any(|fault| fault.contains("the protocol thesis cannot trace CUDA graphs"))
    );
    let run = program.run("refused");
    assert_eq!(run.stdout, "9\n");
    assert!(run.summary().faults.is_empty());
    assert!(
        run.endings().iter().all(|ending| ending.3.is_none()),
        "a launch that CUDA refuses as no configuration never was one"
    );
}

/// CUB computes nothing and reports nothing when its kernels are not there: the run has to say so, untraced as well.
#[test]
fn a_kernel_that_no_image_holds_is_named_and_ends_the_run_with_an_error() {
    for probe in ["trace", "none"] {
        let program = Program::build(probe);
        for mode in ["absent-launch", "absent-query"] {
            let run = program.run(mode);
            assert_eq!(run.stdout, "98\n", "{probe}, {mode}");
            let [fault] = &run.summary().faults[..] else {
                panic!("{probe}, {mode}: {:?}", run.summary().faults);
            };
            assert!(fault.contains("_Z6absentPf"), "{fault}");
        }
    }
}

#[test]
fn each_device_has_streams_of_its_own() {
    let run = Program::build("trace").run("device");
    assert!(run.status.success(), "{}", run.stderr);
    assert!(
        run.summary().faults.is_empty(),
        "{:?}",
        run.summary().faults
    );
    // Stream 0 is the first device's default stream, 1 the one that the program made.
    assert_eq!(run.accesses(2), accesses_of(1));
}

#[test]
fn a_program_built_for_another_protocol_is_refused() {
    let program = Program::build("trace");
    let run = program.run_with("protocol", &[]);
    assert!(run.status.success(), "{}", run.stderr);
    let faults = &run.summary().faults;
    assert!(
        faults
            .iter()
            .any(|fault| fault.contains("_Z6tracedPfm")
                && fault.contains("built for --protocol stream")),
        "{faults:?}"
    );
}

#[test]
fn a_kernel_that_does_not_end_is_named() {
    let program = Program::build("trace");
    let run = program.run_with("slow", &[("SUPERSTEP_WATCHDOG_S", "1")]);
    assert!(run.status.success(), "{}", run.stderr);
    let warnings = &run.summary().warnings;
    assert!(
        warnings
            .iter()
            .any(|warning| warning.contains("nothing has moved for 1 s")
                && warning.contains("_Z4slowPfm")),
        "{warnings:?}"
    );
}

#[test]
fn every_interposed_function_is_exported() {
    let name = std::ffi::CString::new(library().to_string_lossy().into_owned())
        .expect("no zero byte in a path");
    // SAFETY: the library's constructors do nothing; its functions are only looked up, not called.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(
        !handle.is_null(),
        "{} cannot be loaded",
        library().display()
    );
    for function in include_str!("exported.txt").split_whitespace() {
        let symbol = std::ffi::CString::new(function).expect("a plain name");
        // SAFETY: the handle is open.
        let found = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
        assert!(!found.is_null(), "{function} is not exported");
    }
}

#[test]
fn a_module_that_the_program_carries_gets_the_binary_of_this_run() {
    let program = Program::build("trace");
    let at = |name: &str| program.folder.path().join(name).display().to_string();
    let table = r#"{"schema_version":1,"module":7,"name":"carried.cu","backend":"cuda","probe":"none","sites":[],
        "kernels":[{"name":"_Z7carriedv","display_name":"carried","parameters":0}]}"#;
    std::fs::write(at("binary"), "the binary\0").unwrap();
    std::fs::write(at("table"), table).unwrap();
    let (from, to) = (sources().join("hooks.c"), at("hooks.so"));
    let flags = ["-shared", "-fPIC", "-o", &to].map(AsRef::as_ref);
    compile(&[&flags[..], &[from.as_ref()]].concat());
    let line = |hash: &str| format!("{hash}\t7\tthesis\tbinary\t{}\thooks.so\n", at("table"));
    std::fs::write(at("list"), line("0abc")).unwrap();
    let list = [("SUPERSTEP_MODULES", at("list"))];
    let list = list.each_ref().map(|(name, value)| (*name, value.as_str()));
    let run = program.run_with("carried", &list);
    assert!(run.status.success(), "{}", run.stderr);
    assert_eq!(run.stdout, "hooked\nthe binary\n");
    assert!(run.capture.sites().kernel("_Z7carriedv").is_some());
    std::fs::write(at("list"), line("0abd")).unwrap();
    let run = program.run_with("carried", &list);
    assert_eq!(run.status.code(), Some(70), "{}", run.stdout);
    assert!(
        run.stderr.contains("failed to load module 0abc"),
        "{}",
        run.stderr
    );
}
