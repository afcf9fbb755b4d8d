//! What constructors call before `main`: modules, kernels and variables announce themselves.

use super::interposed;
use crate::cuda::real::{Entry, call};
use crate::model::modules::Variable;
use crate::recorder::runtime::{hook_exit_early, runtime};
use parking_lot::Mutex;
use std::ffi::{CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use superstep_runtime_core::cuda::{FatBinaryWrapper, text};
use superstep_runtime_core::{LoadedModule, loaded_module};
use superstep_trace::{Backend, ModuleTable};

/// Stands before CUDA's `__cudaRegisterFatBinary`: a module that the program carries as bitcode gets the binary that was made of it for
/// this run, and announces its table.
///
/// # Safety
/// As for the function of CUDA.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinary(
    wrapper: *const FatBinaryWrapper,
) -> *mut *mut c_void {
    static ENTRY: Entry = Entry::new(c"__cudaRegisterFatBinary");
    unregister_unloaded();
    // SAFETY: the caller's promise.
    let image = unsafe { FatBinaryWrapper::image(wrapper) };
    // SAFETY: a fat binary, or the text that Superstep's compiler puts there.
    let module = image.and_then(|image| unsafe { loaded_module(image, Backend::Cuda) });
    let loaded = module.map(|module| module.map_err(|error| error.to_string()).and_then(load));
    let (wrapper, table) = match loaded {
        None => (wrapper, None),
        Some(Ok((loaded, table))) => (loaded, Some(table)),
        Some(Err(why)) => {
            runtime().session.fault(why);
            std::process::exit(NOT_LOADED);
        }
    };
    let binary = call!(ENTRY, (wrapper => *const FatBinaryWrapper) -> *mut *mut c_void, std::ptr::null_mut());
    if let Some(table) = table {
        runtime().modules.lock().add_binary(binary as usize, table);
    }
    binary
}

/// Modules of ours that asked to be unregistered.
static UNLOADED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static UNREGISTER: Entry = Entry::new(c"__cudaUnregisterFatBinary");

/// Stands before CUDA's `__cudaUnregisterFatBinary`. Clang's modules call it in a handler of `atexit` that comes before destructors of
/// their own unit, which may launch kernels. So those of a program that ends stay, and those of a closed library go when the next module
/// comes.
///
/// # Safety
/// As for the function of CUDA.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaUnregisterFatBinary(binary: *mut *mut c_void) {
    if runtime().modules.lock().is_ours(binary as usize) {
        UNLOADED.lock().push(binary as usize);
    } else {
        call!(UNREGISTER, (binary => *mut *mut c_void) -> (), ());
    }
}

fn unregister_unloaded() {
    if runtime().has_ended() {
        return;
    }
    for binary in std::mem::take(&mut *UNLOADED.lock()) {
        runtime().modules.lock().remove_binary(binary);
        call!(UNREGISTER, (binary as *mut *mut c_void => *mut *mut c_void) -> (), ());
    }
}

/// Both names of a kernel or a variable, which Clang gives the same text, as a copy that stays when the library that registers it is closed.
fn kept(device: *mut c_char, name: &str) -> [*mut c_char; 2] {
    let copy = CString::new(name).map_or(std::ptr::null_mut(), CString::into_raw);
    [if device.is_null() { device } else { copy }, copy]
}

/// Exit code of a program of which a module cannot be loaded (`EX_SOFTWARE`).
const NOT_LOADED: i32 = 70;

/// Reads a module's binary, for ever, and its table.
fn load(module: LoadedModule) -> Result<(*const FatBinaryWrapper, Arc<ModuleTable>), String> {
    hook_exit_early();
    let [binary, table, libraries @ ..] = module.files.as_slice() else {
        return Err(
            "the modules were made for another backend; start the program with `superstep run`"
                .into(),
        );
    };
    let read = |path: &Path| {
        std::fs::read(path).map_err(|error| format!("failed to read {}: {error}", path.display()))
    };
    let (binary, table) = (read(binary)?, read(table)?);
    runtime().built_for(&module.protocol);
    let session = runtime().session;
    let table = session.registry().register_json(&table);
    let table = table.map_err(|error| error.to_string())?;
    for library in libraries {
        let path = CString::new(library.as_os_str().as_bytes());
        let path = path.map_err(|error| error.to_string())?;
        // SAFETY: a text that ends with 0. What runs is the constructor of a probe's host code, which only calls `superstep_observe`.
        if unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) }.is_null() {
            // SAFETY: after a failure of `dlopen` this is a text.
            let why = unsafe { text(libc::dlerror()) };
            return Err(format!("failed to load a probe's host code: {why}"));
        }
    }
    // The runtime reads numbers of eight bytes in it.
    let mut words = vec![0u64; binary.len().div_ceil(8)];
    for (word, bytes) in words.iter_mut().zip(binary.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_ne_bytes(whole);
    }
    let image = words.leak().as_ptr().cast();
    Ok((Box::leak(Box::new(FatBinaryWrapper::new(image))), table))
}

/// The host variable of the device variable called `device_name`, or null: programs older than CUDA 5 name variables by text.
///
/// # Safety
/// `device_name` must end with 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_symbol_named(device_name: *const c_char) -> *const c_void {
    // SAFETY: the caller's promise.
    let shadow = runtime()
        .modules
        .lock()
        .shadow(&unsafe { text(device_name) });
    shadow.map_or(std::ptr::null(), |host| host as *const c_void)
}

interposed! { nothing:
    // A kernel and its host stub.
    [__cudaRegisterFunction](
        binary: *mut *mut c_void, host: *const c_char, device: *mut c_char, device_name: *const c_char, thread_limit: c_int,
        thread_index: *mut c_void, block_index: *mut c_void, block_size: *mut c_void, grid_size: *mut c_void, warp_size: *mut c_int,
    ) |real with device device_name| {
        // SAFETY: the compiler's registration code gives zero-terminated names.
        let name = unsafe { text(device_name) };
        let [device, device_name] = kept(device, &name);
        runtime().modules.lock().add_kernel(binary as usize, host as usize, name);
        real(device, device_name)
    }
    // A variable of the device and its shadow on the host.
    [__cudaRegisterVar](
        binary: *mut *mut c_void, host: *mut c_char, device: *mut c_char, device_name: *const c_char, external: c_int, bytes: usize,
        constant: c_int, global: c_int,
    ) |real with device device_name| {
        // SAFETY: as above.
        let name = unsafe { text(device_name) };
        let [device, device_name] = kept(device, &name);
        let (host, bytes) = (host as usize, bytes as u64);
        let mut modules = runtime().modules.lock();
        modules.add_shadow(name.clone(), host);
        // Constant memory is not global memory: no access to it is traced.
        if constant == 0 {
            modules.add_variable(Variable { host, name, bytes, managed: false });
        }
        drop(modules);
        real(device, device_name)
    }
    // A managed variable and the host's pointer to it.
    [__cudaRegisterManagedVar](
        binary: *mut *mut c_void, host: *mut *mut c_void, device: *mut c_char, device_name: *const c_char, external: c_int,
        bytes: usize, constant: c_int, global: c_int,
    ) |real| {
        // SAFETY: as above.
        let name = unsafe { text(device_name) };
        let (host, bytes) = (host as usize, bytes as u64);
        runtime().modules.lock().add_variable(Variable { host, name, bytes, managed: true });
        real()
    }
}
