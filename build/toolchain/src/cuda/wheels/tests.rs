//! Tests for installing the wheels; some run the real pip, offline.

use super::*;
use crate::cuda::toolkit::tests::fake_toolkit;
use crate::search::tests::fake_tool;

#[test]
fn a_folder_without_the_stamp_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let search = Search::nowhere().with_variable("SUPERSTEP_CACHE", dir.path());
    let root = folder(&search).unwrap();
    fake_toolkit(&root, "12.9.86");
    assert!(matches!(examine(&root), Err(ToolkitError::NotFetched(_))));
    std::fs::write(root.join(STAMP), "merge rules 0\n").unwrap();
    assert!(matches!(
        examine(&root),
        Err(ToolkitError::DifferentWheels(_))
    ));
    std::fs::write(root.join(STAMP), stamp()).unwrap();
    examine(&root).unwrap();
    std::fs::remove_file(root.join("bin/fatbinary")).unwrap();
    assert!(matches!(
        examine(&root),
        Err(ToolkitError::Incomplete { .. })
    ));
}

#[test]
fn the_stamp_contains_every_pinned_hash() {
    let text = stamp();
    for wheel in PINS {
        assert!(text.contains(wheel.sha256) && wheel.sha256.len() == 64);
    }
}

/// Runs the real pip on one wheel that claims to be version 1 of `superstep-no-such-package`.
fn pip_on_a_local_wheel(pinned: &'static str) -> Option<Result<Vec<PathBuf>, WheelError>> {
    let has_pip = Command::new("python3")
        .args(["-m", "pip", "--version"])
        .output();
    if !has_pip.is_ok_and(|output| output.status.success()) {
        assert!(
            std::env::var_os("SUPERSTEP_REQUIRE_TOOLS").is_none(),
            "python3 with pip is required"
        );
        eprintln!("skipped: python3 with pip is not available");
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    std::fs::create_dir_all(&index).unwrap();
    let name = "superstep_no_such_package-1-py3-none-any.whl";
    std::fs::write(index.join(name), "some bytes").unwrap();
    let wheel = Wheel {
        requirement: "superstep-no-such-package==1",
        sha256: pinned,
        bytes: 10,
        ..PINS[0]
    };
    let settings = [
        ("PIP_NO_INDEX", Path::new("1")),
        ("PIP_FIND_LINKS", &*index),
    ];
    Some(download(&[wheel], &dir.path().join("out"), &settings))
}

#[test]
fn pip_refuses_a_wheel_with_a_wrong_hash() {
    let zeroes = "0000000000000000000000000000000000000000000000000000000000000000";
    let Some(result) = pip_on_a_local_wheel(zeroes) else {
        return;
    };
    assert!(matches!(result, Err(WheelError::Pip { .. })), "{result:?}");
}

#[test]
fn a_wheel_missing_from_the_index_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let settings = [
        ("PIP_NO_INDEX", Path::new("1")),
        ("PIP_FIND_LINKS", dir.path()),
    ];
    let result = download(&PINS[..1], &dir.path().join("out"), &settings);
    match result {
        Err(error @ WheelError::Pip { .. }) => {
            let text = error.to_string();
            let is_named =
                text.contains("nvidia-cuda-nvcc-cu12") && text.contains("SUPERSTEP_CUDA");
            assert!(is_named, "{text}");
        }
        Err(WheelError::NoPip | WheelError::NoPython(_)) => {
            eprintln!("skipped: python3 with pip is not available")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_that_changed_after_the_download_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("nvidia_cuda_nvcc-13.0.48-py3-none-any.whl");
    std::fs::write(&file, "other bytes").unwrap();
    let error = downloaded(&PINS[3], dir.path()).unwrap_err().to_string();
    assert!(
        error.contains(PINS[3].sha256) && error.contains("it was not used"),
        "{error}"
    );
}

#[test]
fn python_without_pip_and_a_full_disk_are_distinguished() {
    let dir = tempfile::tempdir().unwrap();
    let python = dir.path().join("python3");
    fake_tool(&python, "");
    std::fs::write(&python, "#!/bin/sh\nexit 1\n").unwrap();
    let settings = [("PATH", dir.path())];
    let result = download(&PINS[..1], dir.path(), &settings);
    assert!(matches!(result, Err(WheelError::NoPip)), "{result:?}");
    let huge = Wheel {
        bytes: u64::MAX,
        ..PINS[0]
    };
    let result = download(&[huge, huge], dir.path(), &settings);
    assert!(matches!(result, Err(WheelError::DiskFull(_))), "{result:?}");
}
