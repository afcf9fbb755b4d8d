//! From CUDA source to verified results on the CPU backend, and captures of killed programs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{
    DOUBLE, run, superstep, superstep_alone, traced_program, unwrapped, write_suite,
};
use serde_json::Value;

fn summary(folder: &Path, suite: &str) -> Value {
    let path = folder.join("out").join(suite).join("latest/run.json");
    serde_json::from_str(
        &fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
    )
    .unwrap()
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn the_thesis_suite_passes_at_size_tiny() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, err) = run(superstep(folder.path()).args([
        "suite",
        "thesis",
        "--size",
        "tiny",
        "--backend",
        "cpu",
    ]));
    assert_eq!(code, 0, "{out}\n{err}");
    let first = summary(folder.path(), "thesis");
    let benchmarks = first["benchmarks"].as_array().unwrap();
    let names: Vec<_> = benchmarks
        .iter()
        .map(|benchmark| benchmark["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["hs2d", "hs3d", "hist", "nbody", "path", "bfs"]);
    for benchmark in benchmarks {
        let name = &benchmark["name"];
        assert_eq!(benchmark["status"], "passed", "{name}");
        // The log has one line per step, with the time that it took, unless that is less than 5 ms.
        let analysis_s = benchmark["seconds"]["analysis"].as_f64().unwrap();
        let analysis = (analysis_s > 0.01).then_some("verification and analysis");
        for step in ["build", "traced run"].into_iter().chain(analysis) {
            let start = format!("{}: {step}: ", name.as_str().unwrap());
            let mut lines = err.lines().filter_map(|line| line.strip_prefix(&start));
            assert!(lines.any(|rest| rest.ends_with(" s")), "{start}: {err}");
        }
        assert!(
            benchmark["threads"]["loads"].as_u64().unwrap() > 0,
            "{name}"
        );
        let checks = benchmark["verification"].as_array().unwrap();
        for wanted in [
            "output-equal",
            "inside-grid",
            "inside-allocations",
            "launch-totals",
            "counts-equal",
            "golden",
            "nothing-lost",
        ] {
            assert!(
                checks
                    .iter()
                    .any(|check| check["check"] == wanted && check["ok"] == true),
                "{name}: {wanted}"
            );
        }
    }
    let latest = folder.path().join("out/thesis/latest");
    for file in [
        "index.html",
        "figures/data-volume.svg",
        "figures/data-volume.png",
        "figures/data-volume.csv",
    ] {
        assert!(latest.join(file).is_file(), "{file}");
    }
    // The second time, everything is cached, and the results are the same.
    let args = [
        "suite",
        "thesis",
        "--size",
        "tiny",
        "--backend",
        "cpu",
        "--message-format",
        "json",
    ];
    let (code, out, err) = run(superstep(folder.path()).args(args));
    assert_eq!(code, 0, "{err}");
    let rebuilt: Vec<&str> = out
        .lines()
        .filter(|line| line.contains("\"build-step\"") && !line.contains("\"cached\":true"))
        .collect();
    assert!(rebuilt.is_empty(), "rebuilt: {rebuilt:?}");
    let runs: Vec<_> = fs::read_dir(folder.path().join("out/thesis"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .collect();
    let runs: Vec<_> = runs
        .iter()
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(fs::DirEntry::path)
        .collect();
    let (code, out, err) = run(superstep(folder.path()).arg("compare").args(&runs));
    assert_eq!((code, runs.len()), (0, 2), "{out}{err}");
    // Exporting, importing and exporting again gives the same bytes.
    let capture = latest.join("benchmarks/hs2d/capture");
    for (from, to) in [(capture.as_path(), "a"), (Path::new("imported"), "b")] {
        let (code, _, err) = run(superstep(folder.path())
            .args(["export", "--format", "memtrace-v1", "-o", to])
            .arg(from));
        assert_eq!(code, 0, "{err}");
        if to == "a" {
            let (code, _, err) = run(superstep(folder.path()).args([
                "import",
                "--format",
                "memtrace-v1",
                "-o",
                "imported",
                "a/MemTrace-pipe-0",
            ]));
            assert_eq!(code, 0, "{err}");
        }
    }
    let read = |name: &str| fs::read(folder.path().join(name).join("MemTrace-pipe-0")).unwrap();
    assert!(read("a") == read("b"));
    assert_communication(&latest.join("tables"));
}

/// Compares the tables of three programs at size tiny with values derived from their sources by hand.
fn assert_communication(tables: &Path) {
    let columns = |program: &str, table: &str, wanted: &[&str]| -> Vec<String> {
        let path = tables.join(program).join(format!("{table}.csv"));
        let text =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = lines.next().unwrap();
        let at: Vec<usize> = (wanted.iter())
            .map(|name| header.iter().position(|column| column == name).unwrap())
            .collect();
        lines
            .map(|row| at.iter().map(|&at| row[at]).collect::<Vec<_>>().join(" "))
            .filter(|row| !row.ends_with(" 0"))
            .collect()
    };
    let sizes = |program| columns(program, "transfer-size", &["size_bytes", "transfers"]);
    let degrees = |program| columns(program, "degree", &["direction", "bin", "entries"]);
    let stored = |program| {
        columns(
            program,
            "superstep-volume",
            &["superstep", "received_bytes", "stored_bytes"],
        )
    };

    // hs2d, 64 × 64 cells, 6 × 6 CTAs, two launches. CTA b stores columns 12b to 12b + 11 and loads two more on each
    // side, and likewise in y; the last CTA stores 4. A row has 10 ordered pairs of neighbours with 2 common columns
    // each. So there are 10 · 10 corners of 2 · 2 words, 2 · 10 · 5 edges of 2 · 12 words and 2 · 10 · 1 edges of 2 · 4
    // words: 11840 bytes.
    assert_eq!(sizes("hs2d"), ["16 100", "32 20", "96 100"]);
    // 4 CTAs have 3 neighbours, 16 have 5 and 16 have 8.
    assert_eq!(
        degrees("hs2d"),
        [
            "out 2 4", "out 4 16", "out 8 16", "in 2 4", "in 4 16", "in 8 16"
        ]
    );
    // A CTA keeps 8 of 12 columns for itself, 10 at the left edge and 2 of 4 at the right edge: 44 in total, so other
    // CTAs read 64² - 44² words.
    assert_eq!(stored("hs2d"), [format!("0 0 {}", 4 * (64 * 64 - 44 * 44))]);
    // Across the middle, 2 ordered pairs share 2 columns, each with 10 · 2 + 5 · 12 + 4 rows.
    assert_eq!(
        columns("hs2d", "bisection", &["dimension", "cut", "crossing_bytes"]),
        ["x 3 1344", "y 3 1344"]
    );
    assert_eq!(
        columns("hs2d", "superstep-distance", &["distance", "bytes"]),
        ["0 11840"]
    );

    let patterns = |program| columns(program, "pattern", &["pattern", "pairs"]);
    assert_eq!(patterns("hs2d"), ["stencil 220"]);
    // With two halves, everything that crosses the middle is sent from one GPU to the other.
    let halves: Vec<String> = columns("hs2d", "scaling", &["gpus", "cut", "crossing_bytes"])
        .into_iter()
        .filter(|row| row.starts_with("2 "))
        .collect();
    assert_eq!(halves, ["2 x 1344", "2 y 1344", "2 linear 1344"]);

    // nbody, 128 bodies, 2 CTAs, launches V P V P. P receives its three velocities, 64 · 3 words, from the CTA with the
    // same index; V receives the same amount from each of the two CTAs. V reads its own velocities.
    assert_eq!(sizes("nbody"), ["768 8"]);
    assert_eq!(degrees("nbody"), ["out 1 4", "out 2 2", "in 1 4", "in 2 2"]);
    assert_eq!(stored("nbody"), ["0 0 1536", "1 1536 1536", "2 3072 1536"]);
    assert_eq!(
        patterns("nbody"),
        ["point-to-point 2", "all-to-all 4", "point-to-point 2"]
    );

    // hist, 65536 bytes: 5 CTAs count, 64 merge. Each of the 64 gathers one word from each of the 5.
    assert_eq!(sizes("hist"), ["4 320"]);
    assert_eq!(degrees("hist"), ["out 64 5", "in 4 64"]);
    assert_eq!(stored("hist"), ["0 0 1280"]);
    assert_eq!(patterns("hist"), ["gather 320"]);
    // A bin's partial counts are 64 words apart; the partial counts of one CTA are adjacent.
    assert_eq!(
        columns("hist", "stride", &["access", "bin_bytes", "distances"]),
        ["load 256 256", "store 4 315"]
    );
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn every_family_of_cuda_features_matches_its_golden_file() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, err) =
        run(superstep(folder.path()).args(["suite", "features", "--backend", "cpu"]));
    assert_eq!(code, 0, "{out}\n{err}");
    for benchmark in summary(folder.path(), "features")["benchmarks"]
        .as_array()
        .unwrap()
    {
        let golden = |check: &&Value| check["check"] == "golden";
        let check = benchmark["verification"]
            .as_array()
            .unwrap()
            .iter()
            .find(golden)
            .unwrap();
        assert_eq!(check["ok"], true, "{check}");
    }
}

/// In the stencil of `exchange`, one word crosses each of the 7 boundaries between CTAs in each direction. That is 28
/// bytes per direction in each of the three steps that load the previous step's results, one from `a` and two from `b`.
/// In the hand-over, CTA 1 loads the 32 words that CTA 0 stores, and polls the flag.
#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn communication_within_launches_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let suite = |in_situ: &[&str]| {
        let arguments = [
            "suite",
            "features",
            "--only",
            "exchange",
            "--backend",
            "cpu",
        ];
        let (code, out, err) = run(superstep(folder.path()).args(arguments).args(in_situ));
        assert_eq!(code, 0, "{out}\n{err}");
        let exchange = summary(folder.path(), "features")["benchmarks"][0].clone();
        (out, exchange["within_launch"].clone())
    };
    let (out, within) = suite(&[]);
    let note = "note CTAs of the same launch exchange up to ";
    assert!(unwrapped(&out).contains(note), "{out}");
    let loaded = within["loaded_bytes"].as_u64().unwrap();
    let path = folder.path().join("out/features/latest/tables/exchange");
    let table = fs::read_to_string(path.join("within-launch.csv")).unwrap();
    let mut rows: Vec<[String; 4]> = csv::Reader::from_reader(table.as_bytes())
        .records()
        .map(|row| {
            let row = row.unwrap();
            [0, 2, 3, 5].map(|column| row[column].to_owned())
        })
        .collect();
    // The number of times that the flag is polled varies.
    rows.retain(|[_, _, array, _]| array != "flag");
    rows.sort();
    let row = |kernel: &str, line: &str, array: &str, bytes: &str| {
        [kernel, line, array, bytes].map(str::to_owned)
    };
    let expected = [
        row("hand_over", "38", "data", "128"),
        row("stencil", "17", "a", "28"),
        row("stencil", "17", "b", "56"),
        row("stencil", "19", "a", "28"),
        row("stencil", "19", "b", "56"),
    ];
    assert_eq!(rows, expected);
    let polls = loaded - 296;
    assert!(polls > 0 && polls.is_multiple_of(4), "{polls}");
    // In situ, the last poll finds the flag set, as do polls between the recording of the store and the store itself.
    let (out, within) = suite(&["--in-situ"]);
    assert!(
        unwrapped(&out).contains("CTAs of the same launch exchange at least "),
        "{out}"
    );
    let loaded = within["loaded_bytes"].as_u64().unwrap();
    assert!(
        loaded >= 296 && (loaded - 296).is_multiple_of(4),
        "{loaded}"
    );
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn one_program_runs_like_a_suite() {
    let folder = tempfile::tempdir().unwrap();
    write_suite(folder.path(), "{in-tree: true}", "{args: []}", DOUBLE);
    let (code, out, err) =
        run(superstep(folder.path()).args(["run", "suite/toy.cu", "--backend", "cpu"]));
    assert_eq!(code, 0, "{out}{err}");
    let toy = &summary(folder.path(), "toy")["benchmarks"][0];
    assert_eq!((&toy["launches"], &toy["ctas"]), (&2.into(), &16.into()));
    assert_eq!(
        (
            &toy["threads"]["loads"],
            &toy["threads"]["stores"],
            &toy["bytes"]["loaded"]
        ),
        (&2000.into(), &2000.into(), &8000.into())
    );
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_failing_program_is_a_failed_run_and_does_not_stop_a_suite() {
    let folder = tempfile::tempdir().unwrap();
    write_suite(
        folder.path(),
        "{in-tree: true}",
        "{args: []}",
        &DOUBLE.replace("4.0f * i", "5.0f * i"),
    );
    let (code, _, err) =
        run(superstep(folder.path()).args(["run", "suite/toy.cu", "--backend", "cpu"]));
    assert_eq!(code, 10, "{err}");
    assert!(err.contains("exit code 3; 0 was expected"), "{err}");
    let (code, _, err) =
        run(superstep(folder.path()).args(["suite", "./suite", "--backend", "cpu"]));
    assert_eq!(code, 1, "{err}");
    assert_eq!(
        summary(folder.path(), "toys")["benchmarks"][0]["failure"]["kind"],
        "run"
    );
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn out_of_bounds_accesses_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    write_suite(
        folder.path(),
        "{in-tree: true}",
        "{args: []}",
        &DOUBLE.replace("numbers[index] *= 2", "numbers[index + (1 << 30)] *= 2"),
    );
    let (code, _, err) =
        run(superstep(folder.path()).args(["run", "suite/toy.cu", "--backend", "cpu"]));
    assert_eq!(code, 10, "{err}");
    // Every CTA performs the access; which worker performs it first is unspecified.
    let expected = [
        "kernel twice, CTA (",
        ",0,0), thread (0,0,0): out-of-bounds access",
        "4000-byte allocation",
        // Only the traced program can determine the line.
        "\n    traced: ",
        "toy.cu:",
        "device (4000 bytes, allocated at ",
    ];
    assert!(expected.iter().all(|part| err.contains(part)), "{err}");
    assert!(!err.contains("hint: "), "{err}");
}

/// A program that launches kernels until it is killed.
const ENDLESS: &str = r#"
#include <cuda_runtime.h>
__global__ void again(float *numbers) { numbers[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
int main() {
  float *device;
  cudaMalloc(&device, 65536 * sizeof(float));
  for (;;) {
    again<<<256, 256>>>(device);
    cudaDeviceSynchronize();
  }
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_killed_program_leaves_a_capture_that_is_marked_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    write_suite(folder.path(), "{in-tree: true}", "{args: []}", ENDLESS);
    // The time limit stops the untraced run. The test then starts the traced program itself and kills it.
    let args = ["run", "suite/toy.cu", "--backend", "cpu", "--timeout", "1"];
    let (code, _, err) = run(superstep_alone(folder.path()).args(args));
    assert_eq!(code, 10, "{err}");
    assert!(err.contains("did not finish within 1 s"), "{err}");
    let (code, out, err) = run(superstep_alone(folder.path())
        .args(args)
        .args(["--message-format", "json"]));
    assert_eq!(code, 10, "{err}");
    assert!(out.contains("\"timeout\""), "{out}");
    let traced = traced_program(&folder.path().join("cache/build/steps"));
    let capture = folder.path().join("capture");
    let mut child = Command::new(traced)
        .env("SUPERSTEP_CAPTURE", &capture)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while fs::metadata(capture.join("stream-0.sst")).map_or(0, |file| file.len()) < 100_000
        && started.elapsed() < Duration::from_secs(60)
    {
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let (code, out, err) = run(superstep(folder.path()).args(["info", "capture"]));
    assert_eq!(code, 9, "{out}{err}");
    assert!(
        out.starts_with("state         INCOMPLETE\n") && out.contains("kernel        again:"),
        "{out}"
    );
    let (code, out, _) = run(superstep(folder.path()).args(["dump", "capture", "--limit", "3"]));
    assert_eq!((code, out.lines().count() >= 4), (9, true), "{out}");
}
