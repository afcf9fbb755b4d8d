//! Interposes `dlsym`, so that proprietary libraries get our functions of the driver and not libcuda's.
//!
//! cuBLAS and the like have the CUDA runtime linked into them. It opens libcuda.so.1 and asks `dlsym` for `cuGetProcAddress`, and
//! that for everything else: no symbol of ours is in its way but `dlsym` itself. The libcudart after this library
//! gets libcuda's own functions, or launches that we have seen would come here again.

use super::calls;
use super::driver::replacement;
use crate::cuda::loader::{DLSYM, dlsym as real};
use std::ffi::{CStr, c_char, c_int, c_void};

unsafe extern "C" {
    fn dladdr(address: *const c_void, found: *mut libc::Dl_info) -> c_int;
}

/// Interposes the C library's `dlsym`.
///
/// It leaves by a jump where the answer is not ours: `RTLD_NEXT` means the libraries after that to which the call returns.
///
/// # Safety
/// The name ends with a zero byte.
// A sanitizer asks for its own functions before this one can run (`cargo xtask sanitize`).
#[cfg_attr(not(superstep_sanitized), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // At entry the stack is 8 bytes off 16; two registers and 8 bytes later it is aligned, with the return address at 24.
    std::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "mov rdx, [rsp + 24]",
        "call {ours}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test rax, rax",
        "jnz 2f",
        "mov rax, [rip + {real}]",
        "jmp rax",
        "2:",
        "ret",
        ours = sym ours,
        real = sym DLSYM,
    )
}

/// Our function in place of the requested one; null where there is none. Programs call `dlsym` early and anywhere, so this
/// neither allocates nor locks.
unsafe extern "C" fn ours(
    handle: *mut c_void,
    name: *const c_char,
    caller: *const c_void,
) -> *mut c_void {
    let real = real();
    let none = std::ptr::null_mut();
    // Where no library is named, ours are found in their order, as any symbol.
    if name.is_null() || handle == libc::RTLD_DEFAULT || handle == libc::RTLD_NEXT {
        return none;
    }
    // SAFETY: the caller gives a zero-terminated name.
    let bytes = unsafe { CStr::from_ptr(name) }.to_bytes();
    let drivers = replacement(bytes);
    if drivers.is_none() && !calls::has(bytes) {
        return none;
    }
    // SAFETY: the caller's own arguments.
    let found = unsafe { real(handle, name) };
    if found.is_null() || is_libcudart(caller) {
        return none;
    }
    let ours = drivers.or_else(|| calls::replacement(bytes, found));
    ours.unwrap_or(std::ptr::null()).cast_mut()
}

/// Whether `caller` is code of a libcudart: its launches have come through our functions first.
fn is_libcudart(caller: *const c_void) -> bool {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the pointer leads to room for the structure, which is filled where the result is not 0.
    let name = unsafe {
        match dladdr(caller, found.as_mut_ptr()) {
            0 => return false,
            _ => found.assume_init().dli_fname,
        }
    };
    if name.is_null() {
        return false;
    }
    // SAFETY: the loader gives a zero-terminated path.
    let path = unsafe { CStr::from_ptr(name) }.to_bytes();
    let file = path.rsplit(|&byte| byte == b'/').next();
    file.is_some_and(|file| file.starts_with(b"libcudart.so"))
}

#[cfg(test)]
mod tests;
