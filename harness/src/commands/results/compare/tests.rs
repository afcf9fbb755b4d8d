//! Tests for `compare`.

use super::*;
use superstep_analysis::run_summary::{ByteCounts, KernelSummary};
use superstep_trace::{Backend, Bounds};

const ANY: Option<f64> = None;

fn benchmark(digest: &str, loads: u64) -> BenchmarkSummary {
    BenchmarkSummary {
        name: "hs2d".into(),
        status: Status::Passed,
        launches: Some(5),
        ctas: Some(10),
        digest: Some(digest.into()),
        deterministic: true,
        kernels: vec![KernelSummary {
            name: "k".into(),
            loads,
            ..KernelSummary::default()
        }],
        ..BenchmarkSummary::default()
    }
}

#[test]
fn different_counts_and_digests_are_reported() {
    let error = |a, b| benchmarks(&a, &b, ANY).unwrap_err().to_string();
    assert!(benchmarks(&benchmark("a", 1), &benchmark("a", 1), ANY).is_ok());
    assert!(error(benchmark("a", 1), benchmark("b", 1)).contains("digest"));
    assert!(error(benchmark("a", 1), benchmark("a", 2)).contains("kernel"));
    let failed = BenchmarkSummary {
        status: Status::Failed,
        ..benchmark("a", 1)
    };
    assert!(error(benchmark("a", 1), failed).contains("second run"));
}

#[test]
fn an_in_situ_run_has_no_digest_and_agrees_within_its_bounds() {
    let run = |in_situ, digest, communicated, most: Option<u64>| {
        let between = most.map(|most| Bounds {
            least: communicated,
            most,
        });
        BenchmarkSummary {
            in_situ,
            communication: Some(CommunicationSummary {
                communicated_bytes_between: between,
                ..CommunicationSummary::new(100, communicated)
            }),
            ..benchmark(digest, 1)
        }
    };
    let trace = run(false, "a", 50, None);
    let compare = |other: &BenchmarkSummary| benchmarks(&trace, other, ANY);
    assert!(compare(&run(true, "b", 50, None)).is_ok());
    assert!(compare(&run(true, "b", 40, Some(60))).is_ok());
    for wrong in [run(true, "b", 40, None), run(true, "b", 51, Some(60))] {
        let why = compare(&wrong).unwrap_err().to_string();
        assert!(why.contains("communicated"));
    }
    let why = compare(&run(false, "b", 50, None)).unwrap_err();
    assert!(why.to_string().contains("digest"));
}

#[test]
fn volumes_of_varying_accesses_are_shown_but_not_compared() {
    let varies = |digest: &str, loaded| BenchmarkSummary {
        deterministic: false,
        bytes: Some(ByteCounts {
            loaded,
            ..ByteCounts::default()
        }),
        ..benchmark(digest, 1)
    };
    let (a, b) = (varies("a", 1000), varies("b", 1100));
    let detail = benchmarks(&a, &b, ANY).unwrap();
    assert!(detail.contains("loaded bytes differ by 10.0 %"));
}

#[test]
fn times_are_compared_only_with_a_limit_and_if_long_enough() {
    let takes = |native| BenchmarkSummary {
        seconds: Seconds {
            native: Some(native),
            ..Seconds::default()
        },
        ..benchmark("a", 1)
    };
    let limit = Some(20.0);
    assert!(benchmarks(&takes(1.0), &takes(9.0), ANY).is_ok());
    assert!(benchmarks(&takes(1.0), &takes(1.19), limit).is_ok());
    assert!(benchmarks(&takes(1.0), &takes(0.1), limit).is_ok());
    assert!(benchmarks(&takes(0.01), &takes(0.04), limit).is_ok());
    let why = benchmarks(&takes(1.0), &takes(1.3), limit)
        .unwrap_err()
        .to_string();
    assert!(why.contains("native") && why.contains("20 % slower"));
}

#[test]
fn times_on_a_gpu_and_a_cpu_have_no_ratio() {
    let run = |backend| RunSummary {
        backend,
        device: format!("a {backend}"),
        benchmarks: vec![BenchmarkSummary {
            seconds: Seconds {
                native: Some(2.0),
                ..Seconds::default()
            },
            ..benchmark("a", 1)
        }],
        ..RunSummary::default()
    };
    let (cpu, cuda) = (run(Backend::Cpu), run(Backend::Cuda));
    assert_eq!(compare(&cpu, &cpu, ANY)[0].time_ratios, [("native", 1.0)]);
    let lines = compare(&cpu, &cuda, ANY);
    assert!(lines[0].equal && lines[0].time_ratios.is_empty());
    let why = device_difference(&cpu, &cuda).unwrap();
    assert!(
        why.contains("cpu (a cpu)") && why.contains("cuda (a cuda)"),
        "{why}"
    );
    assert_eq!(device_difference(&cpu, &cpu), None);
}

#[test]
fn a_benchmark_in_only_one_run_is_reported() {
    let with = RunSummary {
        benchmarks: vec![benchmark("a", 1)],
        ..RunSummary::default()
    };
    let lines = compare(&with, &RunSummary::default(), ANY);
    assert!(!lines[0].equal && lines[0].detail.contains("first"));
}

#[test]
fn different_command_lines_are_shown_with_their_runs() {
    let run = |words: &[&str]| RunSummary {
        command: words.iter().map(|&word| word.to_owned()).collect(),
        ..RunSummary::default()
    };
    let folders = ["out/pc/1", "out/pc/2"].map(PathBuf::from);
    let runs = |a, b| command_difference([(&folders[0], a), (&folders[1], b)]);
    let first = run(&["/usr/bin/superstep", "run", "pc.cu", "--", "16384"]);
    let second = run(&["superstep", "run", "pc.cu", "--", "8192"]);
    let text = runs(&first, &second).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].contains("first: superstep run pc.cu -- 16384 (out/pc/1)"));
    assert!(lines[2].contains("second: superstep run pc.cu -- 8192 (out/pc/2)"));
    assert_eq!(
        runs(&first, &first),
        None,
        "the path of the tool is ignored"
    );
}
