//! Proprietary libraries: the error if a project needs one, how to add it, and the messages on the machine that runs
//! the program.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{run, superstep};

const PROGRAM: &str = "#include <cublas_v2.h>\n\
    int main() { cublasHandle_t handle; return cublasCreate(&handle) | cublasOther(); }\n";
const OTHER: &str = "#include <cstdio>\n__global__ void nothing() {}\n\
    int main() { nothing<<<1, 1>>>(); return cudaDeviceSynchronize(); }\n";
const HEADER: &str = "typedef void *cublasHandle_t;\n#define cublasCreate cublasCreate_v2\n\
    extern \"C\" int cublasCreate_v2(cublasHandle_t *), cublasOther(void);\n\
    extern \"C\" int cublasSscal_v2(cublasHandle_t, int, const float *, float *, int);\n\
    extern \"C\" int cublasSdot_v2(cublasHandle_t, int, const float *, int, const float *, int, float *);\n";
const LIBRARY: &str = "int cublasCreate_v2(void **handle) { return 0; }\n\
    int cublasOther(void) { return 0; }\nint cublasSscal_v2(void) { return 0; }\nint cublasSdot_v2(void) { return 0; }\n";

/// Stores 32 floats, doubles them with cuBLAS, and loads them.
const SCALED: &str = "#include <cstdio>\n#include <cublas_v2.h>\n\
    __global__ void fill(float *x) { x[threadIdx.x] = threadIdx.x; }\n\
    __global__ void add(float *x) { x[threadIdx.x] += 1; }\n\
    int main() {\n\
    float *x, two = 2, sum, y[32];\n\
    cublasHandle_t handle;\n\
    cudaMalloc(&x, sizeof y);\n\
    int error = cublasCreate(&handle);\n\
    fill<<<1, 32>>>(x);\n\
    error |= cublasSscal_v2(handle, 32, &two, x, 1) | cublasSdot_v2(handle, 32, x, 1, x, 1, &sum);\n\
    add<<<1, 32>>>(x);\n\
    cudaMemcpy(y, x, sizeof y, cudaMemcpyDeviceToHost);\n\
    printf(\"%d %g %g %g\\n\", error, sum, y[1], y[31]);\n}\n";
/// The OpenBLAS functions that replace cuBLAS.
const OPENBLAS: &str = "void sscal_(int *n, float *a, float *x, int *step) { for (int i = 0; i < *n; ++i) x[i * *step] *= *a; }\n\
    float sdot_(int *n, float *x, int *xs, float *y, int *ys) {\n\
    float sum = 0;\nfor (int i = 0; i < *n; ++i) sum += x[i * *xs] * y[i * *ys];\nreturn sum;\n}\n";

/// Writes to `folder` the files that pip would install: a header, and libraries with a few functions and a made-up
/// version number.
fn install(folder: &Path) {
    let info = folder.join("nvidia_cublas_cu12-12.0.dist-info");
    fs::create_dir_all(&info).unwrap();
    let metadata = "Metadata-Version: 2.1\nName: nvidia-cublas-cu12\nVersion: 12.0\n";
    fs::write(info.join("METADATA"), metadata).unwrap();
    let cublas = folder.join("nvidia/cublas");
    fs::create_dir_all(cublas.join("include")).unwrap();
    fs::write(cublas.join("include/cublas_v2.h"), HEADER).unwrap();
    for name in ["libcublas.so.7", "libcublasLt.so.7", "libnvblas.so.7"] {
        library(&cublas.join("lib"), name, LIBRARY);
    }
}

fn library(folder: &Path, name: &str, source: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("a.c"), source).unwrap();
    let arguments = ["-shared", "-fPIC", "a.c", "-o", name];
    let status = Command::new("cc")
        .current_dir(folder)
        .args(arguments)
        .status();
    assert!(status.unwrap().success(), "{name}");
}

/// Runs a `superstep` command line with additional environment variables.
type Superstep<'a> = dyn Fn(&str, &[(&str, &Path)]) -> (i32, String, String) + 'a;

fn openblas_replaces_cublas(folder: &Path, superstep: &Superstep<'_>) {
    fs::write(folder.join("scaled.cu"), SCALED).unwrap();
    let (code, _, err) = superstep("build -- nvcc scaled.cu -lcublas -o scaled", &[]);
    assert_eq!(code, 0, "{err}");
    let openblas = folder.join("openblas");
    library(&openblas, "libopenblas.so.0", OPENBLAS);
    let (code, out, err) = superstep(
        "run --backend cpu scaled",
        &[("LD_LIBRARY_PATH", &openblas)],
    );
    assert_eq!(code, 0, "{out}\n{err}");
    let run = folder.join("out/scaled/latest");
    let text = fs::read_to_string(run.join("run.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    let scaled = &summary["benchmarks"][0];
    // 4 (0² + … + 31²)
    let printed = fs::read_to_string(run.join("benchmarks/scaled/native/stdout")).unwrap();
    assert_eq!(printed, "0 41664 3 63\n");
    assert_eq!(scaled["opaque"]["launches"], 2, "{scaled:#}");
    let names = scaled["opaque"]["kernels"].as_array().unwrap();
    let names: Vec<_> = names
        .iter()
        .map(|kernel| kernel["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["cublasSscal_v2", "cublasSdot_v2"]);
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_proprietary_library_is_added_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("app.cu"), PROGRAM).unwrap();
    fs::write(folder.join("other.cu"), OTHER).unwrap();
    install(&folder.join("python"));
    let superstep = |line: &str, variables: &[(&str, &Path)]| {
        let mut command = superstep(folder);
        let command = command.env("PYTHONPATH", folder.join("python"));
        run(command
            .args(line.split(' '))
            .env_remove("LD_LIBRARY_PATH")
            .envs(variables.iter().copied()))
    };
    let compile = |name: &str| {
        let line = format!("build -- nvcc {name}.cu -lcublas -lcublasLt -o {name}");
        superstep(&line, &[])
    };

    // Many projects link with cuBLAS without using it.
    let (code, _, err) = compile("other");
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = compile("app");
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("superstep toolkit add cublas"), "{err}");

    let (code, _, err) = superstep("toolkit add cublas", &[]);
    assert_eq!(code, 0, "{err}");
    for name in ["other", "app"] {
        let (code, _, err) = compile(name);
        assert_eq!(code, 0, "{err}");
    }
    let (code, out, err) = superstep("run --backend cpu other", &[]);
    assert_eq!(code, 0, "{out}\n{err}");
    let (code, _, err) = superstep("run --backend cpu app", &[]);
    assert_eq!(code, 6, "{err}");
    assert!(err.contains("cublasOther"), "{err}");
    openblas_replaces_cublas(folder, &superstep);

    // On the machine that runs the program: the library from python3's packages, then a newer one.
    let (code, out, err) = superstep("libraries app", &[]);
    assert_eq!(code, 0, "{err}");
    let lib = folder.join("python/nvidia/cublas/lib");
    assert_eq!(out.trim_end(), lib.to_str().unwrap());
    let newer = folder.join("newer");
    library(&newer, "libcublas.so.8", LIBRARY);
    let no_packages = ("PYTHONPATH", Path::new("/nonexistent"));
    let (code, out, err) = superstep("libraries app", &[no_packages, ("LD_LIBRARY_PATH", &newer)]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("stands in for libcublas.so.7"), "{err}");
    let mut app = Command::new(folder.join("app"));
    let status = app.env("LD_LIBRARY_PATH", out.trim_end()).status();
    assert!(status.unwrap().success(), "{out}");
}
