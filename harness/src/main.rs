//! The `superstep` command: builds, runs, verifies and reports CUDA programs traced through LLVM, and reads their captures.

fn main() -> std::process::ExitCode {
    superstep_harness::main()
}
