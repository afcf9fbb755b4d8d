//! `superstep doctor`: what is here, what is missing, and how to mend it.

use superstep_build::compile::BuildError;
use superstep_build::exit_code;
use superstep_build::failure::Failure;
use superstep_build::installation::Installation;
use superstep_toolchain::{Toolchain, cache_dir, gpu};

/// Arguments of `superstep doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command. A missing GPU is no fault: the CPU backend serves.
pub fn run(_args: &Args) -> Result<i32, Failure> {
    let mut lines = vec![format!("superstep {}", env!("CARGO_PKG_VERSION"))];
    let mut missing = false;
    let mut line = |good: bool, name: &str, text: String| {
        missing |= !good;
        lines.push(format!(
            "{} {name}: {text}",
            if good { "ok     " } else { "MISSING" }
        ));
    };
    match Toolchain::locate() {
        Ok(tools) => {
            for (name, path) in tools.llvm.tools() {
                line(
                    true,
                    name,
                    format!("{} ({})", path.display(), tools.llvm.version),
                );
            }
            line(
                true,
                "ptxas",
                format!("{} ({})", tools.cuda.ptxas.display(), tools.cuda.version),
            );
            line(
                true,
                "fatbinary",
                tools.cuda.fatbinary.display().to_string(),
            );
            line(
                true,
                "CUDA headers",
                tools.cuda.include.display().to_string(),
            );
            line(
                true,
                "libdevice",
                tools.cuda.libdevice.display().to_string(),
            );
            line(true, "libcudart", tools.cuda.cudart.display().to_string());
        }
        Err(error) => {
            for tool in &error.tools {
                line(
                    false,
                    &tool.name,
                    format!("{}; to mend: {}", tool.why, tool.mend),
                );
            }
        }
    }
    let installation = Installation::find();
    let own: [(&str, Result<std::path::PathBuf, BuildError>); 5] = [
        ("instrumenter", installation.instrumenter()),
        ("CPU runtime", installation.cpu_runtime()),
        ("CUDA interposer", installation.cuda_runtime()),
        ("CPU device code", installation.folder("runtime/cpu/device")),
        (
            "CUDA device code",
            installation.folder("runtime/cuda/device"),
        ),
    ];
    for (name, found) in own {
        match found {
            Ok(path) => line(true, name, path.display().to_string()),
            Err(error) => line(false, name, error.to_string()),
        }
    }
    match cache_dir() {
        Some(folder) => line(true, "cache", folder.display().to_string()),
        None => line(
            false,
            "cache",
            "none of SUPERSTEP_CACHE, XDG_CACHE_HOME and HOME is set; set SUPERSTEP_CACHE".into(),
        ),
    }
    let gpus = gpu::detect();
    if let Some(driver) = &gpus.driver {
        let version = driver.version.as_deref().unwrap_or("unknown version");
        line(
            true,
            "driver",
            format!(
                "{version}, CUDA {}.{}",
                driver.cuda_version.0, driver.cuda_version.1
            ),
        );
    }
    for device in &gpus.devices {
        line(true, "GPU", device.to_string());
    }
    if let Some(problem) = &gpus.problem {
        lines.push(format!("none    GPU: {problem}; programs run on the CPU"));
    }
    super::view::print(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
    Ok(if missing {
        exit_code::TOOL
    } else {
        exit_code::OK
    })
}
