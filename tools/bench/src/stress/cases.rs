//! Cases of `superstep-bench stress`, with their expected results.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use superstep_abi::Config;
use superstep_build::run::End;
use superstep_trace::{Backend, Protocol};

const ABORTED: Option<End> = Some(End::Signalled(6));
const KILLED: Option<End> = Some(End::Signalled(9));

#[derive(Debug, Clone, Default)]
pub struct Case {
    pub group: &'static str,
    pub name: String,
    pub program: &'static str,
    pub arguments: Vec<String>,
    /// Recording settings in addition to those common to all cases.
    pub config: Config,
    /// Seconds from the start of the capture to SIGKILL.
    pub kill_after_s: Option<u64>,
    /// Limit on the size of each file.
    pub file_limit_kib: Option<u32>,
    /// Expected end of the program, traced and untraced; `None` to judge only the capture.
    pub end: Option<End>,
    /// Whether the capture must contain exactly the accesses that the program announces.
    pub exact: bool,
    /// Minimum number of whole launches.
    pub min_whole_launches: usize,
    pub transfers: bool,
    /// Whether the capture must be marked as complete.
    pub complete: Option<bool>,
    /// Text that a fault in the summary must contain.
    pub fault: Option<&'static str>,
    /// Text that a warning in the summary must contain.
    pub warning: Option<&'static str>,
    /// Runs with equal numbers must have equal accesses, launch by launch.
    pub same: Option<u32>,
}

impl Case {
    fn new(group: &'static str, name: &str, program: &'static str, arguments: &[&str]) -> Self {
        Case {
            group,
            name: name.to_owned(),
            program,
            arguments: arguments.iter().map(|&text| text.to_owned()).collect(),
            end: Some(End::Exited(0)),
            exact: true,
            min_whole_launches: 1,
            complete: Some(true),
            ..Case::default()
        }
    }
}

/// A name; the numbers of rings, units per piece, pieces per ring, pieces on the host and workers; and the longest
/// pause of a worker, in microseconds. 0 selects the default.
type Setting = (&'static str, [u16; 6]);

/// Buffer sizes, including the default and the minimum.
const SETTINGS: [Setting; 5] = [
    ("default buffers", [0; 6]),
    (
        "1 ring, 2 pieces of 512 bytes, host has room for 1",
        [1, 32, 2, 1, 0, 0],
    ),
    (
        "4 rings, 2 pieces of 512 bytes, host has room for 2",
        [4, 32, 2, 2, 0, 0],
    ),
    (
        "a ring per SM, pieces of 512 bytes, 2 consumers",
        [0, 32, 0, 2, 2, 0],
    ),
    (
        "2 rings, consumers sleep up to 0.5 ms at random",
        [2, 128, 0, 2, 0, 500],
    ),
];

/// Launches of the stress kernel per run; on a GPU, there are 25 traced runs.
const LAUNCHES: u32 = 40;
const MANY_LAUNCHES: &str = "70000";

pub fn all(backend: Backend, protocol: Protocol) -> Vec<Case> {
    let mut cases = [stress(), ways(), faults()].concat();
    if protocol == Protocol::InSitu {
        // On a GPU, the tables of transfers are written before the next launch once ten seconds have passed.
        cases.push(Case {
            kill_after_s: Some(17),
            end: KILLED,
            exact: false,
            min_whole_launches: 1000,
            transfers: true,
            complete: Some(false),
            ..Case::new("faults", "killed between launches", "faults", &["passing"])
        });
        cases = cases.into_iter().filter_map(in_situ).collect();
    }
    if backend == Backend::Cpu {
        cases = cases.into_iter().filter_map(on_cpu).collect();
    }
    cases
}

/// Adapts the case to in-situ analysis, which serialises launches and does not depend on buffer sizes.
fn in_situ(mut case: Case) -> Option<Case> {
    match &*case.name {
        "overlap" => return None,
        "device-memory" => case.warning = Some("counts as unknown"),
        "host-memory" => {
            case.warning = None;
            case.config = Config::default();
        }
        // An in-situ capture grows with the number of launches, not accesses.
        _ if case.file_limit_kib.is_some() => {
            case.program = "ways";
            case.arguments = vec!["launches".to_owned(), MANY_LAUNCHES.to_owned()];
        }
        _ if case.config != Config::default() => return None,
        _ => {}
    }
    Some(case)
}

/// Adapts the case to the CPU backend, which has no buffers, and no device memory that could run out.
fn on_cpu(mut case: Case) -> Option<Case> {
    match &*case.name {
        "overlap" | "clusters" | "handles" | "driver-memory" | "module" => return None,
        "graph" | "nodes" => {
            return Some(Case {
                end: Some(End::Exited(0)),
                exact: true,
                fault: None,
                ..case
            });
        }
        "device-memory" | "host-memory" => {
            case.warning = None;
            case.config = Config::default();
        }
        _ if case.config != Config::default() => return None,
        _ => {}
    }
    Some(case)
}

fn with_setting(mut case: Case, setting: &Setting) -> Case {
    let [
        bins,
        bin_records,
        ring_pieces,
        host_pieces,
        workers,
        pause_us,
    ] = setting.1;
    let count = |number| NonZeroUsize::new(usize::from(number));
    case.config = Config {
        bins: Some(bins.into()).filter(|&bins| bins > 0),
        bin_records: NonZeroU32::new(bin_records.into()),
        ring_pieces: count(ring_pieces),
        host_pieces: count(host_pieces),
        workers: count(workers),
        consumer_pause: Duration::from_micros(pause_us.into()),
        ..case.config
    };
    case
}

fn stress() -> Vec<Case> {
    let mut cases = Vec::new();
    for seed in 1..=5u32 {
        for setting in &SETTINGS {
            let (seed_text, number) = (seed.to_string(), LAUNCHES.to_string());
            let name = format!("storm, seed {seed}, {}", setting.0);
            let arguments = ["storm", &seed_text, &number];
            let case = Case::new("stress", &name, "contention", &arguments);
            cases.push(Case {
                same: Some(seed),
                min_whole_launches: LAUNCHES as usize,
                ..with_setting(case, setting)
            });
        }
    }
    let kernels = [("crowd", "2"), ("solo", "3"), ("relay", "5")];
    for (index, (kernel, number)) in (100..).zip(kernels) {
        for setting in &SETTINGS {
            let name = format!("{kernel}, {}", setting.0);
            let case = Case::new("stress", &name, "contention", &[kernel, "9", number]);
            cases.push(Case {
                // The number of times that flags are polled differs between runs.
                same: (kernel != "relay").then_some(index),
                ..with_setting(case, setting)
            });
        }
    }
    cases
}

fn ways() -> Vec<Case> {
    let way = |name: &'static str| Case::new("ways", name, "ways", &[name]);
    let mut cases: Vec<Case> = [
        "plain",
        "streams",
        "overlap",
        "threads",
        "graph",
        "nodes",
        "cooperative",
        "clusters",
        "shared",
        "handles",
        "driver-memory",
        "devices",
    ]
    .map(way)
    .into();
    cases.push(Case {
        min_whole_launches: 0,
        ..way("too-large")
    });
    cases.push(Case {
        warning: Some("its accesses are not traced"),
        ..way("module")
    });
    let arguments = ["launches", MANY_LAUNCHES];
    cases.push(Case::new("ways", "launches", "ways", &arguments));
    cases.push(Case {
        warning: Some("no progress for 1 s"),
        config: Config {
            watchdog: Some(Duration::from_secs(1)),
            consumer_pause: Duration::from_millis(2500),
            ..Config::default()
        },
        ..Case::new("ways", "watchdog names the kernel", "ways", &["plain"])
    });
    cases
}

fn faults() -> Vec<Case> {
    let fault = |name: &'static str| Case {
        exact: false,
        min_whole_launches: 4,
        ..Case::new("faults", name, "faults", &[name])
    };
    vec![
        fault("none"),
        Case {
            end: Some(End::Exited(5)),
            fault: Some("illegal"),
            ..fault("illegal")
        },
        Case {
            end: Some(End::Exited(5)),
            fault: Some("asserts"),
            ..fault("assert")
        },
        Case {
            min_whole_launches: 8,
            ..fault("reset-mid")
        },
        fault("reset-end"),
        Case {
            end: Some(End::Exited(6)),
            ..fault("exit")
        },
        Case {
            end: ABORTED,
            complete: Some(false),
            ..fault("abort")
        },
        Case {
            warning: Some("low on device memory"),
            min_whole_launches: 12,
            ..fault("device-memory")
        },
        Case {
            warning: Some("host memory is short"),
            config: Config {
                host_pieces: NonZeroUsize::new(1024),
                ..Config::default()
            },
            ..fault("host-memory")
        },
        Case {
            end: None,
            complete: None,
            ..fault("host-dead")
        },
        Case {
            file_limit_kib: Some(64),
            fault: Some("failed to write"),
            complete: None,
            min_whole_launches: 0,
            name: "disk full".to_owned(),
            ..fault("much")
        },
        Case {
            kill_after_s: Some(5),
            end: KILLED,
            complete: Some(false),
            name: "killed while a kernel runs".to_owned(),
            ..fault("running")
        },
    ]
}
