//! Interposes `dlsym`, so that proprietary libraries get our driver API functions instead of libcuda's.
//!
//! Libraries like cuBLAS link the CUDA runtime statically. That runtime opens libcuda.so.1, gets `cuGetProcAddress`
//! from `dlsym`, and gets all other functions from `cuGetProcAddress`: `dlsym` is the only symbol that we can
//! interpose. The shared libcudart, which we interpose already, gets libcuda's own functions; otherwise, we would see
//! its launches twice.

use super::calls;
use super::driver::replacement;
use crate::cuda::loader::{DLSYM, dlsym as real};
use std::ffi::{CStr, c_char, c_void};

/// Interposes the C library's `dlsym`.
///
/// If the result is not ours, this jumps to the real function instead of calling it, since the meaning of `RTLD_NEXT`
/// depends on the library to which the call returns.
///
/// # Safety
///
/// `name` must be null or end with a zero byte.
// A sanitizer looks up its own functions before this function can run (`cargo xtask sanitize`).
#[cfg_attr(not(superstep_sanitized), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // On entry, the stack is misaligned by 8 bytes. Another 24 align it to 16, with the return address at offset 24.
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

/// Returns our function in place of the requested one, or null. Must neither allocate nor lock, since programs call
/// `dlsym` early and from anywhere.
unsafe extern "C" fn ours(
    handle: *mut c_void,
    name: *const c_char,
    caller: *const c_void,
) -> *mut c_void {
    let real = real();
    let none = std::ptr::null_mut();
    // Without a specific library, the normal symbol search finds our functions first anyway.
    if name.is_null() || handle == libc::RTLD_DEFAULT || handle == libc::RTLD_NEXT {
        return none;
    }
    // SAFETY: the caller passes a zero-terminated name.
    let bytes = unsafe { CStr::from_ptr(name) }.to_bytes();
    let driver_function = replacement(bytes);
    if driver_function.is_none() && !calls::has(bytes) {
        return none;
    }
    // SAFETY: these are the caller's own arguments.
    let found = unsafe { real(handle, name) };
    if found.is_null() || is_libcudart(caller) {
        return none;
    }
    let ours = driver_function.or_else(|| calls::replacement(bytes, found));
    ours.unwrap_or(std::ptr::null()).cast_mut()
}

/// Returns whether `caller` is in the code of a libcudart, whose launches have already passed through our functions.
fn is_libcudart(caller: *const c_void) -> bool {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the pointer points to room for the structure, which is filled unless the result is 0.
    let name = unsafe {
        match libc::dladdr(caller, found.as_mut_ptr()) {
            0 => return false,
            _ => found.assume_init().dli_fname,
        }
    };
    if name.is_null() {
        return false;
    }
    // SAFETY: the loader returns a zero-terminated path.
    let path = unsafe { CStr::from_ptr(name) }.to_bytes();
    let file = path.rsplit(|&byte| byte == b'/').next();
    file.is_some_and(|file| file.starts_with(b"libcudart.so"))
}

#[cfg(test)]
mod tests;
