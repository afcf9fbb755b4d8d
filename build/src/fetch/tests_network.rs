//! Downloads from a server that misbehaves, on this machine. No network is needed.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::cache::hash_bytes;
use super::tests::{World, git, only, quick};
use super::*;
use crate::manifest::{DataArchive, Sha256};

const CONTENT: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Answers one request after the other with what the script says for it, and notes the requests.
struct Server {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `answer` gets the number of the request, from 0, and its text; its bytes are sent as they are and the connection ends.
    fn new(answer: impl Fn(usize, &str) -> Vec<u8> + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/file", listener.local_addr().unwrap());
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let noted = Arc::clone(&requests);
        // The thread waits for connections until the test process ends.
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let request = head(&mut stream);
                noted.lock().unwrap().push(request.clone());
                // A client that has seen enough may hang up.
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

fn whole(body: &[u8]) -> Vec<u8> {
    response("200 OK", "", body.len(), body)
}

/// Announces all of `CONTENT` and sends its first bytes.
fn cut(bytes: usize) -> Vec<u8> {
    response("200 OK", "", CONTENT.len(), &CONTENT[..bytes])
}

/// The rest of `CONTENT` from the place that `request` asks for.
fn rest(request: &str) -> Vec<u8> {
    let start: usize = request
        .split("range: bytes=")
        .nth(1)
        .and_then(|rest| rest.split('-').next())
        .unwrap()
        .parse()
        .unwrap();
    let range = format!(
        "Content-Range: bytes {start}-{}/{}\r\n",
        CONTENT.len() - 1,
        CONTENT.len()
    );
    let body = &CONTENT[start..];
    response("206 Partial Content", &range, body.len(), body)
}

fn options(folder: &Path) -> FetchOptions {
    FetchOptions {
        source_mirror: None,
        data_mirror: None,
        cache_dir: folder.join("cache"),
        offline: false,
        download: quick(),
    }
}

fn get(url: &str, sha256: &Sha256, options: &FetchOptions) -> Result<Vec<u8>, FetchError> {
    let wanted = DataFile {
        data: None,
        url: Some(url),
        archive: None,
        sha256,
    };
    match data_file(wanted, options)? {
        Some(Found::Downloaded(path) | Found::Cached(path)) => Ok(fs::read(path).unwrap()),
        other => panic!("{other:?}"),
    }
}

/// Fetches `CONTENT` and checks that the partial file is gone.
fn get_content(server: &Server) {
    let folder = tempfile::tempdir().unwrap();
    let hash = hash_bytes(CONTENT);
    let found = get(&server.url, &hash, &options(folder.path())).unwrap();
    assert_eq!(found, CONTENT);
    let partial = fs::read_dir(folder.path().join("cache/partial")).unwrap();
    assert_eq!(partial.count(), 0);
}

#[test]
fn a_truncated_download_goes_on_where_it_stopped() {
    let server = Server::new(|number, request| match number {
        0 => cut(10),
        _ => rest(request),
    });
    get_content(&server);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(!requests[0].contains("range:"), "{}", requests[0]);
    assert!(requests[1].contains("range: bytes=10-"), "{}", requests[1]);
}

#[test]
fn what_a_killed_process_left_is_continued() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::new(|_, request| rest(request));
    let hash = hash_bytes(CONTENT);
    let partial = folder.path().join("cache/partial");
    fs::create_dir_all(&partial).unwrap();
    fs::write(partial.join(hash.to_string()), &CONTENT[..30]).unwrap();
    let found = get(&server.url, &hash, &options(folder.path())).unwrap();
    assert_eq!(found, CONTENT);
    assert!(server.requests()[0].contains("range: bytes=30-"));
}

#[test]
fn a_damaged_partial_file_is_fetched_again_from_the_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::new(|_, request| match request.contains("range:") {
        true => rest(request),
        false => whole(CONTENT),
    });
    let hash = hash_bytes(CONTENT);
    let partial = folder.path().join("cache/partial");
    fs::create_dir_all(&partial).unwrap();
    fs::write(partial.join(hash.to_string()), "damage").unwrap();
    let found = get(&server.url, &hash, &options(folder.path())).unwrap();
    assert_eq!((found.as_slice(), server.requests().len()), (CONTENT, 2));
}

#[test]
fn a_server_that_cannot_continue_sends_everything_again() {
    let server = Server::new(|number, _| match number {
        0 => cut(10),
        _ => whole(CONTENT),
    });
    get_content(&server);
    // One that continues elsewhere is not believed.
    let server = Server::new(
        |number, request| match (number, request.contains("range:")) {
            (0, _) => cut(10),
            (_, true) => response(
                "206 Partial Content",
                "Content-Range: bytes 0-35/36\r\n",
                36,
                CONTENT,
            ),
            (_, false) => whole(CONTENT),
        },
    );
    get_content(&server);
    // The file became shorter than what is here: its end is nowhere.
    let server = Server::new(
        |number, request| match (number, request.contains("range:")) {
            (0, _) => cut(10),
            (_, true) => response(
                "416 Range Not Satisfiable",
                "Content-Range: bytes */5\r\n",
                0,
                b"",
            ),
            (_, false) => whole(CONTENT),
        },
    );
    get_content(&server);
}

#[test]
fn a_busy_server_is_asked_again_and_an_empty_answer_is_none() {
    let server = Server::new(|number, _| match number {
        0 => response("503 Service Unavailable", "", 0, b""),
        1 => response("429 Too Many Requests", "", 0, b""),
        2 => Vec::new(),
        _ => whole(CONTENT),
    });
    get_content(&server);
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn giving_up_names_the_attempts_and_keeps_what_came() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::new(|_, _| cut(10));
    let hash = hash_bytes(CONTENT);
    let error = get(&server.url, &hash, &options(folder.path())).unwrap_err();
    assert!(matches!(error, FetchError::Unreachable { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("after 4 attempts") && text.contains("--data-mirror"),
        "{text}"
    );
    let partial = folder.path().join("cache/partial").join(hash.to_string());
    assert_eq!(fs::read(partial).unwrap(), &CONTENT[..10]);
}

#[test]
fn a_refusal_is_final() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::new(|_, _| response("404 Not Found", "", 0, b""));
    let error = get(&server.url, &hash_bytes(CONTENT), &options(folder.path())).unwrap_err();
    assert!(error.to_string().contains("404"), "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_changed_upstream_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::new(|_, _| whole(b"something else"));
    let error = get(&server.url, &hash_bytes(CONTENT), &options(folder.path())).unwrap_err();
    assert!(matches!(error, FetchError::WrongHash { .. }), "{error}");
    assert!(error.to_string().contains("nothing was used"), "{error}");
    for place in ["partial", "blobs"] {
        let files = fs::read_dir(folder.path().join("cache").join(place));
        assert_eq!(files.map_or(0, Iterator::count), 0, "{place}");
    }
}

#[test]
fn a_file_without_end_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(folder.path());
    options.download.bytes = 20;
    let hash = hash_bytes(CONTENT);
    let announced = Server::new(|_, _| whole(CONTENT));
    let error = get(&announced.url, &hash, &options).unwrap_err();
    assert!(matches!(error, FetchError::TooLong { .. }), "{error}");
    // Without a length, the bytes are counted as they come.
    let endless = Server::new(|_, _| [b"HTTP/1.0 200 OK\r\n\r\n", CONTENT].concat());
    let error = get(&endless.url, &hash, &options).unwrap_err();
    assert!(matches!(error, FetchError::TooLong { .. }), "{error}");
    assert_eq!(
        fs::read_dir(folder.path().join("cache/partial"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn a_silent_server_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(folder.path());
    options.download.silence = Duration::from_millis(100);
    options.download.attempts = 1;
    let server = Server::new(|_, _| {
        std::thread::sleep(Duration::from_secs(5));
        Vec::new()
    });
    let error = get(&server.url, &hash_bytes(CONTENT), &options).unwrap_err();
    assert!(matches!(error, FetchError::Unreachable { .. }), "{error}");
}

#[test]
fn a_full_disk_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::new(|_, _| whole(CONTENT));
    let hash = hash_bytes(CONTENT);
    let partial = folder.path().join("cache/partial");
    fs::create_dir_all(&partial).unwrap();
    std::os::unix::fs::symlink("/dev/full", partial.join(hash.to_string())).unwrap();
    let error = get(&server.url, &hash, &options(folder.path())).unwrap_err();
    let FetchError::Io { source, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
    assert!(error.to_string().contains("free space"), "{error}");
    assert_eq!(server.requests().len(), 1, "another attempt helps nobody");
}

#[test]
fn of_many_at_once_one_downloads() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::new(|_, _| {
        std::thread::sleep(Duration::from_millis(50));
        whole(CONTENT)
    });
    let (hash, options) = (hash_bytes(CONTENT), options(folder.path()));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(get(&server.url, &hash, &options).unwrap(), CONTENT));
        }
    });
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn no_network_is_told_with_the_way_around_it() {
    let folder = tempfile::tempdir().unwrap();
    // A name that no resolver may answer for (RFC 2606).
    let error = get(
        "http://superstep.invalid/file",
        &hash_bytes(CONTENT),
        &options(folder.path()),
    )
    .unwrap_err();
    assert!(matches!(error, FetchError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("--data-mirror"), "{error}");
}

#[test]
fn many_may_fetch_from_one_repository_at_once() {
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
        let fetch = || sources(&suite, only(&suite), &options).unwrap();
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(fetch)).collect();
        let trees: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        assert!(trees.iter().all(|tree| *tree == trees[0]));
    });
}

/// A gzip-compressed archive whose entries have these names, types and targets of links.
fn packed(entries: &[(&str, tar::EntryType, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(
        Vec::new(),
        flate2::Compression::fast(),
    ));
    for (name, kind, target) in entries {
        let mut header = tar::Header::new_gnu();
        // `set_path` refuses what is tested here.
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

/// What comes of asking for `one/a` in an archive of these bytes.
fn from_archive(
    bytes: Vec<u8>,
    change: impl Fn(&mut FetchOptions),
) -> (Result<Option<Found>, FetchError>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let sha256 = hash_bytes(&bytes);
    let server = Server::new(move |_, _| whole(&bytes));
    let archive = DataArchive {
        url: server.url.clone(),
        sha256,
    };
    let wanted = DataFile {
        data: Some(Path::new("one/a")),
        url: None,
        archive: Some(&archive),
        sha256: &hash_bytes(b"right"),
    };
    let mut options = options(folder.path());
    change(&mut options);
    (data_file(wanted, &options), folder)
}

#[test]
fn an_archive_that_leaves_its_folder_is_refused() {
    let file = tar::EntryType::Regular;
    for name in ["data/../../evil", "../evil", "/evil"] {
        let entries = [(name, file, ""), ("data/one/a", file, "")];
        let (result, folder) = from_archive(packed(&entries), |_| ());
        let error = result.unwrap_err();
        assert!(matches!(error, FetchError::Archive { .. }), "{error}");
        assert!(
            error.to_string().contains("leaves the archive's folder"),
            "{error}"
        );
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
        let error = result.unwrap_err();
        assert!(
            error.to_string().contains("data/one/a is a link"),
            "{kind:?}: {error}"
        );
    }
    // A link elsewhere harms nobody, since nothing is unpacked.
    let entries = [
        ("data/one", tar::EntryType::Symlink, "/tmp"),
        ("data/one/a", tar::EntryType::Regular, ""),
    ];
    let (result, _folder) = from_archive(packed(&entries), |_| ());
    assert!(matches!(result, Ok(Some(_))), "{result:?}");
}

#[test]
fn a_damaged_archive_and_a_huge_one_are_refused() {
    let good = packed(&[("data/one/a", tar::EntryType::Regular, "")]);
    let (result, _folder) = from_archive(good[..good.len() / 2].to_vec(), |_| ());
    let error = result.unwrap_err();
    assert!(
        matches!(error, FetchError::Archive { .. } | FetchError::Io { .. }),
        "{error}"
    );
    let (result, _folder) = from_archive(b"no archive".to_vec(), |_| ());
    assert!(matches!(result, Err(FetchError::Archive { .. })));
    // Few bytes that unpack to many: the entry in front is 1 MiB of zeroes.
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(
        Vec::new(),
        flate2::Compression::best(),
    ));
    let mut header = tar::Header::new_gnu();
    header.set_size(1 << 20);
    tar.append_data(&mut header, "data/big", std::io::repeat(0).take(1 << 20))
        .unwrap();
    let bomb = tar.into_inner().unwrap().finish().unwrap();
    assert!(bomb.len() < 1 << 14);
    let (result, _folder) = from_archive(bomb, |options| options.download.bytes = 1 << 14);
    let error = result.unwrap_err();
    assert!(
        matches!(
            error,
            FetchError::TooLong { .. } | FetchError::Archive { .. }
        ),
        "{error}"
    );
}
