//! Tests for sources and their include folders.

use super::*;
use crate::manifest::Flags;

fn program(folder: &Path, include: &str) -> Program {
    Program {
        name: "toy".into(),
        folder: folder.to_owned(),
        units: vec![TranslationUnit {
            file: "src/main.cu".into(),
            language: Language::Cuda,
        }],
        include: vec![include.into()],
        flags: Flags::default(),
        constants: Vec::new(),
    }
}

#[test]
fn textures_are_found_in_included_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let main = "#include <stdio.h>\n # include <kernel.cu>\nint main() {}\n";
    write("src/main.cu", main);
    let kernel = "#include \"../src/main.cu\"\n#include \"decl.h\"\n";
    write("other/kernel.cu", kernel);
    let declarations = "// texture<int> in a comment\nfloat texture_size;\n";
    write("other/decl.h", declarations);
    assert!(!have_texture_references(&program(folder.path(), "other")));
    write("other/decl.h", "static texture <float, 2> image;\n");
    assert!(have_texture_references(&program(folder.path(), "other")));
    let elsewhere = have_texture_references(&program(folder.path(), "src"));
    assert!(!elsewhere, "only the given include folder is searched");
    assert!(!have_texture_objects(&program(folder.path(), "other")));
    write("other/decl.h", "void f(cudaTextureObject_t image);\n");
    assert!(have_texture_objects(&program(folder.path(), "other")));
}

#[test]
fn texture_references_are_declared_in_constant_memory() {
    let moved =
        in_constant_memory("  static texture<int> a;\ntexture <float, 2> b; // texture<char>\n");
    assert_eq!(
        moved,
        "  static __constant__ texture<int> a;\n__constant__ texture <float, 2> b; // texture<char>\n"
    );
    for text in [
        "void f(GLuint texture);",
        "// texture<int> a;",
        "my_texture<int> a;",
    ] {
        let unchanged = in_constant_memory(text);
        assert!(matches!(unchanged, Cow::Borrowed(_)), "{text}");
    }
}

#[test]
fn paths_are_normalised() {
    assert_eq!(normalised(Path::new("a/./b/../c.h")), Path::new("a/c.h"));
    assert_eq!(
        normalised(Path::new("../a/../../c.h")),
        Path::new("../../c.h")
    );
}
