//! Calls of closed libraries of which it is known what they read and write.
//!
//! A function of ours stands before each of them, as symbol and for `dlsym`. What the library launches while it runs belongs to the call.

mod table;

use crate::runtime::runtime;
use crate::{driver, ffi, symbols};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};
use superstep_trace::{Block, KnownCall};

/// As many arguments as any has, all integers and pointers: some on the stack that are passed on are none.
const ARGUMENTS: usize = 24;
type Arguments = [usize; ARGUMENTS];

/// `CUBLAS_STATUS_NOT_INITIALIZED`, `CUFFT_INVALID_PLAN`.
const NO_LIBRARY: usize = 1;

/// What one argument leads to.
enum Access {
    Reads(usize, Shape),
    Writes(usize, Shape),
    /// From now on each call may write there.
    Lends(usize, Shape),
}

enum Shape {
    /// `count` column-major matrices.
    Matrices {
        rows: Number,
        columns: Number,
        /// Elements from one column to the next; below 0 for a vector that is read backwards.
        leading: Number,
        element: Element,
        count: Number,
        /// Elements from one matrix to the next.
        stride: Number,
    },
    /// As many bytes as the argument says.
    Bytes(usize),
    /// The whole allocation.
    Allocation,
}

#[derive(Clone, Copy)]
enum Number {
    Fixed(i64),
    /// An `int`, or a 64-bit integer in functions whose names end in `_64`.
    Argument(usize),
    /// Always a 64-bit integer.
    Long(usize),
    Either {
        operation: usize,
        plain: usize,
        other: usize,
    },
}

#[derive(Clone, Copy)]
enum Element {
    /// The function's own.
    Own,
    /// The argument is a `cudaDataType`.
    Type(usize),
}

/// One of the functions.
struct Function {
    name: &'static CStr,
    accesses: &'static [Access],
    /// Of an element.
    bytes: u64,
    /// The library's function; null until it is known.
    real: AtomicPtr<c_void>,
}

/// Memory that was lent for all calls.
static LENT: Mutex<Vec<Block>> = Mutex::new(Vec::new());

thread_local! {
    /// Whether this thread is in a call, and what is known of it.
    static CALL: RefCell<Option<Option<KnownCall>>> = const { RefCell::new(None) };
}

/// What is known of the call that this thread is in.
pub fn current() -> Option<KnownCall> {
    CALL.with_borrow(|call| call.clone().flatten())
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
        let (known, lent) = match self.known(&arguments) {
            Some((known, lent)) => (Some(known), lent),
            None => (None, Vec::new()),
        };
        CALL.set(Some(known));
        // SAFETY: the caller's promise.
        let status = unsafe { pass_on(real, arguments) };
        CALL.set(None);
        let mut all = LENT.lock();
        for block in lent.into_iter().filter(|_| status as c_int == 0) {
            if !all.contains(&block) {
                all.push(block);
            }
        }
        status
    }

    /// What a call touches, and what it lends; `None` where the arguments do not tell.
    fn known(&self, arguments: &Arguments) -> Option<(KnownCall, Vec<Block>)> {
        let mut lent = Vec::new();
        let mut call = KnownCall {
            function: self.name.to_string_lossy().into_owned(),
            reads: Vec::new(),
            writes: LENT.lock().clone(),
        };
        for access in self.accesses {
            let (into, pointer, shape) = match access {
                Access::Reads(pointer, shape) => (&mut call.reads, *pointer, shape),
                Access::Writes(pointer, shape) => (&mut call.writes, *pointer, shape),
                Access::Lends(pointer, shape) => (&mut lent, *pointer, shape),
            };
            let block = self.block(arguments, arguments[pointer] as u64, shape)?;
            if block.bytes > 0 && block.rows > 0 && block.planes > 0 {
                into.push(block);
            }
        }
        Some((call, lent))
    }

    fn block(&self, arguments: &Arguments, address: u64, shape: &Shape) -> Option<Block> {
        let whole = |address, bytes| Block {
            address,
            bytes,
            rows: 1,
            row_pitch: 0,
            planes: 1,
            plane_pitch: 0,
        };
        match shape {
            Shape::Bytes(bytes) => Some(whole(address, arguments[*bytes] as u64)),
            Shape::Allocation => allocation_of(address).map(|(start, bytes)| whole(start, bytes)),
            Shape::Matrices {
                rows,
                columns,
                leading,
                element,
                count,
                stride,
            } => {
                let number = |number: &Number| self.number(arguments, *number);
                let size = match element {
                    Element::Own => self.bytes,
                    Element::Type(argument) => bytes_of(arguments[*argument] as c_int)?,
                };
                let amount = |of: &Number| u64::try_from(number(of)).unwrap_or(0);
                Some(Block {
                    address,
                    bytes: amount(rows).saturating_mul(size),
                    rows: amount(columns),
                    row_pitch: number(leading).unsigned_abs().saturating_mul(size),
                    planes: amount(count),
                    plane_pitch: amount(stride).saturating_mul(size),
                })
            }
        }
    }

    fn number(&self, arguments: &Arguments, number: Number) -> i64 {
        match number {
            Number::Fixed(number) => number,
            Number::Long(argument) => arguments[argument] as i64,
            Number::Argument(argument) if self.name.to_bytes().ends_with(b"_64") => {
                arguments[argument] as i64
            }
            Number::Argument(argument) => i64::from(arguments[argument] as c_int),
            Number::Either {
                operation,
                plain,
                other,
            } => {
                // `CUBLAS_OP_N`
                let argument = if arguments[operation] as c_int == 0 {
                    plain
                } else {
                    other
                };
                self.number(arguments, Number::Argument(argument))
            }
        }
    }
}

/// Size of a `cudaDataType`; `None` for one of less than a byte, or a newer one.
fn bytes_of(kind: c_int) -> Option<u64> {
    Some(match kind {
        3 | 8 | 28..=30 => 1,                // 8-bit integers and floats
        2 | 14 | 20 | 22 => 2,               // half, bfloat16, 16-bit integers
        7 | 9 => 2,                          // pairs of bytes
        0 | 6 | 15 | 10 | 12 | 21 | 23 => 4, // float, pairs of the above, 32-bit integers
        1 | 4 | 11 | 13 | 24 | 26 => 8,      // double, complex float, 64-bit integers and pairs
        5 | 25 | 27 => 16,                   // complex double, pairs of 64-bit integers
        _ => return None,
    })
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
macro_rules! known_calls {
    ($($family:ident: $($name:ident $bytes:literal),+;)+) => {
        $($(known_calls!(@define $family $name $bytes
            (a b c d e f g h i j k l m n o p q r s t u v w x));)+)+

        /// Our function of this name, where there is one, and what stands behind it.
        pub(super) fn find(name: &[u8]) -> Option<(*const std::ffi::c_void, &'static super::Function)> {
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
                pub(super) static $name: super::super::Function = super::super::Function {
                    name: match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => unreachable!(),
                    },
                    accesses: super::$family,
                    bytes: $bytes,
                    real: std::sync::atomic::AtomicPtr::new(std::ptr::null_mut()),
                };
            )+)+
        }
    };
    (@define $family:ident $name:ident $bytes:literal ($($argument:ident)+)) => {
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
use known_calls;

/// Whether a function of ours stands before the one of this name.
pub fn has(name: &[u8]) -> bool {
    table::find(name).is_some()
}

/// Our function in the place of `found`, which a library has by this name.
pub fn replacement(name: &[u8], found: *mut c_void) -> Option<*const c_void> {
    let (ours, function) = table::find(name)?;
    if ours != found.cast_const() {
        function.real.store(found, Ordering::Relaxed);
    }
    Some(ours)
}

#[cfg(test)]
mod tests;
