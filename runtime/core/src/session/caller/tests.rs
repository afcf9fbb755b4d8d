//! Tests of `caller`.

use super::*;

#[test]
fn source_files_of_the_program_are_recognised() {
    assert!(is_of_the_program("./hotspot.cu"));
    assert!(is_of_the_program("../common/alloc.h"));
    assert!(!is_of_the_program("include/cuda_runtime.h"));
    assert!(!is_of_the_program("src/session/caller.rs"));
    assert!(is_header("../common/alloc.h") && !is_header("hotspot.cu"));
    assert!(!is_of_the_program("./nptl/pthread_create.c"));
}
