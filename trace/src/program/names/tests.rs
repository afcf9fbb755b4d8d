//! Tests for `names`.

use super::display_name;

#[test]
fn only_mangled_names_are_demangled() {
    assert_eq!(display_name("s"), "s");
    assert_eq!(display_name("_ZN12_GLOBAL__N_17hotspotEPfS0_i"), "hotspot");
    assert_eq!(display_name("_Z6gather4ViewPiii"), "gather");
    assert_eq!(display_name("_Zbroken"), "_Zbroken");
}

#[test]
fn distinguishing_suffixes_are_removed() {
    assert_eq!(
        display_name("_ZL6secondPf__intern__de6ba5b417bf30a7"),
        "second"
    );
    assert_eq!(display_name("_ZL4samei.7"), "same");
    assert_eq!(display_name("_ZL4samei.7.copy_1"), "same.copy_1");
    assert_eq!(display_name("tile.3"), "tile");
}
