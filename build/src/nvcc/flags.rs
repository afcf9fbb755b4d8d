//! nvcc's flags, as a table.

/// Whether a flag takes a value, which follows it or stands behind `=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Value,
    /// Directly behind a flag of one letter as well: `-Ifolder`.
    Attached,
}
use Takes::{Attached, Nothing, Value};

/// What a flag means here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Nothing has to be done for it.
    Met,
    /// It is not obeyed, and why.
    Ignored(&'static str),
    /// It cannot be ignored.
    Refused(&'static str),
    Makes(Mode),
    /// For every compilation, in front of its value.
    All(&'static str),
    /// For device code: Clang's flags.
    Device(&'static [&'static str]),
    /// For host code, in front of its value.
    Host(&'static str),
    /// Values for the host compiler, comma-separated.
    Compiler,
    /// Values for the linker, comma-separated.
    Linker,
    /// For the link, in front of its value.
    Link(&'static str),
    Include,
    Output,
    OutputFolder,
    Language,
    HostCompiler,
    /// `sm_90`, `compute_90`, or a list of `arch=…,code=…`.
    Architecture,
    Relocatable,
    DependencyFile,
    DependencyTarget,
    /// Dependencies beside what is made otherwise.
    DependenciesToo,
    Options,
    ForwardUnknown,
    /// Which stream is the default one.
    DefaultStream,
    /// `true` or `false` decides about Clang's flag for device code, which is that of `false`.
    Unless(&'static str),
    /// The same for `true`.
    If(&'static str),
    Verbose,
    DryRun,
}
use Meaning::*;

/// What nvcc makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mode {
    /// An executable, or a shared library.
    #[default]
    Link,
    SharedLibrary,
    Objects,
    /// Objects whose device code is linked later.
    DeviceObjects,
    /// The object that registers the linked device code of others.
    DeviceLink,
    Archive,
    Preprocessed,
    /// The list of files read.
    Dependencies,
    Ptx,
    Cubin,
    Fatbin,
    Version,
}

const WARNINGS: &str = "Clang's own warnings are shown";

/// Names (without their hyphens), whether a value follows, meaning.
const FLAGS: &[(&[&str], Takes, Meaning)] = &[
    (&["c", "compile"], Nothing, Makes(Mode::Objects)),
    (&["dc", "device-c"], Nothing, Makes(Mode::DeviceObjects)),
    (&["dlink", "device-link"], Nothing, Makes(Mode::DeviceLink)),
    (&["lib"], Nothing, Makes(Mode::Archive)),
    (&["link"], Nothing, Makes(Mode::Link)),
    (&["shared"], Nothing, Makes(Mode::SharedLibrary)),
    (&["E", "preprocess"], Nothing, Makes(Mode::Preprocessed)),
    (
        &[
            "M",
            "generate-dependencies",
            "MM",
            "generate-nonsystem-dependencies",
        ],
        Nothing,
        Makes(Mode::Dependencies),
    ),
    (&["ptx"], Nothing, Makes(Mode::Ptx)),
    (&["cubin"], Nothing, Makes(Mode::Cubin)),
    (&["fatbin"], Nothing, Makes(Mode::Fatbin)),
    (&["V", "version"], Nothing, Makes(Mode::Version)),
    (
        &[
            "MD",
            "generate-dependencies-with-compile",
            "MMD",
            "generate-nonsystem-dependencies-with-compile",
        ],
        Nothing,
        DependenciesToo,
    ),
    (&["MF", "dependency-output"], Value, DependencyFile),
    (&["MT", "dependency-target-name"], Value, DependencyTarget),
    (&["MP", "generate-dependency-targets"], Nothing, Met),
    (&["o", "output-file"], Value, Output),
    (&["odir", "output-directory"], Value, OutputFolder),
    (&["x"], Value, Language),
    (&["ccbin", "compiler-bindir"], Value, HostCompiler),
    (&["I", "include-path"], Attached, Include),
    (&["isystem", "system-include"], Value, All("-isystem")),
    (&["include", "pre-include"], Value, All("-include")),
    (&["D", "define-macro"], Attached, All("-D")),
    (&["U", "undefine-macro"], Attached, All("-U")),
    (&["std"], Value, All("-std=")),
    (&["w", "disable-warnings"], Nothing, All("-w")),
    (&["O", "optimize"], Attached, Host("-O")),
    (&["Ofast-compile", "Ofc"], Value, Met),
    (&["g", "debug"], Nothing, Host("-g")),
    (&["pg", "profile"], Nothing, Host("-pg")),
    (
        &["G", "device-debug"],
        Nothing,
        Ignored("device code is optimised"),
    ),
    (&["lineinfo", "generate-line-info"], Nothing, Met),
    (&["Xcompiler", "compiler-options"], Value, Compiler),
    (&["Xlinker", "linker-options"], Value, Linker),
    (&["L", "library-path"], Attached, Link("-L")),
    (&["l", "library"], Attached, Link("-l")),
    (&["cudart"], Value, Met),
    (&["cudadevrt"], Value, Met),
    (
        &[
            "arch",
            "gpu-architecture",
            "code",
            "gpu-code",
            "gencode",
            "generate-code",
        ],
        Value,
        Architecture,
    ),
    (&["rdc", "relocatable-device-code"], Value, Relocatable),
    (
        &["use_fast_math"],
        Nothing,
        Device(&[
            "-fgpu-approx-transcendentals",
            "-fgpu-flush-denormals-to-zero",
        ]),
    ),
    (&["fmad"], Value, Unless("-ffp-contract=off")),
    (&["ftz"], Value, If("-fgpu-flush-denormals-to-zero")),
    (&["prec-div"], Value, Met),
    (&["prec-sqrt"], Value, Met),
    (&["default-stream"], Value, DefaultStream),
    (&["expt-relaxed-constexpr"], Nothing, Met),
    (&["extended-lambda", "expt-extended-lambda"], Nothing, Met),
    (&["restrict"], Nothing, Met),
    (
        &["maxrregcount"],
        Value,
        Ignored("registers are not limited"),
    ),
    (
        &["Xptxas", "ptxas-options"],
        Value,
        Ignored("device code is assembled when the program is run"),
    ),
    (
        &["Xnvlink", "nvlink-options"],
        Value,
        Ignored("device code is linked by Superstep"),
    ),
    (&["dlto", "lto", "dlink-time-opt"], Nothing, Met),
    (&["dopt", "device-optimization"], Value, Met),
    (&["split-compile", "split-compile-extended"], Value, Met),
    (&["extra-device-vectorization"], Nothing, Met),
    (
        &["ewp", "extensible-whole-program"],
        Nothing,
        Refused("device code is linked whole"),
    ),
    (&["Werror"], Value, Ignored(WARNINGS)),
    (
        &[
            "Wno-deprecated-gpu-targets",
            "Wno-deprecated-declarations",
            "Wreorder",
            "Wdefault-stream-launch",
        ],
        Nothing,
        Met,
    ),
    (
        &["Wmissing-launch-bounds", "Wext-lambda-captures-this"],
        Nothing,
        Met,
    ),
    (
        &[
            "diag-suppress",
            "diag_suppress",
            "diag-error",
            "diag_error",
            "diag-warn",
            "diag_warn",
        ],
        Value,
        Met,
    ),
    (&["Xcudafe"], Value, Met),
    (
        &[
            "display-error-number",
            "err-no",
            "no-display-error-number",
            "res-usage",
            "resource-usage",
        ],
        Nothing,
        Met,
    ),
    (
        &[
            "source-in-ptx",
            "src-in-ptx",
            "allow-unsupported-compiler",
            "m64",
            "objdir-as-tempdir",
        ],
        Nothing,
        Met,
    ),
    (
        &[
            "keep",
            "save-temps",
            "no-host-device-initializer-list",
            "no-host-device-move-forward",
            "nodlink",
        ],
        Nothing,
        Met,
    ),
    (
        &[
            "compress-mode",
            "jump-table-density",
            "device-entity-has-hidden-visibility",
        ],
        Value,
        Met,
    ),
    (&["static-global-template-stub", "time"], Value, Met),
    (
        &["keep-dir", "machine", "t", "threads", "j", "jobs"],
        Value,
        Met,
    ),
    (
        &["m32", "run", "cuda", "optix-ir", "ltoir"],
        Nothing,
        Refused("Superstep makes no such file"),
    ),
    (&["v", "verbose"], Nothing, Verbose),
    (&["dryrun", "dry-run"], Nothing, DryRun),
    (&["optf", "options-file"], Value, Options),
    (
        &[
            "forward-unknown-to-host-compiler",
            "forward-unknown-opts",
            "forward-unknown-to-host-linker",
        ],
        Nothing,
        ForwardUnknown,
    ),
];

/// The meaning of a flag without its hyphens, and the value that stands in the same word.
pub(super) fn look_up(flag: &str) -> Option<(Meaning, Takes, Option<String>)> {
    let (name, value) = match flag.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (flag, None),
    };
    let exact = FLAGS
        .iter()
        .find(|(names, takes, _)| names.contains(&name) && (value.is_none() || *takes != Nothing));
    if let Some(&(_, takes, meaning)) = exact {
        return Some((meaning, takes, value));
    }
    let (letter, rest) = flag.split_at_checked(1)?;
    let attached = FLAGS
        .iter()
        .find(|(names, takes, _)| *takes == Attached && names.contains(&letter));
    attached.map(|&(_, takes, meaning)| (meaning, takes, Some(rest.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_in_the_table_once() {
        let mut names: Vec<&str> = FLAGS
            .iter()
            .flat_map(|(names, ..)| names.iter().copied())
            .collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
