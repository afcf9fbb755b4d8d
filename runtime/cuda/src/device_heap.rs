//! Where the heap of device-side `malloc` lies. No function of the driver says; a kernel of ours asks for the heap's first block.

use crate::device::Pinned;
use crate::driver::{alone, check, driver};
use crate::real;
use std::ffi::{CStr, c_int, c_void};

const MODULE: &CStr = match CStr::from_bytes_with_nul(
    concat!(include_str!("../device/heap_block.ptx"), "\0").as_bytes(),
) {
    Ok(text) => text,
    Err(_) => panic!("the PTX holds a zero byte"),
};
/// `cudaLimitMallocHeapSize`.
const HEAP_SIZE: c_int = 2;
/// The heap begins and ends at multiples of this.
const PAGE_BYTES: u64 = 2 << 20;

/// First byte and bytes of the current device's heap. To be called before any kernel allocates.
///
/// # Errors
/// What the runtime or the driver says.
pub fn extent() -> Result<(u64, u64), String> {
    let what = "find the heap of device-side malloc";
    let driver = driver()?;
    let mut limit = 0;
    // SAFETY: the pointer leads to a number.
    let error = unsafe { real::device_get_limit(&mut limit, HEAP_SIZE) };
    real::check(error, what)?;
    let (mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the pointer leads to a handle; the text ends with a zero byte.
    let error = unsafe { (driver.load_data)(&mut module, MODULE.as_ptr().cast()) };
    check(error, what)?;
    // SAFETY: the pointer leads to a handle; the module was loaded just now and is never unloaded.
    let error =
        unsafe { (driver.get_function)(&mut function, module, c"__superstep_heap_block".as_ptr()) };
    check(error, what)?;
    let answer = Pinned::new(8)?;
    let mut address = answer.device;
    let mut arguments = [(&raw mut address).cast::<c_void>()];
    alone(&driver, what, |stream| {
        // SAFETY: the function takes this one argument, which the driver copies before it returns.
        unsafe {
            (driver.launch)(
                function,
                1,
                1,
                1,
                1,
                1,
                1,
                0,
                stream,
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        }
    })?;
    // SAFETY: the memory holds eight bytes, and the kernel that wrote them has ended.
    let first = unsafe { (answer.host as *const u64).read_volatile() };
    if first == 0 {
        return Err(format!("failed to {what}: it has no room for a byte"));
    }
    Ok(around(first, limit as u64))
}

/// The heap whose first block lies at `first`: blocks are given from its end (seen with driver 580 on an H200).
fn around(first: u64, limit_bytes: u64) -> (u64, u64) {
    let bytes = limit_bytes.next_multiple_of(PAGE_BYTES);
    (
        first.next_multiple_of(PAGE_BYTES).saturating_sub(bytes),
        bytes,
    )
}

#[cfg(test)]
mod tests {
    use super::around;

    /// Limit, first block, and the lowest and highest byte of blocks that filled the heap, as driver 580 gave them on an H200.
    const SEEN: [(u64, u64, u64, u64); 3] = [
        (8 << 20, 0x2_05bf_f920, 0x2_0540_0320, 0x2_05bf_ffc0),
        (32 << 20, 0x2_073f_f820, 0x2_0540_0420, 0x2_073f_ffb0),
        (1 << 30, 0x2_453f_f920, 0x2_0540_0320, 0x2_453f_ffc0),
    ];

    #[test]
    fn blocks_lie_within() {
        for (limit, first, lowest, highest) in SEEN {
            let (start, bytes) = around(first, limit);
            assert_eq!(bytes, limit);
            assert!(start <= lowest && highest <= start + bytes, "{start:#x}");
        }
    }
}
