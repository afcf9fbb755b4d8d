//! Tests for removing steps from the cache.

use super::*;

fn step(cache: &StepCache, key: &str, bytes: usize, hours_ago: u64) {
    let scratch = cache.scratch().unwrap();
    fs::write(scratch.path().join("out"), vec![0; bytes]).unwrap();
    let stored = cache.keep(key, &["out"], scratch).unwrap();
    let used = SystemTime::now() - Duration::from_secs(3600 * hours_ago);
    fs::File::open(stored).unwrap().set_modified(used).unwrap();
}

#[test]
fn least_recently_used_steps_are_removed_and_recent_ones_kept() {
    let folder = tempfile::tempdir().unwrap();
    let cache = StepCache::new(folder.path());
    let pruned = cache.prune(PruneLimits::default()).unwrap();
    assert_eq!(pruned, Pruned::default());
    for (key, hours_ago) in [("aa1", 50), ("bb2", 40), ("cc3", 30), ("dd4", 1)] {
        step(&cache, key, 100, hours_ago);
    }
    let steps = cache.root.join("steps");
    let exists = |key: &str| steps.join(&key[..2]).join(key).is_dir();
    // Looking up a step makes it the most recently used.
    assert!(cache.find("aa1", &["out"]).is_some());
    let limits = |bytes| PruneLimits {
        bytes,
        ..PruneLimits::default()
    };
    let pruned = cache.prune(limits(350)).unwrap();
    let expected = Pruned {
        removed: 1,
        removed_bytes: 100,
        kept: 3,
        kept_bytes: 300,
    };
    assert_eq!(pruned, expected);
    assert!(exists("aa1") && !exists("bb2") && exists("cc3") && exists("dd4"));
    let pruned = cache.prune(limits(0)).unwrap();
    assert_eq!((pruned.removed, pruned.kept), (1, 2));
    assert!(exists("aa1") && !exists("cc3") && exists("dd4"));
    let all = PruneLimits {
        bytes: 0,
        unused_for: Duration::ZERO,
    };
    assert_eq!(cache.prune(all).unwrap().kept, 0);
    assert_eq!(cache.find("aa1", &["out"]), None);
}

#[test]
fn unfinished_steps_from_killed_processes_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let cache = StepCache::new(folder.path());
    let (old, new) = (cache.scratch().unwrap(), cache.scratch().unwrap());
    let used = SystemTime::now() - Duration::from_secs(3600 * 50);
    let (old, new) = (old.keep(), new.keep());
    fs::File::open(&old).unwrap().set_modified(used).unwrap();
    cache.prune(PruneLimits::default()).unwrap();
    assert!(!old.exists() && new.exists());
}
