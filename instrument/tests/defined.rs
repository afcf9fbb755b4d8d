//! Tests of user-defined probes.

use std::process::Command;

/// A probe of all branches, as `superstep-build` writes it.
const SPEC: &str = r#"{"name": "branches", "title": "branches", "kernels": [], "per": "launch",
  "fields": [{"name": "executions", "type": "u64", "combine": "sum"}], "fields_in": "registers", "tables": [],
  "parameters": [], "points": [{"at": ["branch"], "when": "before", "once-per": "warp", "call": "on_branch",
  "pass": ["fields", "taken-mask"], "replaces": false}]}"#;

const PROGRAM: &str = r#"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define internal i32 @choose(i1 zeroext %flag) noinline {
  br i1 %flag, label %one, label %two
one:
  ret i32 1
two:
  ret i32 2
}
define ptx_kernel void @kernel(ptr %p, i1 zeroext %flag) {
  %value = call i32 @choose(i1 zeroext %flag)
  store i32 %value, ptr %p
  ret void
}
"#;

#[test]
fn branch_on_a_function_argument_is_probed() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("program.ll"), PROGRAM).unwrap();
    std::fs::write(file("spec.json"), SPEC).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_superstep-instrument"))
        .args([
            "--backend",
            "cuda",
            "--module-index",
            "2",
            "--probe",
            "defined",
            "--print",
        ])
        .arg("--spec")
        .arg(file("spec.json"))
        .arg(file("program.ll"))
        .arg("-o")
        .arg(file("program.bc"))
        .arg("--table")
        .arg(file("sites.json"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("zext i1 %flag to i64"), "{text}");
}
