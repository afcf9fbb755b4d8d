//! Notes the host's allocations, copies and fills.

use super::runtime::{Runtime, runtime, session};
use crate::cuda::device::current_device;
use crate::cuda::memory::is_on_device;
use crate::cuda::{StreamArgument, driver};
use cudarc::driver::sys::{CUDA_MEMCPY2D_v2, CUDA_MEMCPY3D_v2, CUmemorytype};
use cudarc::runtime::sys::cudaMemsetParams;
use superstep_runtime_core::AllocatedBy;
use superstep_runtime_core::cuda::direction;
use superstep_trace::{AllocationKind, Gap};

impl Runtime {
    pub fn allocated(&self, address: u64, bytes: u64, kind: AllocationKind) {
        self.device();
        // The program may never launch anything.
        self.hook_exit();
        if address != 0 {
            self.in_situ.allocated(address, bytes, &kind);
            let by = AllocatedBy::Caller;
            session().allocate(by, current_device(), address, bytes, kind);
        }
    }

    pub fn freed(&self, address: u64) {
        session().free(address);
        self.in_situ.freed(address);
    }

    /// Notes that the program opened another process's memory, from `address` to the end of the allocation that contains it.
    pub fn opened(&self, address: u64) {
        session().shares_memory();
        let is_known = session().is_allocated(address);
        self.imported.opened(address, is_known);
        if is_known {
            return;
        }
        let (start, bytes) = match driver::allocation_of(address) {
            Ok(allocation) => allocation,
            Err(status) => {
                return session().warning(format!(
                    "failed to find the size of the memory of another process at {address:#x} ({status}); accesses there count as \
                     outside any allocation"
                ));
            }
        };
        let bytes = (start + bytes).saturating_sub(address);
        // In the other process, small allocations share a block, and each handle maps the whole block.
        let room = session().room(address, bytes);
        if room > 0 {
            self.allocated(address, room, AllocationKind::Imported);
        }
    }

    pub fn closed(&self, address: u64) {
        if self.imported.closed(address) {
            self.freed(address);
        }
    }

    pub fn mapped(&self, address: u64, bytes: u64, handle: u64) {
        let kind = self.imported.mapped(address, handle);
        self.allocated(address, bytes, kind);
    }

    pub fn unmapped(&self, address: u64, bytes: u64) {
        for start in self.imported.unmapped(address, bytes) {
            self.freed(start);
        }
    }
}

/// Rows of memory: first byte, row pitch and slice pitch.
#[derive(Clone, Copy)]
pub struct Rows {
    pub address: u64,
    pub row_bytes: u64,
    pub slice_bytes: u64,
}

impl Rows {
    pub fn new(address: u64, row_bytes: usize) -> Self {
        Rows {
            address,
            row_bytes: row_bytes as u64,
            slice_bytes: 0,
        }
    }

    /// Returns the rows from byte `x` of row `y` of slice `z` on, in memory that begins at `first`. `height` is the number of rows from
    /// one slice to the next.
    pub fn within(first: u64, [x, y, z]: [usize; 3], [pitch, height]: [usize; 2]) -> Self {
        let slice_bytes = (height * pitch) as u64;
        Rows {
            address: first + z as u64 * slice_bytes + (y * pitch + x) as u64,
            row_bytes: pitch as u64,
            slice_bytes,
        }
    }

    fn row(self, slice: u64, row: u64) -> u64 {
        self.address + slice * self.slice_bytes + row * self.row_bytes
    }
}

/// Notes a copy of bytes x rows x slices in as few pieces as possible. `on_device` returns whether the source and the
/// destination are on the device.
pub fn note_copy(
    to: Rows,
    from: Rows,
    on_device: impl FnOnce() -> [bool; 2],
    size: [usize; 3],
    into: StreamArgument,
) {
    let runtime = runtime();
    runtime.device();
    // Each launch of the graph notes the copy.
    if runtime.graphs.comes_later(into) {
        return;
    }
    let stream = runtime.stream(into);
    let [from_device, to_device] = on_device();
    let direction = direction(from_device, to_device);
    let [mut width, mut height, mut depth] = size.map(|extent| extent as u64);
    if height > 1 && to.row_bytes == width && from.row_bytes == width {
        (width, height) = (width * height, 1);
    }
    if height == 1 && depth > 1 && to.slice_bytes == width && from.slice_bytes == width {
        (width, depth) = (width * depth, 1);
    }
    if width == 0 {
        return;
    }
    for slice in 0..depth {
        for row in 0..height {
            let (address, source) = (to.row(slice, row), from.row(slice, row));
            session().copy(direction, address, source, width, stream);
            runtime.in_situ.host_wrote(address, width, into);
        }
    }
}

pub fn note_fill(memory: Rows, value: u8, size: [usize; 3], into: StreamArgument) {
    let runtime = runtime();
    let [mut width, mut rows, depth] = size.map(|extent| extent as u64);
    if width == 0 || depth == 0 {
        return;
    }
    runtime.device();
    if runtime.graphs.comes_later(into) {
        return;
    }
    let stream = runtime.stream(into);
    if rows > 1 && memory.row_bytes == width {
        (width, rows) = (width * rows, 1);
    }
    for slice in 0..depth {
        for row in 0..rows {
            let address = memory.row(slice, row);
            session().memset(address, width, value, stream);
            runtime.in_situ.host_wrote(address, width, into);
        }
    }
}

pub fn note_fill_node(fill: &cudaMemsetParams, into: StreamArgument) {
    let memory = Rows::new(fill.dst as u64, fill.pitch);
    let width = fill.width * fill.elementSize as usize;
    note_fill(memory, fill.value as u8, [width, fill.height, 1], into);
}

pub fn note_driver_3d(c: &CUDA_MEMCPY3D_v2, into: StreamArgument) {
    let (first, offset) = (
        [c.dstHost as u64, c.dstDevice],
        [c.dstXInBytes, c.dstY, c.dstZ],
    );
    let to = side(c.dstMemoryType, first, offset, [c.dstPitch, c.dstHeight]);
    let (first, offset) = (
        [c.srcHost as u64, c.srcDevice],
        [c.srcXInBytes, c.srcY, c.srcZ],
    );
    let from = side(c.srcMemoryType, first, offset, [c.srcPitch, c.srcHeight]);
    note_sides(to, from, [c.WidthInBytes, c.Height, c.Depth], into);
}

pub fn note_driver_2d(c: &CUDA_MEMCPY2D_v2, into: StreamArgument) {
    let (first, offset) = ([c.dstHost as u64, c.dstDevice], [c.dstXInBytes, c.dstY, 0]);
    let to = side(c.dstMemoryType, first, offset, [c.dstPitch, 0]);
    let (first, offset) = ([c.srcHost as u64, c.srcDevice], [c.srcXInBytes, c.srcY, 0]);
    let from = side(c.srcMemoryType, first, offset, [c.srcPitch, 0]);
    note_sides(to, from, [c.WidthInBytes, c.Height, 1], into);
}

/// Returns one side of a copy, or `None` if it is an array.
fn side(
    kind: CUmemorytype,
    [host, device]: [u64; 2],
    offset: [usize; 3],
    pitches: [usize; 2],
) -> Option<Rows> {
    match kind {
        CUmemorytype::CU_MEMORYTYPE_HOST => Some(Rows::within(host, offset, pitches)),
        CUmemorytype::CU_MEMORYTYPE_ARRAY => None,
        _ => Some(Rows::within(device, offset, pitches)),
    }
}

fn note_sides(to: Option<Rows>, from: Option<Rows>, size: [usize; 3], into: StreamArgument) {
    match (to, from) {
        (Some(to), Some(from)) => {
            let on_device = || [from, to].map(|side| is_on_device(side.address));
            note_copy(to, from, on_device, size, into);
        }
        _ => session().gap(Gap::ArrayCopy),
    }
}
