//! Tests for `spill::file`.

use super::*;
use proptest::prelude::*;
use std::os::unix::fs::MetadataExt;
use zerocopy::{FromBytes, Immutable, IntoBytes};

#[derive(Clone, Copy, Debug, PartialEq, IntoBytes, FromBytes, Immutable)]
#[repr(C)]
struct Pair {
    first: u32,
    second: u32,
}
fn pair(first: u32, second: u32) -> Pair {
    Pair { first, second }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn spilled_items_are_read_back(
        counts in prop::collection::vec(prop_oneof![0usize..5, 4000usize..9000], 0..4), factor in any::<u32>(),
    ) {
        let parent = tempfile::tempdir().unwrap();
        let folder = SpillFolder::new(parent.path().to_owned());
        let items = |count: usize| (0..count as u32).map(|i| pair(i / 7, i.wrapping_mul(factor))).collect::<Vec<_>>();
        let parts: Vec<Vec<Pair>> = counts.iter().map(|&count| items(count)).collect();
        let all = parts.concat();

        let mut writer = RunWriter::create(&folder, "run").unwrap();
        all.iter().for_each(|item| writer.push(item).unwrap());
        let run = writer.finish().unwrap();
        let mut reader = run.read_from(0).unwrap();
        let back: Vec<Pair> = std::iter::from_fn(|| reader.next().unwrap()).collect();
        prop_assert_eq!(&back, &all);

        let mut file = SpillFile::create(&folder, "file").unwrap();
        let whole: Vec<&[Pair]> = parts.iter().map(Vec::as_slice).collect();
        let first = file.append(&pack(&whole), all.len()).unwrap();
        let pieces: Vec<Piece> = parts.iter().map(|part| file.append(&pack(&[part]), part.len()).unwrap()).collect();
        let mut back: Vec<Pair> = Vec::new();
        pieces.iter().rev().for_each(|piece| file.read(*piece, &mut back).unwrap());
        file.read(first, &mut back).unwrap();
        let backwards: Vec<Vec<Pair>> = parts.iter().rev().cloned().chain([all]).collect();
        prop_assert_eq!(back, backwards.concat());
    }
}

#[test]
fn files_of_a_killed_analysis_are_removed_by_the_next_one() {
    let parent = tempfile::tempdir().unwrap();
    let live = SpillFolder::new(parent.path().to_owned());
    let file = live.file("run").unwrap();
    fs::write(&file, "items").unwrap();
    let [abandoned, starting, other] = [".superstep-analysis-a", ".superstep-analysis-b", "other"]
        .map(|name| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            folder
        });
    for folder in [&abandoned, &other] {
        fs::write(folder.join(IN_USE), "").unwrap();
    }
    let next = SpillFolder::new(parent.path().to_owned());
    let _ = next.file("run").unwrap();
    assert!(!abandoned.exists());
    assert!(file.exists() && starting.exists() && other.exists());
}

#[test]
fn draining_a_run_frees_its_disk_space() {
    let parent = tempfile::tempdir().unwrap();
    let folder = SpillFolder::new(parent.path().to_owned());
    let items = 4 * FREED_BYTES as u32 / size_of::<Pair>() as u32;
    let mut writer = RunWriter::create(&folder, "run").unwrap();
    (0..items).for_each(|item| writer.push(&pair(item, 7)).unwrap());
    let run = writer.finish().unwrap();
    // A file system may free space in larger blocks.
    let allocated = || fs::metadata(&run.path).unwrap().blocks() * 512;
    assert!(allocated() >= 4 * FREED_BYTES);
    let mut reader = run.drain::<Pair>().unwrap();
    for item in 0..items {
        assert_eq!(reader.next().unwrap(), Some(pair(item, 7)));
    }
    assert_eq!(reader.next().unwrap(), None);
    assert!(allocated() < FREED_BYTES);
}

#[test]
fn a_truncated_file_is_an_error_with_its_path() {
    let parent = tempfile::tempdir().unwrap();
    let folder = SpillFolder::new(parent.path().to_owned());
    let mut writer = RunWriter::create(&folder, "run").unwrap();
    writer.push(&pair(1, 2)).unwrap();
    writer.push(&pair(3, 4)).unwrap();
    let run = writer.finish().unwrap();
    let bytes = fs::read(&run.path).unwrap();
    fs::write(&run.path, &bytes[..bytes.len() - 1]).unwrap();
    let mut reader = run.read_from::<Pair>(0).unwrap();
    assert_eq!(reader.next().unwrap(), Some(pair(1, 2)));
    let error = reader.next().unwrap_err();
    assert!(error.to_string().contains("run"), "{error}");
}
