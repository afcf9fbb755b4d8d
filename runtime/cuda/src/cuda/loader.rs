//! Finds functions in the libcudart and libcuda that come after this library in the search order, without linking
//! against them, so that programs can start without a driver.

use super::Status;
use cudarc::driver::sys::CUresult;
use cudarc::runtime::sys::cudaError_t;
use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

type Find = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// The C library's `dlsym`; null until its first use.
pub static DLSYM: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

unsafe extern "C" fn find_nothing(_: *mut c_void, _: *const c_char) -> *mut c_void {
    std::ptr::null_mut()
}

/// Returns the C library's `dlsym`, whose result for `RTLD_NEXT` depends on the library that calls it.
pub fn dlsym() -> Find {
    let mut real = DLSYM.load(Ordering::Relaxed);
    if real.is_null() {
        let name = c"dlsym".as_ptr();
        // SAFETY: both names are NUL-terminated.
        let find =
            |version: &CStr| unsafe { libc::dlvsym(libc::RTLD_NEXT, name, version.as_ptr()) };
        // The versions in glibc for x86-64, before and after libdl became part of libc.
        let found = [c"GLIBC_2.2.5", c"GLIBC_2.34"].into_iter().map(find);
        let nothing = find_nothing as *mut c_void;
        real = { found }.find(|found| !found.is_null()).unwrap_or(nothing);
        DLSYM.store(real, Ordering::Relaxed);
    }
    // SAFETY: `find_nothing` has this type, as does `dlsym` in every version of the C library.
    unsafe { std::mem::transmute::<*mut c_void, Find>(real) }
}

/// The handle of a library that is never closed; 0 if it could not be opened.
type Library = OnceLock<usize>;

fn symbol(library: &Library, files: &[&CStr], flags: i32, name: &CStr) -> Option<*mut c_void> {
    let open = |file: &&CStr| {
        // SAFETY: the name is NUL-terminated; loading CUDA's libraries has no effect beyond their own initialisation.
        unsafe { libc::dlopen(file.as_ptr(), flags) as usize }
    };
    let opened = || files.iter().map(open).find(|&handle| handle != 0);
    let library = *library.get_or_init(|| opened().unwrap_or(0));
    if library == 0 {
        return None;
    }
    // SAFETY: the handle came from `dlopen` and is never closed; the name is NUL-terminated.
    let found = unsafe { dlsym()(library as *mut c_void, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Finds the function `name` in the next library that defines it or, if there is none, in the libcudart that the loader
/// finds.
pub fn find_in_runtime(name: &CStr) -> Option<*mut c_void> {
    static LIBRARY: Library = Library::new();
    // SAFETY: the name is NUL-terminated.
    let next = unsafe { dlsym()(libc::RTLD_NEXT, name.as_ptr()) };
    if !next.is_null() {
        return Some(next);
    }
    let files = [c"libcudart.so.12", c"libcudart.so.13", c"libcudart.so"];
    symbol(&LIBRARY, &files, libc::RTLD_NOW | libc::RTLD_GLOBAL, name)
}

/// Like [`find_in_runtime`], but prints a message if there is no such function.
pub fn find_or_report(name: &CStr) -> Option<*mut c_void> {
    let address = find_in_runtime(name);
    if address.is_none() {
        eprintln!(
            "superstep: libcudart has no {}; link the program against the shared libcudart.so.12, after libsuperstep_cuda.so",
            name.to_string_lossy()
        );
    }
    address
}

/// Finds libcuda's own function `name`, even if libraries before it define the same name.
pub fn find_in_driver(name: &CStr) -> Option<*mut c_void> {
    static LIBRARY: Library = Library::new();
    symbol(&LIBRARY, &[c"libcuda.so.1"], libc::RTLD_NOW, name)
}

pub struct Entry {
    name: &'static CStr,
    find: fn(&CStr) -> Option<*mut c_void>,
    address: AtomicPtr<c_void>,
}

/// Address of an [`Entry`] that is missing from its library.
const MISSING: *mut c_void = std::ptr::without_provenance_mut(usize::MAX);

impl Entry {
    pub const fn new(find: fn(&CStr) -> Option<*mut c_void>, name: &'static CStr) -> Self {
        let address = AtomicPtr::new(std::ptr::null_mut());
        Entry {
            name,
            find,
            address,
        }
    }

    /// Returns the function's address, or `None` if there is no such function. The first failure for a runtime function
    /// prints a message.
    pub fn address(&self) -> Option<*mut c_void> {
        let mut address = self.address.load(Ordering::Relaxed);
        if address.is_null() {
            address = (self.find)(self.name).unwrap_or(MISSING);
            self.address.store(address, Ordering::Relaxed);
        }
        (address != MISSING).then_some(address)
    }
}

/// Types of CUDA's result codes. They are read as integers, since newer versions of CUDA have codes that cudarc's
/// enumerations lack.
pub trait ResultCode {}
impl ResultCode for cudaError_t {}
impl ResultCode for CUresult {}

pub trait Declared {
    /// The function's type in the C API.
    type C: Copy;
}

macro_rules! declared {
    (@impl $($argument:ident)*) => {
        impl<$($argument,)* R: ResultCode> Declared for unsafe fn($($argument),*) -> R {
            type C = unsafe extern "C" fn($($argument),*) -> Status;
        }
    };
    () => { declared!(@impl); };
    ($first:ident $($rest:ident)*) => {
        declared!(@impl $first $($rest)*);
        declared!($($rest)*);
    };
}
declared!(A B C D E F G H I J K);

/// Returns the function at `address` with the type of its declaration.
///
/// # Safety
///
/// `address` must be the address of the function that cudarc declares as `F`.
pub unsafe fn as_declared<F: Declared>(address: *mut c_void, _declaration: F) -> F::C {
    const { assert!(size_of::<F::C>() == size_of::<*mut c_void>()) };
    // SAFETY: `F::C` is a function pointer, which is the same size as an address.
    unsafe { std::mem::transmute_copy(&address) }
}

/// Calls a CUDA function by name, with the types that cudarc declares. Unsafe; returns a [`Status`].
macro_rules! call_declared {
    ($library:ident $find:ident $name:ident($($argument:expr),* $(,)?)) => {{
        static ENTRY: $crate::cuda::Entry =
            $crate::cuda::Entry::new($crate::cuda::loader::$find, ::superstep_runtime_core::cuda::c_name(concat!(stringify!($name), "\0")));
        match ENTRY.address() {
            Some(address) => {
                let declaration: unsafe fn($($crate::cuda::loader::call_declared!(@any $argument)),*) -> _ =
                    cudarc::$library::sys::$name;
                $crate::cuda::loader::as_declared(address, declaration)($($argument),*)
            }
            None => $crate::cuda::Status::SYMBOL_NOT_FOUND,
        }
    }};
    (@any $argument:expr) => { _ };
}
pub(crate) use call_declared;

macro_rules! cuda {
    ($($call:tt)*) => { $crate::cuda::loader::call_declared!(runtime find_or_report $($call)*) };
}
pub(crate) use cuda;

macro_rules! driver {
    ($($call:tt)*) => { $crate::cuda::loader::call_declared!(driver find_in_driver $($call)*) };
}
pub(crate) use driver;
