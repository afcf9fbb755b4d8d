// Declarations in a separate file, as in real programs.
texture<float, 1, cudaReadModeElementType> linear;
texture<uchar4, cudaTextureType1D, cudaReadModeNormalizedFloat> bytes_as_floats;
static texture<short2, 1, cudaReadModeNormalizedFloat> shorts_as_floats;
texture<float> smooth_line;
texture<float, 2> image;
texture<float, 2, cudaReadModeElementType> wrapped_image(1, cudaFilterModeLinear, cudaAddressModeWrap);
texture<float, 2> mirrored_image;
texture<float, 2> bordered_image;
texture<float, 3> solid(0, cudaFilterModeLinear, cudaAddressModeClamp);
texture<int4, cudaTextureType2DLayered> stack;
texture<int, cudaTextureType1DLayered> lines;
static texture<uint4, 2> nothing;
