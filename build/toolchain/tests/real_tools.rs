//! Tests the tools on this machine, if there are any: they must compile, pack and link a CUDA program, and ptxas must
//! behave as the build expects.
//!
//! Without the tools, the tests print the reason and are skipped; `SUPERSTEP_REQUIRE_TOOLS=1` turns that into a
//! failure.

use std::path::Path;
use std::process::Command;

use superstep_toolchain::{LLVM_MAJOR, Toolchain, check};

fn tools() -> Option<Toolchain> {
    match Toolchain::locate() {
        Ok(toolchain) => Some(toolchain),
        Err(missing) => {
            assert!(
                std::env::var_os("SUPERSTEP_REQUIRE_TOOLS").is_none(),
                "{missing}"
            );
            eprintln!("skipped: {missing}");
            None
        }
    }
}

#[test]
fn the_installed_tools_compile_a_cuda_program() {
    let Some(toolchain) = tools() else { return };
    assert_eq!(toolchain.llvm.version.major, LLVM_MAJOR);
    assert!(toolchain.cuda.version.major >= 12);
    check::compile(&toolchain.llvm, &toolchain.cuda).unwrap();
}

/// Returns the binary of a kernel with a pointer parameter and the given body.
fn assembled(toolchain: &Toolchain, folder: &Path, body: &str, options: &[&str]) -> Vec<u8> {
    let (ptx, cubin) = (folder.join("kernel.ptx"), folder.join("kernel.cubin"));
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry kernel(.param .u64 place) {{\n\
         .reg .pred %p; .reg .b32 %found, %sum; .reg .b64 %at;\n\
         ld.param.u64 %at, [place]; mov.b32 %sum, 0;\n{body}\nret;\n}}\n"
    );
    std::fs::write(&ptx, text).unwrap();
    let output = Command::new(&toolchain.cuda.ptxas)
        .args(["-arch=sm_90", "-O3"])
        .args(options)
        .args([&ptx, Path::new("-o"), &cubin])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    std::fs::read(&cubin).unwrap()
}

/// If a module needs no code for lanes that wait for each other, the build omits such code from the probed module too
/// (`native` in build/src/compile/device/gpu.rs). If this test fails, programs that wait may hang.
#[test]
fn ptxas_detects_kernels_whose_lanes_wait_for_each_other() {
    let Some(toolchain) = tools() else { return };
    let folder = tempfile::tempdir().unwrap();
    let lock = "again: atom.global.cas.b32 %found, [%at], 0, 1;\n\
                setp.eq.u32 %p, %found, 0; @!%p bra again;\n\
                ld.volatile.global.u32 %sum, [%at+4]; add.u32 %sum, %sum, 1; st.volatile.global.u32 [%at+4], %sum;\n\
                membar.gl; atom.global.exch.b32 %found, [%at], 0;";
    let turn = "mov.u32 %sum, %tid.x;\n\
                again: ld.volatile.global.u32 %found, [%at];\n\
                setp.eq.u32 %p, %found, %sum; @!%p bra again;\n\
                add.u32 %sum, %sum, 1; st.volatile.global.u32 [%at], %sum;";
    let sum = "again: ld.global.u32 %found, [%at]; add.u32 %sum, %sum, %found; add.u64 %at, %at, 4;\n\
               setp.lt.u32 %p, %sum, 1000; @%p bra again;\n\
               st.global.u32 [%at], %sum;";
    for (name, body, waits) in [
        ("lock", lock, true),
        ("turn", turn, true),
        ("sum", sum, false),
    ] {
        let [default, without] = [&[][..], &["-noFwdPrg"]]
            .map(|options| assembled(&toolchain, folder.path(), body, options));
        assert_eq!(default != without, waits, "{name}");
    }
}
