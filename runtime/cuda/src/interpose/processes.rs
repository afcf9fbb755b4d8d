//! Memory that processes share through CUDA IPC, pool pointers, and the driver's shareable handles.

use super::{interposed, stored, then};
use crate::cuda::Status;
use crate::recorder::runtime::{runtime, session};
use cudarc::runtime::sys::cudaIpcMemHandle_t;
use std::ffi::{c_int, c_uint, c_void};

/// Records another process's memory, whose address a call has just stored in `place`.
fn record_import(status: Status, place: *const u64) -> Status {
    if let Some(address) = stored(status, place) {
        runtime().opened(address);
    }
    status
}

interposed! {
    [cudaIpcGetMemHandle](handle: *mut cudaIpcMemHandle_t, pointer: *mut c_void) |real| { then!(real, session().shares_memory()) }
    [cudaIpcOpenMemHandle](pointer: *mut *mut c_void, handle: cudaIpcMemHandle_t, flags: c_uint) |real| {
        record_import(real(), pointer.cast())
    }
    // Recorded before the memory is closed, since another thread may get the address immediately afterwards.
    [cudaIpcCloseMemHandle](pointer: *mut c_void) |real| {
        runtime().closed(pointer as u64);
        real()
    }
    [cudaMemPoolExportPointer](data: *mut c_void, pointer: *mut c_void) |real| { then!(real, session().shares_memory()) }
    // `cudaFree` and `cudaFreeAsync` free this memory.
    [cudaMemPoolImportPointer](pointer: *mut *mut c_void, pool: *mut c_void, data: *mut c_void) |real| {
        record_import(real(), pointer.cast())
    }
}

interposed! { driver:
    [cuIpcGetMemHandle](handle: *mut cudaIpcMemHandle_t, address: u64) |real| { then!(real, session().shares_memory()) }
    [cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2](address: *mut u64, handle: cudaIpcMemHandle_t, flags: c_uint) |real| {
        record_import(real(), address)
    }
    [cuIpcCloseMemHandle](address: u64) |real| {
        runtime().closed(address);
        real()
    }
    [cuMemExportToShareableHandle](shareable: *mut c_void, handle: u64, kind: c_int, flags: u64) |real| { then!(real, session().shares_memory()) }
    [cuMemImportFromShareableHandle](handle: *mut u64, shareable: *mut c_void, kind: c_int) |real| {
        let status = real();
        if let Some(handle) = stored(status, handle) {
            session().shares_memory();
            runtime().imported.add_handle(handle);
        }
        status
    }
    [cuMemRelease](handle: u64) |real| {
        runtime().imported.release(handle);
        real()
    }
    [cuMemMap](address: u64, bytes: usize, offset: usize, handle: u64, flags: u64) |real| {
        then!(real, runtime().mapped(address, bytes as u64, handle))
    }
    [cuMemUnmap](address: u64, bytes: usize) |real| {
        runtime().unmapped(address, bytes as u64);
        real()
    }
}
