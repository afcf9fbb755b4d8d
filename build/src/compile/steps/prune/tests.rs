//! Steps that are removed from the cache, and those that stay.

use super::*;

fn step(cache: &StepCache, key: &str, bytes: usize, hours_ago: u64) {
    let scratch = cache.scratch().unwrap();
    fs::write(scratch.path().join("out"), vec![0; bytes]).unwrap();
    let kept = cache.keep(key, &["out"], scratch).unwrap();
    let used = SystemTime::now() - Duration::from_secs(3600 * hours_ago);
    fs::File::open(kept).unwrap().set_modified(used).unwrap();
}

#[test]
fn least_recently_used_steps_are_removed_and_recent_ones_kept() {
    let folder = tempfile::tempdir().unwrap();
    let cache = StepCache::new(folder.path());
    let nothing = cache.prune(PruneLimits::default()).unwrap();
    assert_eq!(nothing, Pruned::default());
    for (key, hours_ago) in [("aa1", 50), ("bb2", 40), ("cc3", 30), ("dd4", 1)] {
        step(&cache, key, 100, hours_ago);
    }
    let steps = cache.root.join("steps");
    let here = |key: &str| steps.join(&key[..2]).join(key).is_dir();
    // Looking a step up makes it the newest.
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
    assert!(here("aa1") && !here("bb2") && here("cc3") && here("dd4"));
    let pruned = cache.prune(limits(0)).unwrap();
    assert_eq!((pruned.removed, pruned.kept), (1, 2));
    assert!(here("aa1") && !here("cc3") && here("dd4"));
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
