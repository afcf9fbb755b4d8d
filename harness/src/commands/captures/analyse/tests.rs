//! Tests for `analyse`.

use super::*;

#[test]
fn each_of_multiple_captures_has_its_own_folder() {
    let paths = ["/runs/a/capture", "/runs/b/capture/", "/runs/c"].map(PathBuf::from);
    assert_eq!(folders(&paths), ["0-a", "1-b", "2-c"]);
    assert_eq!(folders(&paths[..1]), [""]);
}
