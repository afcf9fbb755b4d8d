//! Tests for `loaded`.

use super::*;

#[test]
fn the_image_names_the_module() {
    let line = |text: &'static [u8]| {
        // SAFETY: the strings are NUL-terminated.
        unsafe { hash_at(text.as_ptr().cast()) }
    };
    assert_eq!(line(b"superstep-module 12ab\n\0").as_deref(), Some("12ab"));
    assert_eq!(line(b"superstep-module 12ab\0"), None, "cut off");
    assert_eq!(line(b"superstep-something 1\n\0"), None);
    assert_eq!(line(b"\x50\xed\x55\xba\0"), None, "a real fat binary");
}

#[test]
fn lists_are_read_and_files_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("modules.txt");
    std::fs::write(
        &list,
        "ab\t3\tstream\t/a b/x.so\ncd\t4\tthesis\t/y.fatbin\ty/y.json\n",
    )
    .unwrap();
    let known = read(&list).unwrap();
    assert_eq!((known["ab"].index, known["cd"].index), (3, 4));
    assert_eq!(known["cd"].protocol, "thesis");
    assert_eq!(known["ab"].files, [Path::new("/a b/x.so")]);
    let table = folder.path().join("y/y.json");
    assert_eq!(known["cd"].files, [Path::new("/y.fatbin"), &table]);
    std::fs::write(&list, "ab\n").unwrap();
    let error = read(&list).unwrap_err().to_string();
    assert!(error.ends_with("modules.txt is not a list of modules"));
    let maps = "1000-2000 r--p 0 08:01 1 /x/a b\n2000-3000 rw-p 0 00:00 0 \n";
    assert_eq!(file_around(maps, 0x1fff), Some("/x/a b".into()));
    assert_eq!(file_around(maps, 0x2000), None);
    let own_maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let own_file = file_around(&own_maps, file_around as fn(_, _) -> _ as usize);
    assert_eq!(own_file, std::env::current_exe().ok());
}
