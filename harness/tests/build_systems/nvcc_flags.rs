//! Effects of nvcc's flags on the output of the stand-in for nvcc.

use std::fs;
use std::path::Path;

use crate::common::{root, run, superstep};
use superstep_trace::Capture;

fn copy_project(name: &str, to: &Path) {
    for entry in fs::read_dir(root().join("harness/tests/projects").join(name)).unwrap() {
        let from = entry.unwrap().path();
        fs::copy(&from, to.join(from.file_name().unwrap())).unwrap();
    }
}

/// One of three CUDA files is compiled with `--default-stream per-thread`, one with the equivalent macro, and one with
/// neither; the host compiler and nvcc each compile a C++ file. Two host threads launch from each CUDA file.
#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn stream_0_is_per_thread_only_in_files_compiled_with_the_option() {
    let folder = tempfile::tempdir().unwrap();
    copy_project("streams", folder.path());
    let superstep = |words: &[&str]| {
        let (code, out, err) = run(superstep(folder.path()).args(words));
        assert_eq!(code, 0, "{words:?}: {out}\n{err}");
    };
    superstep(&["build", "--", "make"]);
    superstep(&["run", "--backend", "cpu", "app"]);
    let results = folder.path().join("out/app/latest/benchmarks/app");
    let printed = fs::read_to_string(results.join("native/stdout")).unwrap();
    let per_thread = "own own legacy own own ";
    assert_eq!(printed, [per_thread, per_thread, "different 6\n"].concat());
    let capture = Capture::open(results.join("capture")).unwrap();
    let streams = capture.launches().map(|record| record.launch.stream.0);
    // Stream 0 is the legacy stream and the stream of the main thread, which clears the memory.
    assert_eq!(streams.collect::<Vec<_>>(), [1, 1, 0, 2, 2, 0]);
}

/// The stand-in for nvcc, in a folder with a copy of a project.
struct Nvcc {
    folder: tempfile::TempDir,
}

impl Nvcc {
    fn for_project(project: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        copy_project(project, folder.path());
        Self { folder }
    }

    /// Runs a command that must succeed. Returns its standard output and standard error.
    fn run(&self, line: &str) -> (String, String) {
        let words = line.split_whitespace();
        let mut command = superstep(self.folder.path());
        let (code, out, err) = run(command.arg("nvcc").args(words));
        assert_eq!(code, 0, "{line}: {out}\n{err}");
        (out, err)
    }

    /// Returns the output of `file` when compiled with these flags.
    fn output(&self, file: &str, flags: &str) -> String {
        self.run(&format!("{flags} {file} -o app"));
        let mut command = std::process::Command::new(self.folder.path().join("app"));
        for (name, value) in superstep(self.folder.path()).get_envs() {
            command.env(name, value.unwrap());
        }
        let (code, out, err) = run(&mut command);
        assert_eq!(code, 0, "{flags}: {out}\n{err}");
        out
    }
}

/// Returns the floating-point instructions of a kernel, without loads, stores, moves and conversions.
fn operations<'a>(ptx: &'a str, kernel: &str) -> Vec<&'a str> {
    let (_, body) = (ptx.split_once(&format!(".entry _Z{}{kernel}", kernel.len()))).unwrap();
    let lines = body.split("\n}").next().unwrap().lines();
    let names = lines.filter_map(|line| line.split_whitespace().next());
    (names.filter(|name| name.contains(".f32") || name.contains(".f64")))
        .filter(|name| !["ld", "st", "mov", "cvt"].contains(&name.split('.').next().unwrap()))
        .collect()
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn floating_point_flags_choose_the_gpus_instructions() {
    let nvcc = Nvcc::for_project("flags");
    let exact = [
        ("quotient", "div.rn.f32"),
        ("reciprocal", "rcp.rn.f32"),
        ("root", "sqrt.rn.f32"),
        ("fused", "fma.rn.f32"),
        ("fused_double", "fma.rn.f64"),
        ("quotient_double", "div.rn.f64"),
    ];
    let fast = [
        ("quotient", "div.approx.ftz.f32"),
        ("reciprocal", "rcp.approx.ftz.f32"),
        ("root", "sqrt.approx.ftz.f32"),
        ("fused", "fma.rn.ftz.f32"),
        ("exponential", "mul.rn.ftz.f32 ex2.approx.ftz.f32"),
        (
            "power",
            "lg2.approx.ftz.f32 mul.rn.ftz.f32 ex2.approx.ftz.f32",
        ),
        (
            "tangent",
            "sin.approx.ftz.f32 cos.approx.ftz.f32 div.approx.ftz.f32",
        ),
        ("quotient_double", "div.rn.f64"),
    ];
    let unfused = [
        ("fused", "mul.rn.f32 add.rn.f32"),
        ("fused_double", "mul.rn.f64 add.rn.f64"),
        ("quotient", "div.rn.f32"),
    ];
    for (flags, expected) in [
        ("", &exact[..]),
        (
            "-ftz=false -prec-div=true -prec-sqrt=true -fmad=true",
            &exact,
        ),
        ("-use_fast_math", &fast),
        ("-fmad=false", &unfused),
        ("-G", &unfused),
        ("-G -dopt=on", &exact),
        (
            "-prec-div=false",
            &[
                ("quotient", "div.full.f32"),
                ("reciprocal", "rcp.approx.f32"),
                ("root", "sqrt.rn.f32"),
                ("quotient_double", "div.rn.f64"),
            ],
        ),
        (
            "-prec-sqrt=false",
            &[("root", "sqrt.approx.f32"), ("quotient", "div.rn.f32")],
        ),
        (
            "-ftz=true",
            &[
                ("quotient", "div.rn.ftz.f32"),
                ("root", "sqrt.rn.ftz.f32"),
                ("fused", "fma.rn.ftz.f32"),
                ("fused_double", "fma.rn.f64"),
            ],
        ),
    ] {
        nvcc.run(&format!("-ptx {flags} numbers.cu -o out.ptx"));
        let ptx = fs::read_to_string(nvcc.folder.path().join("out.ptx")).unwrap();
        for (kernel, wanted) in expected {
            let found = operations(&ptx, kernel).join(" ");
            assert_eq!(&found, wanted, "{kernel} with {flags}");
        }
    }
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn denormals_are_also_flushed_on_the_cpu_backend() {
    let nvcc = Nvcc::for_project("flags");
    let preserved = "1e-40 1e-30 2e-40 1e-40 1 1e-40 1e-10 ";
    let flushed = "0 1e-30 0 0 0 0 1e-10 ";
    for (flags, expected) in [
        ("", preserved),
        ("-ftz=true", flushed),
        ("-use_fast_math", flushed),
    ] {
        assert_eq!(nvcc.output("denormals.cu", flags), expected, "{flags}");
    }
}

/// Expected output: `VALUE`, OpenMP, language version and architecture of host code, then of device code, and whether
/// host code is optimised.
#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn preprocessor_flags_apply_to_host_and_device_code() {
    let nvcc = Nvcc::for_project("flags");
    let path = |name: &str| nvcc.folder.path().join(name);
    for (name, text) in [
        ("of_include.h", "6"),
        ("inc/value.h", "7"),
        ("sys/value.h", "8"),
    ] {
        fs::create_dir_all(path(name).parent().unwrap()).unwrap();
        fs::write(path(name), format!("#define VALUE {text}\n")).unwrap();
    }
    for (flags, expected) in [
        ("-arch=sm_80", "-1 0 2017 0 -1 0 2017 800 1"),
        ("-std=c++14 -DVALUE=3 -O0", "3 0 2014 0 3 0 2014 900 0"),
        (
            "-DVALUE=3 -UVALUE -Xcompiler -fopenmp -gencode arch=compute_75,code=sm_86",
            "-1 1 2017 0 -1 1 2017 750 1",
        ),
        (
            "-Xcompiler ,\"-DVALUE=5\",\"-O3\" --std c++20 -arch compute_80 -code sm_86",
            "5 0 2020 0 5 0 2020 800 1",
        ),
        ("-include of_include.h", "6 0 2017 0 6 0 2017 900 1"),
        ("-isystem=sys -I inc", "7 0 2017 0 7 0 2017 900 1"),
        ("-isystem sys -t4", "8 0 2017 0 8 0 2017 900 1"),
    ] {
        let found = nvcc.output("texts.cu", flags);
        assert_eq!(found.trim_end(), expected, "{flags}");
    }
    let names_variables = |flags: &str| {
        nvcc.run(&format!("-c {flags} texts.cu -o out.o"));
        let object = fs::read(path("out.o")).unwrap();
        let name = b"a_local_variable";
        object.windows(name.len()).any(|part| part == name)
    };
    assert!(names_variables("-g") && !names_variables(""));
}

/// Expected output: the bits of `macros.h` in host code, in device code and in a C++ file, then the architectures.
#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn flags_define_the_same_macros_as_with_nvcc() {
    let nvcc = Nvcc::for_project("flags");
    // `__NVCC__` (64) is defined in C++ files only.
    for (flags, expected) in [
        ("-arch=sm_90", "0 0 64: 900"),
        (
            "--extended-lambda -gencode arch=compute_80,code=sm_86 -gencode arch=compute_75,code=sm_75",
            "1 1 64: 750 800",
        ),
        (
            "-expt-relaxed-constexpr -expt-extended-lambda -arch sm_90",
            "3 3 64: 900",
        ),
        (
            "-rdc=true -arch=sm_90 -default-stream per-thread",
            "36 36 96: 900",
        ),
        ("-ewp -G -arch=sm_90", "24 24 64: 900"),
        (
            "--extended-lambda -U__CUDACC_EXTENDED_LAMBDA__ -arch=sm_90",
            "0 0 64: 900",
        ),
    ] {
        let found = nvcc.output("macros.cu macros_host.cpp", flags);
        assert_eq!(found, expected, "{flags}");
    }
    let (_, err) = nvcc.run("-c -arch=sm_90a numbers.cu");
    assert!(err.contains("superstep ignores -arch=sm_90a: "), "{err}");
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn headers_that_require_macros_compile() {
    let nvcc = Nvcc::for_project("flags");
    for flags in ["-rdc=true", "-ewp -G"] {
        let flags = format!("{flags} --extended-lambda -expt-relaxed-constexpr -std=c++17");
        assert_eq!(nvcc.output("algorithms.cu", &flags), "499500 499564 999");
    }
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn nvcc_answers_queries_and_warns_about_ignored_flags() {
    let nvcc = Nvcc::for_project("flags");
    let (help, _) = nvcc.run("--help");
    for line in [
        "--output-file <value> (-o)",
        "--ptxas-options <value>,... (-Xptxas)   ignored: device code",
        "--run (-run)   not supported: start",
    ] {
        assert!(help.contains(line), "{line}: {help}");
    }
    let (real, _) = nvcc.run("--list-gpu-code");
    assert!(
        real.starts_with("sm_50\n") && real.contains("sm_90\n"),
        "{real}"
    );
    let (pairs, _) = nvcc.run("-arch-ls -code-ls");
    assert!(pairs.contains("arch=compute_90,code=sm_90\n"), "{pairs}");
    let flags = "-Xfatbin -compress-all -fdevice-time-trace=- --keep -res-usage -Xarchive -c";
    let (_, err) = nvcc.run(&format!("-c {flags} -Xcudafe --diag_suppress=1 numbers.cu"));
    let lines: Vec<&str> = err.lines().collect();
    let ignored = ["-Xfatbin", "-fdevice-time-trace=-", "--keep", "-res-usage"];
    assert_eq!(lines.len(), ignored.len(), "{err}");
    for (line, flag) in lines.iter().zip(ignored) {
        let start = format!("nvcc warning : superstep ignores {flag}: ");
        assert!(line.starts_with(&start), "{line}");
    }
    nvcc.run("-M -MP numbers.cu -o all.d");
    nvcc.run("-MM numbers.cu -o own.d");
    let read = |name: &str| fs::read_to_string(nvcc.folder.path().join(name)).unwrap();
    assert!(
        read("all.d").contains("cuda_runtime.h:\n"),
        "{}",
        read("all.d")
    );
    assert_eq!(read("own.d"), "numbers.o: \\\n  numbers.cu\n");
}

/// CMake's old CUDA module quotes flags for the host compiler.
#[test]
#[ignore = "needs Clang, CUDA and CMake; `cargo xtask test` runs it"]
fn cmake_find_package_cuda_builds_in_release() {
    let list = std::env::var_os("SUPERSTEP_TEST_CMAKE").unwrap();
    let folder = tempfile::tempdir().unwrap();
    copy_project("find_cuda", folder.path());
    for (number, cmake) in std::env::split_paths(&list).enumerate() {
        let (build, cmake) = (format!("build-{number}"), cmake.display().to_string());
        let configure = [
            &cmake,
            "-S",
            ".",
            "-B",
            &build,
            "-DCMAKE_BUILD_TYPE=Release",
        ];
        for words in [&configure[..], &[&cmake, "--build", &build]] {
            let mut command = superstep(folder.path());
            let (code, out, err) = run(command.args(["build", "--"]).args(words));
            assert_eq!(code, 0, "{words:?}: {out}\n{err}");
        }
        let app = format!("{build}/app");
        let (code, out, err) =
            run(superstep(folder.path()).args(["run", "--backend", "cpu", &app]));
        assert_eq!(code, 0, "{out}\n{err}");
    }
}
