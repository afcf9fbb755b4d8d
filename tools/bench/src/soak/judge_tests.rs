//! Judges correct captures, and captures with one error each.

use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::{
    AccessGroup, AllocationKind, Backend, CtaRange, Event, Header, LaunchSums, LoadedBytes,
    ModuleTable, Tally,
};

use super::*;

const LAUNCHES: u32 = 2;
const CTAS: u32 = 4;

fn module() -> ModuleTable {
    let sites = vec![testing::site(0, Op::Load), testing::site(1, Op::Store)];
    testing::module("toy.cu", sites, &[("w", "write")])
}

fn group(cta: u32) -> AccessGroup {
    testing::group(1, cta, testing::words(0x1000 + 128 * u64::from(cta)))
}

#[derive(Clone)]
struct Written {
    recorded: Recorded,
    groups: Vec<AccessGroup>,
    ended: bool,
    /// Number of accesses that the launch's end record does not announce.
    unannounced: u64,
}

/// Returns the whole program: each CTA of two launches stores 32 words.
fn program() -> Vec<Written> {
    let launch = Written {
        recorded: Recorded::All,
        groups: (0..CTAS).map(group).collect(),
        ended: true,
        unannounced: 0,
    };
    vec![launch; LAUNCHES as usize]
}

fn builder(folder: &std::path::Path, selection: &Selection) -> CaptureBuilder {
    let mut header = Header::new(Backend::Cpu);
    header.selection = Some(selection.clone()).filter(|it| !it.is_everything());
    let mut capture = CaptureBuilder::with_header(folder, &header, &module());
    capture.allocate(0x1000, 4096, AllocationKind::Device);
    capture
}

fn write(folder: &std::path::Path, selection: &Selection, launches: &[Written]) -> CaptureBuilder {
    let mut capture = builder(folder, selection);
    for written in launches {
        let launch = capture.begin(testing::launch("w", CTAS, 32));
        if written.recorded != Recorded::All {
            capture.event(&Event::Selected {
                stream: launch.stream,
                launch: launch.launch,
                recorded: written.recorded,
            });
        }
        capture.chunk(&launch, &written.groups);
        if written.ended {
            let accesses: usize = written.groups.iter().map(AccessGroup::lanes).sum();
            let accesses = accesses as u64 - written.unannounced;
            capture.end_with(&launch, accesses, LaunchOutcome::Completed);
        }
    }
    capture
}

struct Test {
    folder: tempfile::TempDir,
    reference: Reference,
}

impl Test {
    fn new(reproducibility: Reproducibility) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let whole = write(
            &folder.path().join("whole"),
            &Selection::default(),
            &program(),
        );
        let reference = Reference::new(whole.finish(), reproducibility).unwrap();
        Self { folder, reference }
    }

    /// Returns the verdict on a program that performed these launches and then exited or was killed.
    fn verdict(&self, selection: &Selection, launches: &[Written], killed: bool) -> Verdict {
        let capture = write(&self.folder.path().join("found"), selection, launches);
        let capture = if killed {
            capture.kill()
        } else {
            capture.finish()
        };
        self.reference.judge(&capture, selection, killed).unwrap()
    }

    fn passes(&self, selection: &Selection, launches: &[Written], killed: bool) -> bool {
        self.verdict(selection, launches, killed)
            .problems
            .is_empty()
    }
}

#[test]
fn equal_trace_passes() {
    let verdict =
        Test::new(Reproducibility::Digests).verdict(&Selection::default(), &program(), false);
    assert_eq!(verdict.problems, [""; 0]);
    assert!(verdict.complete && verdict.stored_bytes > 0);
    assert_eq!((verdict.launches, verdict.accesses), (2, 2 * 4 * 32));
}

#[test]
fn different_complete_trace_fails() {
    let (test, all) = (Test::new(Reproducibility::Digests), Selection::default());
    let mut lost = program();
    lost[1].groups[2].mask >>= 1;
    let mut moved = program();
    moved[1].groups[2].addresses[5] += 64;
    let mut other = program();
    other[1].groups[2].site = SiteId::new(0, 0);
    let mut outside = program();
    outside[0].groups[0].addresses[0] = 0x9000_0000;
    let mut unended = program();
    unended[1].ended = false;
    let mut unannounced = program();
    unannounced[0].unannounced = 3;
    for wrong in [&lost, &moved, &other, &outside, &unended, &unannounced] {
        assert!(!test.passes(&all, wrong, false));
    }
    assert!(!test.passes(&all, &program()[..1], false));
    assert!(!test.passes(&all, &[program(), program()].concat(), false));
    let counts = Test::new(Reproducibility::Counts);
    assert!(
        counts.passes(&all, &moved, false),
        "its addresses differ from run to run"
    );
    assert!(!counts.passes(&all, &lost, false));
    let launches = Test::new(Reproducibility::Launches);
    assert!(
        launches.passes(&all, &lost, false),
        "its accesses differ from run to run"
    );
    assert!(!launches.passes(&all, &program()[..1], false));
}

#[test]
fn capture_of_a_killed_program_may_be_partial() {
    let (test, all) = (Test::new(Reproducibility::Digests), Selection::default());
    let mut part = program();
    part[1].ended = false;
    part[1].groups.truncate(2);
    let verdict = test.verdict(&all, &part, true);
    assert_eq!(verdict.problems, [""; 0]);
    assert!(!verdict.complete && verdict.launches == 1 && verdict.accesses == 6 * 32);
    assert!(!test.passes(&all, &part, false), "it was not killed");
    let mut more = part.clone();
    more[1].groups = vec![group(0); 5];
    let mut lost = part.clone();
    lost[0].groups[0].mask >>= 1;
    let mut unannounced = part.clone();
    unannounced[0].unannounced = 1;
    for wrong in [more, lost, unannounced, [program(), part].concat()] {
        assert!(!test.passes(&all, &wrong, true));
    }
    let capture = write(&test.folder.path().join("found"), &all, &program()).kill();
    std::fs::write(capture.folder().join("stream-0.sst"), [7; 100]).unwrap();
    let damaged = Capture::open(capture.folder()).unwrap();
    let verdict = test.reference.judge(&damaged, &all, true).unwrap();
    assert!(!verdict.problems.is_empty(), "SIGKILL cannot damage bytes");
}

#[test]
fn partial_capture_must_match_its_selection() {
    let mut test = Test::new(Reproducibility::Digests);
    let selection = Selection {
        launch_skip: 1,
        ctas: vec![CtaRange { first: 1, last: 2 }],
        ..Selection::default()
    };
    let mut right = program();
    right[0].recorded = Recorded::OutOfScope;
    right[0].groups.clear();
    right[1].recorded = Recorded::SelectedCtas;
    right[1].groups = vec![group(1), group(2)];
    assert_eq!(test.verdict(&selection, &right, false).problems, [""; 0]);
    assert!(!test.passes(&Selection::default(), &right, false));
    let mut more = right.clone();
    more[1].groups.push(group(3));
    let mut less = right.clone();
    less[1].groups.pop();
    let mut swapped = right.clone();
    swapped.swap(0, 1);
    let mut stray = right.clone();
    stray[0].groups.push(group(1));
    let mut nothing = right.clone();
    nothing[1] = right[0].clone();
    for wrong in [more, less, swapped, stray, nothing.clone(), program()] {
        assert!(!test.passes(&selection, &wrong, false));
    }
    // A run that skips every launch still records the first one, which is from a graph, so selections
    // count launches from the second one.
    let skip = Selection {
        launch_skip: u64::MAX,
        ..Selection::default()
    };
    let mut launches = program();
    launches[1].recorded = Recorded::OutOfScope;
    launches[1].groups.clear();
    let skipped = write(&test.folder.path().join("skipped"), &skip, &launches).finish();
    test.reference.set_indistinguishable(&skipped);
    nothing[0] = right[1].clone();
    assert_eq!(test.verdict(&selection, &nothing, false).problems, [""; 0]);
    assert!(!test.passes(&selection, &right, false));
}

#[test]
fn sums_are_compared_with_the_trace() {
    let test = Test::new(Reproducibility::Digests);
    let verdict = |threads: [u64; 2], received: u64, ended: bool| {
        let mut capture = builder(&test.folder.path().join("sums"), &Selection::default());
        for threads in threads {
            let launch = capture.begin(testing::launch("w", CTAS, 32));
            let mut sums = LaunchSums::new(launch.stream, launch.launch);
            sums.stores = Tally {
                threads,
                bytes: 4 * threads,
                warps: 4,
            };
            sums.loaded = LoadedBytes {
                communicated: received,
                ..LoadedBytes::default()
            };
            capture.event(&Event::Sums(sums));
            if ended {
                capture.end_with(&launch, threads, LaunchOutcome::Completed);
            }
        }
        let capture = if ended {
            capture.finish()
        } else {
            capture.kill()
        };
        let everything = Selection::default();
        test.reference.judge(&capture, &everything, !ended).unwrap()
    };
    assert_eq!(verdict([128, 128], 0, true).problems, [""; 0]);
    assert!(!verdict([128, 127], 0, true).problems.is_empty());
    assert!(
        !verdict([128, 128], 4, true).problems.is_empty(),
        "a volume that the trace lacks"
    );
    assert!(verdict([128, 100], 0, false).problems.is_empty());
    assert!(!verdict([128, 129], 0, false).problems.is_empty());
}
