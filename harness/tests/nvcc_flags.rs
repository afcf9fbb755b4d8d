//! nvcc's flags have their effect on what the stand-in for nvcc makes.

mod common;

use std::fs;
use std::path::Path;

use common::{root, run, superstep, tools_are_here};
use superstep_trace::Capture;

fn copy_project(name: &str, to: &Path) {
    for entry in fs::read_dir(root().join("harness/tests/projects").join(name)).unwrap() {
        let from = entry.unwrap().path();
        fs::copy(&from, to.join(from.file_name().unwrap())).unwrap();
    }
}

/// Of three CUDA files one is compiled with nvcc's flag, one with the macro, and one without; the host's compiler and nvcc compile a C++
/// file. Two host threads launch from each CUDA file.
#[test]
fn stream_0_is_the_host_threads_own_where_a_file_was_compiled_so() {
    if !tools_are_here() {
        return;
    }
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
    let of_a_thread = "own own legacy own own ";
    assert_eq!(printed, [of_a_thread, of_a_thread, "different 6\n"].concat());
    let capture = Capture::open(results.join("capture")).unwrap();
    let streams = capture.launches().map(|record| record.launch.stream.0);
    // 0 is the legacy stream, and that of the main thread, which clears the memory.
    assert_eq!(streams.collect::<Vec<_>>(), [1, 1, 0, 2, 2, 0]);
}
