//! `superstep doctor`: lists tools, libraries and devices, and how to install missing ones.

use std::fmt::Display;

use serde::Serialize;
use serde_json::json;
use superstep_toolchain::variable::{CACHE, CUDA, LLVM};

use crate::terminal::{print, print_json};
use superstep_build::exit_code;
use superstep_build::failure::Failure;
use superstep_build::installation::Installation;
use superstep_toolchain::{Llvm, Purpose, Survey, cache_dir, check, gpu};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Finding {
    state: &'static str,
    name: String,
    detail: String,
}

#[derive(Default)]
struct Findings {
    all: Vec<Finding>,
    missing: bool,
}

impl Findings {
    fn add(&mut self, state: &'static str, name: &str, detail: impl Display) {
        self.all.push(Finding {
            state,
            name: name.to_owned(),
            detail: detail.to_string(),
        });
    }

    fn found(&mut self, name: &str, what: impl Display) {
        self.add("ok", name, what);
    }

    fn missing(&mut self, name: &str, why: impl Display) {
        self.add("MISSING", name, why);
        self.missing = true;
    }

    fn toolchain(&mut self) {
        let survey = Survey::here(Purpose::Run);
        for why in &survey.rejected {
            self.add("none", "other toolkit", format!("{why}; it is not used"));
        }
        let tools = match survey.toolchain() {
            Ok(tools) => tools,
            Err(error) => {
                for tool in &error.tools {
                    let why = format!("{}; to fix: {}", tool.why, tool.hint);
                    self.missing(&tool.name, why);
                }
                return;
            }
        };
        for name in Llvm::TOOLS {
            let path = tools.llvm.tool(name);
            self.found(name, format!("{} ({})", path.display(), tools.llvm.version));
        }
        let cuda = &tools.cuda;
        self.found(
            "ptxas",
            format!("{} ({})", cuda.ptxas.display(), cuda.version),
        );
        self.found("fatbinary", cuda.fatbinary.display());
        self.found("CUDA headers", cuda.include.display());
        self.found("libdevice", cuda.libdevice.display());
        self.found("libcudart", cuda.cudart.display());
        match check::compile(&tools.llvm, cuda) {
            Ok(()) => self.found("CUDA program", "compiles for device and host, and links"),
            Err(error) => self.missing(
                "CUDA program",
                format!("{error}; to fix: set {CUDA} or {LLVM} to another installation"),
            ),
        }
    }

    fn installation(&mut self) {
        let own = Installation::find();
        for (name, piece) in [
            ("instrumenter", own.instrumenter()),
            ("CPU runtime", own.cpu_runtime()),
            ("CUDA interposer", own.cuda_runtime()),
            ("CPU device code", own.folder("runtime/cpu/device")),
            ("CUDA device code", own.folder("runtime/cuda/device")),
        ] {
            match piece {
                Ok(path) => self.found(name, path.display()),
                Err(error) => self.missing(name, error),
            }
        }
        match cache_dir() {
            Some(folder) => self.found("cache", folder.display()),
            None => self.missing(
                "cache",
                format!("none of {CACHE}, XDG_CACHE_HOME and HOME is set; set {CACHE}"),
            ),
        }
    }

    /// A missing GPU is not an error, since the CPU backend needs none.
    fn gpus(&mut self) {
        let gpus = gpu::detect();
        if let Some(driver) = &gpus.driver {
            let version = driver.version.as_deref().unwrap_or("unknown version");
            let (major, minor) = driver.cuda_version;
            self.found("driver", format!("{version}, CUDA {major}.{minor}"));
        }
        for device in &gpus.devices {
            self.found("GPU", device);
        }
        if let Some(problem) = &gpus.problem {
            let why = format!("{problem}; programs run on the CPU");
            self.add("none", "GPU", why);
        }
    }
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let mut findings = Findings::default();
    findings.toolchain();
    findings.installation();
    findings.gpus();
    let (version, all) = (env!("CARGO_PKG_VERSION"), &findings.all);
    match args.json {
        true => print_json(&json!({ "schema_version": 1, "version": version, "findings": all }))?,
        false => print(|out| {
            writeln!(out, "superstep {version}")?;
            for finding in all {
                let (name, detail) = (&finding.name, &finding.detail);
                writeln!(out, "{:7} {name}: {detail}", finding.state)?;
            }
            Ok(())
        })?,
    }
    Ok(match findings.missing {
        true => exit_code::TOOL,
        false => exit_code::OK,
    })
}
