//! Tests for the choice between toolkits and wheels.

use super::*;
use crate::cuda::toolkit::tests::fake_toolkit;

#[test]
fn an_explicit_folder_is_not_passed_over_silently() {
    let good = tempfile::tempdir().unwrap();
    fake_toolkit(good.path(), "12.9.86");
    let search = Search::nowhere()
        .with_variable("SUPERSTEP_CUDA", "/nonexistent")
        .with_variable("CUDA_PATH", good.path());
    let missing = locate(&search, None, &mut Vec::new()).unwrap_err();
    let why = &missing[0].why;
    assert!(why.contains("/nonexistent"), "{why}");
}

#[test]
fn an_old_toolkit_is_passed_over_for_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let (old, good) = (dir.path().join("old"), dir.path().join("good"));
    fake_toolkit(&old, "11.8.89");
    fake_toolkit(&good, "12.4.131");
    let search = Search::nowhere()
        .with_variable("CUDA_PATH", &old)
        .with_variable("CUDA_HOME", &good);
    let mut rejected = Vec::new();
    let cuda = locate(&search, None, &mut rejected).unwrap();
    assert_eq!(cuda.root, good);
    assert_eq!(cuda.ptx_feature(), "ptx84");
    assert_eq!(cuda.cudart.parent(), Some(good.join("lib64").as_path()));
    assert!(
        rejected.len() == 1 && rejected[0].contains("11.8.89"),
        "{rejected:?}"
    );
}

#[test]
fn without_cuda_the_error_has_a_hint() {
    let cache = tempfile::tempdir().unwrap();
    let search = Search::nowhere().with_variable("SUPERSTEP_CACHE", cache.path());
    let missing = locate(&search, None, &mut Vec::new()).unwrap_err();
    assert_eq!(missing.len(), 1);
    assert!(missing[0].hint.contains("superstep setup"));
}
