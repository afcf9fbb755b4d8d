//! Downloads files into the cache with `curl`. A download resumes where an earlier one stopped, is retried after a
//! pause, never exceeds the size limit, and is used only once its hash has been verified.
//!
//! Received bytes are kept in `<cache>/partial/<sha256>`, even if the process is killed or the network goes down. The
//! file is named after the hash of the expected content, so another download's partial file is never resumed. A server
//! that cannot resume sends the whole file again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::cache::{Cache, check_hash, hash_file, io};
use super::error::{FetchError, Result};
use crate::interrupt;
use crate::manifest::Sha256;
use crate::run::die_with_this_process;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadLimits {
    /// Consecutive attempts without progress before giving up; at least 1.
    pub attempts: u32,
    /// Pause before the second attempt; doubled before each subsequent one.
    pub first_pause: Duration,
    /// Maximum accepted file size, in bytes.
    pub bytes: u64,
    pub silence: Duration,
}

impl Default for DownloadLimits {
    fn default() -> Self {
        Self {
            attempts: 4,
            first_pause: Duration::from_millis(500),
            bytes: 16 << 30,
            silence: Duration::from_secs(60),
        }
    }
}

// Exit codes of curl, from its manual.
const CURL_HTTP_ERROR: i32 = 22;
const CURL_RANGE_ERROR: i32 = 33;
const CURL_TOO_LONG: i32 = 63;

const RANGE_NOT_SATISFIABLE: u16 = 416;
const TOO_MANY_REQUESTS: u16 = 429;

pub(super) fn into_cache(
    url: &str,
    sha256: &Sha256,
    limits: &DownloadLimits,
    cache: &Cache,
) -> Result<PathBuf> {
    let _lock = cache.lock(&format!("blob-{sha256}"))?;
    if let Some(path) = cache.get(sha256)? {
        return Ok(path);
    }
    let partial = cache.folder("partial")?.join(sha256.to_string());
    let mut pause = limits.first_pause;
    let mut failures = 0;
    // A partial file left by an earlier process may be damaged, so if resuming it fails, the download starts over once.
    let mut max_received = partial_bytes(&partial);
    let mut is_resumed = max_received > 0;
    loop {
        match attempt(url, &partial, limits)? {
            None => {
                let found = hash_file(&partial)?;
                if found == *sha256 {
                    return cache.adopt(&partial, sha256);
                }
                remove(&partial)?;
                if !is_resumed {
                    check_hash(url, &found, Some(sha256))?;
                }
                is_resumed = false;
                continue;
            }
            Some(why) => {
                let received = partial_bytes(&partial);
                is_resumed |= received > 0;
                failures += 1;
                if received > max_received {
                    (max_received, failures, pause) = (received, 1, limits.first_pause);
                }
                if failures >= limits.attempts || interrupt::requested() {
                    let detail = format!("{why} (after {failures} attempts)");
                    return Err(unreachable(url, detail));
                }
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_secs(30));
    }
}

/// Returns `None` after a download, or why the attempt failed if a retry might succeed. Bytes already received are kept.
fn attempt(url: &str, partial: &Path, limits: &DownloadLimits) -> Result<Option<String>> {
    let start = partial_bytes(partial);
    let file = OpenOptions::new().create(true).append(true).open(partial);
    let mut file = file.map_err(io("create", partial))?;
    let mut child = curl(url, start, limits)
        .spawn()
        .map_err(FetchError::tool("curl"))?;
    let received = child.stdout.take().map_or(Ok(()), |body| {
        receive(url, body, &mut file, partial, limits)
    });
    if let Err(error) = received {
        // This error is more informative than curl's exit status.
        let _ = child.kill();
        let _ = child.wait();
        return Err(error);
    }
    let output = child
        .wait_with_output()
        .map_err(io("wait for curl to write", partial))?;
    // curl's message, then the status on a separate line.
    let text = String::from_utf8_lossy(&output.stderr);
    let (message, status) = text.trim_end().rsplit_once('\n').unwrap_or_default();
    let status: u16 = status.parse().unwrap_or(0);
    match output.status.code() {
        Some(0) => Ok(None),
        // There is nothing past the received bytes; the hash shows whether the file is complete.
        Some(CURL_HTTP_ERROR) if status == RANGE_NOT_SATISFIABLE && start > 0 => Ok(None),
        Some(CURL_HTTP_ERROR) if status < 500 && status != TOO_MANY_REQUESTS => {
            Err(unreachable(url, format!("the server returned {status}")))
        }
        Some(CURL_HTTP_ERROR) => Ok(Some(format!("the server returned {status}"))),
        // The server cannot send part of a file.
        Some(CURL_RANGE_ERROR) if start > 0 => {
            remove(partial)?;
            attempt(url, partial, limits)
        }
        Some(CURL_TOO_LONG) => Err(too_long(url, limits)),
        _ => Ok(Some(message.trim().to_owned())),
    }
}

/// Returns a command that writes the body, beginning at byte `start`, to standard output, and the status to the end of
/// standard error.
fn curl(url: &str, start: u64, limits: &DownloadLimits) -> Command {
    let mut command = Command::new("curl");
    // `--disable`: the user's own curl configuration must not affect these downloads.
    command.args(["--disable", "--silent", "--show-error", "--fail"]);
    command.args(["--location", "--globoff", "--proto", "=http,https"]);
    command.args(["--write-out", "%{stderr}\n%{http_code}"]);
    command.args(["--connect-timeout", "20", "--speed-limit", "1"]);
    let silence = limits.silence.as_secs().max(1).to_string();
    command.args(["--speed-time", &silence]);
    command.args(["--max-filesize", &limits.bytes.to_string()]);
    if start > 0 {
        command.args(["--continue-at", &start.to_string()]);
    }
    command.args(["--url", url]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    die_with_this_process(&mut command);
    command
}

/// Appends the body to `file`, and checks the limit here too, since not every server announces the size.
fn receive(
    url: &str,
    body: impl Read,
    file: &mut File,
    partial: &Path,
    limits: &DownloadLimits,
) -> Result<()> {
    let remaining = limits.bytes.saturating_sub(partial_bytes(partial));
    let mut body = body.take(remaining.saturating_add(1));
    if io::copy(&mut body, file).map_err(io("write", partial))? > remaining {
        remove(partial)?;
        return Err(too_long(url, limits));
    }
    Ok(())
}

fn too_long(url: &str, limits: &DownloadLimits) -> FetchError {
    FetchError::TooLong {
        origin: url.to_owned(),
        limit_bytes: limits.bytes,
    }
}

fn unreachable(url: &str, detail: String) -> FetchError {
    FetchError::Unreachable {
        url: url.to_owned(),
        detail,
        option: "--data-mirror",
    }
}

fn partial_bytes(partial: &Path) -> u64 {
    fs::metadata(partial).map_or(0, |metadata| metadata.len())
}

fn remove(partial: &Path) -> Result<()> {
    match fs::remove_file(partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io("remove", partial)(error)),
        _ => Ok(()),
    }
}
