//! A project with a static library, a shared library with a kernel, separately compiled device code, C++20 and a file
//! for the host compiler, built with its own Makefile and CMakeLists.txt, run directly, and traced.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{root, run, superstep, superstep_alone};
use serde_json::Value;

/// The project's output: the sum of 3·((i + 1) mod 1000) + 1 + (1, 2, 3 or 4) for i below 1000.
const SUM: &str = "sum 1502000\n";

fn copy(folder: &Path) -> PathBuf {
    let project = folder.join("parts");
    fs::create_dir(&project).unwrap();
    for entry in fs::read_dir(root().join("harness/tests/projects/parts")).unwrap() {
        let from = entry.unwrap().path();
        fs::copy(&from, project.join(from.file_name().unwrap())).unwrap();
    }
    project
}

/// Returns a command that runs in `folder` with the cache and tools of `superstep`.
fn command(cache: &Path, folder: &Path, program: &str) -> Command {
    let template = superstep(cache);
    let mut command = Command::new(program);
    command.current_dir(folder);
    for (name, value) in template.get_envs() {
        command.env(name, value.unwrap());
    }
    command
}

fn build(cache: &Path, folder: &Path, words: &[&str]) -> (String, String) {
    let mut superstep = superstep(cache);
    superstep
        .current_dir(folder)
        .args(["build", "--"])
        .args(words);
    let (code, out, err) = run(&mut superstep);
    assert_eq!(code, 0, "{words:?}: {out}\n{err}");
    (out, err)
}

/// Runs the project's program directly and traced. In each of 1000 threads, `scale`, `shift` and `apply` load and store
/// once, and `add_weights` loads twice, since `weights` is in global memory, and stores once.
fn run_directly_and_traced(cache: &Path, folder: &Path) {
    let direct = run(&mut command(cache, folder, "./app"));
    assert_eq!((direct.0, direct.1.as_str()), (0, SUM), "{}", direct.2);
    let (code, out, err) =
        run(superstep(cache)
            .current_dir(folder)
            .args(["run", "--backend", "cpu", "app"]));
    assert_eq!(code, 0, "{out}\n{err}");
    assert_all_accesses(&folder.join("out/app/latest"));
    let (code, out, err) = run(superstep(cache).current_dir(folder).args([
        "probe",
        "branches",
        "--backend",
        "cpu",
        "app",
    ]));
    assert_eq!(code, 0, "{out}\n{err}");
}

fn assert_all_accesses(run: &Path) {
    let text = fs::read_to_string(run.join("run.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let app = &summary["benchmarks"][0];
    assert_eq!((&app["launches"], &app["ctas"]), (&4.into(), &32.into()));
    assert_eq!(app["threads"]["loads"], 5000, "{app:#}");
    assert_eq!(app["threads"]["stores"], 4000);
    assert_eq!(app["bytes"]["loaded"], 20000);
    let kernels = app["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 4, "two kernels share a name: {kernels:#?}");
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn make_builds_the_project() {
    let folder = tempfile::tempdir().unwrap();
    let project = copy(folder.path());
    let (_, err) = build(folder.path(), &project, &["make", "-j2"]);
    assert!(
        err.contains("CUDA files compiled; to trace the program: superstep run PROGRAM"),
        "{err}"
    );
    run_directly_and_traced(folder.path(), &project);
    let dependencies = fs::read_to_string(project.join("main.d")).unwrap();
    assert!(dependencies.starts_with("main.o:"), "{dependencies}");
    assert!(dependencies.contains("parts.h") && !dependencies.contains("module.h"));
    let (out, err) = build(folder.path(), &project, &["make"]);
    assert!(out.contains("up to date"), "{out}");
    assert!(
        err.contains("did not call nvcc") && err.contains("make NVCC=nvcc CUDA_HOME=/"),
        "{err}"
    );
    explain_and_inject(folder.path(), &project);
    // Some build systems name libraries before the objects, which works for shared libraries.
    fs::write(project.join("empty.cpp"), "int main() {}\n").unwrap();
    let line = "g++ -L$CUDA_HOME/lib64 -lcudart empty.cpp scale.o -o empty && ./empty";
    build(folder.path(), &project, &["sh", "-c", line]);
    fs::remove_file(project.join("libshift.so")).unwrap();
    let (code, _, err) = run(superstep(folder.path()).current_dir(&project).args([
        "run",
        "--backend",
        "cpu",
        "app",
    ]));
    assert_eq!(code, 6, "{err}");
    assert!(
        err.contains("libshift.so; add the library's folder"),
        "{err}"
    );
}

/// The injection probe has host code, which the executable loads.
fn explain_and_inject(cache: &Path, folder: &Path) {
    let superstep = |arguments: &[&str]| run(superstep(cache).current_dir(folder).args(arguments));
    let (code, out, err) = superstep(&["explain", "app"]);
    assert_eq!(code, 0, "{err}");
    for place in ["main.cu:12:", "scale.cu:4:", "shift.cu:5:"] {
        assert!(out.contains(place), "{place}: {out}");
    }
    let injections = ["--injections", "20", "--seed", "3"];
    let (code, out, err) =
        superstep(&[&["inject", "--backend", "cpu", "app"][..], &injections].concat());
    assert_eq!(code, 0, "{out}\n{err}");
    let outcomes = fs::read_to_string(folder.join("out/injection/app/app/outcomes.csv")).unwrap();
    assert_eq!(outcomes.lines().count(), 21, "{outcomes}");
    assert!(
        outcomes.contains("masked") && !outcomes.contains("missed"),
        "{outcomes}"
    );
    let (code, _, err) = superstep(&["run", "--backend", "cpu", "app", "scale.cu"]);
    assert_eq!(code, 6, "{err}");
    assert!(err.contains("compiled by its own build system"), "{err}");
}

const SUITE: &str = "schema: 1\nname: parts\ntitle: Parts\nsource: {in-tree: true}\ndefault-size: only\nbenchmarks: [app]\n";
const MANIFEST: &str = "schema: 1\nname: app\ntitle: Parts\nwhy: it is in parts\n\
    translation-units: [{file: app, language: built}]\nsizes:\n  only: {args: []}\nchecks: {stdout-contains: [sum 1502000]}\n";

/// Runs a bundle that can use only the system's files. Returns the run's folder.
fn run_elsewhere(bundle: &Path, folder: &Path, name: &str) -> PathBuf {
    let mut command = Command::new(bundle.join("superstep"));
    let command = command.env_clear().current_dir(folder);
    let command = command.env("PATH", "/usr/bin:/bin").env("HOME", folder);
    let (code, out, err) = run(command.arg("run-bundle"));
    assert_eq!(code, 0, "{out}\n{err}");
    folder.join("out").join(name).join("latest")
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn an_executable_runs_from_a_bundle_alone_and_in_a_suite() {
    let folder = tempfile::tempdir().unwrap();
    let project = copy(folder.path());
    build(folder.path(), &project, &["make", "-j2"]);
    fs::write(project.join("suite.yaml"), SUITE).unwrap();
    fs::write(project.join("app.yaml"), MANIFEST).unwrap();
    let superstep = |line: &str| {
        let words = line.split(' ');
        let (code, out, err) = run(superstep_alone(folder.path()).args(words));
        assert_eq!(code, 0, "{line}: {out}\n{err}");
    };
    superstep("suite ./parts --backend cpu");
    assert_all_accesses(&folder.path().join("out/parts/latest"));
    superstep("explain --suite ./parts");
    superstep("bundle parts/app --backend cpu -o one");
    superstep("bundle ./parts --backend cpu -o suite");
    superstep("bundle parts/app --backend cpu --probe injection -o injection");
    superstep("bundle ./parts --backend cuda -o cuda");
    let cuda = folder.path().join("cuda");
    for file in [
        "lib/libshift.so",
        "lib/libsuperstep_cuda.so",
        "programs/app/built/app",
        "programs/app/native",
        "programs/app/modules/counted.txt",
    ] {
        assert!(cuda.join(file).is_file(), "{file}");
    }
    let list = fs::read_to_string(cuda.join("programs/app/modules/traced.txt")).unwrap();
    assert_eq!(list.lines().count(), 3, "{list}");
    let files = list.lines().flat_map(|line| line.split('\t').skip(3));
    for file in files.inspect(|file| assert!(!file.contains('/'), "{list}")) {
        let file = cuda.join("programs/app/modules").join(file);
        assert!(fs::metadata(&file).unwrap().len() > 0, "{}", file.display());
    }

    // The bundles need neither the project nor the cache.
    let away = folder.path().join("away with it");
    fs::create_dir(&away).unwrap();
    for name in ["parts", "cache"] {
        fs::rename(folder.path().join(name), away.join(name)).unwrap();
    }
    for (name, suite) in [("one", "app"), ("suite", "parts"), ("injection", "app")] {
        let moved = away.join(format!("bundle of {name}"));
        fs::rename(folder.path().join(name), &moved).unwrap();
        let work = tempfile::tempdir().unwrap();
        if name != "injection" {
            assert_all_accesses(&run_elsewhere(&moved, work.path(), suite));
            continue;
        }
        let mut command = Command::new(moved.join("superstep"));
        let command = command.env_clear().current_dir(work.path());
        let command = command
            .env("HOME", work.path())
            .env("PATH", "/usr/bin:/bin");
        let words = ["inject", "app", "--injections", "9", "--bundle"];
        let (code, out, err) = run(command.args(words).arg(&moved));
        assert_eq!(code, 0, "{out}\n{err}");
        let outcomes = work.path().join("out/injection/app/app/outcomes.csv");
        let outcomes = fs::read_to_string(outcomes).unwrap();
        assert_eq!(outcomes.lines().count(), 10, "{outcomes}");
    }
    // The script also works from another folder.
    let mut command = Command::new("bundle of one/programs/app/native");
    let direct = run(command.env_clear().current_dir(&away));
    assert_eq!((direct.0, direct.1.as_str()), (0, SUM), "{}", direct.2);
}

const USER: &str = r#"
extern "C" int outer(), closed();
#ifndef CLOSED
#define closed() 2
#endif
__global__ void set(int *a) { a[threadIdx.x] = 1; }
int main() {
  int *a;
  cudaMalloc(&a, 128);
  set<<<1, 32>>>(a);
  return cudaDeviceSynchronize() || outer() + closed() != 42;
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_bundle_contains_shared_libraries_and_names_missing_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("user.cu"), USER).unwrap();
    fs::write(path("inner.c"), "int inner() { return 30; }\n").unwrap();
    fs::write(
        path("outer.c"),
        "int inner(); int outer() { return inner() + 10; }\n",
    )
    .unwrap();
    fs::write(path("closed.c"), "int closed() { return 2; }\n").unwrap();
    fs::create_dir(path("libs")).unwrap();
    for line in [
        "inner.c -o libs/libinner.so",
        "outer.c -o libs/libouter.so -Llibs -linner",
        "closed.c -o libs/libcublas.so -Wl,-soname,libcublas.so.12",
    ] {
        let mut cc = command(folder.path(), folder.path(), "cc");
        let cc = cc.args(["-shared", "-fPIC"]);
        let (code, _, err) = run(cc.args(line.split(' ')));
        assert_eq!(code, 0, "{line}: {err}");
    }
    fs::copy(path("libs/libcublas.so"), path("libs/libcublas.so.12")).unwrap();
    let bundle = |words: &str| {
        let words = words.split(' ');
        let (code, out, err) = run(superstep_alone(folder.path()).args(words));
        assert_eq!(code, 0, "{out}\n{err}");
        err
    };
    let warned =
        bundle("bundle user.cu -D CLOSED --backend cuda -o gpu -L libs -l outer -l cublas");
    let expected = "lacks the library libcublas.so.12, which user needs: it is NVIDIA's";
    assert!(warned.contains(expected), "{warned}");
    let has = |name: &str| path(name).is_file();
    assert!(has("gpu/lib/libinner.so") && !has("gpu/lib/libcublas.so.12"));
    bundle("bundle user.cu --backend cpu -o bundle -L libs -l outer");
    let away = tempfile::tempdir().unwrap();
    for name in ["bundle", "libs", "cache"] {
        fs::rename(path(name), away.path().join(name)).unwrap();
    }
    let bundle = away.path().join("bundle");
    run_elsewhere(&bundle, away.path(), "user");
}

fn copy_project(project: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(root().join("harness/tests/projects").join(project)).unwrap() {
        let from = entry.unwrap().path();
        fs::copy(&from, folder.path().join(from.file_name().unwrap())).unwrap();
    }
    folder
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn static_libraries_with_linked_device_code_are_registered() {
    let folder = copy_project("resolved");
    build(folder.path(), folder.path(), &["make"]);
    let (code, out, err) = run(&mut command(folder.path(), folder.path(), "./app"));
    assert_eq!((code, out.as_str()), (0, "132 164\n"), "{err}");
    let mut traced = superstep(folder.path());
    let (code, out, err) = run(traced.args(["run", "--backend", "cpu", "app"]));
    assert_eq!(code, 0, "{out}\n{err}");
    let summary = fs::read_to_string(folder.path().join("out/app/latest/run.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let app = &summary["benchmarks"][0];
    // In each library, 32 threads load a factor and store, and 32 threads add.
    assert_eq!(app["launches"], 4);
    assert_eq!(
        (&app["threads"]["loads"], &app["threads"]["stores"]),
        (&128.into(), &128.into())
    );
    let mut unlinked = superstep(folder.path());
    let (code, out, err) = run(unlinked.args(["build", "--", "make", "unlinked"]));
    assert_ne!(code, 0, "{out}");
    assert!(err.contains("superstep_device_link_of_device_cu_"), "{err}");
}

const PLUGIN: &str = r#"
__global__ void set(int *p) { p[threadIdx.x] = 1; }
extern "C" int work() {
  int *p;
  cudaMalloc(&p, 128);
  set<<<1, 32>>>(p);
  return cudaGetLastError() || cudaDeviceSynchronize();
}
"#;
const LOADER: &str = r#"
#include <dlfcn.h>
int main(int, char **arguments) {
  void *plugin = dlopen(arguments[1], RTLD_NOW);
  return plugin ? ((int (*)())dlsym(plugin, "work"))() : 2;
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn an_unnamed_plugin_is_reported_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plugin.cu"), PLUGIN).unwrap();
    fs::write(folder.path().join("loader.cu"), LOADER).unwrap();
    let line =
        "nvcc -shared -Xcompiler -fPIC plugin.cu -o libplugin.so && nvcc loader.cu -o loader -ldl";
    build(folder.path(), folder.path(), &["sh", "-c", line]);
    let plugin = folder.path().join("libplugin.so").canonicalize().unwrap();
    let plugin = plugin.to_str().unwrap();
    let traced = |more: &[&str]| {
        let words = [
            &["run", "--backend", "cpu", "loader"],
            more,
            &["--", plugin],
        ]
        .concat();
        run(superstep(folder.path()).args(words))
    };
    let (code, _, err) = traced(&[]);
    let expected = format!(
        "failed to load the device code of {plugin}: the file was not named when the program was started; name it with --with libplugin.so"
    );
    assert!(code != 0 && err.contains(&expected), "{err}");
    assert!(!err.contains("has no device code"), "{err}");
    let (code, out, err) = traced(&["--with", "libplugin.so"]);
    assert_eq!(code, 0, "{out}\n{err}");
}

/// Uses every version of CMake that `cargo xtask test` installed, with each generator.
#[test]
#[ignore = "needs Clang, CUDA and CMake; `cargo xtask test` runs it"]
fn cmake_builds_the_project() {
    let list = std::env::var_os("SUPERSTEP_TEST_CMAKE").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let project = copy(folder.path());
    let ninja = std::env::var("SUPERSTEP_TEST_NINJA").unwrap_or_default();
    let program = format!("-DCMAKE_MAKE_PROGRAM={ninja}");
    let make = ["-G", "Unix Makefiles"];
    let generators = [&make[..], &["-G", "Ninja", &program]];
    let generators = &generators[..if ninja.is_empty() { 1 } else { 2 }];
    for (number, cmake) in std::env::split_paths(&list).enumerate() {
        for (other, generator) in generators.iter().enumerate() {
            let (name, cmake) = (format!("build-{number}-{other}"), cmake.to_str().unwrap());
            let configure = [&[cmake, "-S", ".", "-B", &name], *generator].concat();
            build(folder.path(), &project, &configure);
            // CMake has cached the compiler's path by now.
            let build_folder = project.join(&name);
            let ctest = Path::new(cmake)
                .with_file_name("ctest")
                .display()
                .to_string();
            for words in [&[cmake, "--build", ".", "-j2"][..], &[&ctest]] {
                let (code, out, err) =
                    run(command(folder.path(), &build_folder, words[0]).args(&words[1..]));
                assert_eq!(code, 0, "{generator:?}: {out}\n{err}");
            }
            run_directly_and_traced(folder.path(), &build_folder);
        }
    }
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn the_stand_in_rejects_the_same_input_as_nvcc() {
    let folder = tempfile::tempdir().unwrap();
    let nvcc = |arguments: &[&str]| run(superstep(folder.path()).arg("nvcc").args(arguments));
    let (code, _, err) = nvcc(&["-Wnonsense", "a.cu"]);
    assert_eq!(
        (code, err.as_str()),
        (1, "nvcc fatal   : Unknown option '-Wnonsense'\n")
    );
    let (code, _, err) = nvcc(&["-c", "a.cu"]);
    assert!(
        code == 1 && err.contains("Could not open input file 'a.cu'"),
        "{err}"
    );
    fs::write(folder.path().join("a.cu"), "__global__ void f() { g(); }\n").unwrap();
    let (code, _, err) = nvcc(&["-c", "a.cu"]);
    assert!(code == 1 && err.starts_with("a.cu:1:23: error:"), "{err}");
    let unreadable = folder.path().join(OsStr::from_bytes(b"not UTF-8 \xff"));
    fs::create_dir(&unreadable).unwrap();
    fs::write(unreadable.join("a.cu"), "__global__ void f() {}\n").unwrap();
    let mut command = superstep(folder.path());
    let command = command.current_dir(&unreadable);
    let (code, _, err) = run(command.args(["nvcc", "-c", "a.cu"]));
    assert!(
        code == 1 && err.contains("build in another folder"),
        "{err}"
    );
    let (code, out, _) = nvcc(&["--version"]);
    assert!(code == 0 && out.contains("release 12."), "{out}");
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn the_stand_in_writes_the_same_files_as_nvcc() {
    let folder = tempfile::tempdir().unwrap();
    let nvcc = |line: &str| {
        let words = line.split(' ');
        let (code, out, err) = run(superstep(folder.path()).arg("nvcc").args(words));
        assert_eq!(code, 0, "{line}: {out}\n{err}");
        (out, err)
    };
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    let kernel = "#include \"size.h\"\n__global__ void f(int *a) { a[0] = SIZE; }\n";
    fs::write(folder.path().join("a.cpp"), kernel).unwrap();
    fs::write(folder.path().join("size.h"), "#define SIZE 12345\n").unwrap();
    nvcc("-x cu -ptx -arch=sm_80 a.cpp");
    let ptx = String::from_utf8(read("a.ptx")).unwrap();
    assert!(
        ptx.contains(".target sm_80") && ptx.contains("12345"),
        "{ptx}"
    );
    let (text, _) = nvcc("-x cu -E a.cpp");
    assert!(text.contains("void f(int *a) { a[0] = 12345; }"), "{text}");
    nvcc("-x cu -M a.cpp -o list");
    let list = String::from_utf8(read("list")).unwrap();
    assert!(
        list.starts_with("a.o:") && list.contains("size.h"),
        "{list}"
    );
    fs::write(folder.path().join("flags"), "-x cu -c\na.cpp -o \"b.o\"").unwrap();
    let (_, err) = nvcc("--options-file flags -maxrregcount 32");
    assert!(err.contains("superstep ignores -maxrregcount: "), "{err}");
    assert_eq!(read("b.o")[..4], *b"\x7fELF");
    nvcc("-x cu -lib a.cpp -o libb.a");
    assert_eq!(read("libb.a")[..8], *b"!<arch>\n");
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn an_executable_from_another_compiler_is_refused_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, err) =
        run(superstep(folder.path()).args(["run", "--backend", "cpu", "/bin/true"]));
    assert_eq!(code, 6, "{err}");
    assert!(err.contains("superstep build -- make"), "{err}");
}
