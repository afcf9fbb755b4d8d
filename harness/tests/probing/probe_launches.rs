//! Probes at run time on the CPU backend: their API, their host code, and launches without a probe.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{DOUBLE, root, run, superstep};
use superstep_trace::ProbeResults;

/// Runs `superstep probe` and returns its standard output.
fn probe(folder: &Path, arguments: &[&str]) -> String {
    let mut command = superstep(folder);
    // The program's own arguments may follow.
    command.args(["probe", "--backend", "cpu"]).args(arguments);
    let (code, out, err) = run(&mut command);
    assert_eq!(code, 0, "{out}\n{err}");
    out
}

fn program_folder(folder: &Path, probe: &str, program: &str) -> PathBuf {
    folder
        .join("out/probes")
        .join(probe)
        .join(program)
        .join(program)
}

fn results(folder: &Path, probe: &str, program: &str) -> ProbeResults {
    ProbeResults::open(&program_folder(folder, probe, program).join("results")).unwrap()
}

/// Returns the numbers of the launches that have results.
fn launches(results: &ProbeResults) -> Vec<u32> {
    results
        .launches
        .iter()
        .map(|launch| launch.launch)
        .collect()
}

fn example(folder: &Path, name: &str) {
    let source = root().join("probes/examples").join(name);
    fs::copy(source, folder.join(name)).unwrap();
}

/// Returns the contents of a file that the probed program wrote.
fn written(folder: &Path, probe: &str, program: &str, name: &str) -> String {
    let probed = program_folder(folder, probe, program).join("probed");
    let found = [probed.join(name), probed.join("work").join(name)];
    let found = found.iter().find(|path| path.is_file());
    fs::read_to_string(found.unwrap_or_else(|| panic!("{name} in {}", probed.display()))).unwrap()
}

/// The handler prints a line, so that the output shows which launches have the probe.
const LOUD: &str = "schema: 1\nname: loud\ntitle: Says that it runs\nhandler: loud.cu\nper: launch\nfields:\n  - {name: n}\npoints:\n  - \
                    {at: [kernel-entry], call: f, pass: [fields]}\n";
const LOUD_HANDLER: &str = "#include <cstdio>\n__device__ void f(Fields &fields) {\n  fields.n += 1;\n  \
                            if (superstep::thread() == 0) printf(\"probed\\n\");\n}\n";

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn launches_outside_the_selection_run_without_the_probe() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("loud.yaml"), LOUD).unwrap();
    fs::write(folder.join("loud.cu"), LOUD_HANDLER).unwrap();
    fs::write(folder.join("twice.cu"), DOUBLE).unwrap();
    for (options, expected) in [
        (&[][..], &[0, 1][..]),
        (&["--launch-skip", "1"], &[1]),
        (&["--launch-count", "1"], &[0]),
        (&["--kernel", "other"], &[]),
    ] {
        let arguments = ["loud.yaml", "twice.cu", "--volatile-lines", "^probed"];
        probe(folder, &[&arguments[..], options].concat());
        let results = results(folder, "loud", "twice");
        assert_eq!(launches(&results), expected, "{options:?}");
        for launch in &results.launches {
            assert_eq!(results.totals(launch).unwrap(), [1024], "{options:?}");
        }
        let printed = written(folder, "loud", "twice", "stdout");
        let count = printed.lines().filter(|line| *line == "probed").count();
        assert_eq!(count, expected.len(), "{options:?}");
    }
    for option in ["--ctas=0", "--sample-ctas=0.5"] {
        let arguments = ["probe", "loud.yaml", "twice.cu", option];
        let (code, _, err) = run(superstep(folder).args(arguments));
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("--launch-skip"), "{err}");
    }
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_program_can_read_the_results_of_its_probe() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    example(folder, "sampled.cu");
    // Two probes, one after the other. The second has only one of the two fields that the program reads.
    probe(folder, &["branches,basic-blocks", "sampled.cu"]);
    let branches = results(folder, "branches", "sampled");
    assert_eq!(launches(&branches), [0, 10, 20]);
    let mut expected = String::new();
    for launch in &branches.launches {
        let totals = branches.totals(launch).unwrap();
        let sum = |field: usize| totals.iter().skip(field).step_by(4).sum::<u64>();
        let (executions, divergent) = (sum(0), sum(3));
        assert!(divergent > 0 && executions > divergent);
        expected += &format!(
            "launch {}: {executions} branches, of which {divergent} split a warp\n",
            launch.launch
        );
    }
    assert_eq!(
        written(folder, "branches", "sampled", "probed.txt"),
        expected
    );
    assert_eq!(
        launches(&results(folder, "basic-blocks", "sampled")),
        [0, 10, 20]
    );
    assert!(
        written(folder, "basic-blocks", "sampled", "probed.txt").contains("launch 10: "),
        "{}",
        written(folder, "basic-blocks", "sampled", "probed.txt")
    );
    // Without a probe, it is an ordinary program.
    let arguments = ["run", "sampled.cu", "--backend", "cpu"];
    let (code, out, err) = run(superstep(folder).args(arguments));
    assert_eq!(code, 0, "{out}\n{err}");
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn host_code_runs_before_and_after_each_launch() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in ["budget.yaml", "budget.cu", "budget.cpp"] {
        example(folder, name);
    }
    fs::write(folder.join("twice.cu"), DOUBLE).unwrap();
    probe(folder, &["budget.yaml", "twice.cu"]);
    let found = results(folder, "budget", "twice");
    assert_eq!(launches(&found), [0]);
    assert_eq!(
        found
            .totals(&found.launches[0])
            .unwrap()
            .iter()
            .sum::<u64>(),
        8000
    );
    let text = written(folder, "budget", "twice", "budget.txt");
    assert_eq!(text, "launch 0: 8000 bytes so far\n");
    // A compile error in host code is shown with its line.
    fs::write(
        folder.join("budget.cpp"),
        "extern \"C\" void finalise(int) {}\n",
    )
    .unwrap();
    let arguments = ["probe", "budget.yaml", "twice.cu", "--backend", "cpu"];
    let (code, _, err) = run(superstep(folder).args(arguments));
    assert_eq!(code, 6, "{err}");
    assert!(err.contains("budget.cpp:1:"), "{err}");
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn two_programs_run_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    example(folder, "credit-scheduler.cu");
    let arguments = [
        "cta-clocks",
        "credit-scheduler.cu",
        "--volatile-lines",
        "^utilisation",
    ];
    probe(
        folder,
        &[&arguments[..], &["--", "3", "64", "192"]].concat(),
    );
    let table = written(folder, "cta-clocks", "credit-scheduler", "utilisation.csv");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split(',').collect())
        .collect();
    assert_eq!(rows.len(), 1 + 2 * 60, "two programs every 50 ms\n{table}");
    for program in ["A", "B"] {
        let program_rows = || rows.iter().filter(|row| row[2] == program);
        assert!(
            program_rows()
                .take(30)
                .all(|row| row[1] == "0" && row[3] == "10000")
        );
        let seen = program_rows().filter(|row| row[5] != "0.0").count();
        assert!(seen > 0, "the scheduler saw its kernels\n{table}");
        let last = program_rows().next_back().unwrap();
        assert!(last[3] != "10000", "the scheduler set its period\n{table}");
    }
}

const MIXED: &str = r#"
#include <cstdio>
__global__ void mixed(float *numbers, int *integers, int count) {
  __shared__ float tile[128];
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = numbers[index];
  __syncthreads();
  numbers[index] = sqrtf(tile[127 - threadIdx.x]) + 1.5f;
  integers[index] = (int)numbers[index] * count;
}
int main() {
  float *numbers;
  int *integers;
  cudaMallocManaged(&numbers, 4 * 256);
  cudaMallocManaged(&integers, 4 * 256);
  for (int i = 0; i < 256; ++i) numbers[i] = i;
  mixed<<<2, 128>>>(numbers, integers, 3);
  std::printf("%d %d\n", cudaDeviceSynchronize(), integers[200]);
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn instructions_are_counted_by_class() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("mixed.cu"), MIXED).unwrap();
    probe(folder, &["instruction-mix", "mixed.cu"]);
    let found = results(folder, "instruction-mix", "mixed");
    let launch = &found.launches[0];
    let probe = found.probe(launch).unwrap();
    let totals = found.totals(launch).unwrap();
    let mut mix: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for (slot, fields) in totals.chunks_exact(2).enumerate() {
        let site = &probe.sites[launch.first_slot as usize + slot];
        let sums = mix.entry(format!("{:?}", site.at)).or_default();
        sums[0] += fields[0];
        sums[1] += fields[1];
    }
    // Each of eight full warps executes `count` instructions of the class.
    for (class, count) in [
        ("Load", 1),
        ("Store", 2),
        ("Barrier", 1),
        ("Shared", 2),
        ("Special", 1),
        ("Float", 1),
    ] {
        assert_eq!(
            mix.get(class),
            Some(&[8 * count, 256 * count]),
            "{class}: {mix:?}"
        );
    }
    for class in ["Integer", "Conversion"] {
        let [warps, threads] = mix[class];
        assert!(warps > 0 && threads == 32 * warps, "{class}: {mix:?}");
    }
}
