//! Compares the layouts of structures with those in NVIDIA's headers, from which cudarc's structures are generated.

use cudarc::runtime::sys::{cudaKernelNodeParams, cudaKernelNodeParamsV2, cudaMemcpy3DParms};
use std::mem::offset_of;
use superstep_runtime_core::cuda::Copy3d;

macro_rules! same {
    ($ours:ty, $theirs:ty: $($field:ident = $name:ident),*) => {
        assert_eq!(size_of::<$ours>(), size_of::<$theirs>());
        $(assert_eq!(offset_of!($ours, $field), offset_of!($theirs, $name));)*
    };
}

#[test]
fn structures_have_the_same_layout_as_in_the_headers() {
    same!(Copy3d, cudaMemcpy3DParms:
        source_array = srcArray, source_position = srcPos, source = srcPtr, destination_array = dstArray,
        destination_position = dstPos, destination = dstPtr, extent = extent, kind = kind);
    same!(cudaKernelNodeParams, cudaKernelNodeParamsV2:
        func = func, gridDim = gridDim, blockDim = blockDim, sharedMemBytes = sharedMemBytes, kernelParams = kernelParams,
        extra = extra);
}
