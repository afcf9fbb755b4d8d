//! A stand-in for `nvcc`, which a project's own build system calls to create ordinary objects and executables.
//!
//! Each CUDA file becomes a host object that contains its device code as bitcode (`compile::object`). The bitcode is
//! compiled for a backend when the program runs.

mod call;
mod flags;
mod invocation;
mod proprietary;
mod toolkit;
mod words;

use std::path::PathBuf;

pub use toolkit::{TOOLKIT_VARIABLE, Toolkit};

use superstep_toolchain::Toolchain;

use crate::compile::{BuildError, BuildOptions, Builder};
use call::Call;
use flags::Mode;
use invocation::NvccInvocation;
use words::words;

pub struct Nvcc {
    pub toolkit: PathBuf,
    pub toolchain: Toolchain,
}

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("nvcc fatal   : {0}")]
    Fatal(String),
    #[error("{}", .0.trim_end())]
    Failed(String),
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        match error {
            // Shows only the compiler's own output, like any other compiler.
            BuildError::Command { output, .. } => Self::Failed(output),
            error => Self::Failed(format!("error: {error}")),
        }
    }
}

/// Environment variable that names a file, to which each call appends the paths of the CUDA files that it compiled,
/// followed by an empty line.
pub const REPORT_VARIABLE: &str = "SUPERSTEP_NVCC_REPORT";

type CallResult = Result<(), Failure>;

/// Runs nvcc with `arguments` and returns the project's CUDA files that it compiled.
pub fn run(
    nvcc: &Nvcc,
    arguments: Vec<String>,
    builder: impl FnOnce(BuildOptions) -> Result<Builder, Failure>,
) -> Result<Vec<PathBuf>, Failure> {
    let variable = |name| words(&std::env::var(name).unwrap_or_default());
    let (before, after) = (
        variable("NVCC_PREPEND_FLAGS"),
        variable("NVCC_APPEND_FLAGS"),
    );
    let args = NvccInvocation::parse([before, arguments, after].concat())?;
    if let Some(text) = nvcc.answer(args.mode) {
        println!("{text}");
        return Ok(Vec::new());
    }
    let folder =
        std::env::current_dir().map_err(|error| failed("find the working folder", error))?;
    let mut options = BuildOptions::new(superstep_trace::Backend::Cpu);
    options.gpu_archs = vec![args.architecture_for(toolkit::requested_arch())];
    if args.verbose || args.dry_run {
        nvcc.describe(&args, options.lowest_arch());
    }
    // CMake tests flags in folders with these names, and parses the compiler's output.
    let trials = ["CMakeScratch", "CMakeTmp", "CompilerIdCUDA"];
    let is_trial = trials
        .iter()
        .any(|name| folder.iter().any(|part| part == *name));
    for (flag, why) in args.ignored.iter().filter(|_| !is_trial) {
        eprintln!("nvcc warning : superstep ignores {flag}: {why}");
    }
    if args.dry_run {
        return Ok(Vec::new());
    }
    let call = Call {
        nvcc,
        builder: builder(options)?,
        args,
        folder,
        scratch: tempfile::tempdir().map_err(|error| failed("create a folder", error))?,
    };
    call.run()?;
    Ok(match is_trial {
        true => Vec::new(),
        false => call.cuda_files(),
    })
}

fn failed(what: impl std::fmt::Display, error: impl std::fmt::Display) -> Failure {
    Failure::Failed(format!("error: failed to {what}: {error}"))
}

impl Nvcc {
    fn answer(&self, mode: Mode) -> Option<String> {
        let version = self.toolchain.cuda.version;
        let list = |format: fn(&u32) -> String| {
            let all = architectures(version.major).iter();
            all.map(format).collect::<Vec<_>>().join("\n")
        };
        Some(match mode {
            Mode::Version => format!(
                "nvcc: NVIDIA (R) Cuda compiler driver\nSuperstep's stand-in, based on Clang\nCuda compilation tools, release {}.{}, V{version}",
                version.major, version.minor
            ),
            Mode::Help => flags::help(),
            Mode::RealArchitectures => list(|number| format!("sm_{number}")),
            Mode::VirtualArchitectures => list(|number| format!("compute_{number}")),
            Mode::Architectures => list(|number| format!("arch=compute_{number},code=sm_{number}")),
            _ => return None,
        })
    }

    fn describe(&self, args: &NvccInvocation, arch: u32) {
        let root = self.toolkit.display();
        let path = std::env::var("PATH").unwrap_or_default();
        let libraries = format!("\"-L{root}/lib64/stubs\" \"-L{root}/lib64\"");
        eprintln!(
            "#$ TOP={root}\n#$ NVVMIR_LIBRARY_DIR={root}/nvvm/libdevice\n#$ PATH={root}/bin:{path}\n\
             #$ INCLUDES=\"-I{root}/include\"\n#$ LIBRARIES={libraries}\n#$ clang -arch compute_{arch}"
        );
        if matches!(args.mode, Mode::Link | Mode::SharedLibrary) {
            let output = args.output.clone().unwrap_or_else(|| "a.out".into());
            let runtime = runtime_libraries(args).collect::<Vec<_>>().join(" ");
            let linker = self.toolchain.llvm.tool("clang++");
            let (linker, output) = (linker.display(), output.display());
            eprintln!("#$ \"{linker}\" -o \"{output}\" {libraries} {runtime}");
        }
    }
}

fn architectures(toolkit_major: u32) -> &'static [u32] {
    const V12: &[u32] = &[
        50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121,
    ];
    const V13: &[u32] = &[75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121];
    if toolkit_major == 12 { V12 } else { V13 }
}

fn runtime_libraries(args: &NvccInvocation) -> impl Iterator<Item = &'static str> {
    let cudart = (!args.no_cudart).then_some("-lcudart_static");
    let system = ["-lrt", "-lpthread", "-ldl"];
    ["-lcudadevrt"].into_iter().chain(cudart).chain(system)
}
