//! Tests of `abi`.

use super::*;
use std::mem::{offset_of, size_of};

/// The offsets that a C compiler gives the structure in `device/thread.h` on x86-64.
#[test]
fn thread_block_has_the_layout_of_thread_h() {
    assert_eq!(offset_of!(SuperstepThread, tid), 0);
    assert_eq!(offset_of!(SuperstepThread, ntid), 12);
    assert_eq!(offset_of!(SuperstepThread, ctaid), 24);
    assert_eq!(offset_of!(SuperstepThread, nctaid), 36);
    assert_eq!(offset_of!(SuperstepThread, lane), 48);
    assert_eq!(offset_of!(SuperstepThread, thread), 60);
    assert_eq!(offset_of!(SuperstepThread, log_cursor), 64);
    assert_eq!(offset_of!(SuperstepThread, log_end), 72);
    assert_eq!(offset_of!(SuperstepThread, site_counts), 80);
    assert_eq!(offset_of!(SuperstepThread, dynamic_shared), 88);
    assert_eq!(offset_of!(SuperstepThread, dynamic_shared_bytes), 96);
    assert_eq!(offset_of!(SuperstepThread, log_starts), 104);
    assert_eq!(size_of::<SuperstepThread>(), 112);
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
