//! Launches by handlers and destructors after `main`, without a GPU.

mod common;

use common::Program;
use superstep_trace::LaunchCounts;

/// Returns the number of accesses in a launch with `rounds` rounds: 8 CTAs, 2 sites, 32 lanes.
const fn accesses_of(rounds: u64) -> u64 {
    rounds * 8 * 2 * 32
}

/// Three handlers launch kernels: one before the library's own handler, two after those of the library and the module.
#[test]
fn launches_after_main_are_captured() {
    for probe in ["trace", "count"] {
        let run = Program::build(probe).run("late");
        assert!(run.status.success(), "{}", run.stderr);
        assert_eq!(run.stdout, "0 0\n0 0\n0 0\n");
        let (capture, summary) = (&run.capture, run.summary());
        assert!(summary.faults.is_empty(), "{:?}", summary.faults);
        assert_eq!((summary.launches, summary.opaque[0].launches), (13, 13));
        assert!(run.endings().iter().all(|ending| ending.3.is_none()));
        let allocations = capture.allocations().iter();
        assert_eq!(allocations.filter(|a| a.bytes == 1024).count(), 4);
        if let Some(counts) = &summary.counts {
            let is_late = |launch: &&LaunchCounts| launch.stream == 0 && launch.launch > 4;
            let late = counts.iter().filter(is_late);
            let sites: Vec<_> = late.map(|launch| launch.sites.clone()).collect();
            assert_eq!(sites, vec![vec![(0, 512), (1, 512)]; 3]);
        } else {
            assert!(capture.complete, "{:?}", capture.problems);
            assert!(capture.problems.is_empty(), "{:?}", capture.problems);
            let all: u64 = (0..5).map(|number| accesses_of(100 * number)).sum();
            assert_eq!(run.accesses(0), all + 3 * accesses_of(2));
        }
    }
}

/// As on a GPU, handlers registered before CUDA was initialised run after it is unloaded. Their kernels never ran, so
/// nothing is missing.
#[test]
fn launches_after_cuda_is_unloaded_are_not_faults() {
    for probe in ["trace", "count"] {
        let run = Program::build(probe).run_with("late", &[("FAKE_UNLOADS", "1")]);
        assert!(run.status.success(), "{}", run.stderr);
        assert_eq!(run.stdout, "0 0\n4 4\n4 4\n", "{probe}: {}", run.stderr);
        let (capture, summary) = (&run.capture, run.summary());
        assert!(summary.faults.is_empty(), "{:?}", summary.faults);
        assert_eq!((summary.launches, summary.opaque[0].launches), (11, 11));
        assert!(run.endings().iter().all(|ending| ending.3.is_none()));
        if probe == "trace" {
            assert!(capture.problems.is_empty(), "{:?}", capture.problems);
            let all: u64 = (0..5).map(|number| accesses_of(100 * number)).sum();
            assert_eq!(run.accesses(0), all + accesses_of(2));
        }
    }
}
