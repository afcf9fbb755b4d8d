#!/bin/sh
# Builds the stress program and the modules that it loads: sh build.sh CUDA_FOLDER OUTPUT_FOLDER LIBRARY_FOLDER
# CUDA_FOLDER contains bin (ptxas, fatbinary), include and lib64; LIBRARY_FOLDER contains libsuperstep_cuda.so.
# LLVM_SUFFIX selects a version of LLVM other than 22 (for example LLVM_SUFFIX=-21).
set -eu
cuda=$1 out=$2 library=$3
here=$(cd "$(dirname "$0")" && pwd)
llvm=${LLVM_SUFFIX--22}
arch=${ARCH-sm_90}
mkdir -p "$out"
device="clang++$llvm -x cuda --cuda-path=$cuda --cuda-device-only --cuda-gpu-arch=$arch -O2 -c -emit-llvm -Wno-unknown-cuda-version"
site() { printf '{"id":%s,"function":"stress","file":"stress.cu","line":1,"column":1,"op":"%s","width_bytes":%s,"proof":"proven"}' "$@"; }
kernel() { printf '{"name":"%s","display_name":"%s","parameters":%s}' "$1" "$1" "$2"; }
sites="$(site 0 load 4),$(site 1 load 0),$(site 2 store 8),$(site 3 atomic_add 4),$(site 4 load 4)"
for build in trace stream count; do
  case $build in
  trace) probe=trace protocol=thesis handler=probe_trace_thesis ;;
  stream) probe=trace protocol=stream handler=probe_trace_stream ;;
  count) probe=count protocol=thesis handler=probe_count ;;
  esac
  $device "$here/stress.cu" -o "$out/stress.bc"
  $device "$here/../../device/$handler.cu" -o "$out/handler.bc"
  "llvm-link$llvm" "$out/stress.bc" "$out/handler.bc" -o "$out/linked.bc"
  "opt$llvm" -passes='internalize,default<O2>' -internalize-public-api-list=stress,relay "$out/linked.bc" -o "$out/inlined.bc"
  "llc$llvm" -mcpu="$arch" -mattr=+ptx88 -O3 "$out/inlined.bc" -o "$out/stress.ptx"
  "$cuda/bin/ptxas" -arch="$arch" -v "$out/stress.ptx" -o "$out/stress.cubin"
  "$cuda/bin/fatbinary" --create="$out/$build.fatbin" -64 --image3=kind=elf,sm="${arch#sm_}",file="$out/stress.cubin"
  printf '{"schema_version":1,"module":0,"name":"stress.cu","backend":"cuda","probe":"%s","sites":[%s],"kernels":[%s,%s]}' \
    $probe "$sites" "$(kernel stress 4)" "$(kernel relay 2)" >"$out/$build.json"
  printf 'stress\t0\t%s\t%s.fatbin\t%s.json\n' $protocol $build $build >"$out/$build.txt"
done
printf 'superstep-module stress\n\0' >"$out/stress.image"
clang++"$llvm" -x cuda --cuda-path="$cuda" --cuda-host-only -O2 -c -Wno-unknown-cuda-version \
  -Xclang -fcuda-include-gpubinary -Xclang "$out/stress.image" "$here/stress.cu" -o "$out/stress.o"
clang++"$llvm" "$out/stress.o" -o "$out/stress" -L"$library" -lsuperstep_cuda -L"$cuda/lib64" -l:libcudart.so.12 -Wl,-rpath,'$ORIGIN'
