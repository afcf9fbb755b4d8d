//! Tests for flags that select the default stream.

use super::*;

#[test]
fn the_flag_and_the_macro_are_recognised() {
    let is_selected = |words: &[&str]| {
        is_per_thread(&Flags {
            all: words.iter().map(|&word| word.into()).collect(),
            ..Flags::default()
        })
    };
    for words in [
        &["--default-stream=per-thread"][..],
        &["-fgpu-default-stream=per-thread"],
        &["-DCUDA_API_PER_THREAD_DEFAULT_STREAM"],
        &["-UCUDA_API_PER_THREAD_DEFAULT_STREAM", DEFINITION, "-O3"],
        &["-D", "CUDA_API_PER_THREAD_DEFAULT_STREAM=1"],
    ] {
        assert!(is_selected(words), "{words:?}");
    }
    for words in [
        &[
            "--default-stream=legacy",
            "-DCUDA_API_PER_THREAD_DEFAULT_STREAMS",
        ][..],
        &[DEFINITION, "-U", MACRO],
        &["-I", MACRO],
    ] {
        assert!(!is_selected(words), "{words:?}");
    }
}
