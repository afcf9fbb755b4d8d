//! Tests for splitting command lines and option files.

use super::*;

#[test]
fn commas_separate_values() {
    assert_eq!(macros("N=1\\,2"), ["N=1,2"]);
    assert_eq!(macros("N=1,2"), ["N=1,2"]);
    assert_eq!(macros("A,B=3"), ["A", "B=3"]);
    assert_eq!(list("/a,,/b\\,c"), ["/a", "/b,c"]);
}

#[test]
fn words_for_other_programs_are_split_as_in_a_shell() {
    let found = |text: &str| parts(text).collect::<Vec<_>>();
    // CMake's FindCUDA passes words like these.
    let text = r#","-fPIC","-O3","-DNAME=\"a, b\"",,"#;
    assert_eq!(found(text), ["-fPIC", "-O3", "-DNAME=\"a, b\""]);
    assert_eq!(
        found("-DF(x\\,y)=x,-Wall -O2"),
        ["-DF(x,y)=x", "-Wall", "-O2"]
    );
}

#[test]
fn preprocessor_flags_apply_to_device_code() {
    let host = parts("-include,x.h,-fopenmp,-Ifolder,-O3,-march=native,-DA");
    let found = preprocessing(&host.collect::<Vec<_>>());
    assert_eq!(found, ["-include", "x.h", OPENMP, "-Ifolder", "-DA"]);
}

#[test]
fn the_virtual_architecture_is_used() {
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
