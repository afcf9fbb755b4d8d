//! Records the program's memory: the host's allocations, copies and fills, device variables, and the `malloc` heap.

use super::runtime::{Runtime, runtime, session};
use crate::cuda::device::{current_device, symbol_address};
use crate::cuda::memory::is_on_device;
use crate::cuda::{CudaError, GraphNode, StreamArgument, driver};
use crate::model::modules::Kernel;
use crate::model::{device_heap, globals};
use cudarc::driver::sys::{CUDA_MEMCPY2D_v2, CUmemorytype};
use std::cell::LazyCell;
use std::ffi::c_void;
use superstep_runtime_core::AllocatedBy;
use superstep_runtime_core::cuda::direction;
use superstep_trace::{AllocationKind, DEVICE_HEAP, Gap, Probe, StreamId};

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

    /// Records that the program opened another process's memory, from `address` to the end of the allocation.
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
                    "failed to find the size of another process's memory at {address:#x} ({status}); accesses there count as \
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

    /// Records new device variables: those that the program's host code names, and all variables in the module of
    /// `kernel`. This loads their modules.
    pub fn record_variables(&self, kernel: &Kernel) {
        let device = current_device();
        self.record_named_variables(device);
        self.record_table(device, kernel);
        // The program may change the heap's size until this launch.
        if self.modules.lock().allocates_first(device, &kernel.name) {
            self.record_device_heap();
        }
    }

    fn record_table(&self, device: i32, kernel: &Kernel) {
        if kernel.probe != Some(Probe::Trace)
            || !self.modules.lock().table_is_new(device, kernel.binary)
        {
            return;
        }
        match globals::of_kernel(kernel.stub) {
            Ok(table) => {
                self.modules.lock().add_allocating(device, table.allocating);
                for variable in table.variables {
                    if !session().is_allocated(variable.address) {
                        self.record_variable(variable.address, variable.bytes, variable.name);
                    }
                }
            }
            Err(error) => session().warning(format!(
                "{error}; variables that the host code does not name may be reported as outside all allocations"
            )),
        }
    }

    fn record_device_heap(&self) {
        match device_heap::extent() {
            Ok((address, bytes)) if !session().is_allocated(address) => {
                self.record_variable(address, bytes, DEVICE_HEAP.to_owned());
            }
            Ok(_) => {}
            Err(error) => session().warning(format!(
                "{error}; blocks that kernels allocate may be reported as outside all allocations"
            )),
        }
    }

    fn record_named_variables(&self, device: i32) {
        let variables = self.modules.lock().new_variables(device).to_vec();
        for variable in variables {
            let address = if variable.managed {
                // SAFETY: a managed variable's shadow is a pointer, which the runtime has set by now.
                Ok(unsafe { *(variable.host as *const *mut c_void) } as u64)
            } else {
                symbol_address(variable.host as *const c_void)
            };
            match address {
                Ok(address) => self.record_variable(address, variable.bytes, variable.name),
                Err(status) => {
                    let doing = format!("find the device variable {}", variable.name);
                    session().warning(CudaError::of(doing)(status));
                }
            }
        }
    }

    fn record_variable(&self, address: u64, bytes: u64, name: String) {
        self.allocated(address, bytes, AllocationKind::Symbol { name });
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

    /// Returns the rows that begin at byte `x` of row `y` in slice `z` of memory that begins at `first`. `height` is
    /// the number of rows from one slice to the next.
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

/// Records a copy of bytes x rows x slices. `on_device` specifies whether source and destination are on the device.
pub fn record_copy(
    to: Rows,
    from: Rows,
    on_device: impl FnOnce() -> [bool; 2],
    size: [usize; 3],
    into: StreamArgument,
) {
    let between = LazyCell::new(|| {
        let [from_device, to_device] = on_device();
        direction(from_device, to_device)
    });
    record_pieces(to, Some(from), size, into, |to, from, bytes, stream| {
        session().copy(*between, to, from, bytes, stream);
    });
}

pub fn record_fill(memory: Rows, value: u8, size: [usize; 3], into: StreamArgument) {
    record_pieces(memory, None, size, into, |to, _, bytes, stream| {
        session().memset(to, bytes, value, stream);
    });
}

/// Splits a box of bytes x rows x slices into as few pieces as possible for a copy, or at least one per slice for a
/// fill. Calls `record` with each piece's size and its addresses in `to` and `from`.
fn record_pieces(
    to: Rows,
    from: Option<Rows>,
    size: [usize; 3],
    into: StreamArgument,
    record: impl Fn(u64, u64, u64, StreamId),
) {
    let runtime = runtime();
    runtime.device();
    // Each launch of the graph records the copy or fill.
    if runtime.graphs.is_deferred(into) {
        return;
    }
    let stream = runtime.stream(into);
    let sides = [to, from.unwrap_or(to)];
    let [mut width, mut height, mut depth] = size.map(|extent| extent as u64);
    if height > 1 && sides.iter().all(|side| side.row_bytes == width) {
        (width, height) = (width * height, 1);
    }
    let is_dense = sides.iter().all(|side| side.slice_bytes == width);
    if from.is_some() && height == 1 && depth > 1 && is_dense {
        (width, depth) = (width * depth, 1);
    }
    if width == 0 {
        return;
    }
    for slice in 0..depth {
        for row in 0..height {
            let [address, source] = sides.map(|side| side.row(slice, row));
            record(address, source, width, stream);
            runtime.in_situ.host_wrote(address, width, into);
        }
    }
}

pub fn record_fill_node(node: GraphNode, into: StreamArgument) -> Result<(), CudaError> {
    let fill = node.fill()?;
    let memory = Rows::new(fill.dst as u64, fill.pitch);
    let width = fill.width * fill.elementSize as usize;
    record_fill(memory, fill.value as u8, [width, fill.height, 1], into);
    Ok(())
}

pub fn record_copy_node(node: GraphNode, into: StreamArgument) -> Result<(), CudaError> {
    let c = node.copy()?;
    let first = [c.dstHost as u64, c.dstDevice];
    let offset = [c.dstXInBytes, c.dstY, c.dstZ];
    let to = side(c.dstMemoryType, first, offset, [c.dstPitch, c.dstHeight]);
    let first = [c.srcHost as u64, c.srcDevice];
    let offset = [c.srcXInBytes, c.srcY, c.srcZ];
    let from = side(c.srcMemoryType, first, offset, [c.srcPitch, c.srcHeight]);
    record_sides(to, from, [c.WidthInBytes, c.Height, c.Depth], into);
    Ok(())
}

pub fn record_driver_2d(c: &CUDA_MEMCPY2D_v2, into: StreamArgument) {
    let (first, offset) = ([c.dstHost as u64, c.dstDevice], [c.dstXInBytes, c.dstY, 0]);
    let to = side(c.dstMemoryType, first, offset, [c.dstPitch, 0]);
    let (first, offset) = ([c.srcHost as u64, c.srcDevice], [c.srcXInBytes, c.srcY, 0]);
    let from = side(c.srcMemoryType, first, offset, [c.srcPitch, 0]);
    record_sides(to, from, [c.WidthInBytes, c.Height, 1], into);
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

fn record_sides(to: Option<Rows>, from: Option<Rows>, size: [usize; 3], into: StreamArgument) {
    match (to, from) {
        (Some(to), Some(from)) => {
            let on_device = || [from, to].map(|side| is_on_device(side.address));
            record_copy(to, from, on_device, size, into);
        }
        _ => session().gap(Gap::ArrayCopy),
    }
}
