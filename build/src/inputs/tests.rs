//! Tests for generators (format, reproducibility and errors), and for inputs in a working folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::failure::{Failure, FailureKind};
use crate::fetch::{FetchOptions, hash_bytes};
use crate::manifest::{Suite, load_suite};

fn generator(name: &str, seed: u64, parameters: &[(&str, u64)]) -> Generator {
    let parameters = parameters.iter();
    Generator {
        name: name.to_owned(),
        seed,
        parameters: parameters
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect(),
    }
}

fn generated(name: &str, seed: u64, parameters: &[(&str, u64)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let result = generator(name, seed, parameters).write(&mut bytes);
    result.unwrap_or_else(|error| panic!("{error}"));
    bytes
}

fn numbers(text: &[u8]) -> Vec<u32> {
    std::str::from_utf8(text)
        .unwrap()
        .split_ascii_whitespace()
        .map(|word| word.parse().unwrap())
        .collect()
}

/// Changing the output for a seed would silently change every result that used it.
#[test]
fn generated_files_never_change() {
    let hash = |bytes: &[u8]| hash_bytes(bytes).to_string()[..16].to_owned();
    let field = [("rows", 8), ("columns", 4)];
    let video = [
        ("width", 64),
        ("height", 64),
        ("frames", 2),
        ("cells", 3),
        ("noise", 24),
    ];
    let stack = [("rows", 8), ("columns", 4), ("layers", 2)];
    let files = [
        (
            "a8b1e9bf8639e1bb",
            generated("bfs-graph", 1, &[("nodes", 1000), ("degree", 6)]),
        ),
        (
            "943f52f3e22ffbdd",
            generated("hotspot-temperature", 1, &field),
        ),
        ("b486118224796ea5", generated("hotspot-power", 1, &field)),
        (
            "717fa32fc2e36e59",
            generated("hotspot3d-temperature", 1, &stack),
        ),
        ("d76f3b1d5d569719", generated("hotspot3d-power", 1, &stack)),
        (
            "14ad8b2062a35242",
            generated("random-fractions", 1, &[("count", 1000)]),
        ),
        (
            "be5b23e05d9d6c2c",
            generated("feature-table", 1, &[("rows", 100), ("features", 5)]),
        ),
        (
            "5e6033a6c82b21bd",
            generated("tetrahedral-mesh", 1, &[("elements", 500)]),
        ),
        ("54ba287cf8967c61", generated("cell-video", 1, &video)),
        (
            "e7b491361dfc7a68",
            generated("key-list", 1, &[("count", 1000)]),
        ),
        (
            "12a1ac20a41195a1",
            generated("random-bytes", 1, &[("bytes", 10000)]),
        ),
    ];
    for (expected, bytes) in files {
        assert_eq!(
            hash(&bytes),
            expected,
            "{:?}…",
            String::from_utf8_lossy(&bytes[..16])
        );
    }
}

#[test]
fn fields_have_the_line_format_of_the_originals() {
    let text = String::from_utf8(generated(
        "hotspot-temperature",
        1,
        &[("rows", 64), ("columns", 64)],
    ))
    .unwrap();
    assert_eq!(text.lines().count(), 4096);
    assert!(
        text.lines()
            .all(|line| line.len() == 10 && (320.0..340.0).contains(&line.parse::<f64>().unwrap()))
    );
    let text = String::from_utf8(generated(
        "hotspot-power",
        1,
        &[("rows", 64), ("columns", 64)],
    ))
    .unwrap();
    assert!(
        text.lines()
            .all(|line| line.len() == 8 && (0.0..0.003).contains(&line.parse::<f64>().unwrap()))
    );
    let parameters = [("rows", 64), ("columns", 64), ("layers", 8)];
    let text = String::from_utf8(generated("hotspot3d-power", 1, &parameters)).unwrap();
    assert_eq!(text.len(), 9 * 32768);
    assert!(text.lines().any(|line| line.parse::<f64>().unwrap() > 0.9));
}

#[test]
fn nearly_all_nodes_of_a_graph_are_reachable() {
    let graph = numbers(&generated(
        "bfs-graph",
        7,
        &[("nodes", 4096), ("degree", 6)],
    ));
    let node = |index: u32| &graph[1 + 2 * index as usize..][..2];
    let targets = &graph[1 + 2 * 4096 + 2..];
    let mut seen = BTreeSet::from([0]);
    let mut queue = vec![0];
    while let Some(next) = queue.pop() {
        for edge in node(next)[0]..node(next)[0] + node(next)[1] {
            let target = targets[2 * edge as usize];
            if seen.insert(target) {
                queue.push(target);
            }
        }
    }
    assert!(seen.len() > 4000, "{} nodes", seen.len());
}

#[test]
fn graphs_contain_each_edge_in_both_directions() {
    for (nodes, degree, seed) in [(1, 2, 0), (2, 4, u64::MAX), (7, 16, 3), (399, 14, 1 << 40)] {
        let graph = numbers(&generated(
            "bfs-graph",
            seed,
            &[("nodes", nodes), ("degree", degree)],
        ));
        let count = nodes as usize;
        assert_eq!(graph[0] as usize, count);
        let mut next = 0;
        for node in graph[1..1 + 2 * count].chunks(2) {
            assert_eq!(node[0], next);
            next += node[1];
        }
        assert!(
            (graph[1 + 2 * count] as usize) < count,
            "the source is a node"
        );
        assert_eq!(
            graph[2 + 2 * count],
            next,
            "the number of edges is the sum of the degrees"
        );
        let edges = &graph[3 + 2 * count..];
        assert_eq!(edges.len(), 2 * next as usize);
        assert!(
            (edges.chunks(2)).all(|edge| (edge[0] as usize) < count && (1..=10).contains(&edge[1]))
        );
        // Every edge exists in both directions, so the sum of the degrees is even and close to nodes × degree.
        assert_eq!(next % 2, 0);
        assert!(u64::from(next).abs_diff(degree * nodes) <= 2 * nodes);
    }
}

#[test]
fn random_bytes_depend_only_on_the_seed() {
    let long = generated("random-bytes", 1, &[("bytes", 300_001)]);
    assert_eq!(long.len(), 300_001);
    let short = generated("random-bytes", 1, &[("bytes", 17)]);
    assert_eq!(short, long[..17]);
    assert_ne!(short, generated("random-bytes", 2, &[("bytes", 17)]));
}

#[test]
fn a_key_list_contains_every_key_once() {
    let mut keys = numbers(&generated("key-list", 1, &[("count", 1000)]));
    assert_eq!(keys.remove(0), 1000);
    assert!(!keys.is_sorted());
    keys.sort_unstable();
    assert!(keys.into_iter().eq(0..1000));
}

#[test]
fn neighbours_in_a_mesh_refer_to_each_other() {
    let bytes = generated("tetrahedral-mesh", 1, &[("elements", 300)]);
    let text = String::from_utf8(bytes).unwrap();
    let mut words = text.split_ascii_whitespace();
    assert_eq!(words.next(), Some("300"));
    let words: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
    let elements: Vec<_> = words.chunks(17).collect();
    assert_eq!(elements.len(), 300);
    for (number, element) in elements.iter().enumerate() {
        assert!(element[0] > 0.0, "the volume is positive");
        for face in element[1..].chunks(4) {
            assert!((-1.0..=300.0).contains(&face[0]));
            if face[0] > 0.0 {
                let other = elements[face[0] as usize - 1];
                let opposite = face[1..].iter().map(|component| -component);
                let is_back = |back: &[f64]| {
                    back[0] as usize == number + 1 && opposite.clone().eq(back[1..].iter().copied())
                };
                assert!(other[1..].chunks(4).any(is_back), "element {number}");
            }
        }
    }
}

#[test]
fn a_video_is_an_avi_file_with_an_index() {
    let parameters = [
        ("width", 64),
        ("height", 80),
        ("frames", 3),
        ("cells", 2),
        ("noise", 24),
    ];
    let video = generated("cell-video", 1, &parameters);
    let word =
        |offset: usize| u32::from_le_bytes(video[offset..offset + 4].try_into().unwrap()) as usize;
    let frame = 64 * 80;
    assert_eq!((&video[..4], &video[8..12]), (&b"RIFF"[..], &b"AVI "[..]));
    assert_eq!(word(4) + 8, video.len(), "the file's own length");
    let movi = 12 + 8 + word(16);
    assert_eq!(
        (&video[movi..movi + 4], &video[movi + 8..movi + 12]),
        (&b"LIST"[..], &b"movi"[..])
    );
    assert_eq!(word(movi + 4), 4 + 3 * (8 + frame));
    let index = movi + 8 + word(movi + 4);
    assert_eq!(
        (&video[index..index + 4], word(index + 4)),
        (&b"idx1"[..], 3 * 16)
    );
    for number in 0..3 {
        let entry = index + 8 + number * 16;
        let chunk = movi + 8 + word(entry + 8);
        assert_eq!(&video[entry..entry + 4], &video[chunk..chunk + 4]);
        assert_eq!((word(entry + 12), word(chunk + 4)), (frame, frame));
    }
    let (darkest, brightest) = (
        video[movi + 20..index].iter().min(),
        video[movi + 20..index].iter().max(),
    );
    assert!(
        darkest < Some(&100) && brightest > Some(&170),
        "a dark background and bright cells"
    );
}

#[test]
fn feature_tables_consist_of_numbered_rows() {
    let bytes = generated("feature-table", 1, &[("rows", 20), ("features", 3)]);
    let text = String::from_utf8(bytes).unwrap();
    for (line, row) in text.lines().zip(1..) {
        let words: Vec<f64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
        assert_eq!((words[0], words.len()), (f64::from(row), 4));
        assert!(
            words[1..]
                .iter()
                .all(|feature| (0.0..1.0).contains(feature))
        );
    }
    assert_eq!(text.lines().count(), 20);
}

#[test]
fn wrong_parameters_are_refused_and_the_right_ones_listed() {
    for (call, expected) in [
        (
            "random-byte",
            "generator `random-byte` does not exist; expected one of bfs-graph, ",
        ),
        (
            "random-bytes bytes=1 rows=2",
            "has no parameter `rows`; its parameters are: bytes",
        ),
        (
            "feature-table rows=1",
            "requires parameter `features`; its parameters are: rows, features",
        ),
        ("random-bytes bytes=0", "is 0; expected 1 to 1099511627776"),
        (
            "feature-table rows=1 features=65",
            "is 65; expected 1 to 64",
        ),
        (
            "bfs-graph nodes=1 degree=3",
            "is 3; expected 2 to 64 in steps of 2",
        ),
        (
            "hotspot-power rows=4294967296 columns=2",
            "rows × columns × layers is above 4294967296",
        ),
        (
            "cell-video width=65 height=65 frames=1 cells=0 noise=0",
            "width × height is odd",
        ),
    ] {
        let mut words = call.split(' ');
        let name = words.next().unwrap();
        let parameters: Vec<_> = (words.map(|word| word.split_once('=').unwrap()))
            .map(|(name, value)| (name, value.parse().unwrap()))
            .collect();
        let refused = generator(name, 1, &parameters).write(&mut Vec::new());
        let found = refused.unwrap_err().to_string();
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn generators_in_all_suites_accept_their_parameters() {
    let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("../suites");
    let mut checked = 0;
    for suite in fs::read_dir(&suites).unwrap() {
        let folder = suite.unwrap().path();
        if !folder.join("suite.yaml").is_file() {
            continue;
        }
        let suite = load_suite(&folder).unwrap_or_else(|error| panic!("{error}"));
        let sizes = suite.benchmarks.iter().flat_map(|it| it.sizes.values());
        for generator in sizes
            .flat_map(|size| &size.inputs)
            .filter_map(|input| input.generate.as_ref())
        {
            let mut check = Command::new("python3");
            check
                .arg(suites.join("inputs.py"))
                .arg("--check")
                .args(generator.arguments());
            assert!(check.status().unwrap().success(), "{generator:?}");
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}");
}

/// Returns a suite with one benchmark; `inputs` is the YAML for its inputs.
fn suite(folder: &Path, inputs: &str) -> Suite {
    fs::create_dir_all(folder.join("suite")).unwrap();
    fs::write(
        folder.join("suite/suite.yaml"),
        "schema: 1\nname: demo\ntitle: Demo\nsource: {in-tree: true}\ndefault-size: tiny\nbenchmarks: [one]\n",
    )
    .unwrap();
    fs::write(
        folder.join("suite/one.yaml"),
        format!(
            "schema: 1\nname: one\ntitle: One\nwhy: test\ntranslation-units: [{{file: one.cu, language: cuda}}]\n\
             sizes: {{tiny: {{args: [], inputs: [{inputs}]}}}}\n"
        ),
    )
    .unwrap();
    load_suite(&folder.join("suite")).unwrap_or_else(|error| panic!("{error}"))
}

fn provide(folder: &Path, inputs: &str) -> Result<Vec<InputUsed>, Failure> {
    let suite = suite(folder, inputs);
    let options = FetchOptions {
        download: crate::fetch::DownloadLimits::default(),
        source_mirror: None,
        data_mirror: Some(folder.join("mirror")),
        cache_dir: folder.join("cache"),
        offline: false,
    };
    let run = folder.join("run");
    fs::create_dir_all(&run).unwrap();
    materialise(&suite, &suite.benchmarks[0].sizes["tiny"], &options, &run)
}

const RIGHT: &str = "27042f4e6eca7d0b2a7ee4026df2ecfa51d3339e6d122aa099118ecd8563bad9";
const GENERATE: &str = "generate: {generator: random-bytes, seed: 1, parameters: {bytes: 5}}";

#[test]
fn inputs_are_copied_with_their_origin() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("mirror/one")).unwrap();
    fs::write(folder.path().join("mirror/one/a"), "right").unwrap();
    fs::create_dir_all(folder.path().join("suite")).unwrap();
    fs::write(folder.path().join("suite/one.txt"), "shipped").unwrap();
    let inputs = format!(
        "{{name: sub/a, data: one/a, sha256: {RIGHT}, {GENERATE}}}, {{name: b, data: one/b, sha256: {RIGHT}, {GENERATE}}}, \
         {{name: c, {GENERATE}}}, {{name: d, shipped: one.txt}}"
    );
    let used = provide(folder.path(), &inputs).unwrap_or_else(|error| panic!("{error}"));
    let origins: Vec<_> = used.iter().map(|input| input.origin).collect();
    assert_eq!(
        origins,
        [
            Origin::Mirror,
            Origin::Generated,
            Origin::Generated,
            Origin::Shipped
        ]
    );
    assert_eq!(used[0].sha256.to_string(), RIGHT);
    assert_eq!(used[1].sha256, used[2].sha256);
    let read = |name: &str| fs::read(folder.path().join("run").join(name)).unwrap();
    assert_eq!(read("b").len(), 5);
    assert_eq!(
        (read("sub/a"), read("d")),
        (b"right".to_vec(), b"shipped".to_vec())
    );
    assert_eq!(read("b").len(), 5);
}

#[test]
fn a_wrong_hash_in_the_mirror_is_an_error_even_with_a_generator() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("mirror/one")).unwrap();
    fs::write(folder.path().join("mirror/one/a"), "wrong").unwrap();
    let inputs = format!("{{name: a, data: one/a, sha256: {RIGHT}, {GENERATE}}}");
    let error = provide(folder.path(), &inputs).unwrap_err().to_string();
    assert!(error.contains("expected 27042f4e6eca"), "{error}");
    assert!(!folder.path().join("run/a").exists());
}

#[test]
fn an_input_without_any_source_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let error = provide(
        folder.path(),
        &format!("{{name: a, data: one/a, sha256: {RIGHT}}}"),
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.contains("one/a is neither in a data mirror nor in the cache"),
        "{error}"
    );
    let inputs = format!("{{name: a, url: \"https://127.0.0.1:1/a\", sha256: {RIGHT}}}");
    let error = provide(folder.path(), &inputs).unwrap_err();
    assert_eq!(error.kind, FailureKind::Fetch, "{error}");
    let error = provide(folder.path(), "{name: a, shipped: none.txt}").unwrap_err();
    assert_eq!(error.kind, FailureKind::Fetch, "{error}");
}

#[test]
fn an_unreachable_url_falls_back_to_the_generator() {
    let folder = tempfile::tempdir().unwrap();
    let inputs =
        format!("{{name: a, url: \"https://127.0.0.1:1/a\", sha256: {RIGHT}, {GENERATE}}}");
    let used = provide(folder.path(), &inputs).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(used[0].origin, Origin::Generated);
}
