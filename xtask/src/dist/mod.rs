//! `cargo xtask dist`: builds the files of a release (docs/install.md), for x86-64 and glibc 2.28 or later.

mod debian;
mod layout;
mod licences;
mod sbom;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use superstep_toolchain::{LLVM_PREFIX_VARIABLE, Toolchain};
use xshell::{Cmd, cmd};

use crate::checks::TARGET;
use crate::context::Context;
use crate::test_tools::pip_install;
use crate::{build, wheel};

/// Zig and cargo-zigbuild, pinned by version and hash.
const REQUIREMENTS: &str = include_str!("../../dist-requirements.txt");

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The oldest glibc that releases support; Zig links only against its functions.
const GLIBC: &str = "2.28";

/// Builds everything into a separate folder, and prints the files with their checksums.
pub fn run(context: &Context) -> Result<()> {
    let toolchain = build::toolchain()?;
    let packages = PathBuf::from(pip_install(context, REQUIREMENTS, None)?);
    let place = context.target_dir()?.join("packages");
    // Files from another version would be listed as well.
    context.shell.remove_path(&place)?;
    let name = format!("superstep-{VERSION}-x86_64-linux");
    let tree = place.join(&name);
    let binaries = binaries(context, &toolchain, &packages)?;
    layout::stage(context, &binaries, &tree)?;
    let sboms = tree.join("sbom");
    sbom::write(context, &sboms)?;
    licences::collect(
        context,
        &sboms,
        &packages.join("ziglang"),
        &tree.join("licenses"),
    )?;
    archive(context, &place, &name)?;
    debian::package(context, &tree, &place)?;
    let compatibility = format!("manylinux_{}", GLIBC.replace('.', "_"));
    let wheel = wheel::build_with(context, |maturin| {
        let maturin = maturin.args(["--release", "--zig", "--target", TARGET]);
        with_zig(
            context,
            &packages,
            maturin.args(["--compatibility", &compatibility]),
        )
    })?;
    for file in [&wheel, Path::new("tools/packaging/Containerfile")] {
        context.shell.copy_file(file, &place)?;
    }
    context.shell.remove_path(&tree)?;
    sums(context, &place)
}

/// Builds the packed binaries, and returns their folder.
fn binaries(context: &Context, toolchain: &Toolchain, zig: &Path) -> Result<PathBuf> {
    let zigbuild = zig.join("bin/cargo-zigbuild");
    let target = format!("{TARGET}.{}", GLIBC);
    let packages = (build::RUN_PACKAGES.iter()).flat_map(|package| ["-p", package]);
    let cargo = cmd!(
        context.shell,
        "{zigbuild} zigbuild --locked --release --target {target}"
    );
    with_zig(context, zig, cargo.args(packages))
        .env(LLVM_PREFIX_VARIABLE, &toolchain.llvm.prefix)
        .run()
        .context("failed to build Superstep with Zig; the compiler's message is above")?;
    Ok(context.target_dir()?.join(TARGET).join("release"))
}

/// Makes `command`, which runs Cargo, use the Zig in the folder `zig` and flags that keep this machine's folders out of
/// messages.
fn with_zig<'a>(context: &Context, zig: &Path, command: Cmd<'a>) -> Cmd<'a> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let remap = |from: &Path, to| format!("--remap-path-prefix={}={to}", from.display());
    // These flags replace those of `.cargo/config.toml`.
    let mut flags = vec!["-Ctarget-feature=+sse4.2,+popcnt".to_owned()];
    flags.push(remap(&context.root, "superstep"));
    flags.extend(home.map(|home| remap(&home.join("registry/src"), "crates")));
    command
        .env("CARGO_ZIGBUILD_ZIG_PATH", zig.join("ziglang/zig"))
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
}

/// Packs the folder `name` in `place` reproducibly.
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

/// Returns the time of the packed commit, in seconds since 1970.
fn commit_time(context: &Context) -> Result<String> {
    cmd!(context.shell, "git log -1 --format=%ct")
        .quiet()
        .read()
        .context("failed to get the commit's time from git")
}

/// Writes `SHA256SUMS` for all files in `place`, and prints it.
fn sums(context: &Context, place: &Path) -> Result<()> {
    let shell = &context.shell;
    let _folder = shell.push_dir(place);
    let files = shell.read_dir(place)?;
    let names = files.iter().filter_map(|file| file.file_name());
    let sums = cmd!(shell, "sha256sum").args(names).read()?;
    shell.write_file("SHA256SUMS", format!("{sums}\n"))?;
    println!("{sums}\n{}", place.join("SHA256SUMS").display());
    Ok(())
}
