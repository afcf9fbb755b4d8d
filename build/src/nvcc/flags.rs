//! Table of nvcc's flags: those in CUDA 12.9 and 13, including some undocumented ones.

use super::invocation::NvccInvocation;
use super::words::{list, parts};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Value,
    List,
}
use Takes::{List, Nothing, Value};

#[derive(Clone, Copy)]
pub(super) enum Meaning {
    Accepted,
    Ignored(&'static str),
    Refused(&'static str),
    Selects(Mode),
    /// Applies this function to the flag's value.
    Does(fn(&mut NvccInvocation, String)),
    /// A flag for every compilation, followed by its value.
    All(&'static str),
    /// A flag for both halves of CUDA files.
    Cuda(&'static str),
    /// A flag for host code, followed by its value.
    Host(&'static str),
    Frontend,
    /// A linker flag, followed by its value.
    Link(&'static str),
    Machine,
    /// `sm_90`, `compute_90`, or a list of `arch=…,code=…`.
    Architecture,
    Relocatable,
    Options,
    ForwardUnknown,
    DefaultStream,
    DeviceDebug,
    DeviceOptimization,
    Switch(fn(&mut NvccInvocation) -> &mut Option<bool>),
}
use Meaning::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mode {
    #[default]
    Link,
    SharedLibrary,
    Objects,
    DeviceLink,
    Archive,
    Preprocessed,
    Dependencies,
    Ptx,
    Cubin,
    Fatbin,
    Version,
    Help,
    RealArchitectures,
    VirtualArchitectures,
    Architectures,
}

const AT_RUN_TIME: &str = "device code is assembled when the program runs";
const CLANG: &str = "Clang compiles the code";
const INTERMEDIATE: &str = "nvcc's intermediate files are not created";
const TIMES: &str = "steps are not timed";
const WARNINGS: &str = "Clang's own warnings are shown";
const NO_SUCH_FILE: Meaning = Refused("Superstep does not produce such files");

/// One row per line: meaning, value, and the flags without their hyphens, as `short/long` or as a single name.
macro_rules! table {
    ($($meaning:expr, $takes:ident: $names:literal;)*) => {
        &[$(($meaning, $takes, $names)),*]
    };
}

const FLAGS: &[(Meaning, Takes, &str)] = table! {
    Selects(Mode::Objects), Nothing: "c/compile";
    Does(|it, _| (it.mode, it.relocatable) = (Mode::Objects, true)), Nothing: "dc/device-c";
    Does(|it, _| (it.mode, it.relocatable) = (Mode::Objects, false)), Nothing: "dw/device-w";
    Selects(Mode::DeviceLink), Nothing: "dlink/device-link";
    Selects(Mode::Archive), Nothing: "lib";
    Selects(Mode::Link), Nothing: "link";
    Selects(Mode::SharedLibrary), Nothing: "shared";
    Selects(Mode::Preprocessed), Nothing: "E/preprocess";
    Selects(Mode::Dependencies), Nothing: "M/generate-dependencies";
    Does(|it, _| (it.mode, it.own_dependencies) = (Mode::Dependencies, true)), Nothing:
        "MM/generate-nonsystem-dependencies";
    Selects(Mode::Ptx), Nothing: "ptx";
    Selects(Mode::Cubin), Nothing: "cubin";
    Selects(Mode::Fatbin), Nothing: "fatbin";
    Selects(Mode::Version), Nothing: "V/version";
    Selects(Mode::Help), Nothing: "h/help";
    Selects(Mode::RealArchitectures), Nothing: "code-ls/list-gpu-code";
    Selects(Mode::VirtualArchitectures), Nothing: "arch-ls/list-gpu-arch";
    NO_SUCH_FILE, Nothing: "cuda optix-ir ltoir m32 astoolspatch/compile-as-tools-patch";
    Refused("start the program after the build"), Nothing: "run";
    Refused("start the program after the build"), Value: "run-args";
    Refused("remove the files by hand"), Nothing: "clean/clean-targets";
    Refused("join objects with `ld -r`"), Nothing: "r/relocatable-link";
    Does(|it, value| it.output = Some(value.into())), Value: "o/output-file";
    Does(|it, value| it.output_folder = Some(value.into())), Value: "odir/output-directory";
    Accepted, Nothing: "objtemp/objdir-as-tempdir allow-unsupported-compiler \
        nohdinitlist/no-host-device-initializer-list \
        nohdmoveforward/no-host-device-move-forward m64 lineinfo/generate-line-info restrict \
        simt-only dlto/dlink-time-opt lto gen-opt-lto prune extra-device-vectorization \
        no-compress compress-all reloc-ptx/relocatable-ptx concat skip-ptx-semantics-check \
        jobserver noprof/dont-use-profile Wno-deprecated-gpu-targets \
        err-no/display-error-number no-err-no/no-display-error-number \
        src-in-ptx/source-in-ptx utf-8 forward-slash-prefix-opts use-local-env \
        force-cl-env-setup no-align-double";
    Does(|it, _| (it.dependencies, it.own_dependencies) = (true, false)), Nothing:
        "MD/generate-dependencies-with-compile";
    Does(|it, _| (it.dependencies, it.own_dependencies) = (true, true)), Nothing:
        "MMD/generate-nonsystem-dependencies-with-compile";
    Does(|it, value| it.dependency_file = Some(value.into())), Value: "MF/dependency-output";
    Does(|it, value| it.dependency_target = Some(value)), Value: "MT/dependency-target-name";
    Does(|it, _| it.dependency_targets = true), Nothing: "MP/generate-dependency-targets";
    Does(|it, value| it.language = Some(value)), Value: "x";
    Does(|it, value| it.include.extend(list(&value).into_iter().map(Into::into))), List:
        "I/include-path";
    All("-isystem"), List: "isystem/system-include";
    All("-include"), List: "include/pre-include";
    All("-D"), List: "D/define-macro";
    All("-U"), List: "U/undefine-macro";
    Link("-L"), List: "L/library-path";
    Link("-l"), List: "l/library";
    Does(|it, value| it.no_cudart = value == "none"), Value: "cudart";
    Accepted, Value: "cudadevrt jtd/jump-table-density Ofc/Ofast-compile compress-mode \
        static-global-template-stub device-entity-has-hidden-visibility t/threads j/jobs \
        split-compile split-compile-extended dQ/version-ident brief-diag/brief-diagnostics \
        idp/input-drive-prefix ddp/dependency-drive-prefix dp/drive-prefix";
    Ignored("libdevice comes from the toolkit folder"), Value: "ldir/libdevice-directory";
    Ignored("x86-64 is the only target"), Value: "target-dir/target-directory";
    Options, List: "optf/options-file";
    Does(|it, value| it.host_compiler = Some(value.into())), Value: "ccbin/compiler-bindir";
    Does(|it, value| it.archiver = Some(value.into())), Value: "arbin/archiver-binary";
    Does(|it, value| it.host.extend(parts(&value))), List: "Xcompiler/compiler-options";
    Does(|it, value| it.link(parts(&value), "-Wl,")), List: "Xlinker/linker-options";
    Does(|it, value| it.archiver_options.extend(parts(&value))), List: "Xarchive/archive-options";
    Ignored(AT_RUN_TIME), List:
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
    Accepted, List: "code/gpu-code diag-suppress diag_suppress";
    Relocatable, Value: "rdc/relocatable-device-code";
    Cuda("-D__CUDACC_EWP__"), Nothing: "ewp/extensible-whole-program";
    DeviceDebug, Nothing: "G/device-debug";
    DeviceOptimization, Value: "dopt";
    Does(|it, _| it.fast_math = true), Nothing: "use_fast_math";
    Switch(|it| &mut it.fused), Value: "fmad";
    Switch(|it| &mut it.flushed), Value: "ftz";
    Switch(|it| &mut it.exact_division), Value: "prec-div";
    Switch(|it| &mut it.exact_root), Value: "prec-sqrt";
    Ignored("registers are not limited"), Value: "maxrregcount";
    Ignored("all kernels are compiled"), List: "e/entries";
    Ignored("unused device functions are discarded"), Nothing: "keep-device-functions";
    Ignored("device code has no stack canaries"), Value: "device-stack-protector";
    Ignored("device code is not instrumented for compute-sanitizer"), Value: "fdevice-sanitize";
    Refused("Clang does not support tile kernels"), Nothing: "enable-tile tile-only";
    Does(|it, _| it.no_device_link = true), Nothing: "nodlink/no-device-link";
    Does(|it, _| it.verbose = true), Nothing: "v/verbose";
    Does(|it, _| it.dry_run = true), Nothing: "dryrun dry-run";
    Ignored(INTERMEDIATE), Nothing: "keep save-temps";
    Ignored(INTERMEDIATE), Value: "keep-dir";
    Ignored(TIMES), Value: "time fdevice-time-trace";
    Ignored(AT_RUN_TIME), Nothing: "res-usage/resource-usage";
    Ignored("the linker's default script is used"), Value: "hls/host-linker-script";
    Ignored("the linker's default script is used"), Nothing: "aug-hls/augment-host-linker-script";
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
    let find = |name: &str| flags().find(|(names, ..)| names.split('/').any(|other| other == name));
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
    let is_value = match (takes, meaning) {
        // Flags of other compilers begin with these letters.
        (Nothing, _) | (_, Machine) => false,
        (_, Accepted | Ignored(_)) => rest.bytes().all(|digit| digit.is_ascii_digit()),
        _ => true,
    };
    is_value.then(|| (meaning, takes, Some(rest.to_owned())))
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
