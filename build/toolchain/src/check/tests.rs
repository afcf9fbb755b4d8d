//! Tests for checks of usable and unusable tools.

use super::*;
use crate::cuda::toolkit::tests::fake_toolkit;
use crate::search::tests::fake_tool;
use crate::{Search, Version};

fn fakes(root: &Path) -> (Llvm, Cuda) {
    fake_toolkit(&root.join("cuda"), "12.9.86");
    let search = Search::nowhere().with_variable("SUPERSTEP_CUDA", root.join("cuda"));
    let cuda = crate::cuda::locate(&search, None, &mut Vec::new()).unwrap();
    let llvm = Llvm {
        prefix: root.to_owned(),
        version: Version::after("22.1.0", "").unwrap(),
    };
    fake_tool(&llvm.tool("clang++"), "");
    fake_tool(&llvm.tool("llc"), "");
    (llvm, cuda)
}

#[test]
fn the_result_is_cached_until_a_tool_changes() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    let (llvm, cuda) = fakes(dir.path());
    std::fs::write(
        llvm.tool("clang++"),
        "#!/bin/sh\necho 'unsupported CUDA version' >&2\nexit 1\n",
    )
    .unwrap();
    let first = cached(Some(&cache), &llvm, &cuda).unwrap_err();
    let is_first = |step| step == "compiling for the device";
    assert!(
        matches!(first, CheckFailure::Step { step, .. } if is_first(step)),
        "{first}"
    );
    let second = cached(Some(&cache), &llvm, &cuda).unwrap_err();
    assert!(
        matches!(&second, CheckFailure::Cached(text) if *text == first.to_string()),
        "{second}"
    );

    std::fs::remove_dir_all(&cache).unwrap();
    std::fs::write(llvm.tool("clang++"), "#!/bin/sh\nkill -s TERM $$\n").unwrap();
    for _ in 0..2 {
        let killed = cached(Some(&cache), &llvm, &cuda).unwrap_err();
        assert!(
            matches!(killed, CheckFailure::Killed { signal: 15, .. }),
            "a killed check must not be cached: {killed}"
        );
    }

    fake_tool(&llvm.tool("clang++"), "");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    std::fs::File::options()
        .write(true)
        .open(llvm.tool("clang++"))
        .unwrap()
        .set_modified(later)
        .unwrap();
    cached(Some(&cache), &llvm, &cuda).unwrap();
}
