//! Faults injected on purpose, to prove that the tests notice them (`tests/mutations.rs`).
//!
//! With the feature `mutations`, which no build for users has, the environment variable `SUPERSTEP_MUTATION` switches
//! one fault on by its name. Without the feature every question here is a constant *no*.

/// Whether the fault called `name` is switched on.
#[cfg(feature = "mutations")]
pub fn active(name: &str) -> bool {
    use std::{ffi::OsString, sync::OnceLock};
    static CHOSEN: OnceLock<Option<OsString>> = OnceLock::new();
    CHOSEN
        .get_or_init(|| std::env::var_os("SUPERSTEP_MUTATION"))
        .as_ref()
        .is_some_and(|chosen| chosen == name)
}

/// Whether the fault called `name` is switched on: never, in this build.
#[cfg(not(feature = "mutations"))]
pub const fn active(_name: &str) -> bool {
    false
}
