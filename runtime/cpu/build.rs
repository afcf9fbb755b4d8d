//! Gives the shared library a name of its own, so that programs record that instead of the path they were linked with.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libsuperstep_cudart_cpu.so");
}
