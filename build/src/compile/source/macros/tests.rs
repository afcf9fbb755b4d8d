//! Tests for `macros`.

use super::*;

#[test]
fn macros_contain_versions_and_architectures() {
    let version = Version {
        major: 12,
        minor: 9,
        patch: 86,
    };
    let flags = nvcc_macros(version, &[90, 80, 90]);
    for flag in [
        "-D__CUDACC_VER_MAJOR__=12",
        "-D__CUDACC_VER_MINOR__=9",
        "-D__CUDACC_VER_BUILD__=86",
        "-D__CUDA_API_VER_MINOR__=9",
        "-D__CUDA_ARCH_LIST__=800,900",
    ] {
        assert!(flags.iter().any(|it| it == flag), "{flags:?}");
    }
    assert!(!nvcc_macros(version, &[]).concat().contains("ARCH_LIST"));
}
