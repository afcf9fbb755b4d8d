//! Functions that register modules, kernels and variables, called by constructors that run before `main`.

use super::interposed;
use crate::cuda::loader::find_or_report;
use crate::cuda::{Binary, Entry, Stub};
use crate::model::modules::Variable;
use crate::recorder::runtime::{hook_exit_early, runtime, session};
use parking_lot::Mutex;
use std::ffi::{CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use superstep_runtime_core::cuda::{FatBinaryWrapper, text};
use superstep_runtime_core::{LoadedModule, RuntimeError, loaded_module};
use superstep_trace::{Backend, ModuleTable};
use thiserror::Error;

#[derive(Debug, Error)]
enum LoadError {
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error("the modules were built for another backend; start the program with `superstep run`")]
    OtherBackend,
    #[error("failed to read {path}: {error}")]
    Read {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("failed to load a probe's host code: {0}")]
    ProbeLibrary(String),
    #[error("failed to load a probe's host code: {0}")]
    LibraryName(#[from] std::ffi::NulError),
}

interposed! { returning Binary = Binary::NULL;
    // For a module embedded as bitcode, registers the binary (which is never freed) and the table for this run.
    [__cudaRegisterFatBinary](wrapper: *const FatBinaryWrapper) |real with wrapper| {
        unregister_unloaded();
        // SAFETY: the compiler's registration code passes a wrapper.
        let image = unsafe { FatBinaryWrapper::image(wrapper) };
        // SAFETY: the image is a fat binary, or the text that Superstep's compiler puts in its place.
        let module = image.and_then(|image| unsafe { loaded_module(image, Backend::Cuda) });
        match module.map(|module| module.map_err(LoadError::from).and_then(load)) {
            None => real(wrapper),
            Some(Ok((loaded, table))) => {
                let binary = real(loaded);
                runtime().registered(table.probe);
                runtime().modules.lock().add_binary(binary, table);
                binary
            }
            Some(Err(error)) => {
                session().fault(error);
                std::process::exit(NOT_LOADED);
            }
        }
    }
}

static UNLOADED: Mutex<Vec<Binary>> = Mutex::new(Vec::new());

fn unregister(binary: Binary) {
    type Unregister = unsafe extern "C" fn(Binary);
    static ENTRY: Entry = Entry::new(find_or_report, c"__cudaUnregisterFatBinary");
    if let Some(address) = ENTRY.address() {
        // SAFETY: CUDA's compiler calls the function with this name and this type.
        let unregister = unsafe { std::mem::transmute::<*mut c_void, Unregister>(address) };
        // SAFETY: the runtime returned the handle, and the program unregisters it once.
        unsafe { unregister(binary) };
    }
}

/// Interposes CUDA's `__cudaUnregisterFatBinary`. Modules built by Clang call it in an `atexit` handler that runs
/// before destructors in the same translation unit, which may launch kernels. Therefore, this function only marks our
/// modules; they are unregistered when a running program registers the next module.
///
/// # Safety
///
/// `binary` must be a handle from the runtime, which the program unregisters only once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaUnregisterFatBinary(binary: Binary) {
    if runtime().modules.lock().is_ours(binary) {
        UNLOADED.lock().push(binary);
    } else {
        unregister(binary);
    }
}

fn unregister_unloaded() {
    if runtime().has_ended() {
        return;
    }
    for binary in std::mem::take(&mut *UNLOADED.lock()) {
        runtime().modules.lock().remove_binary(binary);
        unregister(binary);
    }
}

/// Leaks a copy of a kernel's or variable's name, so that it outlives the library that registers it; returns the copy
/// for both of CUDA's parameters.
fn leak_name(device: *mut c_char, name: &str) -> [*mut c_char; 2] {
    let copy = CString::new(name).map_or(std::ptr::null_mut(), CString::into_raw);
    [if device.is_null() { device } else { copy }, copy]
}

/// Exit code of a program with a module that cannot be loaded: `EX_SOFTWARE`.
const NOT_LOADED: i32 = 70;

/// Reads a module's binary, which is never freed, and its table.
fn load(module: LoadedModule) -> Result<(*const FatBinaryWrapper, Arc<ModuleTable>), LoadError> {
    hook_exit_early();
    let [binary, table, libraries @ ..] = module.files.as_slice() else {
        return Err(LoadError::OtherBackend);
    };
    let read = |path: &Path| {
        std::fs::read(path).map_err(|error| LoadError::Read {
            path: path.to_owned(),
            error,
        })
    };
    let (mut binary, table) = (read(binary)?, read(table)?);
    runtime().built_for(&module.protocol);
    let table = session().registry().register_json(&table)?;
    for library in libraries {
        let path = CString::new(library.as_os_str().as_bytes())?;
        // SAFETY: the path ends with a zero byte. The constructors in a probe's host code only call
        // `superstep_observe`.
        if unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) }.is_null() {
            // SAFETY: after a failed `dlopen`, `dlerror` returns a string.
            let reason = unsafe { text(libc::dlerror()) };
            return Err(LoadError::ProbeLibrary(reason));
        }
    }
    // The runtime reads aligned eight-byte words from the binary.
    binary.resize(binary.len().next_multiple_of(8), 0);
    let words = binary.as_chunks().0.iter().copied();
    let words: Vec<u64> = words.map(u64::from_ne_bytes).collect();
    let image = words.leak().as_ptr().cast();
    Ok((Box::leak(Box::new(FatBinaryWrapper::new(image))), table))
}

/// Returns the host variable for the device variable `device_name`, or null. Programs that predate CUDA 5 refer to
/// variables by name.
///
/// # Safety
///
/// `device_name` must end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_symbol_named(device_name: *const c_char) -> *const c_void {
    // SAFETY: the name is zero-terminated, by the contract above.
    let name = unsafe { text(device_name) };
    let shadow = runtime().modules.lock().shadows.get(&name).copied();
    shadow.map_or(std::ptr::null(), |host| host as *const c_void)
}

interposed! { returning () = ();
    [__cudaRegisterFunction](
        binary: Binary, host: Stub, device: *mut c_char, device_name: *const c_char, thread_limit: c_int,
        thread_index: *mut c_void, block_index: *mut c_void, block_size: *mut c_void, grid_size: *mut c_void, warp_size: *mut c_int,
    ) |real with device device_name| {
        // SAFETY: the compiler's registration code passes zero-terminated names.
        let name = unsafe { text(device_name) };
        let [device, device_name] = leak_name(device, &name);
        runtime().modules.lock().add_kernel(binary, host, name);
        real(device, device_name)
    }
    [__cudaRegisterVar](
        binary: Binary, host: *mut c_char, device: *mut c_char, device_name: *const c_char, external: c_int, bytes: usize,
        constant: c_int, global: c_int,
    ) |real with device device_name| {
        // SAFETY: the compiler's registration code passes zero-terminated names.
        let name = unsafe { text(device_name) };
        let [device, device_name] = leak_name(device, &name);
        let (host, bytes) = (host as usize, bytes as u64);
        let mut modules = runtime().modules.lock();
        modules.shadows.insert(name.clone(), host);
        // Constant memory is not global memory, so accesses to it are not traced.
        if constant == 0 {
            modules.add_variable(Variable { host, name, bytes, managed: false });
        }
        drop(modules);
        real(device, device_name)
    }
    [__cudaRegisterManagedVar](
        binary: Binary, host: *mut *mut c_void, device: *mut c_char, device_name: *const c_char, external: c_int,
        bytes: usize, constant: c_int, global: c_int,
    ) |real| {
        // SAFETY: the compiler's registration code passes zero-terminated names.
        let name = unsafe { text(device_name) };
        let (host, bytes) = (host as usize, bytes as u64);
        runtime().modules.lock().add_variable(Variable { host, name, bytes, managed: true });
        real()
    }
}
