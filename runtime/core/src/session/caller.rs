//! Finds the source line of the program that called the runtime.

use superstep_trace::SourcePlace;

/// Maximum number of frames to search, including those of this library and of inline functions in CUDA's headers.
const MAX_FRAMES: usize = 24;

/// Returns the innermost frame of the program's own code on this thread's stack, preferably one outside of headers.
pub(super) fn place() -> Option<SourcePlace> {
    let (mut found, mut in_header, mut frames) = (None, None, 0);
    backtrace::trace(|frame| {
        // Inlined calls come first.
        backtrace::resolve_frame(frame, |symbol| {
            let (Some(file), Some(line)) = (symbol.filename(), symbol.lineno()) else {
                return;
            };
            let Some(file) = file.to_str().filter(|file| is_program_file(file)) else {
                return;
            };
            let place = || SourcePlace {
                // The compilation folder is `.`, which sites omit from their paths.
                file: file.trim_start_matches("./").to_owned(),
                line,
                column: symbol.colno().unwrap_or(0),
            };
            if is_header(file) {
                in_header.get_or_insert_with(place);
            } else {
                found.get_or_insert_with(place);
            }
        });
        frames += 1;
        found.is_none() && frames < MAX_FRAMES
    });
    found.or(in_header)
}

/// Returns whether a source file is a header. Helpers in headers often allocate for their callers.
fn is_header(file: &str) -> bool {
    let extension = file.rsplit('.').next().unwrap_or(file);
    ["h", "hh", "hpp", "hxx", "cuh", "inl"].contains(&extension)
}

/// Returns whether a source file belongs to the program rather than to this runtime (Rust), CUDA's headers with inline
/// functions, or the C library's start-up code.
fn is_program_file(file: &str) -> bool {
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
mod tests;
