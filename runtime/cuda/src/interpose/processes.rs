//! Memory that processes share: CUDA IPC, pools' pointers, and the driver's shareable handles.

use super::driver::NOT_INITIALIZED;
use super::interposed;
use crate::cuda::ffi::{self, Error};
use crate::recorder::runtime::runtime;
use std::ffi::{c_int, c_uint, c_void};

/// `cudaIpcMemHandle_t` and `CUipcMemHandle`, which are passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IpcHandle([u8; 64]);

/// Another process gets memory of this one.
fn given(error: Error) -> Error {
    if error == ffi::SUCCESS {
        runtime().session.shares_memory();
    }
    error
}

/// The address of memory of another process is in `place` now.
///
/// # Safety
/// `place` is null or leads to an address.
unsafe fn opened(error: Error, place: *const u64) -> Error {
    // SAFETY: the caller's promise.
    if let (ffi::SUCCESS, Some(&address)) = (error, unsafe { place.as_ref() }) {
        runtime().opened(address);
    }
    error
}

interposed! {
    [cudaIpcGetMemHandle](handle: *mut IpcHandle, pointer: *mut c_void) |real| { given(real()) }
    [cudaIpcOpenMemHandle](pointer: *mut *mut c_void, handle: IpcHandle, flags: c_uint) |real| {
        // SAFETY: where the call succeeds, it has written an address, which is as large as the number.
        unsafe { opened(real(), pointer.cast()) }
    }
    // Noted before the memory is given back: another thread may get the address at once.
    [cudaIpcCloseMemHandle](pointer: *mut c_void) |real| {
        runtime().closed(pointer as u64);
        real()
    }
    [cudaMemPoolExportPointer](data: *mut c_void, pointer: *mut c_void) |real| { given(real()) }
    // `cudaFree` and `cudaFreeAsync` give it back.
    [cudaMemPoolImportPointer](pointer: *mut *mut c_void, pool: *mut c_void, data: *mut c_void) |real| {
        // SAFETY: where the call succeeds, it has written an address, which is as large as the number.
        unsafe { opened(real(), pointer.cast()) }
    }
}

interposed! { driver:
    [cuIpcGetMemHandle](handle: *mut IpcHandle, address: u64) |real| { given(real()) }
    [cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2](address: *mut u64, handle: IpcHandle, flags: c_uint) |real| {
        // SAFETY: where the call succeeds, it has written an address.
        unsafe { opened(real(), address) }
    }
    [cuIpcCloseMemHandle](address: u64) |real| {
        runtime().closed(address);
        real()
    }
    [cuMemExportToShareableHandle](shareable: *mut c_void, handle: u64, kind: c_int, flags: u64) |real| { given(real()) }
    [cuMemImportFromShareableHandle](handle: *mut u64, shareable: *mut c_void, kind: c_int) |real| {
        let error = real();
        // SAFETY: where the call succeeds, it has written a handle.
        if let (ffi::SUCCESS, Some(&handle)) = (error, unsafe { handle.as_ref() }) {
            runtime().session.shares_memory();
            runtime().imported.add_handle(handle);
        }
        error
    }
    [cuMemRelease](handle: u64) |real| {
        runtime().imported.release(handle);
        real()
    }
    [cuMemMap](address: u64, bytes: usize, offset: usize, handle: u64, flags: u64) |real| {
        let error = real();
        if error == ffi::SUCCESS {
            runtime().mapped(address, bytes as u64, handle);
        }
        error
    }
    [cuMemUnmap](address: u64, bytes: usize) |real| {
        runtime().unmapped(address, bytes as u64);
        real()
    }
}
