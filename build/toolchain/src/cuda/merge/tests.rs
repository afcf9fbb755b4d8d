//! Tests for merging wheels into one folder.

use super::*;
use crate::cuda::wheels::PINS;
use std::io::Write;
use zip::write::SimpleFileOptions;

fn fake_wheel(path: &Path, members: &[&str]) {
    let mut writer = zip::ZipWriter::new(File::create(path).unwrap());
    for member in members {
        writer
            .start_file(*member, SimpleFileOptions::default())
            .unwrap();
        writer.write_all(member.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
}

fn files(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn only_files_named_by_rules_are_extracted() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.whl");
    fake_wheel(
        &file,
        &[
            "nvidia/cuda_nvcc/bin/ptxas",
            "nvidia/cuda_nvcc/bin/ptxas2",
            "nvidia/cuda_nvcc/include/__init__.py",
            "nvidia/cuda_nvcc/include/crt/mma.h",
            "nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so",
            "nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc",
            "nvidia_cuda_nvcc_cu12-12.9.86.dist-info/licenses/License.txt",
            "nvidia_cuda_nvcc_cu12-12.9.86.dist-info/RECORD",
            "nvidia/cuda_nvcc/include/../../../../../escaped",
        ],
    );
    let root = dir.path().join("root");
    extract(&PINS[0], &file, &root).unwrap();
    finish(&root).unwrap();
    let expected = [
        "bin/ptxas",
        "include/crt/mma.h",
        "include/curand_mtgp32_kernel.h",
        "licenses/nvidia-cuda-nvcc-cu12.txt",
        "nvvm/libdevice/libdevice.10.bc",
    ];
    assert_eq!(files(&root), expected);
    let ptxas = root.join("bin/ptxas");
    let mode = ptxas.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    let content = std::fs::read_to_string(ptxas).unwrap();
    assert_eq!(content, "nvidia/cuda_nvcc/bin/ptxas");
}

#[test]
fn a_wheel_that_is_not_an_archive_is_named_in_the_error() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("b.whl");
    std::fs::write(&file, "not a zip archive").unwrap();
    let error = extract(&PINS[3], &file, dir.path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("b.whl is damaged"), "{error}");
}
