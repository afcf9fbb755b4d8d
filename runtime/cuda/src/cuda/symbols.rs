//! Stands before `dlsym`, so that closed libraries get our functions of the driver and not libcuda's.
//!
//! cuBLAS and the like have the CUDA runtime linked into them. It opens libcuda.so.1 and asks `dlsym` for `cuGetProcAddress`, and
//! that for everything else: no symbol of ours is in its way but `dlsym` itself. The libcudart that stands behind this library
//! gets libcuda's own functions, or launches that we have seen would come here again.

use crate::interpose::calls;
use crate::interpose::replacement;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

type Find = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    fn dladdr(address: *const c_void, found: *mut libc::Dl_info) -> c_int;
}

/// The C library's `dlsym`; null until it is first needed.
static REAL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

unsafe extern "C" fn nothing(_: *mut c_void, _: *const c_char) -> *mut c_void {
    std::ptr::null_mut()
}

/// The C library's `dlsym`. What it finds for `RTLD_NEXT` depends on who calls it.
pub fn real() -> Find {
    let mut real = REAL.load(Ordering::Relaxed);
    if real.is_null() {
        // The versions that glibc for x86-64 has, before and after libdl became a part of libc.
        for version in [c"GLIBC_2.2.5", c"GLIBC_2.34"] {
            if real.is_null() {
                // SAFETY: both names end with a zero byte.
                real = unsafe { dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
            }
        }
        if real.is_null() {
            real = nothing as *mut c_void;
        }
        REAL.store(real, Ordering::Relaxed);
    }
    // SAFETY: `dlsym` has this type in every version of the C library, and so has `nothing`.
    unsafe { std::mem::transmute::<*mut c_void, Find>(real) }
}

/// Stands before the C library's `dlsym`.
///
/// It leaves by a jump where the answer is not ours: `RTLD_NEXT` means what follows the library that the call returns to.
///
/// # Safety
/// As for the function of the C library.
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
        real = sym REAL,
    )
}

/// Our function in the place of the one that is asked for; null where there is none. Programs call `dlsym` early and anywhere, so this
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
    if found.is_null() || is_behind_us(caller) {
        return none;
    }
    let ours = drivers.or_else(|| calls::replacement(bytes, found));
    ours.unwrap_or(std::ptr::null()).cast_mut()
}

/// Whether `caller` lies in a libcudart: whatever is launched through that has come through our functions first.
fn is_behind_us(caller: *const c_void) -> bool {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the pointer leads to room for the structure, which is filled where the call answers something but 0.
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
mod tests {
    use super::*;

    fn find(handle: *mut c_void, name: &CStr) -> *mut c_void {
        // SAFETY: the name ends with a zero byte.
        unsafe { dlsym(handle, name.as_ptr()) }
    }

    #[test]
    fn what_is_not_of_the_driver_is_found_as_ever() {
        // SAFETY: the name ends with a zero byte; the library is loaded already.
        let libc = unsafe { libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_NOW) };
        assert!(!libc.is_null());
        assert!(!find(libc, c"getpid").is_null());
        assert_eq!(find(libc, c"getpid"), find(libc::RTLD_DEFAULT, c"getpid"));
        assert!(find(libc, c"cuLaunchKernel").is_null(), "libc has none");
        assert!(find(libc, c"no such symbol").is_null());
        // The next `dlsym` after this one is the C library's.
        assert_eq!(find(libc::RTLD_NEXT, c"dlsym"), real() as *mut c_void);
    }
}
