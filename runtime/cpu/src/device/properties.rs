//! The device that programs see: an sm_90 with the limits of an H100, whatever the host. Grid sizes that programs derive from the number
//! of multiprocessors are then the same everywhere, and the same as on the GPU.

use crate::memory;
use crate::runtime::{COMPUTE_CAPABILITY, DEVICE_NAME};
use std::ffi::{c_char, c_int, c_uint};
use superstep_runtime_core::limits::{MOST_GRID, MOST_THREADS, MOST_THREADS_BY_DIMENSION};

pub const MULTIPROCESSORS: u32 = 132;
/// Threads of a multiprocessor.
pub const MOST_THREADS_PER_MULTIPROCESSOR: u32 = 2048;
/// CTAs of a multiprocessor.
pub const MOST_CTAS_PER_MULTIPROCESSOR: u32 = 32;
/// Shared memory of a CTA without and with asking for more, and of a multiprocessor.
pub const SHARED_BYTES: usize = 48 << 10;
pub const SHARED_OPT_IN_BYTES: usize = 227 << 10;
pub const SHARED_MULTIPROCESSOR_BYTES: usize = 228 << 10;
/// Shared memory that the system takes of each CTA.
pub const SHARED_RESERVED_BYTES: usize = 1 << 10;
/// Registers of a CTA and of a multiprocessor.
pub const REGISTERS: i32 = 65536;
pub const CONSTANT_BYTES: usize = 64 << 10;
const CLOCK_KHZ: i32 = 1_980_000;
const MEMORY_CLOCK_KHZ: i32 = 2_619_000;
const MEMORY_BUS_BITS: i32 = 5120;
const L2_BYTES: i32 = 50 << 20;
const MOST_PITCH: i32 = i32::MAX;

/// `cudaDeviceProp` of CUDA 12.9.
#[repr(C)]
pub struct DeviceProperties {
    pub name: [c_char; 256],
    pub uuid: [u8; 16],
    pub luid: [c_char; 8],
    pub luid_device_node_mask: c_uint,
    pub total_global_mem: usize,
    pub shared_mem_per_block: usize,
    pub regs_per_block: c_int,
    pub warp_size: c_int,
    pub mem_pitch: usize,
    pub max_threads_per_block: c_int,
    pub max_threads_dim: [c_int; 3],
    pub max_grid_size: [c_int; 3],
    pub clock_rate: c_int,
    pub total_const_mem: usize,
    pub major: c_int,
    pub minor: c_int,
    pub texture_alignment: usize,
    pub texture_pitch_alignment: usize,
    pub device_overlap: c_int,
    pub multi_processor_count: c_int,
    pub kernel_exec_timeout_enabled: c_int,
    pub integrated: c_int,
    pub can_map_host_memory: c_int,
    pub compute_mode: c_int,
    /// Limits of textures and surfaces, from `maxTexture1D` to `maxSurfaceCubemapLayered`: there are none.
    pub texture_limits: [c_int; 40],
    pub surface_alignment: usize,
    pub concurrent_kernels: c_int,
    pub ecc_enabled: c_int,
    pub pci_bus_id: c_int,
    pub pci_device_id: c_int,
    pub pci_domain_id: c_int,
    pub tcc_driver: c_int,
    pub async_engine_count: c_int,
    pub unified_addressing: c_int,
    pub memory_clock_rate: c_int,
    pub memory_bus_width: c_int,
    pub l2_cache_size: c_int,
    pub persisting_l2_cache_max_size: c_int,
    pub max_threads_per_multi_processor: c_int,
    pub stream_priorities_supported: c_int,
    pub global_l1_cache_supported: c_int,
    pub local_l1_cache_supported: c_int,
    pub shared_mem_per_multiprocessor: usize,
    pub regs_per_multiprocessor: c_int,
    pub managed_memory: c_int,
    pub is_multi_gpu_board: c_int,
    pub multi_gpu_board_group_id: c_int,
    pub host_native_atomic_supported: c_int,
    pub single_to_double_precision_perf_ratio: c_int,
    pub pageable_memory_access: c_int,
    pub concurrent_managed_access: c_int,
    pub compute_preemption_supported: c_int,
    pub can_use_host_pointer_for_registered_mem: c_int,
    pub cooperative_launch: c_int,
    pub cooperative_multi_device_launch: c_int,
    pub shared_mem_per_block_optin: usize,
    pub pageable_memory_access_uses_host_page_tables: c_int,
    pub direct_managed_mem_access_from_host: c_int,
    pub max_blocks_per_multi_processor: c_int,
    pub access_policy_max_window_size: c_int,
    pub reserved_shared_mem_per_block: usize,
    pub host_register_supported: c_int,
    pub sparse_cuda_array_supported: c_int,
    pub host_register_read_only_supported: c_int,
    pub timeline_semaphore_interop_supported: c_int,
    pub memory_pools_supported: c_int,
    pub gpu_direct_rdma_supported: c_int,
    pub gpu_direct_rdma_flush_writes_options: c_uint,
    pub gpu_direct_rdma_writes_ordering: c_int,
    pub memory_pool_supported_handle_types: c_uint,
    pub deferred_mapping_cuda_array_supported: c_int,
    pub ipc_event_supported: c_int,
    pub cluster_launch: c_int,
    pub unified_function_pointers: c_int,
    pub reserved: [c_int; 63],
}

impl DeviceProperties {
    /// The properties of a device: they differ in number and place.
    pub fn new(device: c_int) -> Self {
        // SAFETY: the structure consists of integers, for which zero is a value.
        let mut properties: DeviceProperties = unsafe { std::mem::zeroed() };
        for (place, byte) in properties.name.iter_mut().zip(DEVICE_NAME.bytes()) {
            *place = byte as c_char;
        }
        properties.uuid = *b"superstep-cpu-00";
        properties.uuid[15] += device as u8;
        properties.pci_bus_id = device;
        properties.total_global_mem = memory::total_bytes() as usize;
        properties.shared_mem_per_block = SHARED_BYTES;
        properties.regs_per_block = REGISTERS;
        properties.warp_size = 32;
        properties.mem_pitch = MOST_PITCH as usize;
        properties.max_threads_per_block = MOST_THREADS as c_int;
        properties.max_threads_dim = MOST_THREADS_BY_DIMENSION.map(|n| n as c_int);
        properties.max_grid_size = MOST_GRID.map(|n| n as c_int);
        properties.clock_rate = CLOCK_KHZ;
        properties.total_const_mem = CONSTANT_BYTES;
        properties.major = COMPUTE_CAPABILITY[0] as c_int;
        properties.minor = COMPUTE_CAPABILITY[1] as c_int;
        properties.texture_alignment = 512;
        properties.texture_pitch_alignment = 32;
        properties.device_overlap = 1;
        properties.multi_processor_count = MULTIPROCESSORS as c_int;
        properties.can_map_host_memory = 1;
        properties.surface_alignment = 512;
        properties.concurrent_kernels = 1;
        properties.async_engine_count = 3;
        properties.unified_addressing = 1;
        properties.memory_clock_rate = MEMORY_CLOCK_KHZ;
        properties.memory_bus_width = MEMORY_BUS_BITS;
        properties.l2_cache_size = L2_BYTES;
        properties.max_threads_per_multi_processor = MOST_THREADS_PER_MULTIPROCESSOR as c_int;
        properties.stream_priorities_supported = 1;
        properties.global_l1_cache_supported = 1;
        properties.local_l1_cache_supported = 1;
        properties.shared_mem_per_multiprocessor = SHARED_MULTIPROCESSOR_BYTES;
        properties.regs_per_multiprocessor = REGISTERS;
        properties.managed_memory = 1;
        properties.single_to_double_precision_perf_ratio = 2;
        properties.concurrent_managed_access = 1;
        properties.cooperative_launch = 1;
        properties.compute_preemption_supported = 1;
        properties.can_use_host_pointer_for_registered_mem = 1;
        properties.shared_mem_per_block_optin = SHARED_OPT_IN_BYTES;
        properties.max_blocks_per_multi_processor = MOST_CTAS_PER_MULTIPROCESSOR as c_int;
        properties.reserved_shared_mem_per_block = SHARED_RESERVED_BYTES;
        properties.host_register_supported = 1;
        properties.memory_pools_supported = 1;
        properties
    }
}

/// The value of a device attribute by its number in `cudaDeviceAttr`; `None` for numbers that do not exist. What is not supported is 0.
pub fn attribute(number: c_int) -> Option<c_int> {
    Some(match number {
        1..=3 => 1024,
        4 => 64,
        5 => 0x7fff_ffff,
        6 | 7 => 65535,
        8 => SHARED_BYTES as c_int,
        9 => CONSTANT_BYTES as c_int,
        10 => 32,
        11 => MOST_PITCH,
        12 | 82 => REGISTERS,
        13 => CLOCK_KHZ,
        14 | 30 => 512,
        15 | 19 | 31 | 41 | 78 | 79 | 80 | 83 | 89 | 90 | 91 | 95 | 99 | 115 => 1,
        16 => MULTIPROCESSORS as c_int,
        36 => MEMORY_CLOCK_KHZ,
        37 => MEMORY_BUS_BITS,
        38 => L2_BYTES,
        39 => MOST_THREADS_PER_MULTIPROCESSOR as c_int,
        40 => 3,
        51 => 32,
        75 => COMPUTE_CAPABILITY[0] as c_int,
        76 => COMPUTE_CAPABILITY[1] as c_int,
        81 => SHARED_MULTIPROCESSOR_BYTES as c_int,
        87 => 2,
        97 => SHARED_OPT_IN_BYTES as c_int,
        106 => MOST_CTAS_PER_MULTIPROCESSOR as c_int,
        111 => SHARED_RESERVED_BYTES as c_int,
        17..=143 => 0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
