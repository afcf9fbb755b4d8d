//! The structures that both runtimes look into have the layout of NVIDIA's headers, from which cudarc's are generated.

use cudarc::runtime::sys::{
    cudaExtent, cudaLaunchConfig_t, cudaMemcpy3DParms, cudaPitchedPtr, cudaPos, dim3,
};
use std::mem::offset_of;
use superstep_runtime_core::cuda::{Copy3d, Dim3, Extent, LaunchConfig, PitchedPointer, Position};

macro_rules! same {
    ($ours:ty, $theirs:ty: $($field:ident = $name:ident),*) => {
        assert_eq!(size_of::<$ours>(), size_of::<$theirs>());
        $(assert_eq!(offset_of!($ours, $field), offset_of!($theirs, $name));)*
    };
}

#[test]
fn structures_have_the_layout_of_the_headers() {
    same!(Dim3, dim3: x = x, y = y, z = z);
    same!(Extent, cudaExtent: width = width, height = height, depth = depth);
    same!(Position, cudaPos: x = x, y = y, z = z);
    same!(PitchedPointer, cudaPitchedPtr: pointer = ptr, pitch = pitch, width = xsize, height = ysize);
    same!(LaunchConfig, cudaLaunchConfig_t:
        grid = gridDim, block = blockDim, shared_bytes = dynamicSmemBytes, stream = stream,
        attributes = attrs, attribute_count = numAttrs);
    same!(Copy3d, cudaMemcpy3DParms:
        source_array = srcArray, source_position = srcPos, source = srcPtr, destination_array = dstArray,
        destination_position = dstPos, destination = dstPtr, extent = extent, kind = kind);
}
