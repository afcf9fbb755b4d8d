//! Tests for parsing ldd's output, and for the libraries that a program needs.

use super::*;

#[test]
fn lines_of_ldd_output_are_parsed() {
    let read = |line| library(line).map(|found| (found.supplier(), found.name, found.path));
    let path = |path: &str| Some(PathBuf::from(path));
    let found = read("\tlibshift.so => /a (b)/libshift.so (0x00007f41)").unwrap();
    let expected = path("/a (b)/libshift.so");
    assert_eq!(found, (Supplier::Program, "libshift.so".into(), expected));
    let found = read("\tlibcublas.so.12 => not found").unwrap();
    assert_eq!(found, (Supplier::Nvidia, "libcublas.so.12".into(), None));
    let found = read("\tlinux-vdso.so.1 (0x00007f41)").unwrap();
    assert_eq!(found, (Supplier::Machine, "linux-vdso.so.1".into(), None));
    let found = read("\t/lib64/ld-linux-x86-64.so.2 (0x00007f41)").unwrap();
    assert_eq!(
        (found.0, found.2),
        (Supplier::Machine, path("/lib64/ld-linux-x86-64.so.2"))
    );
    let found = read("\tsub/libx.so (0x00007f41)").unwrap();
    assert_eq!((found.0, found.2), (Supplier::Program, path("sub/libx.so")));
    assert_eq!(read("\tstatically linked"), None);
}

#[test]
fn an_uncalled_function_is_distinguished_from_a_called_one() {
    let folder = tempfile::tempdir().unwrap();
    let calls = |body: &str, flag: &str| {
        let source = folder.path().join("a.c");
        let text = "__attribute__((noinline)) int cudaOccupancyOf(int x) { return x; }";
        std::fs::write(
            &source,
            format!("{text}\nint main(int n) {{ return {body}; }}\n"),
        )
        .unwrap();
        let program = folder.path().join("a");
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-fno-ipa-cp", flag])
            .arg(&source)
            .arg("-o")
            .arg(&program);
        assert!(cc.status().unwrap().success());
        super::calls(&program, "cudaOccupancy").unwrap()
    };
    assert!(calls("cudaOccupancyOf(n) + 1", "-g"));
    assert!(!calls("n + 1", "-g"));
    assert!(calls("n + 1", "-s"), "unknown without symbols");
}

#[test]
fn a_missing_proprietary_library_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("a.c"), "int main(void) { return 0; }").unwrap();
    let cc = |words: &[&str]| {
        let status = Command::new("cc")
            .current_dir(folder.path())
            .args(words)
            .status();
        assert!(status.unwrap().success(), "{words:?}");
    };
    let soname = "-Wl,-soname,libcublas.so.13";
    cc(&["-shared", "-fPIC", soname, "a.c", "-o", "libcublas.so"]);
    cc(&["-Wl,--no-as-needed", "a.c", "-o", "without", "-lm"]);
    cc(&["-Wl,--no-as-needed", "a.c", "-o", "with", "-L.", "-lcublas"]);
    let check = |name: &str| refuse_proprietary_libraries("app", &libraries(&at(name)).unwrap());
    check("without").unwrap();
    let error = check("with").unwrap_err();
    assert!(
        error.to_string().contains("it needs libcublas.so.13"),
        "{error}"
    );
    let flags = |flag: &str| libraries_of_flags(&["-lm".into(), flag.into()]);
    refuse_proprietary_libraries("app", &flags("-lcudart_static")).unwrap();
    refuse_proprietary_libraries("app", &flags("-lcufft_static")).unwrap_err();
}
