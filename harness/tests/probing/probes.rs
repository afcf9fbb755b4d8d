//! Tests probes on the CPU backend, from definitions to tables: the counts match the programs' own counts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::{DOUBLE, root, run, superstep};
use superstep_trace::probe::{At, LaunchResult};
use superstep_trace::{Capture, PointSite, ProbeResults};

/// Runs `superstep probe` and returns its standard output.
fn probe(folder: &Path, arguments: &[&str]) -> String {
    let mut command = superstep(folder);
    command.arg("probe").args(arguments);
    let (code, out, err) = run(command.args(["--backend", "cpu"]));
    assert_eq!(code, 0, "{out}\n{err}");
    out
}

fn results(folder: &Path, probe: &str, program: &str) -> ProbeResults {
    let run = folder.join("out/probes").join(probe).join(program);
    ProbeResults::open(&run.join(program).join("results")).unwrap()
}

/// Returns the sites of a launch with their fields.
fn sites<'a>(results: &'a ProbeResults, launch: &LaunchResult) -> Vec<(&'a PointSite, Vec<u64>)> {
    let probe = results.probe(launch).unwrap();
    let totals = results.totals(launch).unwrap();
    let slots = launch.first_slot as usize..;
    slots
        .zip(totals.chunks_exact(probe.spec.fields.len()))
        .map(|(slot, fields)| (&probe.sites[slot], fields.to_vec()))
        .collect()
}

/// Returns a page's code blocks in `language`.
fn code_blocks(page: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut rest = page;
    let fence = format!("```{language}\n");
    while let Some(at) = rest.find(&fence) {
        rest = &rest[at + fence.len()..];
        let end = rest.find("```").unwrap();
        blocks.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    blocks
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn the_example_in_the_documentation_works() {
    let page = fs::read_to_string(root().join("docs/probes.md")).unwrap();
    let (yaml, handler) = (code_blocks(&page, "yaml"), code_blocks(&page, "cuda"));
    let lines = yaml[0].lines().count() + handler[0].lines().count();
    assert!(lines <= 30, "{lines} lines");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("widths.yaml"), &yaml[0]).unwrap();
    fs::write(folder.path().join("widths.cu"), &handler[0]).unwrap();
    fs::write(folder.path().join("twice.cu"), DOUBLE).unwrap();
    let out = probe(folder.path(), &["widths.yaml", "twice.cu"]);
    let line = out.lines().find(|line| line.contains("twice.cu:"));
    let cells: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
    assert_eq!(cells[..3], ["twice", "bytes", "twice"], "{out}");
    assert_eq!(cells[4..], ["16000", "100.0"], "{out}");
    let page = fs::read_to_string(folder.path().join("out/probes/widths/twice/index.html"));
    let page = page.unwrap();
    assert!(page.contains(cells[3]) && page.contains("16000"), "{page}");
    assert!(
        !page.contains("SASSI") && !page.contains("Ocelot"),
        "{page}"
    );
    let tables = folder.path().join("out/probes/widths/twice/twice/tables");
    let totals = fs::read_to_string(tables.join("probe_totals.csv")).unwrap();
    // Two launches, each with 1000 threads that load and store a 4-byte value.
    assert!(totals.contains("twice,2,0,bytes,8000\n"), "{totals}");
    assert!(totals.contains("twice,2,1,bytes,8000\n"), "{totals}");
    assert!(tables.join("probe_values.parquet").is_file());
    assert!(tables.join("probe_sites.json").is_file());
}

/// Generator of kernels with random control flow. Each path is counted with an atomic, in a separate function so that
/// identical tails of branches are not merged. The probes' counts are compared with these counts.
struct Generator {
    state: u64,
    body: String,
    counters: usize,
}

impl Generator {
    fn next(&mut self, below: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.state >> 33) % below
    }

    fn put(&mut self, text: &str) {
        self.body.push_str(text);
        self.body.push('\n');
    }

    fn counter(&mut self) {
        self.put(&format!("count{}(counts);", self.counters));
        self.counters += 1;
    }

    fn statements(&mut self, depth: u64) {
        for _ in 0..1 + self.next(3) {
            let choice = self.next(if depth == 0 { 1 } else { 5 });
            let bit = self.next(7);
            match choice {
                0 => self.counter(),
                1 | 2 => {
                    self.put(&format!("if (x >> {bit} & 1) {{"));
                    self.statements(depth - 1);
                    self.put("} else {");
                    self.statements(depth - 1);
                    self.put("}");
                }
                3 => {
                    let bound = 2 + self.next(4);
                    self.put(&format!(
                        "for (unsigned i{depth} = 0; i{depth} < x % {bound}; ++i{depth}) {{"
                    ));
                    self.put("x = x * 1664525u + 1013904223u;");
                    self.statements(depth - 1);
                    self.put("}");
                }
                _ => {
                    self.put(&format!("if ((x >> {bit}) % 3 == 0) {{"));
                    self.counter();
                    self.put("return;");
                    self.put("}");
                    self.counter();
                }
            }
            self.put("x ^= x >> 5;");
        }
    }
}

/// Returns a program with the given number of kernels, and the number of its counters.
fn generate(kernels: usize, seed: u64) -> (String, usize) {
    let mut generator = Generator {
        state: seed,
        body: String::new(),
        counters: 0,
    };
    for kernel in 0..kernels {
        generator.put(&format!(
            "__global__ void kernel{kernel}(unsigned long long *counts) {{"
        ));
        generator.put("unsigned x = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u;");
        generator.statements(3);
        generator.put("}");
    }
    let counters = generator.counters;
    let mut source = "#include <cstdio>\n".to_owned();
    for number in 0..counters {
        source += &format!(
            "__noinline__ __device__ void count{number}(unsigned long long *counts) {{ atomicAdd(&counts[{number}], 1ull); }}\n"
        );
    }
    source += &generator.body;
    source += &format!(
        "int main() {{\nunsigned long long *counts; cudaMallocManaged(&counts, {counters} * 8);\n\
         for (int i = 0; i < {counters}; ++i) counts[i] = 0;\n"
    );
    for kernel in 0..kernels {
        source += &format!("kernel{kernel}<<<5, 77>>>(counts);\n");
    }
    source += &format!(
        "cudaDeviceSynchronize();\nfor (int i = 0; i < {counters}; ++i) std::printf(\"%llu\\n\", counts[i]);\n}}\n"
    );
    (source, counters)
}

const PATHS: &str = "schema: 1\nname: paths\ntitle: Paths\nhandler: paths.cu\nper: thread\nfields:\n  - {name: n, type: u32}\npoints:\n  \
                     - {at: [block], call: f, pass: [fields]}\n  - {at: [call], call: f, pass: [fields]}\n";

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn counts_of_generated_programs_are_exact() {
    let kernels = match std::env::var("SUPERSTEP_GENERATED_KERNELS") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => 40,
    };
    let (source, counters) = generate(kernels, 20261121);
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    put("paths.yaml", PATHS);
    put(
        "paths.cu",
        "__device__ void f(Fields &fields) { fields.n += 1; }\n",
    );
    put("generated.cu", &source);
    probe(folder.path(), &["paths.yaml", "generated.cu"]);
    probe(folder.path(), &["branches", "generated.cu"]);
    let stdout = folder
        .path()
        .join("out/probes/paths/generated/generated/probed/stdout");
    let counted: Vec<u64> = fs::read_to_string(stdout)
        .unwrap()
        .lines()
        .map(|line| line.parse().unwrap())
        .collect();
    assert_eq!(counted.len(), counters);

    let paths = results(folder.path(), "paths", "generated");
    let branches = results(folder.path(), "branches", "generated");
    // For each counter: calls to its function, executions of the blocks that call it, and executions of its own block.
    let mut found: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for launch in &paths.launches {
        // The `branches` probe has no sites in a kernel without branches.
        let is_same_kernel = |other: &&LaunchResult| other.kernel == launch.kernel;
        let other = branches.launches.iter().find(is_same_kernel);
        let rows = sites(&paths, launch);
        let blocks: BTreeMap<u32, (&PointSite, u64)> = rows
            .iter()
            .filter(|(site, _)| site.at == At::Block && site.function == launch.kernel)
            .map(|(site, fields)| (site.block, (*site, fields[0])))
            .collect();
        for (site, fields) in &rows {
            if site.at == At::Call && site.function == launch.kernel {
                let counts = found.entry(site.what.clone()).or_default();
                counts[0] += fields[0];
                counts[1] += blocks[&site.block].1;
            } else if site.at == At::Block && site.function != launch.kernel {
                // For example, _Z7count12Py.
                let name = site.function.trim_start_matches(|c| c != 'c');
                let name = name.trim_end_matches("Py").to_owned();
                found.entry(name).or_default()[2] += fields[0];
            }
        }
        // A block is left as often as it is entered. Branch counts take a different path through the runtime.
        let mut entered = BTreeMap::from([(0, 5 * 77)]);
        let ends: BTreeMap<u32, Vec<u64>> = other
            .into_iter()
            .flat_map(|other| sites(&branches, other))
            .map(|(site, fields)| (site.block, fields))
            .collect();
        for (number, (block, executions)) in &blocks {
            match (&block.successors[..], ends.get(number)) {
                ([then, otherwise], Some(branch)) => {
                    assert_eq!(branch[1], *executions, "{} block {number}", launch.kernel);
                    *entered.entry(*then).or_insert(0) += branch[2];
                    *entered.entry(*otherwise).or_insert(0) += branch[1] - branch[2];
                }
                ([], None) => {}
                ([next], None) => *entered.entry(*next).or_insert(0) += executions,
                other => panic!("{} block {number}: {other:?}", launch.kernel),
            }
        }
        for (number, (_, executions)) in &blocks {
            let entered = entered.get(number).copied().unwrap_or(0);
            assert_eq!(*executions, entered, "{} block {number}", launch.kernel);
        }
    }
    for (counter, expected) in counted.iter().enumerate() {
        let counts = found.get(&format!("count{counter}")).copied();
        // The compiler has removed impossible paths.
        let counts = counts.unwrap_or_default();
        assert_eq!(counts, [*expected; 3], "counter {counter}");
    }
    assert!(counted.iter().any(|&count| count > 5 * 77), "loops repeat");

    // Kernels without the probe, and the functions that they call, behave the same (the command compares the output),
    // and kernels with the probe have the same counts.
    let totals = |results: &ProbeResults| -> Vec<(u32, Vec<u64>)> {
        let launches = results.launches.iter();
        launches
            .map(|launch| (launch.launch, results.totals(launch).unwrap()))
            .collect()
    };
    let mut expected = totals(&branches);
    expected.retain(|(launch, _)| (2..5).contains(launch));
    let arguments = ["branches", "generated.cu", "--launch-skip", "2"];
    probe(
        folder.path(),
        &[&arguments[..], &["--launch-count", "3"]].concat(),
    );
    let part = totals(&results(folder.path(), "branches", "generated"));
    assert!(!part.is_empty());
    assert_eq!(part, expected);
}

/// Computes values in long sequences between warp operations, barriers and calls, in divergent threads.
const RUNS: &str = r#"
#include <cstdio>
__noinline__ __device__ unsigned step(unsigned x) { return x % 3 == 0 ? x * 5u + 1u : x ^ x >> 3; }
__global__ void shuffled(unsigned *out) {
  unsigned x = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u;
  x += __shfl_xor_sync(~0u, x, 5);
  const unsigned odd = __ballot_sync(~0u, x & 1);
  for (unsigned i = 0; i < x % 4; i++) x = step(x) + odd;
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
__global__ void synchronised(unsigned *out) {
  __shared__ unsigned tile[96];
  unsigned x = threadIdx.x * 40503u + blockIdx.x;
#pragma unroll
  for (int i = 0; i < 90; i++) x = (x << 1 ^ x >> 3) + 77u * i;
  tile[threadIdx.x] = x;
  __syncthreads();
  if (threadIdx.x & 4) x = step(x + tile[95 - threadIdx.x]);
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] ^= x;
}
int main() {
  unsigned *out;
  cudaMallocManaged(&out, 3 * 96 * 4);
  shuffled<<<3, 96>>>(out);
  synchronised<<<3, 96>>>(out);
  cudaDeviceSynchronize();
  unsigned sum = 0;
  for (int i = 0; i < 3 * 96; i++) sum = sum * 31 + out[i];
  std::printf("%u\n", sum);
}
"#;

const BITS: &str = "schema: 1\nname: bits\ntitle: Bits of each thread's values\nhandler: bits.cu\nper: launch\nfields:\n  \
                    - {name: executions, combine: sum}\n  - {name: ones, combine: and}\n  - {name: ever_set, combine: or}\npoints:\n  \
                    - {at: [value], when: after, call: f, pass: [fields, value]}\n";

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn bits_of_a_warps_values_match_its_threads() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    put("runs.cu", RUNS);
    put("bits.yaml", BITS);
    put(
        "bits.cu",
        "__device__ void f(Fields &fields, unsigned long long value) {\n  fields.executions += 1;\n  \
         fields.ones &= value;\n  fields.ever_set |= value;\n}\n",
    );
    probe(folder.path(), &["bits.yaml", "runs.cu"]);
    probe(folder.path(), &["values", "runs.cu"]);
    let (threads, warps) = (
        results(folder.path(), "bits", "runs"),
        results(folder.path(), "values", "runs"),
    );
    let (mut compared, mut longest) = (0, 0);
    for (one, other) in threads.launches.iter().zip(&warps.launches) {
        let values = sites(&warps, other);
        longest = longest.max(values.iter().map(|(site, _)| site.followers).max().unwrap());
        let values = values.iter().filter(|(site, _)| site.at == At::Value);
        for ((site, thread), (_, warp)) in sites(&threads, one).iter().zip(values) {
            // Addresses differ from run to run.
            if site.width < 64 {
                assert_eq!(thread[1..], warp[1..3], "{site:?}");
                // A kernel's range of sites also contains sites of other kernels.
                compared += usize::from(thread[0] > 0);
            }
        }
    }
    assert!(compared > 200, "{compared}");
    assert_eq!(longest, 61, "the longest entry");
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn memory_divergence_matches_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["thesis", "--size", "tiny", "--only", "hist,bfs,path"];
    for command in [&["suite"][..], &["probe", "memory-divergence"]] {
        let (code, out, err) = run(superstep(folder.path())
            .args(command)
            .args(arguments)
            .args(["--backend", "cpu"]));
        assert_eq!(code, 0, "{out}\n{err}");
    }
    let latest = folder.path().join("out/thesis/latest");
    let probe_run = folder.path().join("out/probes/memory-divergence/thesis");
    for program in ["hist", "bfs", "path"] {
        let capture = latest.join("benchmarks").join(program).join("capture");
        let capture = Capture::open(&capture).unwrap();
        let mut traced = vec![0u64; 1024];
        capture
            .groups(|_, group| {
                let mut lines: Vec<u64> = (group.active_addresses().iter())
                    .map(|address| address >> 5)
                    .collect();
                lines.sort_unstable();
                lines.dedup();
                traced[(group.lanes() - 1) * 32 + lines.len() - 1] += 1;
            })
            .unwrap();
        let results = ProbeResults::open(&probe_run.join(program).join("results")).unwrap();
        let mut probed = vec![0u64; 1024];
        for launch in &results.launches {
            for (sum, value) in probed.iter_mut().zip(results.words(launch.tables).unwrap()) {
                *sum += value;
            }
        }
        assert!(traced.iter().sum::<u64>() > 100, "{program}");
        assert_eq!(probed, traced, "{program}");
    }
}
