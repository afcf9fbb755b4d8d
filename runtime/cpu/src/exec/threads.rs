//! Threads that never exit, and can start while another thread holds the dynamic loader's lock.
//!
//! A constructor of a library that `dlopen` loads can launch a kernel, and so can a destructor of a library that
//! `dlclose` unloads; the launching thread then holds that lock while it waits for the workers. The C library also
//! acquires the lock when a thread creates its first variable with a destructor. Workers never exit, so their variables
//! need no destructors.

use std::cell::Cell;
use std::ffi::{CString, c_int, c_void};
use std::io::Error;
use std::mem::{MaybeUninit, transmute};
use std::ptr::null_mut;

type Destructor = unsafe extern "C" fn(*mut c_void);
type Register = unsafe extern "C" fn(Destructor, *mut c_void, *mut c_void) -> c_int;

thread_local! {
    static NEVER_EXITS: Cell<bool> = const { Cell::new(false) };
}

// Hidden, so that only references in this library resolve to it.
std::arch::global_asm!(
    ".globl __cxa_thread_atexit_impl",
    ".hidden __cxa_thread_atexit_impl",
    ".type __cxa_thread_atexit_impl, @function",
    "__cxa_thread_atexit_impl:",
    "jmp {ours}",
    ours = sym register_destructor,
);

/// Replaces the C library's `__cxa_thread_atexit_impl` for this library's copy of the standard library: registers the
/// destructor of a thread-local variable.
///
/// # Safety
/// The same as for the C library's function.
unsafe extern "C" fn register_destructor(
    destructor: Destructor,
    variable: *mut c_void,
    library: *mut c_void,
) -> c_int {
    if NEVER_EXITS.get() {
        return 0;
    }
    // SAFETY: the name is NUL-terminated.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, c"__cxa_thread_atexit_impl".as_ptr()) };
    if next.is_null() {
        return 0;
    }
    // SAFETY: the C library's function has this type, and the arguments are the caller's.
    unsafe { transmute::<*mut c_void, Register>(next)(destructor, variable, library) }
}

/// Starts a thread that runs `work`, which must not return.
pub fn start(
    name: CString,
    stack_bytes: usize,
    work: fn(usize),
    argument: usize,
) -> std::io::Result<()> {
    let started = Box::into_raw(Box::new((name, work, argument)));
    let mut attributes = MaybeUninit::uninit();
    let mut thread = MaybeUninit::uninit();
    // SAFETY: the attributes are initialised before they are used; `run` expects a `Started`.
    let error = unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), stack_bytes);
        let (handle, options) = (thread.as_mut_ptr(), attributes.as_ptr());
        let error = libc::pthread_create(handle, options, run, started.cast());
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        error
    };
    if error == 0 {
        return Ok(());
    }
    // SAFETY: no thread was created that could own it.
    drop(unsafe { Box::from_raw(started) });
    Err(Error::from_raw_os_error(error))
}

/// A thread's name, its work function, and that function's argument.
type Started = (CString, fn(usize), usize);

extern "C" fn run(started: *mut c_void) -> *mut c_void {
    NEVER_EXITS.set(true);
    // SAFETY: `start` leaked the box for this thread.
    let (name, work, argument) = *unsafe { Box::from_raw(started.cast::<Started>()) };
    // SAFETY: names the calling thread with a NUL-terminated string.
    unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
    work(argument);
    null_mut()
}
