//! The small kernel behind each launch, `device/in_situ_gather.cu`: it goes through what the launch's CTAs received.

use crate::driver::{Driver, driver};
use crate::ffi::{Dim3, Error, Stream};
use std::ffi::c_void;

const PTX: &str = include_str!("../../device/in_situ_gather.ptx");
/// Its CTAs and their threads: a warp for each word of the bits of the rows that are used first.
const CTAS: u32 = 512;
const THREADS: u32 = 256;

pub struct Gather {
    driver: Driver,
    function: usize,
    context: u64,
}

impl Gather {
    /// Loads the kernel into the calling thread's context.
    pub fn load(context: u64) -> Result<Self, String> {
        let driver = driver()?;
        let what = "load the kernel that gathers what CTAs received";
        let function = driver.load(PTX, c"__superstep_in_situ_gather", what)? as usize;
        Ok(Gather {
            driver,
            function,
            context,
        })
    }

    /// Queues it behind the kernel that was launched with `parameter`.
    pub fn launch(&self, parameter: u64, stream: Stream) -> Error {
        let (mut context, mut parameter) = (self.context, parameter);
        let mut arguments: [*mut c_void; 2] =
            [(&raw mut context).cast(), (&raw mut parameter).cast()];
        let (function, arguments) = (self.function as *mut c_void, arguments.as_mut_ptr());
        let row = |x| Dim3 { x, y: 1, z: 1 };
        // SAFETY: the function takes these two arguments.
        unsafe { (self.driver).launch(function, (row(CTAS), row(THREADS)), 0, stream, arguments) }
    }
}
