//! Calls of closed libraries of which it is known what they read and write: those in the table of `superstep-runtime-core`.
//!
//! A function of ours stands before each of them, as symbol and for `dlsym`. What the library launches while it runs belongs to the call.

use crate::runtime::runtime;
use crate::{driver, ffi, symbols};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::ffi::{CStr, c_int, c_void};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicPtr, Ordering};
use superstep_runtime_core::calls::{self, Arguments};
use superstep_trace::{Block, KnownCall};

/// `CUBLAS_STATUS_NOT_INITIALIZED`, `CUFFT_INVALID_PLAN`.
const NO_LIBRARY: usize = 1;

/// One of the functions.
struct Function {
    name: &'static CStr,
    /// The library's function; null until it is known.
    real: AtomicPtr<c_void>,
}

/// Memory that was lent for all calls.
static LENT: Mutex<Vec<Block>> = Mutex::new(Vec::new());

thread_local! {
    /// Whether this thread is in a call, and what is known of it. Never dropped, so that destructors of the program's own variables may
    /// call.
    static CALL: RefCell<Option<ManuallyDrop<Option<KnownCall>>>> = const { RefCell::new(None) };
}

/// What is known of the call that this thread is in.
pub fn current() -> Option<KnownCall> {
    CALL.with_borrow(|call| call.as_ref().and_then(|call| (**call).clone()))
}

impl Function {
    /// # Safety
    /// `arguments` begin with those of the function of this name.
    unsafe fn call(&self, own: *const c_void, arguments: Arguments) -> usize {
        let mut real = self.real.load(Ordering::Relaxed);
        if real.is_null() {
            // SAFETY: the name ends with a zero byte.
            real = unsafe { symbols::real()(libc::RTLD_NEXT, self.name.as_ptr()) };
            if real.is_null() || real.cast_const() == own {
                return NO_LIBRARY;
            }
            self.real.store(real, Ordering::Relaxed);
        }
        // Some functions are made of others.
        let is_outermost = CALL.with_borrow(Option::is_none);
        if !is_outermost || runtime().device().is_none() {
            // SAFETY: the caller's promise.
            return unsafe { pass_on(real, arguments) };
        }
        let function = calls::function(&self.name.to_string_lossy());
        let known = function.and_then(|function| function.known(&arguments, allocation_of));
        let (known, lent) = match known {
            Some((mut known, lent)) => {
                known.writes.extend_from_slice(&LENT.lock());
                (Some(known), lent)
            }
            None => (None, Vec::new()),
        };
        CALL.set(Some(ManuallyDrop::new(known)));
        // SAFETY: the caller's promise.
        let status = unsafe { pass_on(real, arguments) };
        drop(CALL.take().map(ManuallyDrop::into_inner));
        let mut all = LENT.lock();
        for block in lent.into_iter().filter(|_| status as c_int == 0) {
            if !all.contains(&block) {
                all.push(block);
            }
        }
        status
    }
}

/// First byte and size of the allocation that `address` lies in.
fn allocation_of(address: u64) -> Option<(u64, u64)> {
    type Ask = unsafe extern "C" fn(*mut u64, *mut usize, u64) -> c_int;
    let ask = driver::find(c"cuMemGetAddressRange_v2")?;
    // SAFETY: the C interface of the driver gives the function this type.
    let ask = unsafe { std::mem::transmute::<*mut c_void, Ask>(ask) };
    let (mut start, mut bytes) = (0, 0);
    // SAFETY: both pointers lead to room for the answers; any number may be asked for.
    let error = unsafe { ask(&mut start, &mut bytes, address) };
    (error == ffi::SUCCESS).then_some((start, bytes as u64))
}

/// # Safety
/// `real` is a function that takes integers and pointers, at most [`ARGUMENTS`], and `arguments` begin with them.
unsafe fn pass_on(real: *mut c_void, arguments: Arguments) -> usize {
    macro_rules! function {
        ($($index:literal)+) => {{
            // SAFETY: the caller's promise; a function of the C interface does not see what is behind its arguments.
            let function = unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn($(function!(@ $index)),+) -> usize>(real)
            };
            // SAFETY: the caller's promise.
            unsafe { function($(arguments[$index]),+) }
        }};
        (@ $index:literal) => { usize };
    }
    function!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23)
}

/// Defines our functions, exported, and the one that finds them by name.
macro_rules! wrappers {
    ($($family:ident: $($name:ident $bytes:literal),+;)+) => {
        $($(wrappers!(@define $name
            (a b c d e f g h i j k l m n o p q r s t u v w x));)+)+

        /// Our function of this name, where there is one, and what stands behind it.
        fn find(name: &[u8]) -> Option<(*const std::ffi::c_void, &'static Function)> {
            $($(
                if name == stringify!($name).as_bytes() {
                    return Some(($name as *const std::ffi::c_void, &functions::$name));
                }
            )+)+
            None
        }

        #[allow(non_upper_case_globals, reason = "named as the C interface does")]
        mod functions {
            $($(
                pub(super) static $name: super::Function = super::Function {
                    name: match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => unreachable!(),
                    },
                    real: std::sync::atomic::AtomicPtr::new(std::ptr::null_mut()),
                };
            )+)+
        }
    };
    (@define $name:ident ($($argument:ident)+)) => {
        #[doc = concat!("Stands before the closed library's `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As for the library's function.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments, clippy::many_single_char_names, reason = "the C interface")]
        pub unsafe extern "C" fn $name($($argument: usize),+) -> usize {
            // SAFETY: the caller's promise.
            unsafe { functions::$name.call($name as *const std::ffi::c_void, [$($argument),+]) }
        }
    };
}
superstep_runtime_core::known_calls!(wrappers);

/// Whether a function of ours stands before the one of this name.
pub fn has(name: &[u8]) -> bool {
    find(name).is_some()
}

/// Our function in the place of `found`, which a library has by this name.
pub fn replacement(name: &[u8], found: *mut c_void) -> Option<*const c_void> {
    let (ours, function) = find(name)?;
    if ours != found.cast_const() {
        function.real.store(found, Ordering::Relaxed);
    }
    Some(ours)
}
