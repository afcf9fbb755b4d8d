//! Readable names of functions and variables.

/// Returns the name of a function or variable as written in the source, without parameters.
pub fn display_name(mangled: &str) -> String {
    let (name, copy) = without_suffixes(mangled);
    // Plain C names are not mangled, though some (`f`, `s`) look like type codes.
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

/// Removes the suffixes with which the compiler and the linker distinguish static names from different units, and
/// splits off the suffix of a copy (`.copy_1`).
fn without_suffixes(mangled: &str) -> (&str, &str) {
    let (name, copy) = match mangled.rfind(".copy_") {
        Some(at) => mangled.split_at(at),
        None => (mangled, ""),
    };
    let cut = |name: &str, mark: &str| name.find(mark).unwrap_or(name.len());
    let name = &name[..cut(name, "__intern__").min(cut(name, "__static__"))];
    match name.rsplit_once('.') {
        Some((base, number)) if number.bytes().all(|b| b.is_ascii_digit()) => (base, copy),
        _ => (name, copy),
    }
}

#[cfg(test)]
mod tests;
