//! Gives the shared library a soname, which programs record instead of a path.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libsuperstep_cudart_cpu.so");
}
