//! Helpers for tests that need other programs. If one is missing, the test is skipped with a reason, or fails if
//! `SUPERSTEP_REQUIRE_TOOLS=1` is set.

mod layers;
mod layouts;

use std::path::PathBuf;

/// Returns the first of `names` that is on the `PATH` or is a path; if there is none, prints why the test is skipped.
pub fn find(names: &[&str]) -> Option<PathBuf> {
    let found = names.iter().find_map(|name| {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders)
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    });
    if found.is_none() {
        let required =
            std::env::var_os("SUPERSTEP_REQUIRE_TOOLS").is_some_and(|value| value == "1");
        assert!(
            !required,
            "none of {names:?} is on the PATH, and SUPERSTEP_REQUIRE_TOOLS=1 requires one"
        );
        eprintln!("skipped: none of {names:?} is on the PATH");
    }
    found
}

/// Compiles and runs a C program that uses headers from `device/`. Returns its output, or `None` without a compiler.
pub fn run_c(source: &str) -> Option<String> {
    let arguments = ["-x", "c", "-std=c11", "-Wall", "-Werror"];
    run(&["clang-22", "clang", "cc"], &arguments, source, "")
}

/// Like [`run_c`], for a C++ program that reads `input` and uses parts of handlers from `device/`.
pub fn run_cpp(source: &str, input: &str) -> Option<String> {
    let arguments = ["-x", "c++", "-std=c++17", "-O1", "-w"];
    run(&["clang++-22", "clang++", "c++"], &arguments, source, input)
}

fn run(compilers: &[&str], arguments: &[&str], source: &str, input: &str) -> Option<String> {
    let compiler = find(compilers)?;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [file, program, text] = ["source", "program", "input"].map(|name| folder.path().join(name));
    std::fs::write(&file, source).expect("a temporary file");
    std::fs::write(&text, input).expect("a temporary file");
    let includes = [
        concat!("-I", env!("CARGO_MANIFEST_DIR"), "/device"),
        concat!(
            "-I",
            env!("CARGO_MANIFEST_DIR"),
            "/src/recorder/in_situ/tests"
        ),
    ];
    let output = std::process::Command::new(compiler)
        .args(arguments)
        .args(includes)
        .arg("-o")
        .args([&program, &file])
        .output()
        .expect("the compiler starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let output = std::process::Command::new(&program)
        .stdin(std::fs::File::open(&text).expect("a temporary file"))
        .output()
        .expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Reproducible pseudorandom numbers.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % limit
    }
}

/// Makes the C compiler check that the constants of `header`, in `device/`, have these values.
pub fn assert_constants(header: &str, constants: &[(String, u64)]) {
    let mut source = format!("#include <stddef.h>\n#include \"{header}\"\n");
    for (name, value) in constants {
        source += &format!("_Static_assert({name} == {value}ull, \"{name}\");\n");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("layout.c");
    std::fs::write(&file, source).expect("a temporary file");
    let Some(compiler) = find(&["clang-22", "clang", "cc"]) else {
        return;
    };
    let output = std::process::Command::new(compiler)
        .args(["-std=c11", "-fsyntax-only", "-I"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/device"))
        .arg(&file)
        .output()
        .expect("the compiler starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

/// Pairs the C expressions for the size and offsets of a structure's mirror with the values of the Rust structure.
macro_rules! layout {
    ($c:literal, $rust:ty, $($field:ident),*) => {[
        (concat!("sizeof(struct ", $c, ")").to_owned(), size_of::<$rust>() as u64),
        $((concat!("offsetof(struct ", $c, ", ", stringify!($field), ")").to_owned(), std::mem::offset_of!($rust, $field) as u64),)*
    ]};
}
pub(crate) use layout;
