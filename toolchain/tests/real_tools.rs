//! The tools of this machine, where there are any: what is found must compile, pack and link a CUDA program.
//!
//! Without the tools the test is skipped with the reason; `SUPERSTEP_REQUIRE_TOOLS=1` turns that into a failure.

use superstep_toolchain::{LLVM_MAJOR, Toolchain, check};

#[test]
fn what_is_found_compiles_a_cuda_program() {
    let toolchain = match Toolchain::locate() {
        Ok(toolchain) => toolchain,
        Err(missing) => {
            assert!(
                std::env::var_os("SUPERSTEP_REQUIRE_TOOLS").is_none(),
                "{missing}"
            );
            eprintln!("skipped: {missing}");
            return;
        }
    };
    assert_eq!(toolchain.llvm.version.major, LLVM_MAJOR);
    assert!(toolchain.cuda.version.major >= 12);
    check::compile(&toolchain.llvm, &toolchain.cuda).unwrap();
}
