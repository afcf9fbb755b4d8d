//! Tests for the cache's folder and lock.

use super::*;

#[test]
fn the_most_specific_variable_wins() {
    let dir = |set: &[(&str, &str)]| {
        let set = set.to_vec();
        cache_dir_from(move |name| {
            set.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| PathBuf::from(value))
        })
    };
    let all = [
        ("HOME", "/h"),
        ("XDG_CACHE_HOME", "/x"),
        ("SUPERSTEP_CACHE", "/s"),
    ];
    assert_eq!(dir(&all), Some("/s".into()));
    assert_eq!(dir(&all[..2]), Some("/x/superstep".into()));
    assert_eq!(dir(&all[..1]), Some("/h/.cache/superstep".into()));
    assert_eq!(dir(&[]), None);
}

#[test]
fn a_folder_that_others_can_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let with_mode = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(dir.path(), mode).unwrap();
        check_private(dir.path()).map_err(|error| error.to_string())
    };
    assert_eq!(with_mode(0o755), Ok(()));
    // A temporary folder belongs to this user's private group or to a shared group.
    let metadata = dir.path().metadata().unwrap();
    assert_eq!(with_mode(0o775).is_ok(), metadata.uid() == metadata.gid());
    for mode in [0o777, 0o1777, 0o702] {
        let error = with_mode(mode).unwrap_err();
        assert!(error.contains("any user can write to it"), "{error}");
        assert!(error.contains("chmod go-w /"), "{error}");
    }
    check_private(&dir.path().join("none")).unwrap();
    // Root owns it, and only root can write to it.
    check_private(Path::new("/usr")).unwrap();
}

#[test]
fn files_are_replaced_atomically() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("folder/file");
    replace_file(&file, |file| file.write_all(b"first")).unwrap();
    let failed = replace_file(&file, |file| {
        file.write_all(b"half")?;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "first");
    let entries = std::fs::read_dir(file.parent().unwrap()).unwrap();
    assert_eq!(entries.count(), 1, "nothing else is left");
}

#[test]
fn a_second_lock_waits_for_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let first =
        CacheLock::acquire(dir.path(), "x.lock", &mut || panic!("the lock is free")).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let path = dir.path().to_owned();
    let second = std::thread::spawn(move || {
        CacheLock::acquire(&path, "x.lock", &mut || sender.send(()).unwrap()).unwrap();
    });
    receiver.recv().unwrap();
    drop(first);
    second.join().unwrap();
}
