//! Tests that the probe's handler is inlined, with its site as a constant, except where that would produce megabytes of
//! code.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Returns a kernel with `stores` separate stores.
fn kernel(name: &str, stores: usize) -> String {
    let mut text = format!("define ptx_kernel void @{name}(ptr %p, i32 %v) {{\n");
    for number in 0..stores {
        writeln!(
            text,
            "  %p{number} = getelementptr i8, ptr %p, i64 {}",
            4096 * number
        )
        .unwrap();
        writeln!(text, "  store volatile i32 %v, ptr %p{number}").unwrap();
    }
    text + "  ret void\n}\n"
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn handler_is_not_inlined_into_functions_with_many_calls() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let head = "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\ntarget triple = \"nvptx64-nvidia-cuda\"\n";
    let program = format!("{head}{}{}", kernel("few", 20), kernel("many", 300));
    std::fs::write(file("program.ll"), program).unwrap();
    let handler = "
@known = addrspace(1) global i32 0
@asked = addrspace(1) global i32 0
declare i1 @llvm.is.constant.i32(i32)
define void @__superstep_probe_access(ptr %c, i64 %l, i32 %s, ptr %a, i32 %w) {
  %constant = call i1 @llvm.is.constant.i32(i32 %s)
  br i1 %constant, label %here, label %anywhere
here:
  store volatile i32 %s, ptr addrspace(1) @known
  ret void
anywhere:
  store volatile i32 %s, ptr addrspace(1) @asked
  ret void
}
";
    std::fs::write(file("handler.ll"), format!("{head}{handler}")).unwrap();
    run(Command::new(env!("CARGO_BIN_EXE_superstep-instrument"))
        .args([
            "--backend",
            "cuda",
            "--probe",
            "trace",
            "--module-index",
            "0",
            "--module-name",
            "program.cu",
        ])
        .arg("--handler")
        .arg(file("handler.ll"))
        .arg(file("program.ll"))
        .arg("-o")
        .arg(file("out.bc"))
        .arg("--table")
        .arg(file("out.json")));
    let tools = llvm_tools();
    run(Command::new(tools.join("llvm-dis"))
        .arg(file("out.bc"))
        .arg("-o")
        .arg(file("out.ll")));
    let text = std::fs::read_to_string(file("out.ll")).unwrap();
    let body = |name: &str| {
        let mut functions = text.split("\ndefine ").skip(1);
        let wanted = format!("@{name}(");
        let found = functions.find(|f| f.lines().next().unwrap().contains(&wanted));
        found.unwrap().split_once("\n}").unwrap().0.to_owned()
    };
    let calls = |name: &str| {
        body(name)
            .matches("call void @__superstep_probe_access")
            .count()
    };
    assert_eq!((calls("few"), calls("many")), (0, 300));
    let stores = |name: &str, to: &str| body(name).matches(to).count();
    assert_eq!(
        (stores("few", "@known"), stores("few", "@asked")),
        (20, 0),
        "inlined, with the site as a constant"
    );
    let handler = "__superstep_probe_access";
    assert_eq!(
        (stores(handler, "@known"), stores(handler, "@asked")),
        (0, 1)
    );
}

/// Returns the folder with LLVM's tools.
fn llvm_tools() -> std::path::PathBuf {
    let prefix = std::env::var_os("LLVM_SYS_221_PREFIX")
        .expect("cargo xtask and .cargo/config.toml set this variable");
    Path::new(&prefix).join("bin")
}
