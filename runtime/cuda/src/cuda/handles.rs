//! CUDA's handles, each with its own type.

use super::{CudaError, Status, ask, cuda};
use cudarc::driver::sys::CUmod_st;
use cudarc::runtime::sys::{
    CUevent_st, CUfunc_st, CUgraph_st, CUgraphExec_st, CUgraphNode_st, CUstream_st,
    cudaEventBlockingSync, cudaStreamNonBlocking,
};
use std::ffi::c_void;
use std::ptr::null_mut;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident = $target:ty;)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(*mut $target);

        // SAFETY: this library never dereferences the handle; CUDA accepts handles from any thread.
        unsafe impl Send for $name {}
        // SAFETY: the handle is never changed in place.
        unsafe impl Sync for $name {}

        #[allow(dead_code, reason = "not every handle uses all of these")]
        impl $name {
            pub const NULL: Self = $name(null_mut());

            pub const fn from_raw(raw: *mut c_void) -> Self {
                $name(raw.cast())
            }

            pub fn is_null(self) -> bool {
                self.0.is_null()
            }

            /// Returns the pointer, typed as one of CUDA's APIs declares it.
            pub fn raw<T>(self) -> *mut T {
                self.0.cast()
            }

            pub fn address(self) -> usize {
                self.0.addr()
            }
        }
    )*};
}

handles! {
    Stream = CUstream_st;
    Event = CUevent_st;
    Graph = CUgraph_st;
    GraphExec = CUgraphExec_st;
    GraphNode = CUgraphNode_st;
    /// A kernel in a loaded module.
    Function = CUfunc_st;
    Module = CUmod_st;
    /// The pointer with which the program launches a kernel: its host stub, or a handle from the driver.
    Stub = c_void;
    Binary = *mut c_void;
}

impl Stream {
    pub const PER_THREAD: Self = Stream(std::ptr::without_provenance_mut(2));

    pub fn create() -> Result<Self, CudaError> {
        let (doing, flags) = ("create a CUDA stream", cudaStreamNonBlocking);
        // SAFETY: the pointer points to a handle.
        ask(doing, Stream::NULL, |stream| unsafe {
            cuda!(cudaStreamCreateWithFlags(&mut stream.0, flags))
        })
    }

    pub fn synchronize(self) -> Status {
        // SAFETY: the stream comes from CUDA or from the program, which uses it in the same call.
        unsafe { cuda!(cudaStreamSynchronize(self.0)) }
    }

    pub fn destroy(self) -> Status {
        // SAFETY: this library created the stream and does not use it again.
        unsafe { cuda!(cudaStreamDestroy(self.0)) }
    }

    pub fn wait_for(self, event: Event) -> Status {
        // SAFETY: the stream and the event come from CUDA or from the program, which uses them in the same call.
        unsafe { cuda!(cudaStreamWaitEvent(self.0, event.0, 0)) }
    }

    /// # Safety
    ///
    /// It must be safe to call `function` with `data` when the stream reaches the call.
    pub unsafe fn launch_host_function(
        self,
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> Status {
        // SAFETY: the stream comes from CUDA or from the program; by the contract above, it is safe to call `function`
        // with `data`.
        unsafe { cuda!(cudaLaunchHostFunc(self.0, Some(function), data)) }
    }
}

/// A stream as the program passes it. Null is the default stream or, with `per_thread`, the thread's own.
#[derive(Clone, Copy, Debug)]
pub struct StreamArgument {
    pub handle: Stream,
    pub per_thread: bool,
}

impl StreamArgument {
    /// Returns the stream in the form that the runtime's functions without a suffix expect.
    pub fn stream(self) -> Stream {
        if self.handle.is_null() && self.per_thread {
            Stream::PER_THREAD
        } else {
            self.handle
        }
    }
}

impl Event {
    /// Creates an event on the current device. Threads that wait for it sleep rather than spin.
    pub fn create() -> Result<Self, CudaError> {
        let (doing, flags) = ("create a CUDA event", cudaEventBlockingSync);
        // SAFETY: the pointer points to a handle.
        ask(doing, Event::NULL, |event| unsafe {
            cuda!(cudaEventCreateWithFlags(&mut event.0, flags))
        })
    }

    pub fn record(self, stream: Stream) -> Status {
        // SAFETY: the stream and the event come from CUDA or from the program, which uses them in the same call.
        unsafe { cuda!(cudaEventRecord(self.0, stream.0)) }
    }

    /// Returns success, "not ready", or a device error.
    pub fn query(self) -> Status {
        // SAFETY: `create` created the event; this library never destroys its events.
        unsafe { cuda!(cudaEventQuery(self.0)) }
    }

    pub fn synchronize(self) -> Status {
        // SAFETY: `create` created the event; this library never destroys its events.
        unsafe { cuda!(cudaEventSynchronize(self.0)) }
    }

    pub fn elapsed_ns([start, end]: [Event; 2]) -> Result<u64, Status> {
        let mut milliseconds = 0f32;
        // SAFETY: the pointer points to a number; `create` created both events, which are never destroyed.
        unsafe { cuda!(cudaEventElapsedTime(&mut milliseconds, start.0, end.0)) }.ok()?;
        Ok((f64::from(milliseconds) * 1e6) as u64)
    }
}
