//! Compiles the device code as the toolchain does: CUDA C++ to bitcode, to PTX, to a cubin.

use std::path::{Path, PathBuf};
use std::process::Command;
use superstep_toolchain::Toolchain;

/// Returns the tools, or `None` after printing why the test is skipped. Fails if `SUPERSTEP_REQUIRE_TOOLS=1`.
fn tools() -> Option<Toolchain> {
    match Toolchain::locate() {
        Ok(tools) => Some(tools),
        Err(missing) => {
            let required =
                std::env::var_os("SUPERSTEP_REQUIRE_TOOLS").is_some_and(|value| value == "1");
            assert!(!required, "SUPERSTEP_REQUIRE_TOOLS=1, but: {missing}");
            eprintln!("skipped: {missing}");
            None
        }
    }
}

fn run(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .expect("the tool starts");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{} {arguments:?}\n{}",
        program.display(),
        text(&output.stderr)
    );
    text(&output.stdout) + &text(&output.stderr)
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Compiles a CUDA file to bitcode.
fn bitcode(tools: &Toolchain, file: &Path, out: &Path) {
    let cuda = format!("--cuda-path={}", tools.cuda.root.display());
    let (file, out) = (file.to_string_lossy(), out.to_string_lossy());
    run(
        &tools.llvm.tool("clang++"),
        &[
            "-x",
            "cuda",
            &cuda,
            "--cuda-device-only",
            "--cuda-gpu-arch=sm_90",
            "-O2",
            // The harness compiles handlers this way, since they check for constants after inlining.
            "-Xclang",
            "-flto=thin",
            "-c",
            "-emit-llvm",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unknown-cuda-version",
            &file,
            "-o",
            &out,
        ],
    );
}

/// Returns a module's PTX and ptxas's report on its registers and spills.
fn assemble(tools: &Toolchain, module: &Path) -> (String, String) {
    let ptx = module.with_extension("ptx");
    let feature = format!("-mattr=+{}", tools.cuda.ptx_feature());
    let (module, ptx_name) = (module.to_string_lossy(), ptx.to_string_lossy());
    run(
        &tools.llvm.tool("llc"),
        &["-mcpu=sm_90", &feature, "-O3", &module, "-o", &ptx_name],
    );
    let log = run(
        &tools.cuda.ptxas,
        &["-arch=sm_90", "-v", "-c", &ptx_name, "-o", "/dev/null"],
    );
    (std::fs::read_to_string(&ptx).expect("llc wrote PTX"), log)
}

#[test]
fn the_probes_compile_without_spills() {
    let Some(tools) = tools() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    for probe in ["probe_trace_thesis", "probe_count"] {
        let module = folder.path().join(probe).with_extension("bc");
        bitcode(
            &tools,
            &source("device").join(probe).with_extension("cu"),
            &module,
        );
        let (ptx, log) = assemble(&tools, &module);
        assert!(
            ptx.contains("__superstep_probe_access("),
            "{probe} does not define the handler"
        );
        assert!(
            log.contains("0 bytes spill stores, 0 bytes spill loads"),
            "{probe}: {log}"
        );
    }
}

/// Returns the PTX of the stress program with the probe from `device/NAME.cu` inlined, and ptxas's report on it.
fn stress_with(tools: &Toolchain, probe: &str) -> (String, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    bitcode(tools, &source("tests/gpu/stress.cu"), &at("stress.bc"));
    let handler = source("device").join(probe).with_extension("cu");
    bitcode(tools, &handler, &at("probe.bc"));
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    run(
        &tools.llvm.tool("llvm-link"),
        &[
            &text(at("stress.bc")),
            &text(at("probe.bc")),
            "-o",
            &text(at("linked.bc")),
        ],
    );
    let keep = "-internalize-public-api-list=stress,relay";
    let passes = "-passes=internalize,default<O2>";
    run(
        &tools.llvm.tool("opt"),
        &[
            passes,
            keep,
            &text(at("linked.bc")),
            "-o",
            &text(at("inlined.bc")),
        ],
    );
    assemble(tools, &at("inlined.bc"))
}

/// A kernel with the probe inlined still has the instructions that the protocol's proof requires.
#[test]
fn the_protocol_survives_inlining() {
    let Some(tools) = tools() else { return };
    let (ptx, _) = stress_with(&tools, "probe_trace_thesis");
    assert!(
        !ptx.contains(".func __superstep_probe_access"),
        "the probe was not inlined"
    );
    let sites = 7;
    let count = |text: &str| ptx.matches(text).count();
    assert_eq!(
        count("activemask.b32"),
        sites,
        "each site has its own group of lanes"
    );
    assert_eq!(
        count("atom.sys.add.u64"),
        2 * sites,
        "the host sees both indices"
    );
    assert_eq!(
        count("membar.sys"),
        sites,
        "records come before their acknowledgement"
    );
    assert_eq!(
        count("bar.warp.sync"),
        sites,
        "all lanes' records come before the acknowledgement"
    );
    assert_eq!(
        count("ld.acquire.sys"),
        sites,
        "the host's release comes before the records"
    );
    assert_eq!(
        count("st.volatile.b64"),
        3 * sites,
        "three words per record"
    );
}

/// Like the test above, but for the `stream` protocol.
#[test]
fn the_stream_protocol_survives_inlining() {
    let Some(tools) = tools() else { return };
    let (ptx, log) = stress_with(&tools, "probe_trace_stream");
    assert!(
        !ptx.contains(".func __superstep_probe_access"),
        "the probe was not inlined"
    );
    assert!(
        !log.contains("bytes spill stores") || log.contains(" 0 bytes spill stores"),
        "{log}"
    );
    let sites = 7;
    let count = |text: &str| ptx.matches(text).count();
    assert_eq!(
        count("activemask.b32"),
        sites,
        "each site has its own group of lanes"
    );
    assert_eq!(
        count("red.release.gpu.global.add.u32"),
        2 * (sites + 1),
        "a record comes before its count, in each of its pieces; a site with variable width has a second path, for lanes that differ"
    );
    assert_eq!(
        count("ld.acquire.sys"),
        1,
        "only a drain reads the host's words"
    );
    assert_eq!(
        count("st.release.sys"),
        1,
        "a piece is announced to the host after all of it has been written"
    );
    assert_eq!(
        count("membar.sys") + count("fence.sc.sys"),
        1,
        "every lane's part comes before the announcement"
    );
    assert_eq!(
        count("membar.gl"),
        3,
        "a piece is read after its counts, and freed after it has been read; relay contains a fence as well"
    );
}

/// With a fence, ptxas would make each of a program's atomic operations wait for its result, even an unused one.
#[test]
fn the_in_situ_handler_has_no_fence() {
    let Some(tools) = tools() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let module = folder.path().join("probe.bc");
    bitcode(&tools, &source("device/probe_trace_in-situ.cu"), &module);
    let (ptx, _) = assemble(&tools, &module);
    assert_eq!(
        ptx.matches("atom.release.gpu.global.cas.b128").count(),
        1,
        "per-byte entries are written before the entry that points to them"
    );
    assert!(!ptx.contains("membar") && !ptx.contains("fence."), "{ptx}");
}

/// The PTX that the library embeds matches its source.
#[test]
fn the_embedded_kernels_are_up_to_date() {
    let Some(tools) = tools() else { return };
    for name in ["stream_flush", "heap_block", "child_moves"] {
        check_up_to_date(&tools, name);
    }
}

fn check_up_to_date(tools: &Toolchain, name: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let module = folder.path().join("device.bc");
    let cuda = format!("--cuda-path={}", tools.cuda.root.display());
    run(
        &tools.llvm.tool("clang++"),
        &[
            "-x",
            "cuda",
            &cuda,
            "--cuda-device-only",
            "--cuda-gpu-arch=sm_70",
            "-O2",
            "-c",
            "-emit-llvm",
            "-Wno-unknown-cuda-version",
            &source(&format!("device/{name}.cu")).to_string_lossy(),
            "-o",
            &module.to_string_lossy(),
        ],
    );
    let ptx = folder.path().join("device.ptx");
    run(
        &tools.llvm.tool("llc"),
        &[
            "-mcpu=sm_70",
            "-mattr=+ptx63",
            "-O3",
            &module.to_string_lossy(),
            "-o",
            &ptx.to_string_lossy(),
        ],
    );
    let read = |path: &Path| std::fs::read_to_string(path).expect("a text file");
    let embedded = source(&format!("device/{name}.ptx"));
    if std::env::var_os("SUPERSTEP_BLESS").is_some_and(|value| value == "1") {
        std::fs::copy(&ptx, &embedded).expect("the source folder can be written");
    }
    assert!(
        read(&ptx) == read(&embedded),
        "device/{name}.ptx does not match device/{name}.cu; run this test with SUPERSTEP_BLESS=1"
    );
}
