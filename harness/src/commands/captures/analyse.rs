//! `superstep analyse`: writes the tables of captures, on this machine or on a Spark cluster.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arguments::value::ByteSize;
use crate::capture::failure;
use crate::results::Reporter;
use crate::suite::memory_limit;
use superstep_analysis::communication::Options;
use superstep_analysis::metrics::Settings;
use superstep_analysis::{analyse_within, tables};
use superstep_build::failure::Failure;
use superstep_build::{bail, exit_code};
use superstep_trace::captures_in;

use crate::{capture, terminal};

/// Environment variable that names a Python interpreter with the `superstep` module and Spark.
const PYTHON: &str = "SUPERSTEP_PYTHON";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Captures: folders, or any file in them. A folder with captures of multiple processes, or the folder of a run,
    /// selects all captures in it.
    #[arg(value_name = "CAPTURE", required = true)]
    captures: Vec<PathBuf>,
    /// Folder for the tables, as CSV and JSON; with multiple captures, each gets a subfolder.
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// Memory limit for the analysis on this machine, for example 2GB [default: a quarter of the machine's memory].
    #[arg(long, value_name = "SIZE", conflicts_with = "spark")]
    analysis_memory: Option<ByteSize>,
    /// Analyse on the Spark cluster with this master, for example spark://host:7077. All machines need access to the
    /// captures and tables. Needs superstep, pyspark, pandas and pyarrow in python3, or in the Python that
    /// SUPERSTEP_PYTHON names.
    #[arg(long, value_name = "URL")]
    spark: Option<String>,
    /// Number of buckets that memory pages are distributed over, at least one per core [default: one per 67 million
    /// accesses, at least 64].
    #[arg(long, value_name = "N", requires = "spark")]
    buckets: Option<u32>,
    /// Memory per task outside the Java heap [default: 1GB].
    #[arg(long, value_name = "SIZE", requires = "spark")]
    task_memory: Option<ByteSize>,
    /// Give up if no executor is available after this time [default: 120].
    #[arg(long, value_name = "SECONDS", requires = "spark")]
    executor_wait: Option<u32>,
    /// Spark setting; can be given multiple times.
    #[arg(long, value_name = "KEY=VALUE", requires = "spark")]
    spark_conf: Vec<String>,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let captures = find_captures(&args.captures)?;
    if let Some(master) = &args.spark {
        return on_cluster(args, &captures, master);
    }
    let limit = memory_limit(args.analysis_memory, &args.out);
    std::fs::create_dir_all(&args.out).map_err(Failure::io("create", &args.out))?;
    let mut code = exit_code::OK;
    for (path, folder) in captures.iter().zip(folders(&captures)) {
        let (capture, folder) = (capture::open(path)?, args.out.join(folder));
        let tables = {
            let _step = Reporter::single_step("analysis", &capture);
            let analysis = analyse_within(&capture, Options::everything(), &limit);
            let analysis = analysis.map_err(failure)?;
            tables::tables(&analysis, capture.sites(), &Settings::default()).map_err(failure)?
        };
        tables::write(&folder, &tables).map_err(failure)?;
        let (count, digest) = (tables.len(), tables::digest(&tables));
        terminal::print_lines(&[format!(
            "{}: {count} tables, digest {digest}",
            folder.display()
        )])?;
        let capture_code = capture::conclude(&capture);
        if code != exit_code::CAPTURE && capture_code != exit_code::OK {
            code = capture_code;
        }
    }
    Ok(code)
}

fn find_captures(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        let captures = captures_in(path).map_err(failure)?;
        match captures.is_empty() {
            // Opening the path reports what is missing.
            true => all.push(path.clone()),
            false => all.extend(captures),
        }
    }
    Ok(all)
}

/// Returns a folder name for the tables of each capture; `superstep.spark` uses the same names.
fn folders(captures: &[PathBuf]) -> Vec<String> {
    if let [_] = captures {
        return vec![String::new()];
    }
    let name = |path: &PathBuf| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let parent = path.parent().and_then(Path::file_name);
        let name = match path.file_name() {
            Some(name) if name == "capture" => parent,
            name => name,
        };
        name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    };
    let names = captures.iter().map(name).enumerate();
    names
        .map(|(number, name)| format!("{number}-{name}"))
        .collect()
}

fn on_cluster(args: &Args, captures: &[PathBuf], master: &str) -> Result<i32, Failure> {
    let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    let mut command = Command::new(&python);
    command.args(["-m", "superstep.spark", "--spark", master, "--out"]);
    command.arg(&args.out);
    for (name, value) in [
        ("--buckets", args.buckets.map(u64::from)),
        ("--executor-wait", args.executor_wait.map(u64::from)),
        ("--task-memory", args.task_memory.map(|size| size.bytes)),
    ] {
        if let Some(value) = value {
            command.arg(name).arg(value.to_string());
        }
    }
    for setting in &args.spark_conf {
        command.arg("--spark-conf").arg(setting);
    }
    let has_module = Command::new(&python)
        .args([
            "-c",
            "import importlib.util as u, sys; sys.exit(u.find_spec('superstep') is None)",
        ])
        .status();
    match has_module {
        Ok(status) if status.success() => {}
        Ok(_) => bail!(
            Tool,
            "failed to find the module superstep in {}: install the wheel that `cargo xtask wheel` builds, with pyspark, pandas and pyarrow, or set {PYTHON} to another Python interpreter",
            python.display()
        ),
        Err(error) => bail!(
            Tool,
            "failed to start {}: {error}; set {PYTHON} to a Python interpreter",
            python.display()
        ),
    }
    let status = command.arg("--").args(captures).status();
    let status = status.map_err(|error| Failure::internal("start Python", error))?;
    // `superstep.spark` uses the same exit codes; a killed process has none.
    Ok(status.code().unwrap_or(exit_code::CLUSTER))
}

#[cfg(test)]
mod tests;
