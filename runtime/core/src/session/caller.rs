//! Which line of the program has called the runtime.

use superstep_trace::SourcePlace;

/// Calls that are looked through at most: ours, the inline functions of CUDA's headers, and the program's.
const CALLS: usize = 24;

/// The innermost call on this thread's stack that is neither ours nor in a header, if the program was compiled with line
/// tables, as Superstep compiles host code. Where there are only headers of the program's own, the innermost one of these.
pub(super) fn place() -> Option<SourcePlace> {
    let (mut found, mut in_header, mut calls) = (None, None, 0);
    backtrace::trace(|frame| {
        // Inlined calls come first, the function that holds them last.
        backtrace::resolve_frame(frame, |symbol| {
            let (Some(file), Some(line)) = (symbol.filename(), symbol.lineno()) else {
                return;
            };
            let Some(file) = file.to_str().filter(|file| is_of_the_program(file)) else {
                return;
            };
            let place = || SourcePlace {
                file: file.to_owned(),
                line,
                column: symbol.colno().unwrap_or(0),
            };
            if is_header(file) {
                in_header.get_or_insert_with(place);
            } else {
                found.get_or_insert_with(place);
            }
        });
        calls += 1;
        found.is_none() && calls < CALLS
    });
    found.or(in_header)
}

/// Whether a source file is a header: helpers that allocate for others often are there.
fn is_header(file: &str) -> bool {
    let extension = file.rsplit('.').next().unwrap_or(file);
    ["h", "hh", "hpp", "hxx", "cuh", "inl"].contains(&extension)
}

/// Whether a source file is neither Rust, of which the runtime is made, nor one of CUDA's headers with inline functions, nor
/// what the C library starts programs and threads with (machines may have its line tables).
fn is_of_the_program(file: &str) -> bool {
    const OTHERS: [&str; 7] = [
        "cuda_runtime.h",
        "cuda_runtime_api.h",
        "host_runtime.h",
        "__clang_cuda_runtime_wrapper.h",
        "libc-start.c",
        "libc_start_call_main.h",
        "pthread_create.c",
    ];
    let name = file.rsplit('/').next().unwrap_or(file);
    !name.ends_with(".rs") && !name.ends_with(".S") && !OTHERS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_program_are_told_from_others() {
        assert!(is_of_the_program("./hotspot.cu"));
        assert!(is_of_the_program("../common/alloc.h"));
        assert!(!is_of_the_program("include/cuda_runtime.h"));
        assert!(!is_of_the_program("src/session/caller.rs"));
        assert!(is_header("../common/alloc.h") && !is_header("hotspot.cu"));
        assert!(!is_of_the_program("./nptl/pthread_create.c"));
    }
}
