//! A project with a static library, a shared library with a kernel, separately compiled device code, C++20 and a host compiler's file,
//! built as its own Makefile and CMakeLists.txt say, run by itself, and traced.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{root, run, superstep, tools_are_here};
use serde_json::Value;

/// What it prints: numbers 3·((i + 1) mod 1000) + 1 + (1, 2, 3 or 4) for i below 1000, summed.
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

/// A command with the cache and tools of `superstep`, in `folder`.
fn command(cache: &Path, folder: &Path, program: &str) -> Command {
    let like = superstep(cache);
    let mut command = Command::new(program);
    command.current_dir(folder);
    for (name, value) in like.get_envs() {
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

/// Runs the project's program by itself and traced. Of each 1000 threads `scale` loads and stores once, `shift` too, `add_weights` loads
/// twice, since `weights` is global memory, and stores once, `apply` loads and stores once.
fn runs_and_is_traced(cache: &Path, folder: &Path) {
    let alone = run(&mut command(cache, folder, "./app"));
    assert_eq!((alone.0, alone.1.as_str()), (0, SUM), "{}", alone.2);
    let (code, out, err) =
        run(superstep(cache)
            .current_dir(folder)
            .args(["run", "--backend", "cpu", "app"]));
    assert_eq!(code, 0, "{out}\n{err}");
    let text = fs::read_to_string(folder.join("out/app/latest/run.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let app = &summary["benchmarks"][0];
    assert_eq!((&app["launches"], &app["ctas"]), (&4.into(), &32.into()));
    assert_eq!(app["threads"]["loads"], 5000, "{app:#}");
    assert_eq!(app["threads"]["stores"], 4000);
    assert_eq!(app["bytes"]["loaded"], 20000);
    let kernels = app["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 4, "two kernels have one name: {kernels:#?}");
    let (code, out, err) = run(superstep(cache).current_dir(folder).args([
        "probe",
        "branches",
        "--backend",
        "cpu",
        "app",
    ]));
    assert_eq!(code, 0, "{out}\n{err}");
}

#[test]
fn make_builds_it() {
    if !tools_are_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let project = copy(folder.path());
    build(folder.path(), &project, &["make", "-j2"]);
    runs_and_is_traced(folder.path(), &project);
    let dependencies = fs::read_to_string(project.join("main.d")).unwrap();
    assert!(dependencies.starts_with("main.o:"), "{dependencies}");
    assert!(dependencies.contains("parts.h") && !dependencies.contains("module.h"));
    let (out, _) = build(folder.path(), &project, &["make"]);
    assert!(out.contains("up to date"), "{out}");
    is_explained_and_injected_into(folder.path(), &project);
    fs::remove_file(project.join("libshift.so")).unwrap();
    let (code, _, err) = run(superstep(folder.path()).current_dir(&project).args([
        "run",
        "--backend",
        "cpu",
        "app",
    ]));
    assert_eq!(code, 6, "{err}");
    assert!(
        err.contains("libshift.so; name the library's folder"),
        "{err}"
    );
}

/// Injection's probe has code on the host, which an executable loads.
fn is_explained_and_injected_into(cache: &Path, folder: &Path) {
    let superstep = |arguments: &[&str]| run(superstep(cache).current_dir(folder).args(arguments));
    let (code, out, err) = superstep(&["explain", "app"]);
    assert_eq!(code, 0, "{err}");
    for place in ["main.cu:11:", "scale.cu:4:", "shift.cu:5:"] {
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

/// Every version of CMake that `cargo xtask test` installed, with each generator.
#[test]
fn cmake_builds_it() {
    if !tools_are_here() {
        return;
    }
    let Some(list) = std::env::var_os("SUPERSTEP_TEST_CMAKE") else {
        eprintln!("skipped: SUPERSTEP_TEST_CMAKE is not set; run `cargo xtask test`");
        return;
    };
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
            // From here on CMake knows the compiler by itself.
            let place = project.join(&name);
            let ctest = Path::new(cmake)
                .with_file_name("ctest")
                .display()
                .to_string();
            for words in [&[cmake, "--build", ".", "-j2"][..], &[&ctest]] {
                let (code, out, err) =
                    run(command(folder.path(), &place, words[0]).args(&words[1..]));
                assert_eq!(code, 0, "{generator:?}: {out}\n{err}");
            }
            runs_and_is_traced(folder.path(), &place);
        }
    }
}

#[test]
fn nvcc_refuses_what_nvcc_refuses() {
    if !tools_are_here() {
        return;
    }
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
fn nvcc_makes_what_nvcc_makes() {
    if !tools_are_here() {
        return;
    }
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
fn an_executable_of_another_compiler_is_refused_with_the_remedy() {
    if !tools_are_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (code, _, err) =
        run(superstep(folder.path()).args(["run", "--backend", "cpu", "/bin/true"]));
    assert_eq!(code, 6, "{err}");
    assert!(err.contains("superstep build -- make"), "{err}");
}
