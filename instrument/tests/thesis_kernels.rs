//! Compares the instrumented IR of the six thesis kernels with `golden/ir/`, so that changes to the inserted code are
//! visible in the diff. `INSTA_UPDATE=always cargo test -p superstep-instrument --test thesis_kernels` accepts a new
//! result.

use std::path::Path;
use std::process::{Command, Stdio};
use superstep_toolchain::Toolchain;

/// Finds the tools. If they are missing, the test is skipped, or fails if `SUPERSTEP_REQUIRE_TOOLS=1` is set.
fn tools() -> Option<Toolchain> {
    match Toolchain::locate() {
        Ok(tools) => Some(tools),
        Err(missing) => {
            let required = std::env::var_os("SUPERSTEP_REQUIRE_TOOLS").is_some_and(|v| v == "1");
            assert!(!required, "SUPERSTEP_REQUIRE_TOOLS=1, but: {missing}");
            eprintln!("skipped: {missing}");
            None
        }
    }
}

/// Returns the instrumented IR of a program in the thesis suite.
fn instrumented(tools: &Toolchain, name: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = |file: &str| folder.path().join(file);
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../suites/thesis");
    let compiled = Command::new(tools.llvm.tool("clang++"))
        .args(
            "-x cuda --cuda-device-only --cuda-gpu-arch=sm_90 -std=c++17 -O2 -g1 -c -emit-llvm \
             -Xclang -disable-llvm-passes"
                .split_whitespace(),
        )
        .arg("-Wno-unknown-cuda-version")
        .arg(format!("--cuda-path={}", tools.cuda.root.display()))
        .arg(suite.join(name).join(format!("{name}.cu")))
        .arg("-o")
        .arg(path("front_end.bc"))
        .stderr(Stdio::inherit())
        .status()
        .unwrap();
    assert!(compiled.success(), "failed to compile {name}");
    let prepared = Command::new(env!("CARGO_BIN_EXE_superstep-instrument"))
        .args(["prepare", "--target-cpu", "sm_90", "-o"])
        .args([path("device.bc"), path("front_end.bc")])
        .stderr(Stdio::inherit())
        .status()
        .unwrap();
    assert!(prepared.success(), "failed to prepare {name}");
    let output = Command::new(env!("CARGO_BIN_EXE_superstep-instrument"))
        .args(["--backend", "cuda", "--probe", "trace", "--print", "-o"])
        .args([
            path("out.bc"),
            "--table".into(),
            path("out.json"),
            path("device.bc"),
        ])
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "failed to instrument {name}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the functions without anything that depends on paths, the order of metadata, or the versions of Clang and
/// CUDA.
fn normalised(ir: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for line in ir.lines() {
        inside |= line.starts_with("define ");
        if !inside || line.trim_start().starts_with("#dbg_") {
            continue;
        }
        inside = line != "}";
        // Metadata is at the end of a line; attribute groups are at the end of calls and headers.
        let line = line.find(", !").map_or(line, |end| &line[..end]);
        let group = |word: &str| {
            let number = word.strip_prefix('#').unwrap_or_default();
            number.parse::<u32>().is_ok()
        };
        let words = line
            .split(' ')
            .filter(|word| !group(word) && *word != "local_unnamed_addr");
        let line = words.collect::<Vec<_>>().join(" ");
        let line = line.find(" !dbg").map_or(&*line, |at| &line[..at]);
        text += line
            .find("; preds")
            .map_or(line, |at| &line[..at])
            .trim_end();
        text += "\n";
    }
    text
}

#[test]
fn instrumented_ir_of_thesis_kernels_is_unchanged() {
    let Some(tools) = tools() else { return };
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../golden/ir");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for name in ["hs2d", "hs3d", "hist", "nbody", "path", "bfs"] {
        let text = normalised(&instrumented(&tools, name));
        settings.bind(|| insta::assert_snapshot!(name, text));
    }
}
