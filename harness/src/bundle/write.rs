//! Puts a bundle together.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use super::{BundleInfo, SCHEMA_VERSION};
use crate::suite::SourceHashes;
use superstep_build::compile::{Builder, Executables};
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::fetch::FetchOptions;
use superstep_build::inputs::{InputPlace, find_input};
use superstep_build::manifest::{Benchmark, Suite};

/// Executables by the names that they get.
pub type Programs = BTreeMap<String, PathBuf>;

/// The three executables that a suite runs.
pub fn traced_programs(executables: Executables) -> Programs {
    let Executables {
        native,
        traced,
        counted,
        sources: _,
    } = executables;
    BTreeMap::from([
        ("native".to_owned(), native),
        ("traced".to_owned(), traced),
        ("counted".to_owned(), counted),
    ])
}

/// Where the pieces of a bundle come from.
pub struct Parts<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// Its benchmarks that were built, with their executables.
    pub programs: Vec<(&'a Benchmark, Programs)>,
    /// Probes that the programs carry, by name: the YAML of each, and the files that it names.
    pub probes: Vec<(String, PathBuf, Vec<PathBuf>)>,
    /// SHA-256 of their source files.
    pub sources: BTreeMap<String, SourceHashes>,
    /// What built them.
    pub builder: &'a Builder,
    /// Version of LLVM.
    pub llvm: String,
    /// A program like `strip` that takes debug information out of a file; without one the bundle is larger.
    pub strip: Option<PathBuf>,
    /// Golden results, where there are any.
    pub golden: Option<PathBuf>,
    /// Sizes whose inputs are taken along.
    pub sizes: Vec<String>,
    /// Where inputs come from.
    pub fetch: &'a FetchOptions,
}

/// Writes a bundle into `folder`, which must be empty, absent, or an older bundle. Returns its size in bytes and what is missing from it.
///
/// # Errors
/// The folder holds something else or cannot be written, a piece is missing, an input has the wrong hash.
pub fn write(folder: &Path, parts: &Parts<'_>) -> Result<(u64, Vec<String>), Failure> {
    clear(folder)?;
    let executable = std::env::current_exe()
        .map_err(|error| Failure::internal("find the running executable", error))?;
    copy(
        &executable,
        &folder.join("superstep"),
        parts.strip.as_deref(),
    )?;
    // What measures on the GPU machine, where it is built.
    let bench = executable.with_file_name("superstep-bench");
    if bench.is_file() {
        let place = folder.join("superstep-bench");
        copy(&bench, &place, parts.strip.as_deref())?;
    }
    for library in parts.builder.runtime_libraries()? {
        let name = library.file_name().unwrap_or_default();
        copy(
            &library,
            &folder.join("lib").join(name),
            parts.strip.as_deref(),
        )?;
    }
    for (benchmark, programs) in &parts.programs {
        let place = folder.join("programs").join(&benchmark.name);
        for (name, path) in programs {
            copy(path, &place.join(name), None)?;
        }
    }
    for (name, definition, files) in &parts.probes {
        let place = folder.join("probes").join(name);
        copy(definition, &place.join("probe.yaml"), None)?;
        let beside = definition.parent().unwrap_or(Path::new("."));
        for file in files {
            // As the YAML names it, if that stays inside.
            let inside = |path: &&Path| {
                let mut parts = path.components();
                parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
            };
            let name = file.strip_prefix(beside).ok().filter(inside);
            let name = name.unwrap_or(Path::new(file.file_name().unwrap_or_default()));
            copy(file, &place.join(name), None)?;
        }
    }
    manifests(folder, parts)?;
    let missing = inputs(folder, parts)?;
    let options = parts.builder.options();
    let info = BundleInfo {
        schema_version: SCHEMA_VERSION,
        tool: format!("superstep {}", env!("CARGO_PKG_VERSION")),
        suite: parts.suite.name.clone(),
        backend: options.backend,
        gpu_archs: options.gpu_archs.clone(),
        llvm: parts.llvm.clone(),
        protocol: options.protocol.clone(),
        benchmarks: parts
            .programs
            .iter()
            .map(|(benchmark, _)| benchmark.name.clone())
            .collect(),
        sources: parts.sources.clone(),
    };
    let path = folder.join("bundle.json");
    let text = serde_json::to_string_pretty(&info)
        .map_err(|error| Failure::internal("write JSON", error))?;
    fs::write(&path, text + "\n")
        .map_err(|error| Failure::internal(format_args!("write {}", path.display()), error))?;
    let bytes = size(folder)
        .map_err(|error| Failure::internal(format_args!("measure {}", folder.display()), error))?;
    Ok((bytes, missing))
}

/// Empties an older bundle; refuses any other folder that is not empty.
fn clear(folder: &Path) -> Result<(), Failure> {
    let fail = |error: std::io::Error| {
        Failure::internal(format_args!("prepare {}", folder.display()), error)
    };
    if folder.exists() {
        let empty = fs::read_dir(folder).map_err(fail)?.next().is_none();
        if !empty && !folder.join("bundle.json").is_file() {
            let message = format!(
                "failed to write a bundle to {}: it holds something else; give an empty folder",
                folder.display()
            );
            return Err(Failure::new(FailureKind::Usage, message));
        }
        for name in ["programs", "lib", "suites", "golden", "data", "probes"] {
            let old = folder.join(name);
            if old.is_dir() {
                fs::remove_dir_all(&old).map_err(fail)?;
            }
        }
    }
    fs::create_dir_all(folder).map_err(fail)
}

fn manifests(folder: &Path, parts: &Parts<'_>) -> Result<(), Failure> {
    let suite = parts.suite;
    let place = folder.join("suites").join(&suite.name);
    copy(
        &suite.folder.join("suite.yaml"),
        &place.join("suite.yaml"),
        None,
    )?;
    for benchmark in &suite.benchmarks {
        copy(
            &benchmark.manifest,
            &place.join(format!("{}.yaml", benchmark.name)),
            None,
        )?;
        for size in benchmark.sizes.values() {
            for shipped in size
                .inputs
                .iter()
                .filter_map(|input| input.sources.shipped.as_ref())
            {
                copy(&suite.folder.join(shipped), &place.join(shipped), None)?;
            }
        }
        let Some(golden) = &parts.golden else {
            continue;
        };
        for size in benchmark.sizes.keys() {
            let path = crate::suite::golden_file(golden, &suite.name, &benchmark.name, size);
            if path.is_file() {
                copy(
                    &path,
                    &crate::suite::golden_file(
                        &folder.join("golden"),
                        &suite.name,
                        &benchmark.name,
                        size,
                    ),
                    None,
                )?;
            }
        }
    }
    Ok(())
}

/// Takes along the inputs that are at hand; returns what is wrong with those that are neither at hand nor generated.
fn inputs(folder: &Path, parts: &Parts<'_>) -> Result<Vec<String>, Failure> {
    let mut missing = Vec::new();
    for (benchmark, _) in &parts.programs {
        for name in &parts.sizes {
            let wanted = benchmark
                .sizes
                .get(name)
                .into_iter()
                .flat_map(|size| &size.inputs);
            for input in wanted {
                match (
                    find_input(parts.suite, input, parts.fetch),
                    &input.sources.data,
                ) {
                    (Ok(InputPlace::File(path)), Some(data)) => {
                        copy(&path, &folder.join("data").join(data), None)?
                    }
                    (Ok(_), _) => {}
                    (Err(failure), _) => {
                        missing.push(format!("{} ({name}): {failure}", benchmark.name))
                    }
                }
            }
        }
    }
    Ok(missing)
}

fn copy(from: &Path, to: &Path, strip: Option<&Path>) -> Result<(), Failure> {
    let fail = |error: std::io::Error| {
        Failure::internal(
            format_args!("copy {} to {}", from.display(), to.display()),
            error,
        )
    };
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(fail)?;
    }
    // A file in use cannot be written to, but it can be replaced.
    let temporary = to.with_extension("new");
    fs::copy(from, &temporary).map_err(fail)?;
    if let Some(strip) = strip {
        // Only the size suffers when this fails.
        let _ = Command::new(strip)
            .arg("--strip-debug")
            .arg(&temporary)
            .output();
    }
    fs::rename(&temporary, to).map_err(fail)
}

fn size(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() {
            size(&entry.path())?
        } else {
            metadata.len()
        };
    }
    Ok(bytes)
}
