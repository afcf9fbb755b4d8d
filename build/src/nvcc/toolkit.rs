//! The folder that a project uses as its CUDA toolkit: `nvcc`, headers, and a stub of the runtime library.
//!
//! ```text
//! <cache>/toolkit-<hash>/
//!   bin/nvcc                  starts `superstep nvcc` with the tools that the folder was created for
//!   include, nvvm             links to the CUDA files that Superstep compiles with and to proprietary headers
//!   proprietary               link to a folder with only the proprietary headers (`proprietary.rs`)
//!   lib64/libcudart_stub.a    `compile/link/cudart_stub.c`
//!   lib64/libcudart_static.a  linker script for it, and for LLVM's OpenMP if host code uses OpenMP
//!   lib64/libcudart.so        the same linker script; there is no shared stub
//!   lib64/libcudadevrt.a      empty, like libculibos.a
//!   lib64/libcublas.so        and other proprietary libraries (`proprietary.rs`)
//!   lib64/stubs               stubs of the driver's libraries (`compile/link/driver.rs`)
//!   version.json
//! ```

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use superstep_toolchain::variable::{CACHE, CUDA, LLVM, ROOT};

use superstep_toolchain::{Progress, Toolchain};

use super::proprietary::{self, ProprietaryFolder};
use crate::compile::link::loaded::write_script;
use crate::compile::steps::hash::{self, KeyHasher};
use crate::compile::steps::stage::quote_path;
use crate::compile::{BuildError, Builder, DEFAULT_ARCH, DRIVERS, Result};

/// Version of the folder's contents.
const LAYOUT: &str = "6";

/// Environment variable with the architecture of the GPU that programs will run on, such as 90 for sm_90. If a command
/// line names more than one architecture, this GPU determines which is used.
const ARCH_VARIABLE: &str = "SUPERSTEP_ARCH";
/// Environment variable with the toolkit folder that an nvcc stand-in belongs to.
pub const TOOLKIT_VARIABLE: &str = "SUPERSTEP_TOOLKIT";

pub(super) fn requested_arch() -> u32 {
    let value = std::env::var(ARCH_VARIABLE).unwrap_or_default();
    value.parse().unwrap_or(DEFAULT_ARCH)
}

const PROFILER: &str = include_str!("../../../harness/compatibility/include/cuda_profiler_api.h");

pub struct Toolkit {
    pub root: PathBuf,
    cuda: PathBuf,
}

impl Toolkit {
    /// Returns the toolkit folder for these tools in `cache`, creating it if it does not exist. `arch` is the
    /// architecture of the GPU that programs are compiled for.
    pub fn make(builder: &Builder, cache: &Path, arch: u32) -> Result<Self> {
        let toolchain = &builder.toolchain;
        let stub = builder.cudart_stub()?;
        let script = script(builder, cache, arch);
        let proprietary = ProprietaryFolder::new(toolchain, cache);
        proprietary.prepare()?;
        let stub_hash = hash::of_file(&stub).map_err(BuildError::io("read", &stub))?;
        let openmp = toolchain.llvm.prefix.join("lib/libomp.so");
        let openmp = openmp.is_file().then_some(openmp);
        let mut key = KeyHasher::new("toolkit");
        key.text(&script).text(LAYOUT);
        key.list([&proprietary.root]).text(&stub_hash).list(&openmp);
        let root = cache.join(format!("toolkit-{}", &key.finish()[..12]));
        let cuda = toolchain.cuda.root.clone();
        if !root.is_dir() {
            fs::create_dir_all(cache).map_err(BuildError::io("create the cache folder", cache))?;
            let staging = tempfile::Builder::new()
                .prefix("toolkit-")
                .suffix(".part")
                .tempdir_in(cache)
                .map_err(BuildError::io("create a folder in", cache))?;
            fill(staging.path(), toolchain, &script, &proprietary)
                .map_err(BuildError::io("write", &root))?;
            let archive = "lib64/libcudart_stub.a";
            let mut ar = Command::new("ar");
            run(ar.arg("rcs").args([&staging.path().join(archive), &stub]))?;
            // Clang compiles the host code of CUDA files, so this code needs LLVM's OpenMP whichever linker is used.
            let openmp = openmp.map_or(String::new(), |path| {
                format!(" AS_NEEDED(\"{}\")", path.display())
            });
            // Like a shared library, the script can come before the objects that need it.
            let script = format!(
                "EXTERN(cudaMalloc)\nINPUT(\"{}\"{openmp})\n",
                root.join(archive).display()
            );
            for name in ["lib64/libcudart_static.a", "lib64/libcudart.so"] {
                let place = staging.path().join(name);
                fs::write(&place, &script).map_err(BuildError::io("write", &place))?;
            }
            put_drivers(staging.path(), &root, builder)?;
            fs::set_permissions(staging.path(), fs::Permissions::from_mode(0o755))
                .map_err(BuildError::io("write", &root))?;
            place(staging.path(), &root)?;
        }
        Ok(Self { root, cuda })
    }

    pub fn add(
        toolchain: &Toolchain,
        cache: &Path,
        names: &[&str],
        progress: Progress,
    ) -> Result<()> {
        let proprietary = ProprietaryFolder::new(toolchain, cache);
        proprietary.prepare()?;
        let mut names = names.iter();
        names.try_for_each(|name| proprietary.add(toolchain, name, progress))
    }

    pub fn variables(&self) -> Vec<(&'static str, OsString)> {
        let mut path = self.root.join("bin").into_os_string();
        if let Some(inherited) = std::env::var_os("PATH").filter(|path| !path.is_empty()) {
            path.push(":");
            path.push(inherited);
        }
        let root_variables = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CUDAToolkit_ROOT"];
        let mut variables = Vec::from(root_variables.map(|name| (name, self.root.clone().into())));
        variables.extend([
            ("PATH", path),
            ("CUDACXX", self.root.join("bin/nvcc").into()),
            // `superstep` itself reads CUDA_PATH too.
            (CUDA, self.cuda.clone().into()),
        ]);
        variables
    }
}

fn script(builder: &Builder, cache: &Path, arch: u32) -> String {
    let root = builder.installation.root.as_deref();
    let (cache, root) = (quote_path(cache), quote_path(root.unwrap_or(Path::new(""))));
    let superstep = quote_path(builder.installation.binaries.join("superstep"));
    let cuda = quote_path(&builder.toolchain.cuda.root);
    let llvm = quote_path(&builder.toolchain.llvm.prefix);
    format!(
        "#!/bin/sh\n{TOOLKIT_VARIABLE}=$(dirname \"$(dirname \"$0\")\") {CUDA}={cuda} {LLVM}={llvm} {CACHE}={cache} {ROOT}={root} {ARCH_VARIABLE}=${{{ARCH_VARIABLE}:-{arch}}} exec {superstep} nvcc \"$@\"\n"
    )
}

/// Renames a finished folder. If another process has already created `folder`, that folder is kept.
pub(super) fn place(staging: &Path, folder: &Path) -> Result<()> {
    match fs::rename(staging, folder) {
        Err(error) if !folder.is_dir() => Err(BuildError::io("create", folder)(error)),
        _ => Ok(()),
    }
}

fn fill(
    root: &Path,
    toolchain: &Toolchain,
    script: &str,
    proprietary: &ProprietaryFolder,
) -> std::io::Result<()> {
    for folder in ["bin", "include", "lib64"] {
        fs::create_dir(root.join(folder))?;
    }
    let link = |relative: PathBuf| symlink(proprietary.root.join(&relative), root.join(relative));
    for header in proprietary.headers() {
        link(Path::new("include").join(header))?;
    }
    for entry in fs::read_dir(&toolchain.cuda.include)? {
        let entry = entry?;
        let place = root.join("include").join(entry.file_name());
        if !place.is_symlink() {
            symlink(entry.path(), place)?;
        }
    }
    let profiler = root.join("include/cuda_profiler_api.h");
    if !profiler.is_symlink() {
        fs::write(profiler, PROFILER)?;
    }
    symlink(proprietary.root.join("include"), root.join("proprietary"))?;
    for library in proprietary.libraries() {
        link(Path::new("lib64").join(format!("lib{library}.so")))?;
    }
    write_script(&root.join("bin/nvcc"), script)?;
    let nvvm = root.join("nvvm");
    fs::create_dir(&nvvm)?;
    let libdevice = toolchain.cuda.root.join("nvvm/libdevice");
    symlink(libdevice, nvvm.join("libdevice"))?;
    for folder in ["include", "lib64"] {
        symlink(Path::new("..").join(folder), nvvm.join(folder))?;
    }
    for name in ["libcudadevrt.a", "libculibos.a"] {
        fs::write(root.join("lib64").join(name), "!<arch>\n")?;
    }
    let version = serde_json::json!({
        "cuda": { "name": "CUDA SDK", "version": toolchain.cuda.version.to_string() }
    });
    fs::write(root.join("version.json"), format!("{version:#}\n"))
}

fn put_drivers(staging: &Path, root: &Path, builder: &Builder) -> Result<()> {
    let folder = staging.join("lib64/stubs");
    fs::create_dir_all(&folder).map_err(BuildError::io("create", &folder))?;
    for driver in &DRIVERS {
        let Some(library) = builder.driver(driver)? else {
            continue;
        };
        let place = folder.join(driver.file);
        fs::copy(library, &place).map_err(BuildError::io("write", &place))?;
        let script = proprietary::linker_script(&root.join("lib64/stubs").join(driver.file));
        let place = folder.join(format!("lib{}.so", driver.link));
        fs::write(&place, script).map_err(BuildError::io("write", &place))?;
    }
    Ok(())
}

pub(super) fn run(command: &mut Command) -> Result<()> {
    let output = command.output();
    let output = output.map_err(BuildError::tool(command.get_program()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(BuildError::Command {
        subject: "the toolkit folder".into(),
        stage: "toolkit",
        status: format!("failed with {}", output.status),
        command: format!("{command:?}"),
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
