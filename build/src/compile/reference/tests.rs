//! Tests for reference builds and their flags.

use super::*;
use crate::manifest::{Constant, Flags, TranslationUnit};

fn program(folder: &Path) -> Program {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "own/main.cu",
        "#include \"../common/help.h\"\n#define N 100\n",
    );
    write("common/help.h", "int help();\n");
    write("own/help.c", "int help() { return 1; }\n");
    let unit = |file: &str, language| TranslationUnit {
        file: file.into(),
        language,
    };
    Program {
        name: "toy".into(),
        folder: folder.join("own"),
        units: vec![unit("main.cu", Language::Cuda), unit("help.c", Language::C)],
        include: vec!["../common".into()],
        flags: Flags {
            all: ["-DX=1", "-include", "unistd.h", "-march=native"]
                .map(str::to_owned)
                .into(),
            device: vec!["-rdc=true".into()],
            link: vec!["-lm".into(), "-pthread".into()],
            ..Flags::default()
        },
        constants: vec![Constant {
            file: "main.cu".into(),
            name: "N".into(),
            value: 3,
        }],
    }
}

#[test]
fn a_recipe_has_files_where_its_commands_expect_them() {
    let folder = tempfile::tempdir().unwrap();
    let recipe = Recipe::new(&program(folder.path()), 90).unwrap();
    assert_eq!(recipe.folder, Path::new("0"));
    let main = &recipe.files[Path::new("0/main.cu")];
    assert!(main.contains("#define N 3"), "{main}");
    assert!(recipe.files.contains_key(Path::new("common/help.h")));
    let lines: Vec<String> = recipe.commands.iter().map(|line| line.join(" ")).collect();
    assert_eq!(
        lines,
        [
            "-x cu -O3 -w -c -o superstep-0.o -I../common -DX=1 -include unistd.h -Xcompiler -march=native --extended-lambda --expt-relaxed-constexpr -arch=sm_90 -fmad=false -rdc=true main.cu",
            "-x c -O3 -w -c -o superstep-1.o -I../common -DX=1 -include unistd.h -Xcompiler -march=native help.c",
            "-o superstep-reference -arch=sm_90 -rdc=true superstep-0.o superstep-1.o -lm -Xcompiler -pthread",
        ]
    );
}

#[cfg(unix)]
#[test]
fn a_recipe_runs_nvcc_and_reports_its_first_error() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let recipe = Recipe::new(&program(folder.path()), 90).unwrap();
    let file = folder.path().join("nvcc.json");
    fs::write(&file, serde_json::to_vec(&recipe).unwrap()).unwrap();
    let nvcc = folder.path().join("nvcc");
    let tool = |text: &str| {
        fs::write(&nvcc, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&nvcc, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let target = folder.path().join("place");
    tool("for a in \"$@\"; do last=\"$a\"; done; case \"$*\" in *-c*) test -f \"$last\";; esac");
    let program = Recipe::build(&file, &nvcc, &target).unwrap();
    assert_eq!(program, target.join("0").join(PROGRAM));
    tool("echo 'main.cu(1): error: no'; exit 2");
    let why = Recipe::build(&file, &nvcc, &target).unwrap_err();
    assert_eq!(why.to_string(), "nvcc failed: main.cu(1): error: no");
}
