//! Checks a toolchain: compiles a small CUDA program for device and host, packs it and links it as in the real
//! pipeline, without a GPU.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Command;

use thiserror::Error;

use crate::cache::replace_file;
use crate::cuda::Cuda;
use crate::hash::KeyHasher;
use crate::llvm::Llvm;

/// Uses a runtime header, a libdevice function and an atomic, which together need every CUDA wheel.
const PROGRAM: &str = r#"#include <cooperative_groups.h>
#include <cstdio>
__global__ void kernel(float *values, int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cooperative_groups::this_thread_block().sync();
    if (i < n) { values[i] = powf(values[i], 1.5f); atomicAdd(count, 1); }
}
int main() {
    float *values; int *count;
    if (cudaMalloc(&values, 256) != cudaSuccess || cudaMalloc(&count, 4) != cudaSuccess) return 1;
    kernel<<<1, 64>>>(values, count, 64);
    std::printf("%d\n", (int)cudaDeviceSynchronize());
    return 0;
}
"#;

#[derive(Debug, Error)]
pub enum CheckFailure {
    #[error("{step} failed: `{command}`: {output}")]
    Step {
        step: &'static str,
        command: String,
        output: String,
    },
    #[error("{step} failed: {source}")]
    Io {
        step: &'static str,
        source: std::io::Error,
    },
    /// A signal killed a tool, so the check is inconclusive.
    #[error("{step} failed: the command was killed by signal {signal}; try again")]
    Killed { step: &'static str, signal: i32 },
    #[error("{0}")]
    Cached(String),
}

/// Compiles a small CUDA program for sm_90 and the host, packs it and links it with the shared runtime; takes about
/// two seconds and leaves nothing behind.
pub fn compile(llvm: &Llvm, cuda: &Cuda) -> Result<(), CheckFailure> {
    let io = |source| CheckFailure::Io {
        step: "preparing the check",
        source,
    };
    let dir = tempfile::tempdir().map_err(io)?;
    std::fs::write(dir.path().join("check.cu"), PROGRAM).map_err(io)?;
    let run = |step, tool: &Path, words: &str, path: &[&OsStr]| {
        let mut command = Command::new(tool);
        command.args(words.split(' ')).args(path);
        run(step, command.current_dir(dir.path()))
    };
    let (clang, ptx) = (llvm.tool("clang++"), cuda.ptx_feature());
    let flags = "-x cuda --cuda-gpu-arch=sm_90 -Wno-unknown-cuda-version -O1 -c check.cu";
    let mut cuda_path = OsString::from("--cuda-path=");
    cuda_path.push(&cuda.root);

    let words = format!("{flags} --cuda-device-only -emit-llvm -o check.bc");
    run("compiling for the device", &clang, &words, &[&cuda_path])?;
    let words = format!("-mcpu=sm_90 -mattr=+{ptx} check.bc -o check.ptx");
    run("generating PTX", &llvm.tool("llc"), &words, &[])?;
    let words = "-arch=sm_90 check.ptx -o check.cubin";
    run("assembling PTX", &cuda.ptxas, words, &[])?;
    let words = "--64 --create=check.fatbin --image3=kind=elf,sm=90,file=check.cubin --image3=kind=ptx,sm=90,file=check.ptx";
    run("packing the device code", &cuda.fatbinary, words, &[])?;
    let image = "-Xclang -fcuda-include-gpubinary -Xclang check.fatbin";
    let words = format!("{flags} --cuda-host-only {image} -o check.o");
    run("compiling for the host", &clang, &words, &[&cuda_path])?;
    let cudart = cuda.cudart.as_os_str();
    run("linking", &clang, "check.o -o check", &[cudart])
}

fn run(step: &'static str, command: &mut Command) -> Result<(), CheckFailure> {
    // The command gets its own process group, since Ctrl-C must not kill a command whose result is cached.
    let output = command.process_group(0).output();
    let output = output.map_err(|source| CheckFailure::Io { step, source })?;
    if output.status.success() {
        return Ok(());
    }
    if let Some(signal) = output.status.signal() {
        return Err(CheckFailure::Killed { step, signal });
    }
    let text = [output.stderr, output.stdout].concat();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let output: Vec<_> = lines.take(6).collect();
    Err(CheckFailure::Step {
        step,
        command: format!("{command:?}"),
        output: output.join("\n"),
    })
}

/// Runs [`compile`] and caches its result for each pair of compiler and toolkit.
pub(crate) fn cached(cache: Option<&Path>, llvm: &Llvm, cuda: &Cuda) -> Result<(), CheckFailure> {
    let Some(record) = cache.map(|cache| cache.join("toolkits").join(key(llvm, cuda))) else {
        return compile(llvm, cuda);
    };
    match std::fs::read_to_string(&record) {
        Ok(text) if text.is_empty() => return Ok(()),
        Ok(text) => return Err(CheckFailure::Cached(text)),
        Err(_) => {}
    }
    let result = compile(llvm, cuda);
    let text = match &result {
        Ok(()) => String::new(),
        Err(CheckFailure::Io { .. } | CheckFailure::Killed { .. }) => return result,
        Err(failure) => failure.to_string(),
    };
    // An empty file means success. If it cannot be written, the check runs again next time.
    let _ = replace_file(&record, |file| file.write_all(text.as_bytes()));
    result
}

/// Returns a key that changes with the tools' paths, versions and modification times, and with the check itself.
fn key(llvm: &Llvm, cuda: &Cuda) -> String {
    let mut key = KeyHasher::new(PROGRAM);
    key.list([&llvm.prefix, &cuda.root, &cuda.include])
        .text(&format!("{} {}", llvm.version, cuda.version));
    let llvm_tools = ["clang++", "llc"].map(|name| llvm.tool(name));
    let cuda_files = [&cuda.ptxas, &cuda.fatbinary, &cuda.cudart, &cuda.libdevice];
    for file in llvm_tools.iter().chain(cuda_files) {
        let changed = file.metadata().and_then(|data| data.modified()).ok();
        let since = changed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let nanoseconds = since.map_or(0, |since| since.as_nanos());
        key.list([file]).bytes(&nanoseconds.to_le_bytes());
    }
    key.finish()[..16].to_owned()
}

#[cfg(test)]
mod tests;
