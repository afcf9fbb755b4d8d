//! Downloads over `https` into the cache: resumed where an earlier one stopped, tried again after a pause, never longer than
//! allowed, and nothing of it used before its hash is right.
//!
//! What has arrived lies in `<cache>/partial/<sha256>`, also after the process was killed or the network went away. The name is
//! that of the wanted content, so that a partial file of something else is never continued; a server that cannot continue sends
//! all of it again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::http::{Response, StatusCode, header};

use super::cache::{Cache, check_hash, hash_file, io};
use super::error::FetchError;
use super::lock::lock;
use crate::interrupt;
use crate::manifest::Sha256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadLimits {
    /// Attempts in a row that bring nothing new before giving up, at least 1.
    pub attempts: u32,
    /// Pause before the second attempt; doubled before each further one.
    pub first_pause: Duration,
    /// Longest file that is taken, in bytes.
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

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

enum Attempt {
    /// The server has no more to send.
    Whole,
    /// Something went wrong, for this reason, that may go right the next time. Bytes that arrived are kept.
    Broken(String),
    /// What is here does not fit what the server has; it was removed.
    StartOver,
}

/// Downloads the file with this hash into the cache, unless another process has just done so.
pub(super) fn into_cache(
    url: &str,
    sha256: &Sha256,
    limits: &DownloadLimits,
    cache: &Cache,
) -> Result<PathBuf, FetchError> {
    let _lock = lock(cache, &format!("blob-{sha256}"))?;
    if let Some(path) = cache.get(sha256)? {
        return Ok(path);
    }
    let partial = cache.folder("partial")?.join(sha256.to_string());
    let mut pause = limits.first_pause;
    let mut failures = 0;
    // A partial file of an earlier process may be damaged: what comes of it gets a second chance from the beginning.
    let mut furthest = partial_bytes(&partial);
    let mut continued = furthest > 0;
    loop {
        match attempt(url, &partial, limits)? {
            Attempt::Whole => {
                let (found, _) = hash_file(&partial)?;
                if found == *sha256 {
                    return cache.adopt(&partial, sha256);
                }
                remove(&partial)?;
                if !continued {
                    check_hash(url, &found, Some(sha256))?;
                }
                continued = false;
                continue;
            }
            Attempt::StartOver if continued => {
                continued = false;
                continue;
            }
            Attempt::StartOver => {
                return Err(unreachable(url, "the server refuses the whole file".into()));
            }
            Attempt::Broken(why) => {
                let here = partial_bytes(&partial);
                continued |= here > 0;
                failures += 1;
                if here > furthest {
                    (furthest, failures, pause) = (here, 1, limits.first_pause);
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

/// One request for what is missing of `partial`.
fn attempt(url: &str, partial: &Path, limits: &DownloadLimits) -> Result<Attempt, FetchError> {
    let agent = ureq::Agent::new_with_config(
        ureq::Agent::config_builder()
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(limits.silence))
            .http_status_as_error(false)
            .build(),
    );
    let here = partial_bytes(partial);
    let mut request = agent.get(url);
    if here > 0 {
        request = request.header(header::RANGE, format!("bytes={here}-"));
    }
    let response = match request.call() {
        Ok(response) => response,
        Err(error) => return Ok(Attempt::Broken(error.to_string())),
    };
    let range = text(&response, header::CONTENT_RANGE).unwrap_or_default();
    let start = match response.status() {
        StatusCode::OK => 0,
        // `bytes 100-199/200`: any other place than the asked one would tear the file.
        StatusCode::PARTIAL_CONTENT if range.starts_with(&format!("bytes {here}-")) => here,
        // All of it is here already.
        StatusCode::RANGE_NOT_SATISFIABLE if range == format!("bytes */{here}") => {
            return Ok(Attempt::Whole);
        }
        StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
            remove(partial)?;
            return Ok(Attempt::StartOver);
        }
        status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            return Ok(Attempt::Broken(format!("the server answers {status}")));
        }
        status => return Err(unreachable(url, format!("the server answers {status}"))),
    };
    receive(url, response, partial, start, limits)
}

fn text(response: &Response<ureq::Body>, name: header::HeaderName) -> Option<String> {
    let value = response.headers().get(name)?;
    value.to_str().ok().map(str::to_owned)
}

/// Writes what the server sends into `partial`, from byte `start` on.
fn receive(
    url: &str,
    response: Response<ureq::Body>,
    partial: &Path,
    start: u64,
    limits: &DownloadLimits,
) -> Result<Attempt, FetchError> {
    let announced = text(&response, header::CONTENT_LENGTH);
    let announced = announced.and_then(|length| length.parse::<u64>().ok());
    let too_long = || FetchError::TooLong {
        origin: url.to_owned(),
        limit_bytes: limits.bytes,
    };
    if announced.is_some_and(|length| start.saturating_add(length) > limits.bytes) {
        return Err(too_long());
    }
    let mut file = open(partial, start)?;
    let mut body = response
        .into_body()
        .into_with_config()
        .limit(u64::MAX)
        .reader();
    let mut buffer = vec![0; 1 << 16];
    let mut brought = 0;
    loop {
        if interrupt::requested() {
            return Ok(Attempt::Broken("it was interrupted".to_owned()));
        }
        let read = match body.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Ok(Attempt::Broken(error.to_string())),
        };
        brought += read as u64;
        if start + brought > limits.bytes {
            remove(partial)?;
            return Err(too_long());
        }
        file.write_all(&buffer[..read])
            .map_err(io("write", partial))?;
    }
    Ok(match announced {
        Some(length) if brought < length => Attempt::Broken(format!(
            "the connection ended after {brought} of {length} bytes"
        )),
        _ => Attempt::Whole,
    })
}

fn unreachable(url: &str, detail: String) -> FetchError {
    FetchError::Unreachable {
        url: url.to_owned(),
        detail,
        option: "--data-mirror",
    }
}

/// Opens the partial file so that writing goes on at `start`: its end, or the beginning of an empty one.
fn open(partial: &Path, start: u64) -> Result<File, FetchError> {
    OpenOptions::new()
        .create(true)
        .write(true)
        .append(start > 0)
        .truncate(start == 0)
        .open(partial)
        .map_err(io("create", partial))
}

fn partial_bytes(partial: &Path) -> u64 {
    fs::metadata(partial).map_or(0, |metadata| metadata.len())
}

fn remove(partial: &Path) -> Result<(), FetchError> {
    match fs::remove_file(partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io("remove", partial)(error)),
        _ => Ok(()),
    }
}
