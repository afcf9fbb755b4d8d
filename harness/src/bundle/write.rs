//! Writes bundles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use superstep_build::bail;
use superstep_build::compile::{self, Executables, Program, Reference, Supplier, hash};
use superstep_build::failure::Failure;
use superstep_build::fetch::SourceTree;
use superstep_build::inputs::{InputPlace, find_input};
use superstep_build::manifest::{Benchmark, Language, Suite};
use superstep_build::probe::Probe;
use superstep_trace::Backend;

use super::{BundleInfo, RECIPE, SCHEMA_VERSION, SOURCES};
use crate::results::{bytes_below, write_json};
use crate::session::{Session, SourceHashes};
use crate::suite::{golden_file, golden_folder};

#[derive(Debug, Default)]
pub struct Programs {
    /// Start scripts, by name in the bundle.
    pub files: BTreeMap<String, PathBuf>,
    pub reference: Reference,
}

pub fn traced_programs(executables: Executables) -> Programs {
    let mut files = BTreeMap::from([
        ("native".to_owned(), executables.native),
        ("traced".to_owned(), executables.traced),
        ("counted".to_owned(), executables.counted),
    ]);
    let recording = executables.recording;
    files.extend(recording.map(|path| ("recording".to_owned(), path)));
    if let Reference::Recipe { native, .. } = &executables.reference {
        files.insert("unfused".to_owned(), native.clone());
    }
    Programs {
        files,
        reference: executables.reference,
    }
}

pub struct BundledProgram<'a> {
    pub benchmark: &'a Benchmark,
    pub program: Program,
    pub executables: Programs,
    pub tree: &'a SourceTree,
    pub sources: SourceHashes,
}

pub struct Parts<'a> {
    pub session: &'a Session,
    pub suite: &'a Suite,
    pub programs: Vec<BundledProgram<'a>>,
    pub probes: &'a [Probe],
    pub sizes: Vec<String>,
}

/// Writes a bundle into `folder`, which must be absent, empty, or an older bundle. Returns the bundle's size in bytes,
/// and messages about missing files.
pub fn write(folder: &Path, parts: &Parts<'_>) -> Result<(u64, Vec<String>), Failure> {
    clear(folder)?;
    binaries(folder, parts)?;
    for program in &parts.programs {
        executables(folder, parts, program)?;
        sources(folder, program)?;
    }
    probes(folder, parts.probes)?;
    manifests(folder, parts)?;
    let mut missing = libraries(folder, parts)?;
    missing.extend(inputs(folder, parts)?);
    write_info(folder, parts)?;
    Ok((bytes_below(folder), missing))
}

/// Copies a program's executables (usually only one) and their start scripts.
fn executables(folder: &Path, parts: &Parts<'_>, item: &BundledProgram<'_>) -> Result<(), Failure> {
    let place = folder.join("programs").join(&item.benchmark.name);
    let executables = started(item);
    let names: Vec<String> = (0..).zip(&executables).map(bundled_name).collect();
    for (name, from) in names.iter().zip(&executables) {
        copy(from, &place.join("built").join(name))?;
    }
    let builder = parts.session.builder()?;
    for (name, start) in &item.executables.files {
        let executable = compile::started_by(start);
        let at = executables.iter().position(|other| *other == executable);
        let executable = &names[at.unwrap_or(0)];
        builder.place(start, executable, &place, name)?;
    }
    if let Reference::Recipe { recipe, .. } = &item.executables.reference {
        copy(recipe, &place.join(RECIPE))?;
    }
    Ok(())
}

/// Copies a program's source files, for array names and the report.
fn sources(folder: &Path, item: &BundledProgram<'_>) -> Result<(), Failure> {
    let units = item.program.units.iter();
    let built: Vec<PathBuf> = (units.filter(|unit| unit.language == Language::Built))
        .map(|unit| item.program.folder.join(&unit.file))
        .collect();
    let place = folder.join("programs").join(&item.benchmark.name);
    for file in &item.tree.files {
        let path = item.tree.root.join(&file.path);
        if let Ok(name) = path.strip_prefix(&item.program.folder)
            && !built.contains(&path)
        {
            copy(&path, &place.join(SOURCES).join(name))?;
        }
    }
    Ok(())
}

fn started(item: &BundledProgram<'_>) -> Vec<PathBuf> {
    let mut executables: Vec<PathBuf> = Vec::new();
    for start in item.executables.files.values() {
        let executable = compile::started_by(start);
        if !executables.contains(&executable) {
            executables.push(executable);
        }
    }
    executables
}

fn bundled_name((number, executable): (usize, &PathBuf)) -> String {
    let name = executable.file_name().unwrap_or_default().to_string_lossy();
    match number {
        0 => name.into_owned(),
        number => format!("{name}-{number}"),
    }
}

/// Copies the shared libraries that a bare machine lacks; returns messages about those that cannot be included.
fn libraries(folder: &Path, parts: &Parts<'_>) -> Result<Vec<String>, Failure> {
    let builder = parts.session.builder()?;
    let runtime = builder.runtime_libraries()?;
    let is_ours = |name: &str| {
        let mut names = runtime.iter().filter_map(|path| path.file_name());
        names.any(|ours| ours == name)
    };
    let mut copied: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut take = |name: &str, path: &Path| {
        let hash = |path: &Path| hash::of_file(path).map_err(Failure::io("read", &path));
        match copied.get(name) {
            Some(other) if hash(other)? == hash(path)? => Ok(()),
            Some(other) => bail!(
                Usage,
                "failed to put {} into the bundle: {} has the same name; choose programs with --only, and create a bundle for each",
                path.display(),
                other.display()
            ),
            None => {
                copy(path, &folder.join("lib").join(name))?;
                copied.insert(name.to_owned(), path.to_owned());
                Ok(())
            }
        }
    };
    let mut missing = BTreeSet::new();
    let is_cpu = parts.session.build.backend == Backend::Cpu;
    for item in &parts.programs {
        let mut files = started(item);
        let units = item.program.units.iter();
        let built = units.filter(|unit| unit.language == Language::Built);
        // The units after an executable are libraries that it opens.
        for unit in built.skip(1) {
            let opened = item.program.folder.join(&unit.file);
            let name = opened.file_name().unwrap_or_default().to_string_lossy();
            take(&name, &opened)?;
            files.push(opened);
        }
        for file in files {
            for library in compile::libraries(&file)? {
                let name = library.file_name();
                if let Some(driver) = builder.driver_stand_in(&library)? {
                    take(name, &driver)?;
                    continue;
                }
                let why = match (library.supplier(), &library.path) {
                    (Supplier::Machine, _) => continue,
                    _ if is_ours(name) => continue,
                    // The CPU runtime replaces cuBLAS.
                    _ if library.is_blas() && is_cpu => continue,
                    (Supplier::Nvidia, _) => "it is NVIDIA's; install it on the other machine",
                    (_, None) => "the loader cannot find it; add its folder to LD_LIBRARY_PATH",
                    _ if library.name.contains('/') => {
                        "it is loaded by its path; link it with -l, or copy it to that path on the other machine"
                    }
                    (_, Some(path)) => {
                        take(name, path)?;
                        continue;
                    }
                };
                missing.insert(format!(
                    "the bundle lacks the library {}, which {} needs: {why}",
                    library.name, item.benchmark.name
                ));
            }
        }
    }
    Ok(missing.into_iter().collect())
}

/// Copies Superstep itself and the runtime libraries, stripped if `strip` is available.
fn binaries(folder: &Path, parts: &Parts<'_>) -> Result<(), Failure> {
    let builder = parts.session.builder()?;
    let strip = builder.toolchain.llvm.prefix.join("bin/llvm-strip");
    let copy_stripped = |from: &Path, to: &Path| -> Result<(), Failure> {
        copy(from, to)?;
        // If this fails, the file is merely larger.
        let _ = Command::new(&strip).arg("--strip-debug").arg(to).output();
        Ok(())
    };
    let executable = std::env::current_exe()
        .map_err(|error| Failure::internal("find the running executable", error))?;
    copy_stripped(&executable, &folder.join("superstep"))?;
    // `superstep-bench` measures Superstep on the GPU machine.
    let bench = executable.with_file_name("superstep-bench");
    if bench.is_file() {
        copy_stripped(&bench, &folder.join("superstep-bench"))?;
    }
    for library in builder.runtime_libraries()? {
        let name = library.file_name().unwrap_or_default();
        copy_stripped(&library, &folder.join("lib").join(name))?;
    }
    Ok(())
}

fn probes(folder: &Path, probes: &[Probe]) -> Result<(), Failure> {
    for probe in probes {
        let place = folder.join("probes").join(&probe.spec.name);
        copy(&probe.file, &place.join("probe.yaml"))?;
        let probe_folder = probe.file.parent().unwrap_or(Path::new("."));
        for file in std::iter::once(&probe.handler).chain(&probe.host) {
            // Keeps the path in the YAML file unless it points outside the probe's folder.
            let is_inside = |path: &&Path| {
                let mut parts = path.components();
                parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
            };
            let name = file.strip_prefix(probe_folder).ok().filter(is_inside);
            let name = name.unwrap_or(Path::new(file.file_name().unwrap_or_default()));
            copy(file, &place.join(name))?;
        }
    }
    Ok(())
}

fn write_info(folder: &Path, parts: &Parts<'_>) -> Result<(), Failure> {
    let names = |item: &BundledProgram<'_>| item.benchmark.name.clone();
    let programs = parts.programs.iter();
    let options = &parts.session.build;
    let info = BundleInfo {
        schema_version: SCHEMA_VERSION,
        tool: format!("superstep {}", env!("CARGO_PKG_VERSION")),
        suite: parts.suite.name.clone(),
        backend: options.backend,
        gpu_archs: options.gpu_archs.clone(),
        llvm: parts.session.identity()?.llvm,
        protocol: options.protocol,
        benchmarks: programs.clone().map(names).collect(),
        no_reference: (programs.clone())
            .filter_map(|item| match &item.executables.reference {
                Reference::Refused(why) => Some((names(item), why.clone())),
                Reference::NotBuilt | Reference::Recipe { .. } => None,
            })
            .collect(),
        sources: programs
            .map(|item| (names(item), item.sources.clone()))
            .collect(),
    };
    write_json(&folder.join("bundle.json"), &info)
}

/// Clears an older bundle; fails for any other folder that is not empty.
fn clear(folder: &Path) -> Result<(), Failure> {
    let prepare = |result: std::io::Result<()>| result.map_err(Failure::io("prepare", &folder));
    prepare(fs::create_dir_all(folder))?;
    let mut entries = fs::read_dir(folder).map_err(Failure::io("prepare", &folder))?;
    if entries.next().is_some() && !folder.join("bundle.json").is_file() {
        bail!(
            Usage,
            "failed to write a bundle to {}: it contains other files; specify an empty folder",
            folder.display()
        );
    }
    for name in ["programs", "lib", "suites", "golden", "data", "probes"] {
        let old = folder.join(name);
        if old.is_dir() {
            prepare(fs::remove_dir_all(&old))?;
        }
    }
    Ok(())
}

fn manifests(folder: &Path, parts: &Parts<'_>) -> Result<(), Failure> {
    let suite = parts.suite;
    let golden = golden_folder(suite);
    let place = folder.join("suites").join(&suite.name);
    let copy_from_suite = |name: &Path| copy(&suite.folder.join(name), &place.join(name));
    copy_from_suite(Path::new("suite.yaml"))?;
    for benchmark in &suite.benchmarks {
        let name = &benchmark.name;
        copy(&benchmark.manifest, &place.join(format!("{name}.yaml")))?;
        for (size_name, size) in &benchmark.sizes {
            for input in &size.inputs {
                input.shipped.as_deref().map_or(Ok(()), copy_from_suite)?;
            }
            let backend = parts.session.build.backend;
            let from = golden_file(&golden, name, size_name, backend);
            if let Some(file) = from.file_name().filter(|_| from.is_file()) {
                let to = folder.join("golden").join(&suite.name).join(file);
                copy(&from, &to)?;
            }
        }
    }
    Ok(())
}

/// Copies the available inputs; returns messages about those that are neither available nor generated.
fn inputs(folder: &Path, parts: &Parts<'_>) -> Result<Vec<String>, Failure> {
    let mut missing = Vec::new();
    for BundledProgram { benchmark, .. } in &parts.programs {
        for name in &parts.sizes {
            let size = benchmark.sizes.get(name).into_iter();
            for input in size.flat_map(|size| &size.inputs) {
                let found = find_input(parts.suite, input, &parts.session.fetch);
                match (found, &input.data) {
                    (Ok(InputPlace::File(path, _)), Some(data)) => {
                        copy(&path, &folder.join("data").join(data))?
                    }
                    (Ok(_), _) => {}
                    (Err(error), _) => missing.push(format!(
                        "an input was not available and is not in the bundle: {} ({name}): {error}",
                        benchmark.name
                    )),
                }
            }
        }
    }
    Ok(missing)
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let (shown, place) = (from.display(), to.display());
    let fail = |error| Failure::internal(format_args!("copy {shown} to {place}"), error);
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(fail)?;
    }
    // A file in use cannot be written to, but it can be replaced.
    let temporary = to.with_extension("new");
    fs::copy(from, &temporary).map_err(fail)?;
    fs::rename(&temporary, to).map_err(fail)
}
