//! Tests for fetching from local mirrors.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::hash_bytes;
use super::*;
use crate::manifest::{Benchmark, DataArchive, Input, Suite, load_suite};

/// A repository with one commit, a suite that names it, and a cache.
pub(super) struct World {
    folder: TempDir,
    pub(super) commit: String,
}

/// Returns limits with almost no pauses.
pub(super) fn quick_limits() -> DownloadLimits {
    DownloadLimits {
        first_pause: std::time::Duration::from_millis(1),
        ..DownloadLimits::default()
    }
}

pub(super) fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args([
            "-c",
            "user.name=Test",
            "-c",
            "user.email=test@example.org",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(arguments)
        .env_remove("GIT_DIR")
        .env_remove("GIT_INDEX_FILE")
        .output()
        .expect("git runs");
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl World {
    pub(super) fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let upstream = folder.path().join("upstream");
        fs::create_dir_all(upstream.join("cuda/one")).unwrap();
        fs::create_dir_all(upstream.join("common")).unwrap();
        fs::write(upstream.join("cuda/one/one.cu"), "int main() {}\r\n").unwrap();
        fs::write(upstream.join("cuda/one/unneeded.cu"), "x").unwrap();
        fs::write(upstream.join("common/one.h"), "#pragma once\n").unwrap();
        std::os::unix::fs::symlink("one.cu", upstream.join("cuda/one/link.cu")).unwrap();
        git(&upstream, &["init", "--quiet", "--initial-branch=main"]);
        git(&upstream, &["add", "."]);
        git(&upstream, &["commit", "--quiet", "--message=one"]);
        let commit = git(&upstream, &["rev-parse", "HEAD"]);
        World { folder, commit }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn options(&self) -> FetchOptions {
        FetchOptions {
            source_mirror: Some(self.path("upstream")),
            data_mirror: None,
            cache_dir: self.path("cache"),
            offline: false,
            download: quick_limits(),
        }
    }

    pub(super) fn suite(&self, url: &str, commit: &str, files: &str) -> Suite {
        let suite = self.path("suite");
        fs::create_dir_all(&suite).unwrap();
        fs::write(
            suite.join("suite.yaml"),
            format!(
                "schema: 1\nname: demo\ntitle: Demo\nsource: {{git: {{url: \"{url}\", commit: {commit}}}}}\n\
                 default-size: tiny\nbenchmarks: [one]\n"
            ),
        )
        .unwrap();
        fs::write(
            suite.join("one.yaml"),
            format!(
                "schema: 1\nname: one\ntitle: One\nwhy: test\ndirectory: cuda/one\nfiles: [one.cu, {files}]\n\
                 translation-units: [{{file: one.cu, language: cuda}}]\nsizes: {{tiny: {{args: []}}}}\n"
            ),
        )
        .unwrap();
        load_suite(&suite).unwrap_or_else(|error| panic!("{error}"))
    }

    fn fetch(&self, files: &str, options: &FetchOptions) -> Result<SourceTree, FetchError> {
        let suite = self.suite("https://127.0.0.1:1/none", &self.commit, files);
        sources(&suite, first_benchmark(&suite), options)
    }
}

pub(super) fn first_benchmark(suite: &Suite) -> &Benchmark {
    &suite.benchmarks[0]
}

#[test]
fn only_listed_files_are_read_from_a_mirror_unchanged() {
    let world = World::new();
    let tree = world.fetch("../../common/one.h", &world.options()).unwrap();
    assert_eq!(
        fs::read(tree.directory.join("one.cu")).unwrap(),
        b"int main() {}\r\n"
    );
    assert_eq!(
        fs::read(tree.root.join("common/one.h")).unwrap(),
        b"#pragma once\n"
    );
    assert!(!tree.directory.join("unneeded.cu").exists());
    assert_eq!(tree.files[0].sha256, hash_bytes(b"int main() {}\r\n"));
    assert_eq!(tree.files[1].path, Path::new("common/one.h"));

    // A second call returns the same folder; a damaged one is recreated.
    fs::write(tree.directory.join("one.cu"), "changed").unwrap();
    assert_eq!(
        world.fetch("../../common/one.h", &world.options()).unwrap(),
        tree
    );
    assert_eq!(
        fs::read(tree.directory.join("one.cu")).unwrap(),
        b"int main() {}\r\n"
    );
}

#[test]
fn a_bare_mirror_without_unneeded_contents_is_enough() {
    let world = World::new();
    git(
        world.folder.path(),
        &["clone", "--quiet", "--bare", "upstream", "bare"],
    );
    let unneeded = git(
        &world.path("bare"),
        &["rev-parse", "HEAD:cuda/one/unneeded.cu"],
    );
    git(&world.path("bare"), &["config", "gc.auto", "0"]);
    // A local clone hard-links each loose object.
    let (head, tail) = unneeded.split_at(2);
    fs::remove_file(world.path("bare").join("objects").join(head).join(tail)).unwrap();
    let options = FetchOptions {
        source_mirror: Some(world.path("bare")),
        ..world.options()
    };
    assert!(world.fetch("../../common/one.h", &options).is_ok());
    let error = world.fetch("unneeded.cu", &options).unwrap_err();
    assert!(
        error.to_string().starts_with("failed to read file"),
        "{error}"
    );
}

#[test]
fn damaged_content_in_a_mirror_is_refused() {
    let world = World::new();
    let id = git(
        &world.path("upstream"),
        &["rev-parse", "HEAD:cuda/one/one.cu"],
    );
    let other = git(
        &world.path("upstream"),
        &["rev-parse", "HEAD:cuda/one/unneeded.cu"],
    );
    let object = |id: &str| {
        world
            .path("upstream/.git/objects")
            .join(&id[..2])
            .join(&id[2..])
    };
    fs::remove_file(object(&id)).unwrap();
    fs::copy(object(&other), object(&id)).unwrap();
    let error = world
        .fetch("../../common/one.h", &world.options())
        .unwrap_err();
    assert!(
        error.to_string().starts_with("failed to read file"),
        "{error}"
    );
    assert!(!world.path("cache/sources").exists());
}

#[test]
fn a_wrong_commit_is_an_error_and_nothing_is_cached() {
    let world = World::new();
    let suite = world.suite(
        "https://127.0.0.1:1/none",
        "0123456789abcdef0123456789abcdef01234567",
        "unneeded.cu",
    );
    let error = sources(&suite, first_benchmark(&suite), &world.options()).unwrap_err();
    assert!(
        error.to_string().starts_with("failed to find commit"),
        "{error}"
    );
    assert!(
        error.to_string().contains("check the commit in suite.yaml"),
        "{error}"
    );
    assert!(!world.path("cache").exists());
    // A tree's ID is not a commit ID, although git has the object.
    let tree = git(&world.path("upstream"), &["rev-parse", "HEAD^{tree}"]);
    let suite = world.suite("https://127.0.0.1:1/none", &tree, "unneeded.cu");
    let error = sources(&suite, first_benchmark(&suite), &world.options()).unwrap_err();
    assert!(
        error.to_string().starts_with("failed to find commit"),
        "{error}"
    );
}

#[test]
fn a_file_that_the_commit_lacks_is_an_error() {
    let world = World::new();
    for (files, detail) in [
        ("none.cu", "there is no such file"),
        ("link.cu", "it is a symbolic link"),
        ("../../common", "it is a tree, not a file"),
        ("\"*.cu\"", "there is no such file"),
    ] {
        let error = world.fetch(files, &world.options()).unwrap_err();
        assert!(
            error.to_string().starts_with("failed to find file"),
            "{error}"
        );
        assert!(error.to_string().contains(detail), "{error}");
    }
    assert!(!world.path("cache/sources").exists());
}

#[test]
fn a_mirror_that_is_not_a_repository_is_an_error_even_inside_one() {
    let world = World::new();
    for mirror in ["upstream/cuda", "none"] {
        let options = FetchOptions {
            source_mirror: Some(world.path(mirror)),
            ..world.options()
        };
        let error = world.fetch("unneeded.cu", &options).unwrap_err();
        assert!(
            error.to_string().contains("expects a git repository"),
            "{mirror}: {error}"
        );
    }
}

#[test]
fn a_url_is_fetched_once_and_then_served_offline() {
    let world = World::new();
    git(
        &world.path("upstream"),
        &["config", "uploadpack.allowFilter", "true"],
    );
    git(
        &world.path("upstream"),
        &["config", "uploadpack.allowAnySHA1InWant", "true"],
    );
    let url = format!("file://{}", world.path("upstream").display());
    let online = FetchOptions {
        source_mirror: None,
        ..world.options()
    };
    let offline = FetchOptions {
        offline: true,
        ..online.clone()
    };
    let suite = world.suite(&url, &world.commit, "../../common/one.h");

    let error = sources(&suite, first_benchmark(&suite), &offline).unwrap_err();
    assert!(matches!(error, FetchError::Offline { .. }), "{error}");
    let tree = sources(&suite, first_benchmark(&suite), &online).unwrap();
    fs::rename(world.path("upstream"), world.path("gone")).unwrap();
    assert_eq!(
        sources(&suite, first_benchmark(&suite), &offline).unwrap(),
        tree
    );

    let suite = world.suite(
        &url,
        &world
            .commit
            .replace(|digit: char| digit.is_ascii_digit(), "a"),
        "unneeded.cu",
    );
    let error = sources(&suite, first_benchmark(&suite), &online).unwrap_err();
    assert!(matches!(error, FetchError::Unreachable { .. }), "{error}");
}

/// Tests URLs that name a remote helper or contain command-line options.
#[test]
fn urls_cannot_start_programs() {
    let world = World::new();
    let evil = world.path("evil");
    let options = FetchOptions {
        source_mirror: None,
        ..world.options()
    };
    let mut suite = world.suite("https://127.0.0.1:1/none", &world.commit, "unneeded.cu");
    for url in [
        format!("ext::sh -c touch% {}", evil.display()),
        format!("--upload-pack=touch {}", evil.display()),
        format!("ssh://-oProxyCommand=touch%20{}/x", evil.display()),
    ] {
        let commit = world.commit.clone();
        suite.source = crate::manifest::Source {
            in_tree: None,
            git: Some(crate::manifest::GitSource { url, commit }),
        };
        assert!(sources(&suite, first_benchmark(&suite), &options).is_err());
        assert!(!evil.exists());
    }
}

#[test]
fn a_missing_commit_is_distinguished_from_an_unreachable_url() {
    let world = World::new();
    let url = format!("file://{}", world.path("upstream").display());
    let options = FetchOptions {
        source_mirror: None,
        ..world.options()
    };
    let suite = world.suite(
        &url,
        "0123456789abcdef0123456789abcdef01234567",
        "unneeded.cu",
    );
    let error = sources(&suite, first_benchmark(&suite), &options).unwrap_err();
    assert!(
        error.to_string().starts_with("failed to find commit"),
        "{error}"
    );
    // No process listens on this port.
    let error = world.fetch("unneeded.cu", &options).unwrap_err();
    assert!(matches!(error, FetchError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("--source-mirror"), "{error}");
}

fn data_options(world: &Path) -> FetchOptions {
    FetchOptions {
        source_mirror: None,
        data_mirror: Some(world.join("mirror")),
        cache_dir: world.join("cache"),
        offline: false,
        download: quick_limits(),
    }
}

#[test]
fn data_from_the_mirror_must_have_the_right_hash() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("mirror/one")).unwrap();
    fs::write(folder.path().join("mirror/one/a"), "right").unwrap();
    let options = data_options(folder.path());
    let (right, wrong) = (hash_bytes(b"right"), hash_bytes(b"wrong"));
    let input = |data: &str| Input {
        data: Some(data.into()),
        ..Input::default()
    };
    assert_eq!(
        data_file(&input("one/a"), &right, None, &options).unwrap(),
        Some((folder.path().join("mirror/one/a"), Origin::Mirror))
    );
    let error = data_file(&input("one/a"), &wrong, None, &options).unwrap_err();
    assert!(
        matches!(error, FetchError::WrongHash { found, expected, .. } if found == right && expected == wrong)
    );
    let absent = input("one/b");
    assert_eq!(data_file(&absent, &right, None, &options).unwrap(), None);
}

#[test]
fn a_refused_connection_is_reported_as_unreachable() {
    let folder = tempfile::tempdir().unwrap();
    let options = data_options(folder.path());
    let sha256 = hash_bytes(b"right");
    let input = Input {
        url: Some("https://127.0.0.1:1/a".to_owned()),
        ..Input::default()
    };
    let error = data_file(&input, &sha256, None, &options).unwrap_err();
    assert!(matches!(error, FetchError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("--data-mirror"), "{error}");
    assert!(!folder.path().join("cache/blobs").exists());
    assert_eq!(
        data_file(
            &input,
            &sha256,
            None,
            &FetchOptions {
                offline: true,
                ..options
            }
        )
        .unwrap(),
        None
    );
}

#[test]
fn single_files_are_extracted_from_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(
        Vec::new(),
        flate2::Compression::fast(),
    ));
    for (name, content) in [("./data/one/b", "other"), ("./data/one/a", "right")] {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, content.as_bytes())
            .unwrap();
    }
    let packed = tar.into_inner().unwrap().finish().unwrap();
    let archive = DataArchive {
        url: "https://127.0.0.1:1/data.tar.gz".to_owned(),
        sha256: hash_bytes(&packed),
    };
    let cache = Cache::new(&folder.path().join("cache"));
    let options = FetchOptions {
        data_mirror: None,
        offline: true,
        ..data_options(folder.path())
    };
    let right = hash_bytes(b"right");
    let get = |data: &str, sha256| {
        let input = Input {
            data: Some(data.into()),
            ..Input::default()
        };
        data_file(&input, sha256, Some(&archive), &options)
    };

    assert_eq!(
        get("one/a", &right).unwrap(),
        None,
        "offline, and not in the cache yet"
    );
    cache
        .put(packed.as_slice(), Some(&archive.sha256), "test")
        .unwrap();
    let found = get("one/a", &right).unwrap();
    assert!(
        matches!(&found, Some((path, Origin::Downloaded)) if fs::read(path).unwrap() == b"right"),
        "{found:?}"
    );
    let whole = cache.get(&archive.sha256).unwrap().unwrap();
    let aside = folder.path().join("aside");
    fs::rename(&whole, &aside).unwrap();
    let again = get("one/a", &right).unwrap();
    assert_eq!(again, found, "from the cache, without the archive");
    fs::rename(&aside, &whole).unwrap();

    let wrong = hash_bytes(b"wrong");
    let error = get("one/a", &wrong).unwrap_err();
    assert!(matches!(error, FetchError::WrongHash { .. }), "{error}");
    let absent = hash_bytes(b"absent");
    assert_eq!(get("one/c", &absent).unwrap(), None);
}

#[test]
fn the_cache_stores_verified_files_and_drops_damaged_ones() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path());
    let hash = hash_bytes(b"content");
    assert_eq!(cache.get(&hash).unwrap(), None);
    let error = cache
        .put(b"other".as_slice(), Some(&hash), "a test")
        .unwrap_err();
    assert!(matches!(error, FetchError::WrongHash { .. }));
    assert_eq!(cache.get(&hash).unwrap(), None);
    assert_eq!(
        fs::read_dir(folder.path().join("blobs")).unwrap().count(),
        0,
        "a refused file leaves nothing behind"
    );
    let (_, path) = cache
        .put(b"content".as_slice(), Some(&hash), "a test")
        .unwrap();
    assert_eq!(cache.get(&hash).unwrap(), Some(path.clone()));
    fs::write(&path, "damage").unwrap();
    assert_eq!(cache.get(&hash).unwrap(), None);
    assert!(!path.exists());
}
