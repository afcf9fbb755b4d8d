//! What constructors call before `main`: modules, kernels and variables announce themselves.

use crate::modules::Variable;
use crate::real::{Entry, call};
use crate::runtime::{hook_exit_early, runtime};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::PoisonError;

/// A traced module announces its table, JSON of `bytes` bytes.
///
/// # Safety
/// `json` must point to that many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_register_module(json: *const c_char, bytes: u64) {
    hook_exit_early();
    if json.is_null() {
        return;
    }
    // SAFETY: the caller gives the size.
    let json = unsafe { std::slice::from_raw_parts(json.cast::<u8>(), bytes as usize) };
    let session = runtime().session;
    if let Err(error) = session.registry().register_json(json) {
        session.fault(error);
    }
}

/// A traced module says for which protocol its kernels were built.
///
/// # Safety
/// `protocol` must be a zero-terminated text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_register_protocol(protocol: *const c_char) {
    runtime().built_for(&name(protocol));
}

fn name(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the compiler's registration code gives zero-terminated names.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// Stands before libcudart's `__cudaRegisterFunction`: a kernel and its host stub.
///
/// # Safety
/// As for the function of the CUDA runtime.
#[unsafe(no_mangle)]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the C interface")]
pub unsafe extern "C" fn __cudaRegisterFunction(
    binary: *mut *mut c_void,
    host: *const c_char,
    device: *mut c_char,
    device_name: *const c_char,
    thread_limit: c_int,
    thread_index: *mut c_void,
    block_index: *mut c_void,
    block_size: *mut c_void,
    grid_size: *mut c_void,
    warp_size: *mut c_int,
) {
    static ENTRY: Entry = Entry::new(c"__cudaRegisterFunction");
    let mut modules = runtime()
        .modules
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    modules.add_kernel(binary as usize, host as usize, name(device_name));
    drop(modules);
    call!(ENTRY, (binary => *mut *mut c_void, host => *const c_char, device => *mut c_char, device_name => *const c_char,
        thread_limit => c_int, thread_index => *mut c_void, block_index => *mut c_void, block_size => *mut c_void,
        grid_size => *mut c_void, warp_size => *mut c_int) -> (), ());
}

/// Stands before libcudart's `__cudaRegisterVar`: a variable of the device and its shadow on the host.
///
/// # Safety
/// As for the function of the CUDA runtime.
#[unsafe(no_mangle)]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the C interface")]
pub unsafe extern "C" fn __cudaRegisterVar(
    binary: *mut *mut c_void,
    host: *mut c_char,
    device: *mut c_char,
    device_name: *const c_char,
    external: c_int,
    bytes: usize,
    constant: c_int,
    global: c_int,
) {
    static ENTRY: Entry = Entry::new(c"__cudaRegisterVar");
    runtime()
        .modules
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .add_shadow(name(device_name), host as usize);
    // Constant memory is not global memory: no access to it is traced.
    if constant == 0 {
        add_variable(host as usize, device_name, bytes, false);
    }
    call!(ENTRY, (binary => *mut *mut c_void, host => *mut c_char, device => *mut c_char, device_name => *const c_char,
        external => c_int, bytes => usize, constant => c_int, global => c_int) -> (), ());
}

/// Stands before libcudart's `__cudaRegisterManagedVar`: a managed variable and the host's pointer to it.
///
/// # Safety
/// As for the function of the CUDA runtime.
#[unsafe(no_mangle)]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the C interface")]
pub unsafe extern "C" fn __cudaRegisterManagedVar(
    binary: *mut *mut c_void,
    host: *mut *mut c_void,
    device: *mut c_char,
    device_name: *const c_char,
    external: c_int,
    bytes: usize,
    constant: c_int,
    global: c_int,
) {
    static ENTRY: Entry = Entry::new(c"__cudaRegisterManagedVar");
    add_variable(host as usize, device_name, bytes, true);
    call!(ENTRY, (binary => *mut *mut c_void, host => *mut *mut c_void, device => *mut c_char,
        device_name => *const c_char, external => c_int, bytes => usize, constant => c_int, global => c_int) -> (), ());
}

/// The host variable of the device variable called `device_name`, or null: programs older than CUDA 5 name variables by text.
///
/// # Safety
/// `device_name` must end with 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_symbol_named(device_name: *const c_char) -> *const c_void {
    let modules = runtime()
        .modules
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let shadow = modules.shadow(&name(device_name));
    shadow.map_or(std::ptr::null(), |host| host as *const c_void)
}

fn add_variable(host: usize, device_name: *const c_char, bytes: usize, managed: bool) {
    let variable = Variable {
        host,
        name: name(device_name),
        bytes: bytes as u64,
        managed,
    };
    runtime()
        .modules
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .add_variable(variable);
}
