//! Tests for `caller`.

use super::*;

#[test]
fn source_files_of_the_program_are_recognised() {
    assert!(is_program_file("./hotspot.cu"));
    assert!(is_program_file("../common/alloc.h"));
    assert!(!is_program_file("include/cuda_runtime.h"));
    assert!(!is_program_file("src/session/caller.rs"));
    assert!(is_header("../common/alloc.h") && !is_header("hotspot.cu"));
    assert!(!is_program_file("./nptl/pthread_create.c"));
}
