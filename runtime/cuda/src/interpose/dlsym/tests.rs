//! Tests for `dlsym`.

use super::*;

fn find(handle: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: the name ends with a zero byte.
    unsafe { dlsym(handle, name.as_ptr()) }
}

#[test]
fn names_outside_the_driver_are_found_as_usual() {
    // SAFETY: the name ends with a zero byte; the library is loaded already.
    let libc = unsafe { libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_NOW) };
    assert!(!libc.is_null());
    assert!(!find(libc, c"getpid").is_null());
    assert_eq!(find(libc, c"getpid"), find(libc::RTLD_DEFAULT, c"getpid"));
    assert!(
        find(libc, c"cuLaunchKernel").is_null(),
        "libc has no such function"
    );
    assert!(find(libc, c"no such symbol").is_null());
    // The next `dlsym` after this one is the C library's.
    assert_eq!(find(libc::RTLD_NEXT, c"dlsym"), real() as *mut c_void);
}
