//! Checks the layouts that are duplicated in C headers and in the instrumenter's LLVM types.

use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;
use superstep_abi::cpu::{CpuGlobal, CpuKernel, CpuModule, SuperstepThread};

macro_rules! assert_offset {
    ($($field:ident)*) => {[$(format!(
        "_Static_assert(offsetof(struct SuperstepThread, {0}) == {1}, \"{0}\");\n",
        stringify!($field),
        offset_of!(SuperstepThread, $field)
    )),*]};
}

#[test]
fn thread_struct_matches_thread_h() {
    let mut source = "#include <stddef.h>\n#include \"thread.h\"\n".to_owned();
    source.extend(assert_offset!(
        tid ntid ctaid nctaid lane warp sm thread log_cursor log_end site_counts dynamic_shared dynamic_shared_bytes log_starts
    ));
    let bytes = size_of::<SuperstepThread>();
    source += &format!("_Static_assert(sizeof(struct SuperstepThread) == {bytes}, \"size\");\n");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("layout.c");
    std::fs::write(&file, source).unwrap();
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cpu/device");
    // `cc` is installed, since Rust links with it.
    let output = Command::new("cc")
        .args(["-std=c11", "-fsyntax-only", "-I"])
        .args([&headers, &file])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

#[test]
fn module_tables_have_the_layout_that_the_instrumenter_emits() {
    assert_eq!(offset_of!(CpuKernel, parameters), 16);
    assert_eq!(offset_of!(CpuKernel, static_shared_bytes), 24);
    assert_eq!(offset_of!(CpuKernel, step), 32);
    assert_eq!(offset_of!(CpuKernel, frame_bytes), 40);
    assert_eq!(offset_of!(CpuKernel, parameter_list), 48);
    assert_eq!(offset_of!(CpuKernel, most_threads), 64);
    assert_eq!(size_of::<CpuKernel>(), 72);
    assert_eq!(offset_of!(CpuGlobal, bytes), 16);
    assert_eq!(offset_of!(CpuGlobal, space), 24);
    assert_eq!(size_of::<CpuGlobal>(), 32);
    assert_eq!(offset_of!(CpuModule, name), 8);
    assert_eq!(offset_of!(CpuModule, kernel_count), 24);
    assert_eq!(offset_of!(CpuModule, kernels), 32);
    assert_eq!(offset_of!(CpuModule, table_json_bytes), 56);
    assert_eq!(size_of::<CpuModule>(), 64);
}
