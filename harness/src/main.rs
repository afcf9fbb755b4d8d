//! The `superstep` command: builds, runs, verifies and reports traced CUDA programs, and reads their captures.

fn main() -> std::process::ExitCode {
    superstep_harness::main()
}
