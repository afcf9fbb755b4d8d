//! Modules and kernels, accessed through the driver API, which accepts the runtime's streams and current context.

use super::{CudaError, Function, Module, Status, Stream, Stub, ask, cuda, driver};
use std::ffi::{CStr, CString, c_void};
use std::ptr::null_mut;

/// Like [`Status::check`], but for a driver API call.
pub fn check(status: Status, doing: &'static str) -> Result<(), CudaError> {
    if status == Status::SYMBOL_NOT_FOUND {
        return Err(CudaError::NoDriver);
    }
    status.check(doing)
}

/// Loads the module `ptx` into the calling thread's context and finds its kernel `name`. The module is never unloaded.
pub fn load(ptx: &str, name: &CStr, doing: &'static str) -> Result<Function, CudaError> {
    let text = CString::new(ptx).unwrap_or_default();
    let mut module = null_mut();
    // SAFETY: the pointer points to a handle; the text is NUL-terminated.
    let status = unsafe { driver!(cuModuleLoadData(&mut module, text.as_ptr().cast())) };
    check(status, doing)?;
    function(Module::from_raw(module.cast()), name, doing)
}

pub fn function(module: Module, name: &CStr, doing: &'static str) -> Result<Function, CudaError> {
    let (module, name, mut function) = (module.raw(), name.as_ptr(), null_mut());
    // SAFETY: the pointer points to a handle; modules stay loaded.
    let status = unsafe { driver!(cuModuleGetFunction(&mut function, module, name)) };
    check(status, doing)?;
    Ok(Function::from_raw(function.cast()))
}

/// Returns the driver's handle for a kernel. Loads its module.
pub fn function_of(stub: Stub) -> Result<Function, CudaError> {
    // SAFETY: the pointer points to a handle; the stub was registered.
    let get = |function: &mut _| unsafe { cuda!(cudaGetFuncBySymbol(function, stub.raw())) };
    let function = ask("find a kernel", null_mut(), get)?;
    Ok(Function::from_raw(function.cast()))
}

pub fn module_of(stub: Stub) -> Result<Module, CudaError> {
    let (function, mut module) = (function_of(stub)?, null_mut());
    // SAFETY: the pointer points to a handle; the runtime has just returned the function.
    let status = unsafe { driver!(cuFuncGetModule(&mut module, function.raw())) };
    check(status, "find a kernel's module")?;
    Ok(Module::from_raw(module.cast()))
}

/// Returns the address and the size in bytes of the variable `name` in a loaded module, or `None` if the module has no
/// such variable.
pub fn global(module: Module, name: &CStr) -> Result<Option<(u64, usize)>, CudaError> {
    let (module, name, mut address, mut bytes) = (module.raw(), name.as_ptr(), 0, 0);
    // SAFETY: the pointers point to integers, the name is NUL-terminated, and modules stay loaded.
    let status = unsafe { driver!(cuModuleGetGlobal_v2(&mut address, &mut bytes, module, name)) };
    if status == Status::NAMED_SYMBOL_NOT_FOUND {
        return Ok(None);
    }
    check(status, "find a variable in a module")?;
    Ok(Some((address, bytes)))
}

/// Returns the offset of parameter `index` in a kernel's argument block and the parameter's size, both in bytes.
pub fn parameter(function: Function, index: usize) -> Result<[usize; 2], CudaError> {
    let (function, mut offset, mut bytes) = (function.raw(), 0, 0);
    // SAFETY: the pointers point to integers; the function came from the driver.
    let status = unsafe { driver!(cuFuncGetParamInfo(function, index, &mut offset, &mut bytes)) };
    if status == Status::SYMBOL_NOT_FOUND {
        return Err(CudaError::DriverBefore12_4);
    }
    status.check("find a kernel's parameters")?;
    Ok([offset, bytes])
}

/// # Safety
///
/// `arguments` must point to an array with one pointer for each of the kernel's parameters. The driver copies the
/// arguments before it returns.
pub unsafe fn launch(
    function: Function,
    [grid, block]: [[u32; 3]; 2],
    shared_bytes: u32,
    stream: Stream,
    arguments: *mut *mut c_void,
) -> Status {
    let [grid_x, grid_y, grid_z] = grid;
    let [block_x, block_y, block_z] = block;
    // SAFETY: the function came from the driver; by the contract above, there is a pointer for each parameter.
    unsafe {
        driver!(cuLaunchKernel(
            function.raw(),
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            shared_bytes,
            stream.raw(),
            arguments,
            null_mut()
        ))
    }
}

/// Returns the start address and the size in bytes of the allocation that contains `address`.
pub fn allocation_of(address: u64) -> Result<(u64, u64), Status> {
    let (mut start, mut bytes) = (0, 0);
    // SAFETY: both pointers point to integers; the driver rejects unknown addresses.
    unsafe { driver!(cuMemGetAddressRange_v2(&mut start, &mut bytes, address)) }.ok()?;
    Ok((start, bytes as u64))
}

/// Returns the mangled name of a kernel, given the driver's handle for its function or its kernel object.
pub fn name_of(handle: Stub) -> Option<String> {
    let mut name = std::ptr::null();
    // SAFETY: the pointer points to a pointer; the program launches kernels with this handle.
    let status = unsafe {
        // The driver rejects a handle of the wrong kind.
        match driver!(cuFuncGetName(&mut name, handle.raw())) {
            Status::SUCCESS => Status::SUCCESS,
            _ => driver!(cuKernelGetName(&mut name, handle.raw())),
        }
    };
    if !status.is_success() || name.is_null() {
        return None;
    }
    // SAFETY: the driver returned a NUL-terminated name that lives as long as the module.
    let name = unsafe { CStr::from_ptr(name) };
    Some(name.to_string_lossy().into_owned())
}
