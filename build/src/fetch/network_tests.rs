//! Tests for downloads from a misbehaving local server; no network is needed.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::hash_bytes;
use super::tests::{World, first_benchmark, git, quick_limits};
use super::*;
use crate::manifest::{DataArchive, Input};

const CONTENT: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Serves scripted responses in order, and records the requests.
struct Server {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `answer` receives the request's index, counted from 0, and the request's text. The server sends the bytes that
    /// `answer` returns, and closes the connection.
    fn new(answer: impl Fn(usize, &str) -> Vec<u8> + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/file", listener.local_addr().unwrap());
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let recorded = Arc::clone(&requests);
        // The thread waits for connections until the test process exits.
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let request = head(&mut stream);
                recorded.lock().unwrap().push(request.clone());
                // The client might close the connection early.
                let _ = stream.write_all(&answer(number, &request));
            }
        });
        Server { url, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn head(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        bytes.push(byte[0]);
    }
    String::from_utf8(bytes).unwrap().to_lowercase()
}

fn response(status: &str, headers: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn complete(body: &[u8]) -> Vec<u8> {
    response("200 OK", "", body.len(), body)
}

/// Announces all of `CONTENT`, but sends only the first `bytes` bytes.
fn truncated(bytes: usize) -> Vec<u8> {
    response("200 OK", "", CONTENT.len(), &CONTENT[..bytes])
}

/// Returns the rest of `CONTENT`, starting at the position in `request`.
fn rest(request: &str) -> Vec<u8> {
    let (_, range) = request.split_once("range: bytes=").unwrap();
    let start: usize = range.split('-').next().unwrap().parse().unwrap();
    let all = CONTENT.len();
    let range = format!("Content-Range: bytes {start}-{}/{all}\r\n", all - 1);
    let body = &CONTENT[start..];
    response("206 Partial Content", &range, body.len(), body)
}

/// A separate cache, into which `CONTENT` is fetched.
struct Client {
    folder: tempfile::TempDir,
    options: FetchOptions,
}

impl Client {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = FetchOptions {
            source_mirror: None,
            data_mirror: None,
            cache_dir: folder.path().join("cache"),
            offline: false,
            download: quick_limits(),
        };
        Self { folder, options }
    }

    fn get(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        let input = Input {
            url: Some(url.to_owned()),
            ..Input::default()
        };
        match data_file(&input, &hash_bytes(CONTENT), None, &self.options)? {
            Some((path, Origin::Downloaded)) => Ok(fs::read(path).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the path of `CONTENT`'s partial file, after creating its folder.
    fn partial(&self) -> PathBuf {
        let folder = self.options.cache_dir.join("partial");
        fs::create_dir_all(&folder).unwrap();
        folder.join(hash_bytes(CONTENT).to_string())
    }

    fn assert_empty(&self, folder: &str) {
        let files = fs::read_dir(self.options.cache_dir.join(folder));
        assert_eq!(files.map_or(0, Iterator::count), 0, "{folder}");
    }
}

/// Fetches `CONTENT` and checks that the partial file is gone.
fn get_content(server: &Server) {
    let client = Client::new();
    assert_eq!(client.get(&server.url).unwrap(), CONTENT);
    client.assert_empty("partial");
}

#[test]
fn a_truncated_download_is_resumed() {
    let server = Server::new(|number, request| match number {
        0 => truncated(10),
        _ => rest(request),
    });
    get_content(&server);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(!requests[0].contains("range:"), "{}", requests[0]);
    assert!(requests[1].contains("range: bytes=10-"), "{}", requests[1]);
}

#[test]
fn a_partial_download_from_a_killed_process_is_resumed() {
    let client = Client::new();
    let server = Server::new(|_, request| rest(request));
    fs::write(client.partial(), &CONTENT[..30]).unwrap();
    assert_eq!(client.get(&server.url).unwrap(), CONTENT);
    assert!(server.requests()[0].contains("range: bytes=30-"));
}

#[test]
fn a_damaged_partial_file_is_fetched_again_from_the_beginning() {
    let client = Client::new();
    let server = Server::new(|_, request| {
        if request.contains("range:") {
            rest(request)
        } else {
            complete(CONTENT)
        }
    });
    fs::write(client.partial(), "damage").unwrap();
    assert_eq!(client.get(&server.url).unwrap(), CONTENT);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_server_that_cannot_resume_sends_everything_again() {
    let server = Server::new(|number, _| match number {
        0 => truncated(10),
        _ => complete(CONTENT),
    });
    get_content(&server);
    // The response is for a different range, or the file is now shorter than the part already received.
    for (status, range, body) in [
        ("206 Partial Content", "bytes 0-35/36", CONTENT),
        ("416 Range Not Satisfiable", "bytes */5", b""),
    ] {
        let headers = format!("Content-Range: {range}\r\n");
        let server = Server::new(move |number, request| match number {
            0 => truncated(10),
            _ if request.contains("range:") => response(status, &headers, body.len(), body),
            _ => complete(CONTENT),
        });
        get_content(&server);
    }
}

#[test]
fn a_busy_server_and_an_empty_response_are_retried() {
    let server = Server::new(|number, _| match number {
        0 => response("503 Service Unavailable", "", 0, b""),
        1 => response("429 Too Many Requests", "", 0, b""),
        2 => Vec::new(),
        _ => complete(CONTENT),
    });
    get_content(&server);
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn giving_up_reports_the_attempts_and_keeps_received_bytes() {
    let client = Client::new();
    let server = Server::new(|_, _| truncated(10));
    let error = client.get(&server.url).unwrap_err();
    assert!(matches!(error, FetchError::Unreachable { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("after 4 attempts"), "{text}");
    assert!(text.contains("--data-mirror"), "{text}");
    assert_eq!(fs::read(client.partial()).unwrap(), &CONTENT[..10]);
}

#[test]
fn a_refusal_is_final() {
    let server = Server::new(|_, _| response("404 Not Found", "", 0, b""));
    let error = Client::new().get(&server.url).unwrap_err();
    assert!(error.to_string().contains("404"), "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_changed_upstream_file_is_refused_and_not_kept() {
    let client = Client::new();
    let server = Server::new(|_, _| complete(b"something else"));
    let error = client.get(&server.url).unwrap_err();
    assert!(matches!(error, FetchError::WrongHash { .. }), "{error}");
    assert!(error.to_string().contains("it was not used"), "{error}");
    client.assert_empty("partial");
    client.assert_empty("blobs");
}

#[test]
fn a_file_over_the_size_limit_is_refused() {
    let mut client = Client::new();
    client.options.download.bytes = 20;
    let announced = Server::new(|_, _| complete(CONTENT));
    // Without a length, the bytes are counted as they arrive.
    let endless = Server::new(|_, _| [b"HTTP/1.0 200 OK\r\n\r\n", CONTENT].concat());
    for server in [announced, endless] {
        let error = client.get(&server.url).unwrap_err();
        assert!(matches!(error, FetchError::TooLong { .. }), "{error}");
    }
    client.assert_empty("partial");
}

#[test]
fn a_silent_server_times_out() {
    let mut client = Client::new();
    client.options.download.silence = Duration::from_millis(100);
    client.options.download.attempts = 1;
    let server = Server::new(|_, _| {
        std::thread::sleep(Duration::from_secs(5));
        Vec::new()
    });
    let error = client.get(&server.url).unwrap_err();
    assert!(matches!(error, FetchError::Unreachable { .. }), "{error}");
}

#[test]
fn a_full_disk_is_reported() {
    let client = Client::new();
    let server = Server::new(|_, _| complete(CONTENT));
    std::os::unix::fs::symlink("/dev/full", client.partial()).unwrap();
    let error = client.get(&server.url).unwrap_err();
    assert!(matches!(error, FetchError::Io(_)), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("No space left") && text.contains("free space"),
        "{error}"
    );
    assert_eq!(server.requests().len(), 1, "another attempt would not help");
}

#[test]
fn only_one_of_many_concurrent_calls_downloads() {
    let client = Client::new();
    let server = Server::new(|_, _| {
        std::thread::sleep(Duration::from_millis(50));
        complete(CONTENT)
    });
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(client.get(&server.url).unwrap(), CONTENT));
        }
    });
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_missing_network_is_reported_with_an_alternative() {
    // No resolver may resolve this name (RFC 2606).
    let error = (Client::new().get("http://superstep.invalid/file")).unwrap_err();
    assert!(matches!(error, FetchError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("--data-mirror"), "{error}");
}

#[test]
fn concurrent_fetches_share_a_repository() {
    let world = World::new();
    for option in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
        git(&world.path("upstream"), &["config", option, "true"]);
    }
    let url = format!("file://{}", world.path("upstream").display());
    let options = FetchOptions {
        source_mirror: None,
        ..world.options()
    };
    let suite = world.suite(&url, &world.commit, "../../common/one.h");
    std::thread::scope(|scope| {
        let fetch = || sources(&suite, first_benchmark(&suite), &options).unwrap();
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(fetch)).collect();
        let trees = threads.into_iter().map(|thread| thread.join().unwrap());
        let trees: Vec<_> = trees.collect();
        assert!(trees.iter().all(|tree| *tree == trees[0]));
    });
}

fn builder() -> tar::Builder<flate2::write::GzEncoder<Vec<u8>>> {
    let best = flate2::Compression::best();
    tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), best))
}

/// Returns a gzip-compressed archive whose entries have these names, types and link targets.
fn packed(entries: &[(&str, tar::EntryType, &str)]) -> Vec<u8> {
    let mut tar = builder();
    for (name, kind, target) in entries {
        let mut header = tar::Header::new_gnu();
        // `set_path` rejects the names tested here.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(if kind.is_file() { 5 } else { 0 });
        header.set_cksum();
        let body: &[u8] = if kind.is_file() { b"right" } else { b"" };
        tar.append(&header, body).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

/// Requests `one/a` from an archive with these bytes.
fn from_archive(
    bytes: Vec<u8>,
    change: impl Fn(&mut FetchOptions),
) -> (
    Result<Option<(PathBuf, Origin)>, FetchError>,
    tempfile::TempDir,
) {
    let mut client = Client::new();
    let sha256 = hash_bytes(&bytes);
    let server = Server::new(move |_, _| complete(&bytes));
    let archive = DataArchive {
        url: server.url.clone(),
        sha256,
    };
    let input = Input {
        data: Some("one/a".into()),
        ..Input::default()
    };
    change(&mut client.options);
    let right = hash_bytes(b"right");
    let found = data_file(&input, &right, Some(&archive), &client.options);
    (found, client.folder)
}

#[test]
fn an_archive_with_names_outside_its_folder_is_refused() {
    let file = tar::EntryType::Regular;
    for name in ["data/../../evil", "../evil", "/evil"] {
        let entries = [(name, file, ""), ("data/one/a", file, "")];
        let (result, folder) = from_archive(packed(&entries), |_| ());
        let error = result.unwrap_err();
        assert!(matches!(error, FetchError::Archive { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("is outside the archive's folder"), "{text}");
        assert!(!folder.path().join("evil").exists() && !Path::new("/evil").exists());
    }
}

#[test]
fn links_in_an_archive_are_not_followed() {
    for (kind, target) in [
        (tar::EntryType::Symlink, "/etc/passwd"),
        (tar::EntryType::Link, "data/one/b"),
        (tar::EntryType::Directory, ""),
    ] {
        let (result, _folder) = from_archive(packed(&[("data/one/a", kind, target)]), |_| ());
        let text = result.unwrap_err().to_string();
        assert!(text.contains("a is not a regular file"), "{kind:?}: {text}");
    }
    // A link elsewhere is harmless, since nothing is unpacked.
    let entries = [
        ("data/one", tar::EntryType::Symlink, "/tmp"),
        ("data/one/a", tar::EntryType::Regular, ""),
    ];
    let (result, _folder) = from_archive(packed(&entries), |_| ());
    assert!(matches!(result, Ok(Some(_))), "{result:?}");
}

#[test]
fn damaged_and_huge_archives_are_refused() {
    let good = packed(&[("data/one/a", tar::EntryType::Regular, "")]);
    let (result, _folder) = from_archive(good[..good.len() / 2].to_vec(), |_| ());
    let error = result.unwrap_err();
    assert!(
        matches!(error, FetchError::Archive { .. } | FetchError::Io(_)),
        "{error}"
    );
    let (result, _folder) = from_archive(b"no archive".to_vec(), |_| ());
    assert!(matches!(result, Err(FetchError::Archive { .. })));
    // A small archive that unpacks to many bytes: its first entry is 1 MiB of zeroes.
    let mut tar = builder();
    let mut header = tar::Header::new_gnu();
    header.set_size(1 << 20);
    tar.append_data(&mut header, "data/big", std::io::repeat(0).take(1 << 20))
        .unwrap();
    let bomb = tar.into_inner().unwrap().finish().unwrap();
    assert!(bomb.len() < 1 << 14);
    let (result, _folder) = from_archive(bomb, |options| options.download.bytes = 1 << 14);
    use FetchError::{Archive, TooLong};
    let error = result.unwrap_err();
    assert!(matches!(error, TooLong { .. } | Archive { .. }), "{error}");
}
