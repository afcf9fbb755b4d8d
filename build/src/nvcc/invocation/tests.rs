//! Tests for parsing nvcc's command lines.

use super::*;

fn parse(line: &str) -> Result<NvccInvocation, Failure> {
    NvccInvocation::parse(words(line))
}

fn files(names: &[&str]) -> Vec<Word> {
    names.iter().map(|name| Word::File(name.into())).collect()
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|&text| text.into()).collect()
}

#[test]
fn the_most_specific_mode_wins() {
    for (line, mode) in [
        ("a.cu -o a", Mode::Link),
        ("-c a.cu", Mode::Objects),
        ("-shared -o l.so a.o", Mode::SharedLibrary),
        ("-shared -dlink a.o -o d.o", Mode::DeviceLink),
        ("-dlink -shared a.o -o d.o", Mode::DeviceLink),
        ("--device-c a.cu", Mode::Objects),
        ("-MM a.cu", Mode::Dependencies),
        ("-x cu -ptx a.cpp", Mode::Ptx),
        ("-M a.cu", Mode::Dependencies),
        ("--version", Mode::Version),
        ("-V", Mode::Version),
        ("-h", Mode::Help),
        ("--list-gpu-arch", Mode::VirtualArchitectures),
        ("--list-gpu-code --list-gpu-arch", Mode::Architectures),
    ] {
        assert_eq!(parse(line).unwrap().mode, mode, "{line}");
    }
}

#[test]
fn a_command_line_from_cmake_is_parsed() {
    let invocation = parse(
        "-forward-unknown-to-host-compiler -DA=1 -I/src/include -isystem=/sys --options-file /dev/null -O3 -DNDEBUG -std=c++17 \
         \"--generate-code=arch=compute_80,code=[compute_80,sm_80]\" -Xcompiler=-fPIC,-Wall --expt-relaxed-constexpr -Wextra \
         -MD -MT CMakeFiles/a.dir/a.cu.o -MF a.d -x cu -rdc=true -c /src/a.cu -o CMakeFiles/a.dir/a.cu.o",
    )
    .unwrap();
    let expected = NvccInvocation {
        mode: Mode::Objects,
        words: files(&["/src/a.cu"]),
        output: Some("CMakeFiles/a.dir/a.cu.o".into()),
        language: Some("cu".into()),
        include: vec!["/src/include".into()],
        all: texts(&["-DA=1", "-isystem", "/sys", "-DNDEBUG", "-std=c++17"]),
        cuda: texts(&["-D__CUDACC_RELAXED_CONSTEXPR__"]),
        host: texts(&["-O3", "-fPIC", "-Wall", "-Wextra"]),
        architectures: vec![80],
        relocatable: true,
        dependencies: true,
        dependency_file: Some("a.d".into()),
        dependency_target: Some("CMakeFiles/a.dir/a.cu.o".into()),
        ..NvccInvocation::default()
    };
    assert_eq!(invocation, expected);
}

#[test]
fn values_can_be_attached_separate_or_after_an_equals_sign() {
    for line in [
        "-I inc a.cu",
        "-Iinc a.cu",
        "-I=inc a.cu",
        "--include-path inc a.cu",
        "--include-path=inc a.cu",
    ] {
        assert_eq!(
            parse(line).unwrap().include,
            [PathBuf::from("inc")],
            "{line}"
        );
    }
    for line in [
        "-arch sm_90a",
        "-arch=sm_90",
        "-gencode arch=compute_90,code=sm_90",
        "--gpu-architecture=compute_90",
    ] {
        assert!(
            parse(line)
                .unwrap()
                .architectures
                .iter()
                .all(|&arch| arch == 90),
            "{line}"
        );
    }
    assert!(parse("-arch=native a.cu").unwrap().architectures.is_empty());
    // The real architecture does not matter.
    let invocation = parse("-arch compute_80 -code sm_86,compute_80 a.cu").unwrap();
    assert_eq!(invocation.architectures, [80]);
    let multiple = parse("-gencode arch=compute_75,code=sm_75 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_120,code=sm_120 a.cu").unwrap();
    assert_eq!(
        [90, 86, 70].map(|gpu| multiple.architecture_for(gpu)),
        [90, 75, 75]
    );
    assert_eq!(parse("a.cu").unwrap().architecture_for(86), 86);
    assert_eq!(parse("-std c++20").unwrap().all, ["-std=c++20"]);
}

#[test]
fn flags_are_mapped_forwarded_ignored_or_refused() {
    let invocation = parse("-default-stream per-thread -maxrregcount=32 -Xptxas -v -Xptxas -O3 -Xcudafe --diag_suppress=20012 a.cu").unwrap();
    assert_eq!(invocation.all, ["-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1"]);
    let ignored: Vec<&str> = invocation
        .ignored
        .iter()
        .map(|(flag, _)| flag.as_str())
        .collect();
    assert_eq!(ignored, ["-maxrregcount=32", "-Xptxas"]);
    let invocation =
        parse("a.o -Llib -lfoo,bar b.a -Xlinker -rpath,/x -Xcompiler \"-Wall -O2\" -oapp -t4 -m64")
            .unwrap();
    let flag = |text: &str| Word::Flag(text.into());
    let expected = [
        files(&["a.o"]),
        vec![flag("-Llib"), flag("-lfoo"), flag("-lbar")],
        files(&["b.a"]),
        vec![flag("-Wl,-rpath"), flag("-Wl,/x")],
    ];
    assert_eq!(invocation.words, expected.concat());
    assert_eq!(invocation.host, ["-Wall", "-O2"]);
    assert_eq!(invocation.output, Some("app".into()));
    for (line, error) in [
        ("-nonsense a.cu", "Unknown option '-nonsense'"),
        ("-o", "Missing argument for option '-o'"),
        (
            "-rdc=maybe",
            "Value 'maybe' is not defined for option '-rdc'",
        ),
        (
            "-default-stream both",
            "Value 'both' is not defined for option '-default-stream'",
        ),
    ] {
        let expected = format!("nvcc fatal   : {error}");
        assert_eq!(parse(line).unwrap_err().to_string(), expected);
    }
    for line in ["-m32 a.cu", "-run a.cu", "--enable-tile a.cu"] {
        let error = parse(line).unwrap_err().to_string();
        assert!(error.contains(line.split(' ').next().unwrap()), "{error}");
    }
}

#[test]
fn flags_for_one_operation_override_fast_math() {
    let device = |line: &str| parse(&format!("{line} a.cu")).unwrap().device.join(" ");
    let [fast, flushed, unfused] = [
        FAST_FUNCTIONS,
        "-fgpu-flush-denormals-to-zero",
        "-ffp-contract=off",
    ];
    for (line, expected) in [
        (
            "-ftz=false -prec-div true -prec-sqrt=true -fmad=true",
            String::new(),
        ),
        (
            "-use_fast_math",
            format!("{fast} {flushed} {INEXACT_ROOTS} {FAST_DIVISIONS}"),
        ),
        (
            "-ftz=false -prec-sqrt=true -use_fast_math -fmad=false",
            format!("{fast} {unfused} {FAST_DIVISIONS}"),
        ),
        (
            "-prec-div=false --prec-sqrt=false",
            format!("{INEXACT_ROOTS} {FULL_DIVISIONS}"),
        ),
        ("-G", unfused.to_owned()),
        ("-G -dopt=on", String::new()),
    ] {
        assert_eq!(device(line), expected, "{line}");
    }
}

#[test]
fn options_from_a_file_replace_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.rsp");
    std::fs::write(&file, "-I\"a folder\" -DTEXT=\\\"x\\\"\n one.o").unwrap();
    let invocation = NvccInvocation::parse([
        "zero.o".into(),
        "--options-file".into(),
        file.display().to_string(),
        "two.o".into(),
    ])
    .unwrap();
    assert_eq!(invocation.include, [PathBuf::from("a folder")]);
    assert_eq!(invocation.all, ["-DTEXT=\"x\""]);
    assert_eq!(invocation.words, files(&["zero.o", "one.o", "two.o"]));
}
