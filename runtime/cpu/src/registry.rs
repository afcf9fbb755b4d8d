//! The program's modules, kernels and variables: host objects' registrations and the device code loaded for them,
//! matched by module index and name at first use.

use crate::device::properties::SHARED_BYTES;
use crate::errors::CudaError;
use crate::memory;
use crate::runtime::session;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, LazyLock};
use superstep_abi::cpu::{
    ABI_VERSION, CpuModule, KERNEL_FORGETS_THREADS, KERNEL_IN_CLUSTERS, KERNEL_WAITS_FOR_GRID,
    Parameter, SPACE_GLOBAL, Step, SuperstepThread,
};
use superstep_runtime_core::cuda::{FatBinaryWrapper, slice, text};
use superstep_runtime_core::limits::MAX_THREADS;
use superstep_runtime_core::{AllocatedBy, loaded_module};
use superstep_trace::probe::NATIVE_SUFFIX;
use superstep_trace::{AllocationKind, Backend, Probe, SiteId};

#[derive(Debug)]
pub struct Kernel {
    pub name: String,
    /// Demangled, without parameters.
    pub display_name: String,
    pub thunk: unsafe extern "C" fn(*mut *mut c_void),
    pub thread_block: unsafe extern "C" fn() -> *mut SuperstepThread,
    /// Runs the kernel for many threads in a loop. `None` if that is impossible or disabled
    /// ([`cpu_fibers`](superstep_abi::Config::cpu_fibers)); in that case, the threads are fibers.
    pub step: Option<Step>,
    /// Number of bytes per thread that a CTA keeps between steps.
    pub frame_bytes: u64,
    /// Whether the kernel's CTAs wait at the grid's barrier.
    pub waits_for_grid: bool,
    pub in_clusters: bool,
    pub parameters: &'static [Parameter],
    pub module: u32,
    /// Whether the kernel's loops do not record which thread is running.
    pub forgets_threads: bool,
    pub static_shared_bytes: u64,
    pub max_threads: u32,
    pub max_dynamic_shared_bytes: AtomicU64,
    pub probe: Probe,
    pub sites: Arc<[SiteId]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub address: u64,
    pub bytes: u64,
}

#[derive(Default)]
struct Registry {
    kernels: HashMap<(u32, String), Arc<Kernel>>,
    symbols: HashMap<(u32, String), Symbol>,
    functions: HashMap<usize, (u32, String)>,
    /// Kernels by their own addresses, for launches from the device.
    device_functions: HashMap<usize, (u32, String)>,
    variables: HashMap<usize, (u32, String)>,
    highest_module: u32,
}

static REGISTRY: LazyLock<RwLock<Registry>> = LazyLock::new(RwLock::default);

/// Module index of a host object without device code for this runtime.
const MISSING_MODULE: u32 = u32::MAX;
/// Module index of a host object whose code failed to load; the error has been reported.
const FAILED_MODULE: u32 = u32::MAX - 1;

/// Registers a device module; called by the constructor of its shared object.
///
/// # Safety
/// `module` and everything it points to must be valid and live as long as the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_register_cpu_module(module: *const CpuModule) {
    // SAFETY: a device object passes its own table, or null.
    let Some(module) = (unsafe { module.as_ref() }) else {
        return;
    };
    // SAFETY: the object's name is a NUL-terminated constant.
    let name = unsafe { text(module.name) };
    if module.abi_version != ABI_VERSION {
        let version = module.abi_version;
        return session().fault(format_args!(
            "failed to register module {name}: it has ABI version {version}, but this runtime has {ABI_VERSION}; rebuild the program"
        ));
    }
    let Some(thread_block) = module.thread_block else {
        return session().fault(format_args!(
            "failed to register module {name}: it has no thread state; rebuild the program"
        ));
    };
    // SAFETY: the object's table is a constant of this length and consists of plain bytes.
    let json = unsafe {
        slice(
            module.table_json.cast::<u8>(),
            module.table_json_bytes as usize,
        )
    };
    let table = match session().registry().register_json(json) {
        Ok(table) => table,
        Err(error) => return session().fault(error),
    };
    let sites: Arc<[SiteId]> = table.sites.iter().map(|site| site.id).collect();
    // SAFETY: the object's list of kernels is a constant of this length.
    let kernels = unsafe { slice(module.kernels, module.kernel_count as usize) };
    // SAFETY: the object's list of variables is a constant of this length.
    let globals = unsafe { slice(module.globals, module.global_count as usize) };
    let index = module.module_index;
    let mut registry = REGISTRY.write();
    registry.highest_module = registry.highest_module.max(index);
    for kernel in kernels {
        let Some(thunk) = kernel.thunk else {
            continue;
        };
        // SAFETY: the kernel is a row of the object's list, whose pointers point to its constants.
        let name = unsafe { text(kernel.name) };
        // The native copy of a kernel has the same display name.
        let listed = name.strip_suffix(NATIVE_SUFFIX).unwrap_or(&name);
        let info = table.kernels.iter().find(|info| info.name == listed);
        let dynamic = (SHARED_BYTES as u64).saturating_sub(kernel.static_shared_bytes);
        let bound = Kernel {
            display_name: info.map_or(&name, |info| &info.display_name).clone(),
            name: name.clone(),
            thunk,
            thread_block,
            step: kernel.step.filter(|_| !session().config().cpu_fibers),
            frame_bytes: kernel.frame_bytes,
            waits_for_grid: kernel.flags & KERNEL_WAITS_FOR_GRID != 0,
            in_clusters: kernel.flags & KERNEL_IN_CLUSTERS != 0,
            // SAFETY: the kernel's list has one entry per parameter.
            parameters: unsafe { slice(kernel.parameter_list, kernel.parameters as usize) },
            module: index,
            forgets_threads: kernel.flags & KERNEL_FORGETS_THREADS != 0,
            static_shared_bytes: kernel.static_shared_bytes,
            max_threads: match kernel.most_threads {
                0 => MAX_THREADS,
                threads => threads.min(MAX_THREADS.into()) as u32,
            },
            max_dynamic_shared_bytes: dynamic.into(),
            probe: table.probe,
            sites: sites.clone(),
        };
        let (function, key) = (kernel.function as usize, (index, name));
        registry.device_functions.insert(function, key.clone());
        registry.kernels.insert(key, Arc::new(bound));
    }
    for global in globals {
        // SAFETY: the variable is a row of the object's list, whose pointers point to its constants.
        let name = unsafe { text(global.name) };
        let (address, bytes) = (global.address as u64, global.bytes);
        let kind = AllocationKind::Symbol { name: name.clone() };
        let is_global = global.space == SPACE_GLOBAL;
        memory::register(address, bytes, kind.clone(), is_global);
        if is_global {
            session().allocate(AllocatedBy::Module, 0, address, bytes, kind);
        }
        let symbol = Symbol {
            name: name.clone(),
            address,
            bytes,
        };
        registry.symbols.insert((index, name), symbol);
    }
}

pub fn kernel(host_function: *const c_void) -> Result<Arc<Kernel>, CudaError> {
    let registry = REGISTRY.read();
    let Some(key) = registry.functions.get(&(host_function as usize)) else {
        return Err(CudaError::INVALID_DEVICE_FUNCTION);
    };
    if let Some(kernel) = registry.kernels.get(key) {
        return Ok(kernel.clone());
    }
    let (module, name) = key.clone();
    drop(registry);
    match module {
        FAILED_MODULE => {}
        MISSING_MODULE => session().fault(format_args!(
            "kernel {name} has no device code for the CPU backend; compile its file with superstep"
        )),
        _ => session().fault(format_args!(
            "kernel {name} is not in the device code of module {module}; rebuild the program"
        )),
    }
    Err(CudaError::INVALID_DEVICE_FUNCTION)
}

/// Returns the native copy of a kernel, which has no probe.
pub fn native(kernel: &Kernel) -> Option<Arc<Kernel>> {
    let key = (kernel.module, format!("{}{NATIVE_SUFFIX}", kernel.name));
    REGISTRY.read().kernels.get(&key).cloned()
}

/// Returns the kernel at an address in device code.
pub fn device_kernel(function: *const c_void) -> Option<Arc<Kernel>> {
    let registry = REGISTRY.read();
    let key = registry.device_functions.get(&(function as usize))?;
    registry.kernels.get(key).cloned()
}

pub fn symbol(host_variable: *const c_void) -> Result<Symbol, CudaError> {
    let registry = REGISTRY.read();
    let key = registry.variables.get(&(host_variable as usize));
    key.and_then(|key| registry.symbols.get(key))
        .cloned()
        .ok_or(CudaError::INVALID_SYMBOL)
}

/// Returns the host variable for device variable `name`, or null. Programs for CUDA 4 and older pass variables by name.
///
/// # Safety
///
/// `name` must be NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_symbol_named(name: *const c_char) -> *const c_void {
    // SAFETY: the name is NUL-terminated.
    let name = unsafe { text(name) };
    let registry = REGISTRY.read();
    let mut variables = registry.variables.iter();
    let variable = variables.find(|(_, (_, other))| *other == name);
    variable.map_or(std::ptr::null(), |(&host, _)| host as *const c_void)
}

pub fn highest_module() -> u32 {
    REGISTRY.read().highest_module
}

/// Loads the code of the module whose image is at `image`; returns the module's index.
///
/// # Safety
///
/// `image` must point to a fat binary or to the text that Superstep puts in place of one.
unsafe fn module_index(image: *const c_char) -> Option<u32> {
    let refuse = |why: &dyn std::fmt::Display| {
        session().fault(why);
        Some(FAILED_MODULE)
    };
    // SAFETY: a module's image is a fat binary or our text, which ends with a newline and a NUL.
    let module = match unsafe { loaded_module(image, Backend::Cpu) }? {
        Ok(module) => module,
        Err(error) => return refuse(&error),
    };
    for file in &module.files {
        let file = CString::new(file.as_os_str().as_bytes()).ok()?;
        // SAFETY: the path is NUL-terminated. The only constructors that run are those of a probe's host code and that
        // of a module, which only calls `__superstep_register_cpu_module`.
        if unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) }.is_null() {
            // SAFETY: after `dlopen` failed, this is a NUL-terminated string.
            let why = unsafe { text(libc::dlerror()) };
            return refuse(&format_args!("failed to load a module: {why}"));
        }
    }
    Some(module.index)
}

/// Handle of a host object: its module index + 1, so that it is non-null. Never dereferenced.
type FatBinary = *mut *mut c_void;

/// `__cudaRegisterFatBinary`: registers the device code of a host object.
///
/// # Safety
/// `wrapper` must point to a fat binary wrapper.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: *const FatBinaryWrapper) -> FatBinary {
    session();
    // SAFETY: host code compiled by Clang passes its own wrapper.
    let image = unsafe { FatBinaryWrapper::image(wrapper) };
    // SAFETY: the wrapper points to a fat binary or to our text.
    let module = image.and_then(|image| unsafe { module_index(image) });
    std::ptr::without_provenance_mut(module.unwrap_or(MISSING_MODULE) as usize + 1)
}

/// `__cudaRegisterFatBinaryEnd`: has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_handle: FatBinary) {}

/// `__cudaUnregisterFatBinary`: modules live as long as the program, since destructors run in any order.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(_handle: FatBinary) {}

/// `__cudaInitModule`: modules are ready after registration.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(_handle: FatBinary) -> u8 {
    1
}

fn module_of(handle: FatBinary) -> u32 {
    u32::try_from(handle.addr().wrapping_sub(1)).unwrap_or(MISSING_MODULE)
}

/// Defines functions that bind a host function or variable to its name in device code. Additional arguments are ignored.
macro_rules! bind {
    ($($name:ident $map:ident;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        ///
        /// `handle` must come from [`__cudaRegisterFatBinary`], and `device_name` must be NUL-terminated.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            handle: FatBinary, host: *const c_void, _device: *mut c_char, device_name: *const c_char
        ) {
            // SAFETY: host code compiled by Clang passes a constant string.
            let name = unsafe { text(device_name) };
            REGISTRY.write().$map.insert(host as usize, (module_of(handle), name));
        }
    )*};
}

bind! {
    __cudaRegisterFunction functions;
    __cudaRegisterVar variables;
}

#[cfg(test)]
mod tests;
