//! Reads individual files from a git commit with the `git` command, from a mirror or a fetched repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::FetchOptions;
use superstep_toolchain::{CacheLock, hash_bytes};

use super::cache::{Cache, io};
use super::error::{FetchError, Result};
use crate::interrupt;
use crate::run::die_with_this_process;

/// Protocols that git may use, regardless of the user's configuration: URLs come from manifests, and can redirect to
/// other URLs.
const PROTOCOLS: &str = "https:http:ssh:git:file";

#[derive(Debug)]
pub(super) struct Repository {
    folder: PathBuf,
    name: String,
    commit: String,
    lazy: bool,
    /// Held while a repository in the cache is in use: git's own locks would make a concurrent fetch fail.
    _lock: Option<CacheLock>,
}

impl Repository {
    /// Opens a local repository, bare or not, in place of a URL, and never writes to it.
    pub(super) fn mirror(folder: &Path, commit: &str) -> Result<Repository> {
        let path = std::path::absolute(folder).map_err(io("find folder", folder))?;
        let repository = Repository {
            name: path.display().to_string(),
            folder: path,
            commit: commit.to_owned(),
            lazy: false,
            _lock: None,
        };
        let probe = repository.git(&["rev-parse", "--git-dir"])?;
        if !probe.status.success() {
            return Err(FetchError::Git {
                action: format!("read the source mirror {}", repository.name),
                detail: message(&probe),
                hint: "--source-mirror expects a git repository, bare or not",
            });
        }
        repository.check_commit()?;
        Ok(repository)
    }

    pub(super) fn from_url(
        url: &str,
        commit: &str,
        cache: &Cache,
        options: &FetchOptions,
    ) -> Result<Repository> {
        let offline = options.offline;
        let key = hash_bytes(url.as_bytes()).to_string();
        let lock = cache.lock(&format!("git-{key}"))?;
        let folder = cache.folder("git")?.join(key);
        std::fs::create_dir_all(&folder).map_err(io("create folder", &folder))?;
        let repository = Repository {
            folder,
            name: url.to_owned(),
            commit: commit.to_owned(),
            lazy: !offline,
            _lock: Some(lock),
        };
        let unreachable = |output: &Output| FetchError::Unreachable {
            url: url.to_owned(),
            detail: message(output),
            option: "--source-mirror",
        };
        // File contents are fetched on demand: suites are large, and a benchmark needs only a few files.
        for arguments in [
            &["init", "--quiet", "--bare"][..],
            &["config", "remote.origin.url", url],
            &["config", "remote.origin.promisor", "true"],
            &["config", "remote.origin.partialclonefilter", "blob:none"],
        ] {
            let output = repository.git(arguments)?;
            if !output.status.success() {
                return Err(unreachable(&output));
            }
        }
        if repository.check_commit().is_ok() {
            return Ok(repository);
        }
        if offline {
            return Err(FetchError::Offline {
                what: format!("commit {commit} of {url}"),
                option: "--source-mirror",
            });
        }
        let limits = &options.download;
        let mut pause = limits.first_pause;
        for attempt in 1.. {
            let fetch = [
                "fetch",
                "--quiet",
                "--depth=1",
                "--no-tags",
                "--filter=blob:none",
            ];
            let fetched = repository.git(&[&fetch[..], &["origin", commit]].concat())?;
            if fetched.status.success() {
                break;
            }
            // Check whether the repository is reachable but lacks the commit, or is not reachable at all.
            let listed = repository.git(&["ls-remote", "--quiet", "origin", "HEAD"])?;
            if listed.status.success() {
                return Err(repository.no_commit(&fetched));
            }
            if attempt >= limits.attempts || interrupt::requested() {
                return Err(unreachable(&listed));
            }
            std::thread::sleep(pause);
            pause *= 2;
        }
        repository.check_commit()?;
        Ok(repository)
    }

    pub(super) fn file(&self, path: &Path) -> Result<Vec<u8>> {
        let id = self.entry(path)?;
        let (path, commit) = (path.display(), &self.commit);
        let no_content = |detail: String| FetchError::Git {
            action: format!("read file {path} of commit {commit} from {}", self.name),
            detail,
            hint: "update or repair the mirror",
        };
        let blob = self.git(&["cat-file", "blob", &id])?;
        if !blob.status.success() {
            return Err(no_content(message(&blob)));
        }
        // git does not check the content that it reads against the id.
        let found = self.hash_object(&blob.stdout)?;
        if found != id {
            return Err(no_content(format!(
                "{path} is damaged: git's id is {found}, expected {id}"
            )));
        }
        Ok(blob.stdout)
    }

    fn entry(&self, path: &Path) -> Result<String> {
        let (name, commit) = (path.display(), &self.commit);
        let no_file = |detail: &str| FetchError::Git {
            action: format!("find file {name} in commit {commit} of {}", self.name),
            detail: detail.to_owned(),
            hint: "correct `files` in the manifest",
        };
        let Some(text) = path.to_str() else {
            return Err(no_file("its name is not UTF-8"));
        };
        let listed = self.git(&["ls-tree", "-z", "--full-tree", &self.commit, "--", text])?;
        if !listed.status.success() {
            return Err(no_file(&message(&listed)));
        }
        // One record: `<mode> <type> <id>\t<path>\0`.
        let output = String::from_utf8_lossy(&listed.stdout);
        let Some((entry, name)) = output.trim_end_matches('\0').split_once('\t') else {
            return Err(no_file("there is no such file"));
        };
        let mut words = entry.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some("120000"), ..) => {
                Err(no_file("it is a symbolic link; name the file it points to"))
            }
            (Some(_), Some("blob"), Some(id)) if name == text => Ok(id.to_owned()),
            (_, Some(kind), _) => Err(no_file(&format!("it is a {kind}, not a file"))),
            _ => Err(no_file("git's output cannot be parsed")),
        }
    }

    fn check_commit(&self) -> Result<()> {
        let output = self.git(&["cat-file", "-e", &format!("{}^{{commit}}", self.commit)])?;
        match output.status.success() {
            true => Ok(()),
            false => Err(self.no_commit(&output)),
        }
    }

    fn no_commit(&self, output: &Output) -> FetchError {
        FetchError::Git {
            action: format!("find commit {} in {}", self.commit, self.name),
            detail: message(output),
            hint: "check the commit in suite.yaml, or update the mirror",
        }
    }

    fn hash_object(&self, content: &[u8]) -> Result<String> {
        let mut child = self
            .command(&["hash-object", "--stdin", "--no-filters"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(FetchError::tool("git"))?;
        if let Some(mut stdin) = child.stdin.take() {
            // If git closes its input early, the hash differs.
            let _ = std::io::Write::write_all(&mut stdin, content);
        }
        let output = child.wait_with_output().map_err(FetchError::tool("git"))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn git(&self, arguments: &[&str]) -> Result<Output> {
        self.command(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(FetchError::tool("git"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        // `safe.directory`: the user named this repository; only objects are read from it, and no hooks are run.
        command
            .arg("-C")
            .arg(&self.folder)
            .args(["-c", "safe.directory=*"])
            .args(arguments);
        for variable in [
            "DIR",
            "WORK_TREE",
            "INDEX_FILE",
            "OBJECT_DIRECTORY",
            "NAMESPACE",
        ] {
            command.env_remove(format!("GIT_{variable}"));
        }
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", PROTOCOLS)
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("LC_ALL", "C");
        if !self.lazy {
            command.env("GIT_NO_LAZY_FETCH", "1");
        }
        // A folder that is not a repository is an error, even if a folder above it is one.
        if let Some(parent) = self.folder.parent() {
            command.env("GIT_CEILING_DIRECTORIES", parent);
        }
        die_with_this_process(&mut command);
        command
    }
}

fn message(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or("git gave no reason");
    let line = line.trim_start_matches("fatal: ");
    line.trim_start_matches("error: ").to_owned()
}
