//! Generated kernels with barriers: their results and accesses are identical whether threads run in loops or as fibers.
//!
//! The kernels race, wait at different barriers, return early and keep arrays across barriers. Loops and fibers run
//! threads in the same order, so their results must not differ. `SUPERSTEP_GENERATED_KERNELS` sets the number of
//! kernels (24 by default), and `SUPERSTEP_GENERATED_SEED` the seed.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::common::{run, superstep};
use serde_json::Value;

/// Random-number generator whose numbers depend only on the seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

/// Generator of a kernel's statements.
struct Generator {
    random: Random,
    text: String,
    loops: u32,
}

impl Generator {
    fn variable(&mut self) -> char {
        ['a', 'b', 'c'][self.random.below(3) as usize]
    }

    /// Returns an expression whose value differs from thread to thread.
    fn value(&mut self) -> String {
        let (v, k) = (self.variable(), self.random.below(50) + 1);
        match self.random.below(6) {
            0 => format!("({v} * {k}u + t)"),
            1 => format!("s[({v} + {k}u) % 64u]"),
            2 => format!("in[({v} ^ {k}u) % 256u]"),
            3 => format!("l[{v} % 4u]"),
            4 => format!("(unsigned)((float){v} * 0.37f + {k})"),
            _ => format!("(p.x + {v} / {k}u)"),
        }
    }

    fn statements(&mut self, depth: u32, barriers: bool) {
        for _ in 0..2 + self.random.below(4) {
            self.statement(depth, barriers);
        }
    }

    fn statement(&mut self, depth: u32, barriers: bool) {
        let (v, w, value, k) = (
            self.variable(),
            self.variable(),
            self.value(),
            self.random.below(60) + 1,
        );
        let line = match self.random.below(if depth > 0 { 14 } else { 10 }) {
            0 => format!("{v} += {value};"),
            1 => format!("s[({v} + t) % 64u] = {value};"),
            2 => format!("s[t % 64u] ^= {value};"),
            3 => format!("out[t] = {value};"),
            4 => format!("{v} = out[(t + {k}u) % threads] + {w};"),
            5 => format!("{v} += atomicAdd(&s[{k}u % 8u], {w} % 5u);"),
            6 => format!("l[{w} % 4u] = {value};"),
            7 => format!("p.y = {value}; p.x ^= p.y;"),
            8 | 9 if barriers => "__syncthreads();".to_owned(),
            10 if barriers && self.random.below(3) == 0 => {
                format!("if ({v} % 11u == {}u) return;", k % 11)
            }
            8..=10 => format!("{v} ^= {w} >> {};", k % 9),
            11 | 12 => {
                let number = self.loops;
                self.loops += 1;
                // The number of iterations is the same for all threads or depends on the thread.
                let limit = match self.random.below(2) {
                    0 => format!("{}u", 1 + k % 4),
                    _ => format!("t % {}u", 2 + k % 3),
                };
                writeln!(
                    self.text,
                    "  for (unsigned i{number} = 0; i{number} < {limit}; i{number}++) {{"
                )
                .unwrap();
                self.statements(depth - 1, barriers);
                format!("{v} += i{number}; }}")
            }
            _ => {
                // Selects one thread, all threads but one, or threads by their values.
                let condition = match self.random.below(4) {
                    0 => format!("threadIdx.x == {}u", k % 9),
                    1 => format!("threadIdx.x + 1 != {}u", k % 34),
                    _ => format!("{v} % {}u < 2u", 2 + k % 4),
                };
                writeln!(self.text, "  if ({condition}) {{").unwrap();
                self.statements(depth - 1, barriers);
                self.text.push_str("  } else {\n");
                self.statements(depth - 1, barriers);
                "}".to_owned()
            }
        };
        writeln!(self.text, "  {line}").unwrap();
    }

    fn kernel(&mut self, number: u64) {
        write!(
            self.text,
            "__global__ void k{number}(const unsigned *in, unsigned *all, Pair p, unsigned a) {{
  __shared__ unsigned s[64];
  unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned threads = blockDim.x * blockDim.y * blockDim.z, b = blockIdx.x, c = threadIdx.x * 3 + threadIdx.y, l[4] = {{t, 1, 2, 3}};
  unsigned *out = all + blockIdx.x * threads;
"
        )
        .unwrap();
        // What an earlier CTA left in shared memory depends on the schedule.
        let barriers = !number.is_multiple_of(4);
        self.text.push_str(if barriers {
            "  for (unsigned i = t; i < 64; i += threads) s[i] = i * 7;\n  __syncthreads();\n"
        } else {
            "  for (unsigned i = 0; i < 64; i++) s[i] = i * 7;\n"
        });
        self.statements(3, barriers);
        self.text
            .push_str("  out[t] += a ^ b ^ c ^ l[a % 4u] ^ s[c % 64u] ^ p.y;\n}\n");
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .map_or(default, |text| text.parse().unwrap())
}

fn program(seed: u64, kernels: u64) -> String {
    let mut generator = Generator {
        random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1),
        text: "#include <cuda_runtime.h>\n#include <cstdio>\nstruct Pair { unsigned x, y; };\n"
            .to_owned(),
        loops: 0,
    };
    (0..kernels).for_each(|number| generator.kernel(number));
    let calls: String = (0..kernels)
        .map(|number| {
            format!("    k{number}<<<3, shape>>>(in, out, Pair{{{number}, 5}}, {number}); show({number}, out);\n")
        })
        .collect();
    generator.text
        + "static void show(int kernel, unsigned *out) {
  static unsigned all[3 * 192];
  cudaMemcpy(all, out, sizeof all, cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (unsigned value : all) hash = hash * 31 + value;
  printf(\"%d %u %s\\n\", kernel, hash, cudaGetErrorString(cudaGetLastError()));
  cudaMemset(out, 0, sizeof all);
}
int main() {
  unsigned host[256], *in, *out;
  for (int i = 0; i < 256; i++) host[i] = i * 2654435761u;
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, 3 * 192 * sizeof(unsigned));
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, 3 * 192 * sizeof(unsigned));
  for (dim3 shape : {dim3(1), dim3(33), dim3(8, 8), dim3(16, 9), dim3(32, 3, 2), dim3(4, 5, 6), dim3(128)}) {
" + &calls
        + "  }\n}\n"
}

/// Runs the program. Returns its results and a description of its accesses.
fn results(folder: &Path, fibers: &str) -> (String, Value) {
    let mut command = superstep(folder);
    command
        .env("SUPERSTEP_CPU_FIBERS", fibers)
        .args(["run", "program.cu", "--backend", "cpu"]);
    let (code, out, err) = run(&mut command);
    assert_eq!(code, 0, "{out}\n{err}");
    let latest = folder.join("out/program/latest");
    let printed = fs::read_to_string(latest.join("benchmarks/program/native/stdout")).unwrap();
    let text = fs::read_to_string(latest.join("run.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let mut accesses = Value::Null;
    for key in ["digest", "launches", "ctas", "threads", "kernels"] {
        accesses[key] = summary["benchmarks"][0][key].clone();
    }
    (printed, accesses)
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn results_are_identical_in_loops_and_as_fibers() {
    let (seed, kernels) = (
        setting("SUPERSTEP_GENERATED_SEED", 0),
        setting("SUPERSTEP_GENERATED_KERNELS", 24),
    );
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("program.cu"), program(seed, kernels)).unwrap();
    let (in_loops, accesses_in_loops) = results(folder.path(), "0");
    let (as_fibers, accesses_as_fibers) = results(folder.path(), "1");
    assert_eq!(in_loops.lines().count(), 7 * kernels as usize);
    assert!(in_loops.contains("no error"), "{in_loops}");
    assert_eq!(in_loops, as_fibers, "seed {seed}");
    assert!(accesses_in_loops["digest"].is_string());
    assert_eq!(accesses_in_loops, accesses_as_fibers, "seed {seed}");
}
