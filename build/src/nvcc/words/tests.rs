//! Words of command lines and of option files.

use super::*;

#[test]
fn commas_divide_values() {
    let found = |text: &str| macros(text).collect::<Vec<_>>();
    assert_eq!(found("N=1\\,2"), ["N=1,2"]);
    assert_eq!(found("N=1,2"), ["N=1,2"]);
    assert_eq!(found("A,B=3"), ["A", "B=3"]);
    assert_eq!(list("/a,,/b\\,c"), ["/a", "/b,c"]);
}

#[test]
fn a_shell_takes_words_for_other_programs_apart() {
    let found = |text: &str| parts(text).collect::<Vec<_>>();
    // As CMake's FindCUDA passes them.
    let text = r#","-fPIC","-O3","-DNAME=\"a, b\"",,"#;
    assert_eq!(found(text), ["-fPIC", "-O3", "-DNAME=\"a, b\""]);
    assert_eq!(
        found("-DF(x\\,y)=x,-Wall -O2"),
        ["-DF(x,y)=x", "-Wall", "-O2"]
    );
}

#[test]
fn the_preprocessor_reads_device_code_too() {
    let host = parts("-include,x.h,-fopenmp,-Ifolder,-O3,-march=native,-DA");
    let found = preprocessing(&host.collect::<Vec<_>>());
    assert_eq!(found, ["-include", "x.h", OPENMP, "-Ifolder", "-DA"]);
}

#[test]
fn architectures_are_those_that_code_is_written_for() {
    for (value, expected) in [
        ("sm_90a", &[(90, true)][..]),
        ("arch=compute_80,code=[compute_80,sm_86]", &[(80, false)]),
        ("code=sm_86,arch=compute_86", &[(86, false)]),
        ("native", &[]),
        ("all-major", &[]),
    ] {
        assert_eq!(architectures(value).collect::<Vec<_>>(), expected);
    }
}
