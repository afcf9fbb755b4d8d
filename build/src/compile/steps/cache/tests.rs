//! Tests for stored and damaged steps.

use super::*;

fn with_output(cache: &StepCache, text: &str) -> tempfile::TempDir {
    let scratch = cache.scratch().unwrap();
    fs::write(scratch.path().join("out"), text).unwrap();
    scratch
}

#[test]
fn the_first_to_finish_wins() {
    let folder = tempfile::tempdir().unwrap();
    let cache = StepCache::new(folder.path());
    assert_eq!(cache.find("abcd", &["out"]), None);
    let (first, second) = (with_output(&cache, "first"), with_output(&cache, "second"));
    let stored = cache.keep("abcd", &["out"], first).unwrap();
    assert_eq!(cache.keep("abcd", &["out"], second).unwrap(), stored);
    assert_eq!(fs::read_to_string(stored.join("out")).unwrap(), "first");
    let left = fs::read_dir(folder.path().join("tmp")).unwrap().count();
    assert_eq!(left, 0, "nothing is left behind");
}

#[test]
fn an_incomplete_entry_is_ignored_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let cache = StepCache::new(folder.path());
    let keep = |text| {
        cache
            .keep("abcd", &["out"], with_output(&cache, text))
            .unwrap()
    };
    let stored = keep("first");
    fs::write(stored.join("other"), "").unwrap();
    fs::remove_file(stored.join("out")).unwrap();
    assert_eq!(cache.find("abcd", &["out"]), None);
    let stored = keep("second");
    assert_eq!(fs::read_to_string(stored.join("out")).unwrap(), "second");
}

#[test]
fn header_lists_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let cache = StepCache::new(folder.path());
    let list: Vec<PathBuf> = vec!["a.cu".into(), "/usr/include/x.h".into()];
    assert_eq!(cache.headers("k"), None);
    cache.keep_headers("k", &list).unwrap();
    assert_eq!(cache.headers("k"), Some(list));
}
