//! Names of functions and variables for people.

/// A function's or variable's name as its author wrote it, without parameters.
pub fn display_name(mangled: &str) -> String {
    let (name, copy) = without_suffixes(mangled);
    // Plain C names are no manglings, though some (`f`, `s`) read as codes of types.
    let demangled = name.starts_with("_Z").then(|| {
        let options = cpp_demangle::DemangleOptions::new()
            .no_params()
            .no_return_type();
        let symbol = cpp_demangle::Symbol::new(name).ok()?;
        symbol.demangle_with_options(&options).ok()
    });
    let written = match demangled.flatten() {
        Some(name) => name.replace("(anonymous namespace)::", ""),
        None => name.to_owned(),
    };
    written + copy
}

/// A name without what compiler and linker hang on to tell equal static names of several units apart, and the suffix of
/// a copy (`.copy_1`).
fn without_suffixes(mangled: &str) -> (&str, &str) {
    let (name, copy) = match mangled.rfind(".copy_") {
        Some(at) => mangled.split_at(at),
        None => (mangled, ""),
    };
    let cut = |name: &str, mark: &str| name.find(mark).unwrap_or(name.len());
    let name = &name[..cut(name, "__intern__").min(cut(name, "__static__"))];
    match name.rsplit_once('.') {
        Some((before, number)) if number.bytes().all(|b| b.is_ascii_digit()) => (before, copy),
        _ => (name, copy),
    }
}

#[cfg(test)]
mod tests {
    use super::display_name;

    #[test]
    fn only_mangled_names_are_demangled() {
        assert_eq!(display_name("s"), "s");
        assert_eq!(display_name("_ZN12_GLOBAL__N_17hotspotEPfS0_i"), "hotspot");
        assert_eq!(display_name("_Z6gather4ViewPiii"), "gather");
        assert_eq!(display_name("_Zbroken"), "_Zbroken");
    }

    #[test]
    fn what_tells_equal_names_apart_is_left_out() {
        assert_eq!(
            display_name("_ZL6secondPf__intern__de6ba5b417bf30a7"),
            "second"
        );
        assert_eq!(display_name("_ZL4samei.7"), "same");
        assert_eq!(display_name("_ZL4samei.7.copy_1"), "same.copy_1");
        assert_eq!(display_name("tile.3"), "tile");
    }
}
