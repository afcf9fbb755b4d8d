//! Launches from constructors of global objects, before `main`: as with nvcc, a translation unit's device code is
//! registered before its constructors run.

use crate::common::{run, superstep};
use serde_json::Value;
use std::fs;

/// Each unit has its own copy of this kernel and of the function that launches it and prints its sum and error.
const HEADER: &str = r#"
#include <cstdio>
namespace {
__global__ void fill(int *numbers, int value) { numbers[threadIdx.x] = value; }
inline void launch_own(const char *from, int value) {
    int *numbers = nullptr, got[64] = {}, sum = 0;
    cudaMalloc(&numbers, sizeof got);
    cudaMemset(numbers, 0, sizeof got);
    fill<<<1, 64>>>(numbers, value);
    cudaError_t error = cudaGetLastError();
    cudaMemcpy(got, numbers, sizeof got, cudaMemcpyDeviceToHost);
    for (int number : got) sum += number;
    printf("%s %d %d\n", from, sum, error);
}
}
void launch_a(const char *from);
void launch_b(const char *from);
template <class T> struct Holder {
    static inline Holder *one = new Holder;
    Holder() { T()(); }
};
"#;

const A: &str = r#"
#include "early.h"
void launch_a(const char *from) { launch_own(from, 1); }
struct Launch { void operator()() { launch_a("inline"); } };
struct Early { Early() { launch_a("a"); } } early;
int main() {
    launch_b("main");
    return Holder<Launch>::one == nullptr;
}
"#;

const B: &str = r#"
#include "early.h"
void launch_b(const char *from) { launch_own(from, 2); }
namespace {
struct Early { Early() { launch_b("b"); launch_a("a of b"); } } early;
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn constructors_of_global_objects_can_launch_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, text) in [("early.h", HEADER), ("a.cu", A), ("b.cu", B)] {
        fs::write(path(name), text).unwrap();
    }
    let words = ["build", "--", "nvcc", "a.cu", "b.cu", "-o", "app"];
    let (code, out, err) = run(superstep(folder.path()).args(words));
    assert_eq!(code, 0, "{out}\n{err}");
    for (program, name) in [(&["a.cu", "b.cu"][..], "a"), (&["app"], "app")] {
        let words = [&["run", "--backend", "cpu"], program].concat();
        let (code, out, err) = run(superstep(folder.path()).args(words));
        assert_eq!(code, 0, "{out}\n{err}");
        let latest = path("out").join(name).join("latest");
        let printed = latest.join(format!("benchmarks/{name}/traced/stdout"));
        let printed = fs::read_to_string(printed).unwrap();
        let mut lines: Vec<_> = printed.lines().collect();
        // C++ does not specify when the inline variable is initialised.
        lines[..2].sort_unstable();
        let expected = [
            "a 64 0",
            "inline 64 0",
            "b 128 0",
            "a of b 64 0",
            "main 128 0",
        ];
        assert_eq!(lines, expected);
        let summary: Value =
            serde_json::from_str(&fs::read_to_string(latest.join("run.json")).unwrap()).unwrap();
        let record = &summary["benchmarks"][0];
        assert_eq!(record["launches"], 5, "{record:#}");
        assert_eq!(record["threads"]["stores"], 5 * 64, "{record:#}");
    }
}
