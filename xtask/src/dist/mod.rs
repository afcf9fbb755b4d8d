//! `cargo xtask dist`: what a release consists of (docs/install.md), for x86-64 and any glibc from 2.28 on.

mod debian;
mod glibc;
mod layout;
mod licences;
mod sbom;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use superstep_toolchain::Toolchain;
use xshell::{Cmd, cmd};

use crate::context::Context;
use crate::nightly::TARGET;
use crate::test_tools::python_packages;
use crate::{build, setup, wheel};

/// Zig and cargo-zigbuild, pinned by version and hash.
const REQUIREMENTS: &str = include_str!("../../dist-requirements.txt");

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The profile of Cargo.toml that releases are built with.
const PROFILE: &str = "dist";

/// What compiles and links against the oldest glibc.
struct Zig {
    /// Folder of both packages.
    packages: String,
}

impl Zig {
    fn find(context: &Context) -> Result<Self> {
        let packages = python_packages(context, REQUIREMENTS)?;
        Ok(Self { packages })
    }

    fn folder(&self) -> PathBuf {
        Path::new(&self.packages).join("ziglang")
    }

    /// `command`, which calls Cargo, with this Zig.
    fn settings<'a>(&self, context: &Context, command: Cmd<'a>) -> Cmd<'a> {
        command
            .env("CARGO_ZIGBUILD_ZIG_PATH", self.folder().join("zig"))
            .env("CARGO_ENCODED_RUSTFLAGS", no_local_paths(context))
    }
}

/// The command: builds everything into a folder of its own, and prints the files with their sums.
pub fn run(context: &Context) -> Result<()> {
    let toolchain = setup::ensure()?;
    let zig = Zig::find(context)?;
    let place = context.release_dir()?.with_file_name("packages");
    if place.is_dir() {
        // Files of another version would be summed as well.
        fs::remove_dir_all(&place)
            .with_context(|| format!("failed to remove {}", place.display()))?;
    }
    let name = format!("superstep-{VERSION}-x86_64-linux");
    let tree = place.join(&name);
    let binaries = binaries(context, &toolchain, &zig)?;
    layout::stage(context, &binaries, &tree)?;
    glibc::check(&context.shell, &tree)?;
    let sboms = tree.join("sbom");
    sbom::write(context, &sboms)?;
    licences::collect(context, &sboms, &zig.folder(), &tree.join("licenses"))?;
    archive(context, &place, &name)?;
    debian::package(context, &tree, &place)?;
    let compatibility = format!("manylinux_{}", glibc::OLDEST.replace('.', "_"));
    let wheel = wheel::build_with(context, |maturin| {
        let maturin = maturin.args(["--profile", PROFILE, "--zig", "--target", TARGET]);
        zig.settings(context, maturin.args(["--compatibility", &compatibility]))
    })?;
    copy(&wheel, &place)?;
    copy(&context.root.join("packaging/Containerfile"), &place)?;
    fs::remove_dir_all(&tree).with_context(|| format!("failed to remove {}", tree.display()))?;
    sums(context, &place)
}

/// Builds what is packed, and returns the folder with it.
fn binaries(context: &Context, toolchain: &Toolchain, zig: &Zig) -> Result<PathBuf> {
    let zigbuild = Path::new(&zig.packages).join("bin/cargo-zigbuild");
    let target = format!("{TARGET}.{}", glibc::OLDEST);
    let packages = build::TO_RUN.iter().chain([&"superstep-parquet"]);
    let packages = packages.flat_map(|package| ["-p", package]);
    let (name, prefix) = toolchain.llvm_build_variable();
    let cargo = cmd!(
        context.shell,
        "{zigbuild} zigbuild --locked --profile {PROFILE} --target {target}"
    );
    zig.settings(context, cargo.args(packages).env(name, prefix))
        .run()
        .context("failed to build Superstep with Zig; the compiler's message is above")?;
    let target = context.release_dir()?.with_file_name(TARGET);
    Ok(target.join(PROFILE))
}

/// Flags that keep the folders of the machine that builds out of messages.
fn no_local_paths(context: &Context) -> String {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let remap = |from: &Path, to| format!("--remap-path-prefix={}={to}", from.display());
    let mut flags = vec![remap(&context.root, "superstep")];
    flags.extend(home.map(|home| remap(&home.join("registry/src"), "crates")));
    flags.join("\u{1f}")
}

/// Packs the folder `name` in `place`, so that the same commit gives the same bytes.
fn archive(context: &Context, place: &Path, name: &str) -> Result<()> {
    let shell = &context.shell;
    let time = format!("@{}", commit_time(context)?);
    let reproducible = [
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mode=u=rwX,go=rX",
    ];
    cmd!(
        shell,
        "tar --create --xz --directory {place} --mtime {time} {reproducible...} --file {place}/{name}.tar.xz {name}"
    )
    .env("XZ_OPT", "-9")
    .run()
    .context("failed to pack the archive")
}

/// When the commit was made that is packed, in seconds since 1970.
fn commit_time(context: &Context) -> Result<String> {
    cmd!(context.shell, "git log -1 --format=%ct")
        .quiet()
        .read()
        .context("failed to ask git for the commit's time")
}

fn copy(from: &Path, folder: &Path) -> Result<()> {
    let to = folder.join(from.file_name().unwrap_or_default());
    fs::copy(from, &to)
        .map(drop)
        .with_context(|| format!("failed to copy {} to {}", from.display(), to.display()))
}

/// Writes `SHA256SUMS` of all that is in `place`, and prints it.
fn sums(context: &Context, place: &Path) -> Result<()> {
    let _folder = context.shell.push_dir(place);
    let mut names: Vec<String> = fs::read_dir(place)
        .with_context(|| format!("failed to list {}", place.display()))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    let sums = cmd!(context.shell, "sha256sum {names...}").read()?;
    let file = place.join("SHA256SUMS");
    fs::write(&file, format!("{sums}\n"))
        .with_context(|| format!("failed to write {}", file.display()))?;
    println!("{sums}\n{}", file.display());
    Ok(())
}
