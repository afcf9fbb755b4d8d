//! Closed libraries: what a project that needs one is told, adding one, and what is told where the program runs.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{run, superstep, tools_are_here};

const PROGRAM: &str = "#include <cublas_v2.h>\n\
    int main() { cublasHandle_t handle; return cublasCreate(&handle); }\n";
const OTHER: &str = "#include <cstdio>\n__global__ void nothing() {}\n\
    int main() { nothing<<<1, 1>>>(); return cudaDeviceSynchronize(); }\n";
const HEADER: &str = "typedef void *cublasHandle_t;\n#define cublasCreate cublasCreate_v2\n\
    extern \"C\" int cublasCreate_v2(cublasHandle_t *);\n";
const LIBRARY: &str = "int cublasCreate_v2(void **handle) { return 0; }\n";

/// What pip would install, in `folder`: the header and libraries that have one function, of a version that no machine has.
fn install(folder: &Path) {
    let info = folder.join("nvidia_cublas_cu12-12.0.dist-info");
    fs::create_dir_all(&info).unwrap();
    let metadata = "Metadata-Version: 2.1\nName: nvidia-cublas-cu12\nVersion: 12.0\n";
    fs::write(info.join("METADATA"), metadata).unwrap();
    let cublas = folder.join("nvidia/cublas");
    fs::create_dir_all(cublas.join("include")).unwrap();
    fs::write(cublas.join("include/cublas_v2.h"), HEADER).unwrap();
    for name in ["libcublas.so.7", "libcublasLt.so.7", "libnvblas.so.7"] {
        library(&cublas.join("lib"), name);
    }
}

fn library(folder: &Path, name: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("a.c"), LIBRARY).unwrap();
    let arguments = ["-shared", "-fPIC", "a.c", "-o", name];
    let status = Command::new("cc")
        .current_dir(folder)
        .args(arguments)
        .status();
    assert!(status.unwrap().success(), "{name}");
}

#[test]
fn a_closed_library_is_added_when_it_is_asked_for() {
    if !tools_are_here() {
        return;
    }
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

    // Many projects link with it and do not use it.
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
    assert!(err.contains("libcublas.so.7"), "{err}");

    // Where the program runs: python3's packages, then a newer one, then none.
    let (code, out, err) = superstep("libraries app", &[]);
    assert_eq!(code, 0, "{err}");
    let lib = folder.join("python/nvidia/cublas/lib");
    assert_eq!(out.trim_end(), lib.to_str().unwrap());
    let newer = folder.join("newer");
    library(&newer, "libcublas.so.8");
    let nowhere = ("PYTHONPATH", Path::new("/nonexistent"));
    let (code, out, err) = superstep("libraries app", &[nowhere, ("LD_LIBRARY_PATH", &newer)]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("stands in for libcublas.so.7"), "{err}");
    let mut app = Command::new(folder.join("app"));
    let status = app.env("LD_LIBRARY_PATH", out.trim_end()).status();
    assert!(status.unwrap().success(), "{out}");
}
