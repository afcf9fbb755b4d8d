//! What is needed of libcuda itself, which the runtime has loaded: nothing links it, so that every binary starts without it.

use crate::cuda::ffi::{self, Dim3, Graph, GraphExec, GraphNode, Stream};
use crate::cuda::real::{self, Entry};
use crate::interpose::Copy3d;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// `CUDA_KERNEL_NODE_PARAMS`, second version.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelNodeParameters {
    /// `CUfunction`.
    pub function: *mut c_void,
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    /// Dynamic shared memory of a CTA.
    pub shared_bytes: c_uint,
    /// One pointer for each argument.
    pub arguments: *mut *mut c_void,
    /// Arguments in one block, instead.
    pub extra: *mut *mut c_void,
    /// `CUkernel`, instead of the function.
    pub kernel: *mut c_void,
    pub context: *mut c_void,
}

/// `cuLaunchKernel`.
type Launch = unsafe extern "C" fn(
    *mut c_void,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    Stream,
    *mut *mut c_void,
    *mut *mut c_void,
) -> c_int;

/// The function `name` of libcuda itself, whatever stands before it.
pub fn find(name: &CStr) -> Option<*mut c_void> {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    let library = *LIBRARY.get_or_init(|| {
        // SAFETY: the name ends with a zero byte; the runtime has loaded the driver already, so nothing new is run.
        unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) as usize }
    });
    real::symbol_in(library, name)
}

macro_rules! driver {
    ($($field:ident: $name:literal = $type:ty;)*) => {
        #[derive(Clone, Copy)]
        pub struct Driver {
            $(pub $field: $type,)*
        }

        fn load() -> Option<Driver> {
            Some(Driver {
                $(
                    // SAFETY: the C interface of the driver gives the function of this name this type.
                    $field: unsafe { std::mem::transmute::<*mut c_void, $type>(find($name)?) },
                )*
            })
        }
    };
}

driver! {
    load_data: c"cuModuleLoadData" = unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> c_int;
    get_function: c"cuModuleGetFunction" = unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_char) -> c_int;
    launch_kernel: c"cuLaunchKernel" = Launch;
    set_attribute: c"cuFuncSetAttribute" = unsafe extern "C" fn(*mut c_void, c_int, c_int) -> c_int;
    graph_add_kernel: c"cuGraphAddKernelNode_v2" =
        unsafe extern "C" fn(*mut GraphNode, Graph, *const GraphNode, usize, *const KernelNodeParameters) -> c_int;
    function_module: c"cuFuncGetModule" = unsafe extern "C" fn(*mut *mut c_void, *mut c_void) -> c_int;
    get_global: c"cuModuleGetGlobal_v2" =
        unsafe extern "C" fn(*mut u64, *mut usize, *mut c_void, *const c_char) -> c_int;
    stream_create: c"cuStreamCreate" = unsafe extern "C" fn(*mut Stream, c_uint) -> c_int;
    stream_wait: c"cuStreamSynchronize" = unsafe extern "C" fn(Stream) -> c_int;
    stream_destroy: c"cuStreamDestroy_v2" = unsafe extern "C" fn(Stream) -> c_int;
    copy_to_device: c"cuMemcpyHtoDAsync_v2" = unsafe extern "C" fn(u64, *const c_void, usize, Stream) -> c_int;
    copy_to_host: c"cuMemcpyDtoHAsync_v2" = unsafe extern "C" fn(*mut c_void, u64, usize, Stream) -> c_int;
}

/// Functions that only some programs need: they are looked up when first called.
macro_rules! when_called {
    ($($(#[$doc:meta])* fn $name:ident as $export:literal($($argument:ident: $type:ty),*);)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As for the function of the driver.
            pub unsafe fn $name($($argument: $type),*) -> c_int {
                static ENTRY: Entry = Entry::found_by($export, find);
                real::call!(ENTRY, ($($argument => $type),*) -> c_int, ffi::SYMBOL_NOT_FOUND)
            }
        )*
    };
}

when_called! {
    /// First byte and size of the allocation that holds an address.
    fn address_range as c"cuMemGetAddressRange_v2"(start: *mut u64, bytes: *mut usize, address: u64);
    fn current_context as c"cuCtxGetCurrent"(context: *mut *mut c_void);
    fn graph_kernel as c"cuGraphKernelNodeGetParams_v2"(node: GraphNode, parameters: *mut KernelNodeParameters);
    /// The destination comes first.
    fn graph_copy_attributes as c"cuGraphKernelNodeCopyAttributes"(to: GraphNode, from: GraphNode);
    fn graph_change_kernel as c"cuGraphExecKernelNodeSetParams_v2"(
        instance: GraphExec, node: GraphNode, parameters: *const KernelNodeParameters
    );
    fn graph_memcpy as c"cuGraphMemcpyNodeGetParams"(node: GraphNode, copy: *mut Copy3d);
    fn graph_add_memcpy as c"cuGraphAddMemcpyNode"(
        node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, copy: *const Copy3d, context: *mut c_void
    );
}

/// The driver's functions.
pub fn driver() -> Result<Driver, String> {
    static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();
    DRIVER.get_or_init(load).ok_or_else(|| {
        "failed to find the driver's functions in libcuda.so.1; install NVIDIA's driver for CUDA 12 or newer, or use --protocol thesis"
            .to_owned()
    })
}

/// What the driver answered, as an error of `what`.
pub fn check(error: c_int, what: &str) -> Result<(), String> {
    if error == 0 {
        Ok(())
    } else {
        Err(format!("failed to {what}: CUDA driver error {error}"))
    }
}

impl Driver {
    /// The kernel called `name` of a module that is loaded into the calling thread's context from its text, and never unloaded.
    pub fn load(&self, ptx: &str, name: &CStr, what: &str) -> Result<*mut c_void, String> {
        let text = CString::new(ptx).unwrap_or_default();
        let mut module = std::ptr::null_mut();
        // SAFETY: the pointer leads to a handle; the text ends with a zero byte.
        let error = unsafe { (self.load_data)(&mut module, text.as_ptr().cast()) };
        check(error, what)?;
        self.function(module, name, what)
    }

    /// The kernel called `name` of a loaded module.
    pub fn function(
        &self,
        module: *mut c_void,
        name: &CStr,
        what: &str,
    ) -> Result<*mut c_void, String> {
        let mut function = std::ptr::null_mut();
        // SAFETY: the pointer leads to a handle; the module is loaded.
        let error = unsafe { (self.get_function)(&mut function, module, name.as_ptr()) };
        check(error, what)?;
        Ok(function)
    }

    /// The driver's handle for the kernel of a host stub, whose module is loaded for that.
    pub fn function_of(&self, stub: *const c_void) -> Result<*mut c_void, String> {
        // SAFETY: the pointer leads to a handle; the stub was registered.
        let ask = |function: &mut _| unsafe { real::function_by_symbol(function, stub) };
        real::answer("find a kernel", std::ptr::null_mut(), ask)
    }

    /// The module of the kernel of a host stub.
    pub fn module_of(&self, stub: *const c_void) -> Result<*mut c_void, String> {
        let what = "find a kernel's module";
        let (function, mut module) = (self.function_of(stub)?, std::ptr::null_mut());
        // SAFETY: the pointer leads to a handle; the function is the runtime's own.
        let error = unsafe { (self.function_module)(&mut module, function) };
        check(error, what)?;
        Ok(module)
    }

    /// Address of the variable `name` of a loaded module.
    pub fn global(&self, module: *mut c_void, name: &CStr) -> Result<u64, String> {
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the pointers lead to numbers, the name ends with a zero byte, the module is loaded.
        let error = unsafe { (self.get_global)(&mut address, &mut bytes, module, name.as_ptr()) };
        check(error, &format!("find the variable {name:?}"))?;
        Ok(address)
    }

    /// Where the parameter `index` of a kernel begins in a block of arguments, and its size, in bytes.
    pub fn parameter(&self, function: *mut c_void, index: usize) -> Result<[usize; 2], String> {
        type Ask = unsafe extern "C" fn(*mut c_void, usize, *mut usize, *mut usize) -> c_int;
        let Some(ask) = find(c"cuFuncGetParamInfo") else {
            return Err(
                "launches by kernels need NVIDIA's driver for CUDA 12.4 or newer".to_owned(),
            );
        };
        let [mut offset, mut bytes] = [0; 2];
        // SAFETY: the driver's interface gives the function of this name this type; the pointers lead to numbers.
        let error = unsafe {
            let ask = std::mem::transmute::<*mut c_void, Ask>(ask);
            ask(function, index, &mut offset, &mut bytes)
        };
        check(error, "find a kernel's parameters")?;
        Ok([offset, bytes])
    }

    /// Launches a kernel.
    ///
    /// # Safety
    /// The function is a handle of the driver's, and takes these arguments; it copies them before it returns.
    pub unsafe fn launch(
        &self,
        function: *mut c_void,
        (grid, block): (Dim3, Dim3),
        shared_bytes: u32,
        stream: Stream,
        arguments: *mut *mut c_void,
    ) -> c_int {
        let (launch, extra) = (self.launch_kernel, std::ptr::null_mut());
        // SAFETY: the caller's promise.
        unsafe {
            launch(
                function,
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                shared_bytes,
                stream,
                arguments,
                extra,
            )
        }
    }

    /// Runs `work` with a stream of its own and waits for that, so that no stream of the program is waited for: one of them may run a
    /// kernel that waits for another, which is not launched yet.
    pub fn alone(&self, what: &str, work: impl FnOnce(Stream) -> c_int) -> Result<(), String> {
        /// `CU_STREAM_NON_BLOCKING`.
        const NON_BLOCKING: c_uint = 1;
        let mut stream = std::ptr::null_mut();
        // SAFETY: the pointer leads to a handle.
        let made = unsafe { (self.stream_create)(&mut stream, NON_BLOCKING) };
        check(made, what)?;
        let worked = work(stream);
        // SAFETY: the stream was made above and is destroyed once.
        let waited = unsafe { (self.stream_wait)(stream).max((self.stream_destroy)(stream)) };
        check(worked.max(waited), what)
    }

    /// Copies `out.len()` bytes from the device.
    pub fn read(&self, out: &mut [u8], address: u64) -> Result<(), String> {
        self.alone("read device memory", |stream| {
            // SAFETY: the destination holds so many bytes, and is not used before the stream was waited for.
            unsafe { (self.copy_to_host)(out.as_mut_ptr().cast(), address, out.len(), stream) }
        })
    }

    /// Copies words to the device.
    pub fn write(&self, address: u64, words: &[u64]) -> Result<(), String> {
        self.alone("write the trace's device memory", |stream| {
            let bytes = size_of_val(words);
            // SAFETY: both sides hold so many bytes; the source lives until the stream was waited for.
            unsafe { (self.copy_to_device)(address, words.as_ptr().cast(), bytes, stream) }
        })
    }
}
