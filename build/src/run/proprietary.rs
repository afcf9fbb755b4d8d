//! Finds proprietary libraries on the machine that runs a program, and replacements for missing ones.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};

use crate::compile::steps::hash::KeyHasher;
use crate::compile::{BuildError, Library, Result, Supplier, libraries};
use crate::installation::names_in;

const PATH: &str = "LD_LIBRARY_PATH";

/// Returns the value of `LD_LIBRARY_PATH` for `program`. A library from a newer CUDA version replaces a missing one if
/// it has all the functions that the program calls; in that case, a link to it is created in `cache`, and `report` is
/// called with a message. If `blas` is given, that library replaces cuBLAS, and no other library is replaced.
pub fn library_path(
    program: &Path,
    cache: &Path,
    blas: Option<&Path>,
    report: &mut dyn FnMut(&str),
) -> Result<OsString> {
    let inherited = std::env::var_os(PATH).unwrap_or_default();
    let is_needed = |library: &Library| match blas {
        Some(_) => library.is_blas(),
        None => library.supplier() == Supplier::Nvidia && library.path.is_none(),
    };
    let needed: Vec<String> = (libraries(program)?.into_iter())
        .filter(is_needed)
        .map(|library| library.file_name().to_owned())
        .collect();
    if needed.is_empty() {
        return Ok(inherited);
    }
    let searched = match blas {
        Some(_) => Vec::new(),
        None => library_folders(&inherited),
    };
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut stand_ins: Vec<(&str, PathBuf)> = Vec::new();
    for name in &needed {
        if let Some(blas) = blas {
            folders.push(link(cache, name, blas)?);
            continue;
        }
        if let Some(folder) = searched.iter().find(|folder| folder.join(name).is_file()) {
            folders.push(folder.clone());
            continue;
        }
        let newer = searched.iter().find_map(|folder| newer(folder, name));
        let newer = newer.ok_or_else(|| {
            let program = program.display();
            let why = format!(
                "{program} needs it, but it is not in {PATH}, a CUDA toolkit or python3's packages; install it, or add its folder to {PATH}"
            );
            BuildError::installation(name, why)
        })?;
        report(&format!("{} stands in for {name}", newer.display()));
        folders.push(link(cache, name, &newer)?);
        // The newer library's dependencies are next to it.
        folders.extend(newer.parent().map(Path::to_owned));
        stand_ins.push((stem(name), newer));
    }
    check_all(program, &stand_ins)?;
    folders.extend(std::env::split_paths(&inherited));
    let mut seen = BTreeSet::new();
    folders.retain(|folder| folder.is_absolute() && seen.insert(folder.clone()));
    std::env::join_paths(folders).map_err(|error| BuildError::installation(PATH, error.to_string()))
}

fn link(cache: &Path, name: &str, target: &Path) -> Result<PathBuf> {
    let target = std::path::absolute(target).map_err(BuildError::io("find", target))?;
    let mut key = KeyHasher::new("stand-in");
    key.list([&target]);
    let folder = cache.join("stand-ins").join(&key.finish()[..12]);
    fs::create_dir_all(&folder).map_err(BuildError::io("create", &folder))?;
    let link = folder.join(name);
    match symlink(&target, &link) {
        Err(error) if !link.is_symlink() => Err(BuildError::io("create", &link)(error)),
        _ => Ok(folder),
    }
}

fn stem(name: &str) -> &str {
    let name = name.strip_prefix("lib").unwrap_or(name);
    name.split('.').next().unwrap_or(name)
}

fn library_folders(inherited: &OsString) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::split_paths(inherited).collect();
    let roots = ["CUDA_PATH", "CUDA_HOME"].into_iter();
    let roots = roots.filter_map(std::env::var_os);
    folders.extend(roots.map(|root| Path::new(&root).join("lib64")));
    folders.push("/usr/local/cuda/lib64".into());
    let local = Path::new("/usr/local");
    let toolkits = (names_in(local).into_iter()).filter(|name| name.starts_with("cuda-"));
    folders.extend(toolkits.map(|name| local.join(name).join("lib64")));
    let script = "import glob, sys\nfor folder in sys.path:\n  for found in sorted(glob.glob(folder + '/nvidia/*/lib')): print(found)";
    // Without python3, there are no Python packages.
    let output = Command::new("python3").args(["-c", script]).output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    folders.extend(String::from_utf8_lossy(&text).lines().map(PathBuf::from));
    folders
}

fn newer(folder: &Path, name: &str) -> Option<PathBuf> {
    let (start, version) = name.rsplit_once('.')?;
    let version: u32 = version.parse().ok()?;
    let found = names_in(folder).into_iter().filter_map(|name| {
        let (other, suffix) = name.rsplit_once('.')?;
        let candidate: u32 = suffix.parse().ok()?;
        (other == start && candidate > version).then(|| (candidate, folder.join(&name)))
    });
    Some(found.min()?.1)
}

fn check_all(program: &Path, stand_ins: &[(&str, PathBuf)]) -> Result<()> {
    let [(_, first), ..] = stand_ins else {
        return Ok(());
    };
    let mut available: BTreeSet<String> = BTreeSet::new();
    for (_, library) in stand_ins {
        available.extend(functions(library, true)?);
    }
    let called = functions(program, false)?;
    let missing = called.iter().find(|name| {
        let mut stems = stand_ins.iter();
        !available.contains(*name) && stems.any(|(stem, _)| name.starts_with(stem))
    });
    missing.map_or(Ok(()), |function| {
        let (program, library) = (program.display(), first.display());
        let why = format!(
            "{program} calls it, but {library} does not define it; install the CUDA libraries that the program was built against, and add their folder to {PATH}"
        );
        Err(BuildError::installation(function, why))
    })
}

/// Returns the names of the functions that an executable or shared library exports, or that it imports if `are_exports`
/// is false.
pub(crate) fn functions(file: &Path, are_exports: bool) -> Result<BTreeSet<String>> {
    let content = fs::File::open(file).map_err(BuildError::io("read", file))?;
    let content = object::ReadCache::new(content);
    let parsed = object::File::parse(&content).map_err(|error| {
        let what = format!("the functions of {}", file.display());
        BuildError::installation(what, format!("{error}; install or build it again"))
    })?;
    let symbols = parsed.dynamic_symbols();
    Ok(symbols
        .filter(|symbol| symbol.is_definition() == are_exports)
        .filter_map(|symbol| Some(symbol.name().ok()?.to_owned()))
        .filter(|name| !name.is_empty())
        .collect())
}

#[cfg(test)]
mod tests;
