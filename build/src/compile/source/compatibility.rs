//! Support for old code that nvcc and older compilers accept but Clang does not: nvcc's implicit declarations,
//! textures, missing headers, pre-C99 C, and launch brackets with spaces. No workaround is specific to one program.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::compile::source::sources::{
    have_texture_objects, have_texture_references, in_constant_memory, own_texts,
};
use crate::compile::source::{arithmetic, constants};
use crate::compile::steps::stage::Args;
use crate::compile::unit::Unit;
use crate::compile::{BuildError, Builder, Program, Result};
use crate::manifest::Language;

const FOLDER: &str = "harness/compatibility";

/// Headers in CUDA 12 and 13 that define libcu++'s barriers for shared memory.
const BARRIERS: [&str; 3] = [
    "cuda/__barrier/barrier_block_scope.h",
    "cccl/cuda/__barrier/barrier_block_scope.h",
    "cuda/std/detail/libcxx/include/__cuda/barrier.h",
];

const OLD_C: [&str; 5] = [
    "-Wno-error=implicit-function-declaration",
    "-Wno-error=implicit-int",
    "-Wno-error=int-conversion",
    "-Wno-error=incompatible-function-pointer-types",
    "-Wno-error=incompatible-pointer-types",
];

/// Before C++11, an identifier directly after a string literal could only be a macro.
const OLD_LITERALS: &str = "-Wno-reserved-user-defined-literal";

/// Matches a launch with spaces inside its brackets, up to the opening parenthesis of the kernel's arguments.
static SPLIT_LAUNCH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"<(\s*)<(\s*)<([^;{}]*?)>(\s*)>(\s*)>(\s*)\(").expect("the pattern is valid")
});

impl Builder {
    /// Returns flags that, in every CUDA compilation, include headers before the source and add replacement headers.
    pub(crate) fn compatible_cuda(&self, program: &Program) -> Result<Args> {
        let folder = self.installation.folder(FOLDER)?;
        let include = |args: Args, header| args.text("-include").input(folder.join(header));
        let mut args = include(Args::default(), "old_cuda.h").text(OLD_LITERALS);
        // The header for texture objects comes first: it renames the functions that read textures of both kinds.
        if have_texture_objects(program) {
            args = include(args, "texture_objects.h");
        }
        if have_texture_references(program) {
            args = include(args, "texture_references.h");
        }
        args = self.shared_barriers(args.and(self.stand_ins()?))?;
        let clang = self.toolchain.llvm.include();
        for header in arithmetic::POWER_HEADERS {
            args = self.edited(
                args,
                &clang.join(header),
                arithmetic::without_integer_powers,
            )?;
        }
        if arithmetic::is_set(&program.flags, arithmetic::FAST_FUNCTIONS) {
            let header = clang.join(arithmetic::MATH_HEADER);
            args = self.edited(args, &header, arithmetic::with_fast_functions)?;
        }
        Ok(args)
    }

    pub fn provides_header(&self, header: &Path) -> bool {
        let tools = [&self.toolchain.llvm.include(), &self.toolchain.cuda.root];
        let shipped = self.installation.folder(FOLDER);
        (tools.into_iter().chain(shipped.as_ref().ok())).any(|folder| header.starts_with(folder))
    }

    /// Makes the compiler read an edited copy in place of a header.
    fn edited(&self, args: Args, header: &Path, edit: fn(&str) -> String) -> Result<Args> {
        let text = fs::read_to_string(header).map_err(BuildError::io("read", header))?;
        let file = self.runner.text_file("edited.h", edit(&text))?;
        Ok(read_as(args, header, file))
    }

    /// Allows libcu++ barriers as shared variables. nvcc does not run the destructors of shared variables; Clang
    /// rejects non-empty ones. Therefore, the compiler reads a copy of the header with a renamed destructor.
    fn shared_barriers(&self, args: Args) -> Result<Args> {
        let headers = BARRIERS.map(|name| self.toolchain.cuda.include.join(name));
        // Each version of CUDA has one of them.
        let mut headers = headers.iter().filter(|header| header.is_file());
        headers.try_fold(args, |args, header| {
            let edit = |text: &str| text.replace("~barrier()", "void superstep_forget()");
            self.edited(args, header, edit)
        })
    }

    pub(crate) fn compatible_helper(&self, is_c: bool) -> Result<Args> {
        let flags = if is_c { &OLD_C[..] } else { &[OLD_LITERALS] };
        Ok(self.stand_ins()?.texts(flags.iter().copied()))
    }

    /// Returns flags that add stand-ins for missing headers and for those of graphics libraries and OpenMP. The latter
    /// take precedence over the system's headers, since nothing is linked with these libraries.
    fn stand_ins(&self) -> Result<Args> {
        let folder = self.installation.folder(FOLDER)?;
        let args = Args::of(["-idirafter"]).place("", &folder.join("include"));
        Ok(args.text("-isystem").place("", &folder.join("unlinked")))
    }

    /// Makes the compiler read edited copies of some files: constants have the manifest's values and, in CUDA files,
    /// launch brackets are joined and texture references are in constant memory. Line numbers do not change.
    pub(crate) fn compatible_sources(&self, unit: &Unit<'_>) -> Result<Args> {
        let mut texts = constants::set(unit.program)?;
        if unit.unit.language == Language::Cuda {
            for (file, text) in own_texts(unit.program, unit.unit) {
                let (text, is_set) = match texts.remove(&file) {
                    Some(text) => (text, true),
                    None => (text, false),
                };
                let joined = join_brackets(&text);
                let changed = in_constant_memory(&joined);
                if is_set || changed != text {
                    texts.insert(file, changed.into_owned());
                }
            }
        }
        let mut args = Args::default();
        for (name, text) in texts {
            args = read_as(args, &name, self.runner.text_file("compatible", text)?);
        }
        Ok(args)
    }
}

fn read_as(args: Args, file: &Path, text: PathBuf) -> Args {
    let args = args.texts(["-Xclang", "-remap-file", "-Xclang"]);
    args.input_in(format!("{};", file.display()), text, "")
}

/// Joins `<< <` and `>> >` in launches without changing the length of `text`; returns `text` if there are none.
fn join_brackets(text: &str) -> Cow<'_, str> {
    let mut launches = SPLIT_LAUNCH.captures_iter(text);
    if launches.all(|found| blanks(&found, &[1, 2, 4, 5]).next().is_none()) {
        return Cow::Borrowed(text);
    }
    SPLIT_LAUNCH.replace_all(text, |found: &Captures<'_>| {
        let before: String = blanks(found, &[1, 2]).collect();
        let after: String = blanks(found, &[4, 5, 6]).collect();
        format!("<<<{before}{}>>>{after}(", &found[3])
    })
}

fn blanks<'a>(found: &'a Captures<'_>, groups: &'a [usize]) -> impl Iterator<Item = char> + 'a {
    groups.iter().flat_map(|&group| found[group].chars())
}

#[cfg(test)]
mod tests;
