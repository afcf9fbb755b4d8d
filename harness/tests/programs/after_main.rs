//! Launches from destructors of libraries that are still loaded when the program exits, and of a library that the
//! program closes. As on a GPU, CUDA is no longer available in destructors that were registered before the first CUDA
//! call or that the dynamic loader calls on exit.

use crate::common::{run, superstep};
use serde_json::Value;
use std::fs;

const LIBRARY: &str = r#"
#include <cstdio>
namespace {
__global__ void fill(int *numbers) { numbers[threadIdx.x] = VALUE; }
int *numbers;
void launch(const char *when) {
    int got[64] = {}, sum = 0;
    fill<<<1, 64>>>(numbers);
    cudaMemcpy(got, numbers, sizeof got, cudaMemcpyDeviceToHost);
    for (int number : got) sum += number;
    printf("%s %d: %d %d\n", when, VALUE, sum, cudaGetLastError());
    fflush(stdout);
}
struct Late { const char *when; ~Late() { launch(when); } };
Late late{"global"};
thread_local Late late_in_thread{"thread_local"};
__attribute__((destructor)) void last() { launch("destructor"); }
}
extern "C" void use() { cudaMalloc(&numbers, 256); (void)late_in_thread.when; }
"#;

const MAIN: &str = r#"
#include <dlfcn.h>
extern "C" void use();
static void *plugin(const char *name) {
    void *opened = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    reinterpret_cast<void (*)()>(dlsym(opened, "use"))();
    return opened;
}
int main() {
    // While a library is being closed, the calling thread holds the loader's lock. This library's destructors launch
    // the first kernel.
    dlclose(plugin("./closed.so"));
    plugin("./plugin.so");
    use();
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn library_destructors_can_launch_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("library.cu"), LIBRARY).unwrap();
    // A library stays loaded until its thread-local destructors have run.
    let closed = LIBRARY.replace("(void)late_in_thread.when;", "");
    fs::write(path("closed.cu"), closed).unwrap();
    fs::write(path("main.cu"), MAIN).unwrap();
    let shared = |value, source, library| {
        format!("nvcc -shared -Xcompiler -fPIC -DVALUE={value} {source} -o {library}")
    };
    let lines = [
        shared(1, "library.cu", "liblinked.so"),
        shared(2, "closed.cu", "closed.so"),
        shared(3, "library.cu", "plugin.so"),
        "nvcc main.cu -o app -L. -llinked -ldl -Xlinker -rpath -Xlinker '$ORIGIN'".to_owned(),
    ];
    let words = ["build", "--", "sh", "-c", &lines.join(" && ")];
    let (code, out, err) = run(superstep(folder.path()).args(words));
    assert_eq!(code, 0, "{out}\n{err}");
    let words = ["run", "--backend", "cpu", "app", "--timeout", "60"];
    let plugins = ["closed.so", "plugin.so"]
        .map(|file| ["--with", file, "--input", file])
        .concat();
    let (code, out, err) = run(superstep(folder.path()).args(words).args(plugins));
    assert_eq!(code, 0, "{out}\n{err}");

    let latest = path("out/app/latest");
    let text = fs::read_to_string(latest.join("run.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let app = &summary["benchmarks"][0];
    // One launch from the linked library, and two each from the plugin and the closed library.
    assert_eq!((&app["launches"], &app["ctas"]), (&5.into(), &5.into()));
    assert_eq!(app["threads"]["stores"], 5 * 64, "{app:#}");
    let printed = fs::read_to_string(latest.join("benchmarks/app/traced/stdout")).unwrap();
    let mut lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines[..2], ["destructor 2: 128 0", "global 2: 128 0"]);
    lines.sort_unstable();
    let expected = [
        "destructor 1: 0 4",
        "destructor 2: 128 0",
        "destructor 3: 0 4",
        "global 1: 0 4",
        "global 2: 128 0",
        "global 3: 192 0",
        "thread_local 1: 64 0",
        "thread_local 3: 192 0",
    ];
    assert_eq!(lines, expected);
}
