//! Where the heap of device-side `malloc` lies. No function of the driver says; a kernel of ours asks for the heap's first block.

use crate::cuda::device::Pinned;
use crate::cuda::driver::driver;
use crate::cuda::ffi::Dim3;
use crate::cuda::real;
use std::ffi::{c_int, c_void};

const PTX: &str = include_str!("../../device/heap_block.ptx");
/// `cudaLimitMallocHeapSize`.
const HEAP_SIZE: c_int = 2;
/// The heap begins and ends at multiples of this.
const PAGE_BYTES: u64 = 2 << 20;

/// First byte and bytes of the current device's heap. To be called before any kernel allocates.
pub fn extent() -> Result<(u64, u64), String> {
    let what = "find the heap of device-side malloc";
    let driver = driver()?;
    // SAFETY: the pointer leads to a number.
    let ask = |limit: &mut _| unsafe { real::device_get_limit(limit, HEAP_SIZE) };
    let limit = real::answer(what, 0, ask)?;
    let function = driver.load(PTX, c"__superstep_heap_block", what)?;
    let answer = Pinned::new(8)?;
    let mut address = answer.device;
    let mut arguments = [(&raw mut address).cast::<c_void>()];
    let one = Dim3 { x: 1, y: 1, z: 1 };
    driver.alone(what, |stream| {
        // SAFETY: the function takes this one argument.
        unsafe { driver.launch(function, (one, one), 0, stream, arguments.as_mut_ptr()) }
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
