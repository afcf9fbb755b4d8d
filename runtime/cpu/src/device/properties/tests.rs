//! Tests of `properties`.

use super::*;
use std::mem::{offset_of, size_of};

/// The offsets that a C compiler gives `cudaDeviceProp` in the headers of CUDA 12.9.
#[test]
fn properties_have_the_layout_of_the_headers() {
    type Properties = DeviceProperties;
    assert_eq!(offset_of!(Properties, total_global_mem), 288);
    assert_eq!(offset_of!(Properties, max_grid_size), 336);
    assert_eq!(offset_of!(Properties, major), 360);
    assert_eq!(offset_of!(Properties, multi_processor_count), 388);
    assert_eq!(offset_of!(Properties, compute_mode), 404);
    assert_eq!(offset_of!(Properties, texture_limits), 408);
    assert_eq!(offset_of!(Properties, surface_alignment), 568);
    assert_eq!(offset_of!(Properties, max_threads_per_multi_processor), 624);
    assert_eq!(offset_of!(Properties, shared_mem_per_multiprocessor), 640);
    assert_eq!(offset_of!(Properties, shared_mem_per_block_optin), 696);
    assert_eq!(offset_of!(Properties, reserved_shared_mem_per_block), 720);
    assert_eq!(offset_of!(Properties, unified_function_pointers), 776);
    assert_eq!(size_of::<DeviceProperties>(), 1032);
}

#[test]
fn attributes_agree_with_properties() {
    let properties = DeviceProperties::new(0);
    assert_eq!(attribute(16), Some(properties.multi_processor_count));
    assert_eq!(attribute(8), Some(properties.shared_mem_per_block as c_int));
    assert_eq!((attribute(75), attribute(76)), (Some(9), Some(0)));
    assert_eq!((attribute(0), attribute(144)), (None, None));
    assert_eq!(attribute(95), Some(properties.cooperative_launch));
}
