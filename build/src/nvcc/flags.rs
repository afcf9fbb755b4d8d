//! The table of nvcc's flags: those in CUDA 12.9 and 13, and some undocumented ones.

use std::path::PathBuf;

use super::invocation::NvccInvocation;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Value,
    List,
}
use Takes::{List, Nothing, Value};

#[derive(Clone, Copy)]
pub(super) enum Meaning {
    Met,
    Ignored(&'static str),
    Refused(&'static str),
    Makes(Mode),
    Sets(fn(&mut NvccInvocation) -> &mut bool),
    Path(fn(&mut NvccInvocation) -> &mut Option<PathBuf>),
    Text(fn(&mut NvccInvocation) -> &mut Option<String>),
    /// Arguments for another program.
    Parts(fn(&mut NvccInvocation) -> &mut Vec<String>),
    /// A flag for every compilation, followed by its value.
    All(&'static str),
    /// A flag for both halves of CUDA files.
    Cuda(&'static str),
    /// A flag for host code, followed by its value.
    Host(&'static str),
    Linker,
    Frontend,
    /// A linker flag, followed by its value.
    Link(&'static str),
    Include,
    Machine,
    /// `sm_90`, `compute_90`, or a list of `arch=…,code=…`.
    Architecture,
    Relocatable,
    Cudart,
    /// Dependencies in addition to the other output; with `own`, without system headers.
    DependenciesToo {
        own: bool,
    },
    Options,
    ForwardUnknown,
    DefaultStream,
    DeviceDebug,
    DeviceOptimization,
    Switch(Arithmetic),
}
use Meaning::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Arithmetic {
    Fused,
    Flushed,
    ExactDivision,
    ExactRoot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mode {
    #[default]
    Link,
    SharedLibrary,
    Objects,
    DeviceObjects,
    WholeObjects,
    DeviceLink,
    Archive,
    Preprocessed,
    Dependencies,
    OwnDependencies,
    Ptx,
    Cubin,
    Fatbin,
    Version,
    Help,
    RealArchitectures,
    VirtualArchitectures,
    Architectures,
}

const AT_RUN: &str = "device code is assembled when the program is run";
const CLANG: &str = "Clang compiles the code";
const INTERMEDIATE: &str = "there are no such intermediate files";
const TIMES: &str = "steps are not timed";
const WARNINGS: &str = "Clang's own warnings are shown";
const NO_SUCH_FILE: Meaning = Refused("Superstep does not produce such files");

/// One row per line: meaning, value, and the flags without their hyphens, as `short/long` or as one name for both.
macro_rules! table {
    ($($meaning:expr, $takes:ident: $names:literal;)*) => {
        &[$(($meaning, $takes, $names)),*]
    };
}

const FLAGS: &[(Meaning, Takes, &str)] = table! {
    Makes(Mode::Objects), Nothing: "c/compile";
    Makes(Mode::DeviceObjects), Nothing: "dc/device-c";
    Makes(Mode::WholeObjects), Nothing: "dw/device-w";
    Makes(Mode::DeviceLink), Nothing: "dlink/device-link";
    Makes(Mode::Archive), Nothing: "lib";
    Makes(Mode::Link), Nothing: "link";
    Makes(Mode::SharedLibrary), Nothing: "shared";
    Makes(Mode::Preprocessed), Nothing: "E/preprocess";
    Makes(Mode::Dependencies), Nothing: "M/generate-dependencies";
    Makes(Mode::OwnDependencies), Nothing: "MM/generate-nonsystem-dependencies";
    Makes(Mode::Ptx), Nothing: "ptx";
    Makes(Mode::Cubin), Nothing: "cubin";
    Makes(Mode::Fatbin), Nothing: "fatbin";
    Makes(Mode::Version), Nothing: "V/version";
    Makes(Mode::Help), Nothing: "h/help";
    Makes(Mode::RealArchitectures), Nothing: "code-ls/list-gpu-code";
    Makes(Mode::VirtualArchitectures), Nothing: "arch-ls/list-gpu-arch";
    NO_SUCH_FILE, Nothing: "cuda optix-ir ltoir m32 astoolspatch/compile-as-tools-patch";
    Refused("start the program after the build"), Nothing: "run";
    Refused("start the program after the build"), Value: "run-args";
    Refused("remove the files by hand"), Nothing: "clean/clean-targets";
    Refused("join objects with `ld -r`"), Nothing: "r/relocatable-link";
    Path(|it| &mut it.output), Value: "o/output-file";
    Path(|it| &mut it.output_folder), Value: "odir/output-directory";
    Met, Nothing: "objtemp/objdir-as-tempdir allow-unsupported-compiler \
        nohdinitlist/no-host-device-initializer-list \
        nohdmoveforward/no-host-device-move-forward m64 lineinfo/generate-line-info restrict \
        simt-only dlto/dlink-time-opt lto gen-opt-lto prune extra-device-vectorization \
        no-compress compress-all reloc-ptx/relocatable-ptx concat skip-ptx-semantics-check \
        jobserver noprof/dont-use-profile Wno-deprecated-gpu-targets \
        err-no/display-error-number no-err-no/no-display-error-number \
        src-in-ptx/source-in-ptx utf-8 forward-slash-prefix-opts use-local-env \
        force-cl-env-setup no-align-double";
    DependenciesToo { own: false }, Nothing: "MD/generate-dependencies-with-compile";
    DependenciesToo { own: true }, Nothing: "MMD/generate-nonsystem-dependencies-with-compile";
    Path(|it| &mut it.dependency_file), Value: "MF/dependency-output";
    Text(|it| &mut it.dependency_target), Value: "MT/dependency-target-name";
    Sets(|it| &mut it.dependency_targets), Nothing: "MP/generate-dependency-targets";
    Text(|it| &mut it.language), Value: "x";
    Include, List: "I/include-path";
    All("-isystem"), List: "isystem/system-include";
    All("-include"), List: "include/pre-include";
    All("-D"), List: "D/define-macro";
    All("-U"), List: "U/undefine-macro";
    Link("-L"), List: "L/library-path";
    Link("-l"), List: "l/library";
    Cudart, Value: "cudart";
    Met, Value: "cudadevrt jtd/jump-table-density Ofc/Ofast-compile compress-mode \
        static-global-template-stub device-entity-has-hidden-visibility t/threads j/jobs \
        split-compile split-compile-extended dQ/version-ident brief-diag/brief-diagnostics \
        idp/input-drive-prefix ddp/dependency-drive-prefix dp/drive-prefix";
    Ignored("libdevice comes from the toolkit folder"), Value: "ldir/libdevice-directory";
    Ignored("x86-64 is the only target"), Value: "target-dir/target-directory";
    Options, List: "optf/options-file";
    Path(|it| &mut it.host_compiler), Value: "ccbin/compiler-bindir";
    Path(|it| &mut it.archiver), Value: "arbin/archiver-binary";
    Parts(|it| &mut it.host), List: "Xcompiler/compiler-options";
    Linker, List: "Xlinker/linker-options";
    Parts(|it| &mut it.archiver_options), List: "Xarchive/archive-options";
    Ignored(AT_RUN), List:
        "Xptxas/ptxas-options Xnvprune/nvprune-options Xtileiras/tileiras-options \
        Xfatbin/fatbinary-options";
    Ignored("device code is linked by Superstep"), List: "Xnvlink/nvlink-options";
    Ignored(CLANG), List: "Xcicc/cicc-options opt-info/optimization-info";
    Frontend, List: "Xcudafe/cudafe-options";
    ForwardUnknown, Nothing:
        "forward-unknown-to-host-compiler forward-unknown-to-host-linker forward-unknown-opts";
    All("-std="), Value: "std";
    Host("-O"), Value: "O/optimize";
    Host("-g"), Nothing: "g/debug";
    Host("-pg"), Nothing: "pg/profile";
    Host("-fno-exceptions"), Nothing: "noeh/no-exceptions";
    All("-ftemplate-depth="), Value: "ftemplate-depth";
    All("-ftemplate-backtrace-limit="), Value: "ftemplate-backtrace-limit";
    Host("-frandom-seed="), Value: "frandom-seed";
    Ignored(WARNINGS), Value: "fmax-errors";
    Cuda("-D__CUDACC_RELAXED_CONSTEXPR__"), Nothing: "expt-relaxed-constexpr";
    Cuda("-D__CUDACC_EXTENDED_LAMBDA__"), Nothing: "extended-lambda expt-extended-lambda";
    DefaultStream, Value: "default-stream";
    Machine, Value: "m/machine";
    Architecture, Value: "arch/gpu-architecture gencode/generate-code";
    Met, List: "code/gpu-code diag-suppress diag_suppress";
    Relocatable, Value: "rdc/relocatable-device-code";
    Cuda("-D__CUDACC_EWP__"), Nothing: "ewp/extensible-whole-program";
    DeviceDebug, Nothing: "G/device-debug";
    DeviceOptimization, Value: "dopt";
    Sets(|it| &mut it.fast_math), Nothing: "use_fast_math";
    Switch(Arithmetic::Fused), Value: "fmad";
    Switch(Arithmetic::Flushed), Value: "ftz";
    Switch(Arithmetic::ExactDivision), Value: "prec-div";
    Switch(Arithmetic::ExactRoot), Value: "prec-sqrt";
    Ignored("registers are not limited"), Value: "maxrregcount";
    Ignored("all kernels are compiled"), List: "e/entries";
    Ignored("unused device functions are left out"), Nothing: "keep-device-functions";
    Ignored("device code has no stack canaries"), Value: "device-stack-protector";
    Ignored("device code is not instrumented for compute-sanitizer"), Value: "fdevice-sanitize";
    Refused("Clang has no tile kernels"), Nothing: "enable-tile tile-only";
    Sets(|it| &mut it.no_device_link), Nothing: "nodlink/no-device-link";
    Sets(|it| &mut it.verbose), Nothing: "v/verbose";
    Sets(|it| &mut it.dry_run), Nothing: "dryrun dry-run";
    Ignored(INTERMEDIATE), Nothing: "keep save-temps";
    Ignored(INTERMEDIATE), Value: "keep-dir";
    Ignored(TIMES), Value: "time fdevice-time-trace";
    Ignored(AT_RUN), Nothing: "res-usage/resource-usage";
    Ignored("the linker's own script is used"), Value: "hls/host-linker-script";
    Ignored("the linker's own script is used"), Nothing: "aug-hls/augment-host-linker-script";
    All("-w"), Nothing: "w/disable-warnings";
    Ignored(WARNINGS), List: "Werror diag-warn diag_warn diag-error diag_error";
    Host("-Wno-deprecated-declarations"), Nothing: "Wno-deprecated-declarations";
    Host("-Wreorder"), Nothing: "Wreorder";
    Host("-Wconversion"), Nothing: "Wconversion";
    Ignored(WARNINGS), Nothing:
        "Wdefault-stream-launch Wmissing-launch-bounds Wext-lambda-captures-this";
    Ignored("q++ is not called"), Value: "qpp-config";
};

fn flags() -> impl Iterator<Item = (&'static str, Takes, Meaning)> {
    (FLAGS.iter()).flat_map(|&(meaning, takes, flags)| {
        flags
            .split_whitespace()
            .map(move |names| (names, takes, meaning))
    })
}

pub(super) fn look_up(flag: &str) -> Option<(Meaning, Takes, Option<String>)> {
    let find = |name: &str| flags().find(|(names, ..)| names.split('/').any(|one| one == name));
    let (name, value) = match flag.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (flag, None),
    };
    if let Some((_, takes, meaning)) = find(name)
        && (value.is_none() || takes != Nothing)
    {
        return Some((meaning, takes, value));
    }
    let (letter, rest) = flag.split_at_checked(1)?;
    let (_, takes, meaning) = find(letter)?;
    let follows = match (takes, meaning) {
        (Nothing, _) => false,
        // Flags of other compilers begin with these letters.
        (_, Machine) => rest == "32",
        (_, Met | Ignored(_)) => rest.bytes().all(|digit| digit.is_ascii_digit()),
        _ => true,
    };
    follows.then(|| (meaning, takes, Some(rest.to_owned())))
}

pub(super) fn help() -> String {
    let mut text = String::from(
        "Usage  : nvcc [options] <inputfile>\n\nThis is Superstep's stand-in for nvcc, based on Clang. Options:\n",
    );
    let mut flags: Vec<_> = flags().collect();
    flags.sort_by_key(|(names, ..)| names.to_ascii_lowercase());
    for (names, takes, meaning) in flags {
        let (short, long) = names.split_once('/').unwrap_or((names, names));
        let value = match takes {
            Nothing => "",
            Value => " <value>",
            List => " <value>,...",
        };
        let note = match meaning {
            Ignored(why) => format!("   ignored: {why}"),
            Refused(why) => format!("   not supported: {why}"),
            _ => String::new(),
        };
        text.push_str(&format!("--{long}{value} (-{short}){note}\n"));
    }
    text
}

#[cfg(test)]
mod tests;
