//! Tests for libraries that replace others.

use super::*;

#[test]
fn the_closest_newer_library_replaces_a_missing_one() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "libcublas.so.11",
        "libcublas.so.13",
        "libcublas.so.14",
        "libcublas.so.13.0.1",
        "libcublasLt.so.13",
    ] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let found = newer(folder.path(), "libcublas.so.12").unwrap();
    assert_eq!(found, folder.path().join("libcublas.so.13"));
    assert_eq!(newer(folder.path(), "libcufft.so.11"), None);
    assert_eq!(stem("libcublasLt.so.12"), "cublasLt");
}

#[test]
fn a_function_missing_from_a_replacement_library_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let cc = |source: &str, words: &[&str]| {
        fs::write(at("a.c"), source).unwrap();
        let mut cc = Command::new("cc");
        let status = cc
            .current_dir(folder.path())
            .arg("a.c")
            .args(words)
            .status();
        assert!(status.unwrap().success(), "{words:?}");
    };
    let old = "void cublasOld(void) {} void cublasBoth(void) {}";
    cc(
        old,
        &[
            "-shared",
            "-fPIC",
            "-Wl,-soname,libcublas.so.12",
            "-o",
            "libcublas.so",
        ],
    );
    cc(
        "void cublasBoth(void) {}",
        &["-shared", "-fPIC", "-o", "libcublas.so.13"],
    );
    let link = ["-Wl,--no-as-needed", "-L.", "-lcublas", "-o"];
    let stand_ins = [("cublas", at("libcublas.so.13"))];
    let both = "void cublasBoth(void); int main(void) { cublasBoth(); }";
    cc(both, &[&link[..], &["both"]].concat());
    check_all(&at("both"), &stand_ins).unwrap();
    let old = "void cublasOld(void); int main(void) { cublasOld(); }";
    cc(old, &[&link[..], &["old"]].concat());
    let error = check_all(&at("old"), &stand_ins).unwrap_err().to_string();
    assert!(error.contains("cublasOld"), "{error}");
}
