//! Old code that nvcc and older compilers took and Clang does not. General measures only, none for a program in particular:
//! nvcc's implicit declarations, textures, replacements for missing headers, C before C99, launch brackets with blanks.

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

/// Headers of CUDA 12 and 13 with libcu++'s barriers in shared memory.
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

/// Before C++11 a name right behind a text could only be a macro.
const OLD_LITERALS: &str = "-Wno-reserved-user-defined-literal";

/// A launch with blanks inside its brackets, up to the parenthesis of the kernel's arguments.
static SPLIT_LAUNCH: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"<(\s*)<(\s*)<([^;{}]*?)>(\s*)>(\s*)>(\s*)\(").ok());

impl Builder {
    /// Flags for every CUDA compilation: headers before its text, replacement headers after all include folders.
    pub(crate) fn compatible_cuda(&self, program: &Program) -> Result<Args> {
        let folder = self.installation.folder(FOLDER)?;
        let include = |args: Args, header| args.text("-include").input(folder.join(header));
        let mut args = include(Args::default(), "old_cuda.h").text(OLD_LITERALS);
        // The objects' header comes first: it names the functions anew that both kinds of textures are read with.
        if have_texture_objects(program) {
            args = include(args, "texture_objects.h");
        }
        if have_texture_references(program) {
            args = include(args, "texture_references.h");
        }
        let args = args.and(self.stand_ins()?).and(self.shared_barriers()?);
        let args = args.and(self.powers()?);
        Ok(args.and(self.fast_functions(program)?))
    }

    pub fn brings(&self, header: &Path) -> bool {
        let tools = [&self.tools.clang_include, &self.tools.cuda_root];
        let own = self.installation.folder(FOLDER);
        (tools.into_iter().chain(own.as_ref().ok())).any(|folder| header.starts_with(folder))
    }

    fn fast_functions(&self, program: &Program) -> Result<Args> {
        if !arithmetic::is_fast(&program.flags) {
            return Ok(Args::default());
        }
        let header = arithmetic::MATH_HEADER;
        self.edited(Args::default(), header, arithmetic::with_fast_functions)
    }

    fn powers(&self) -> Result<Args> {
        let edit = arithmetic::without_integer_powers;
        let mut headers = arithmetic::POWER_HEADERS.into_iter();
        headers.try_fold(Args::default(), |args, header| {
            self.edited(args, header, edit)
        })
    }

    /// Has the compiler read an edited text in place of one of its own headers.
    fn edited(&self, args: Args, header: &str, edit: fn(&str) -> String) -> Result<Args> {
        let header = self.tools.clang_include.join(header);
        let text = fs::read_to_string(&header).map_err(BuildError::io("read", &header))?;
        let file = self.runner.text_file("edited.h", edit(&text).as_bytes())?;
        Ok(read_as(args, &header, file))
    }

    /// Allows barriers of libcu++ in shared variables. nvcc runs no destructors of shared variables; Clang refuses those that are not
    /// empty. So the compiler reads a header in which that of a barrier, which ends the use of its memory, has another name.
    fn shared_barriers(&self) -> Result<Args> {
        let mut args = Args::default();
        for header in BARRIERS.map(|name| self.tools.cuda_include.join(name)) {
            // This version of CUDA has it elsewhere.
            let Ok(text) = fs::read_to_string(&header) else {
                continue;
            };
            let text = text.replace("~barrier()", "void superstep_forget()");
            let file = self.runner.text_file("barrier.h", text.as_bytes())?;
            args = read_as(args, &header, file);
        }
        Ok(args)
    }

    pub(crate) fn compatible_helper(&self, is_c: bool) -> Result<Args> {
        let flags = if is_c { &OLD_C[..] } else { &[OLD_LITERALS] };
        Ok(self.stand_ins()?.texts(flags.iter().copied()))
    }

    /// Replacements for missing headers, and for those of graphics libraries and OpenMP, which win over the system's: nothing is linked
    /// with these.
    fn stand_ins(&self) -> Result<Args> {
        let folder = self.installation.folder(FOLDER)?;
        let args = Args::of(["-idirafter"]).place("", &folder.join("include"));
        Ok(args.text("-isystem").place("", &folder.join("unlinked")))
    }

    /// Has the compiler read edited texts in place of some files: with constants as the manifest sets them, and in CUDA with launch
    /// brackets joined and texture references declared in constant memory. Lines stay.
    pub(crate) fn compatible_sources(&self, unit: &Unit<'_>) -> Result<Args> {
        let mut texts = constants::set(unit.program)?;
        if unit.unit.language == Language::Cuda {
            for source in own_texts(unit.program, unit.unit) {
                let (text, is_set) = match texts.remove(&source.file) {
                    Some(text) => (text, true),
                    None => (source.text, false),
                };
                let joined = join_brackets(&text);
                let changed = in_constant_memory(&joined);
                if is_set || changed != text {
                    texts.insert(source.file, changed.into_owned());
                }
            }
        }
        let mut args = Args::default();
        for (name, text) in texts {
            let file = self.runner.text_file("compatible", text.as_bytes())?;
            args = read_as(args, &name, file);
        }
        Ok(args)
    }
}

fn read_as(args: Args, file: &Path, text: PathBuf) -> Args {
    let args = args.texts(["-Xclang", "-remap-file", "-Xclang"]);
    args.input_in(format!("{};", file.display()), text, "")
}

/// `text` with every `<< <` and `>> >` of a launch in one piece, as long as before; borrowed when there is none.
fn join_brackets(text: &str) -> Cow<'_, str> {
    let Some(launch) = SPLIT_LAUNCH.as_ref() else {
        return Cow::Borrowed(text);
    };
    if !launch
        .captures_iter(text)
        .any(|found| blanks(&found, &[1, 2, 4, 5]).next().is_some())
    {
        return Cow::Borrowed(text);
    }
    let joined = launch.replace_all(text, |found: &Captures<'_>| {
        let before: String = blanks(found, &[1, 2]).collect();
        let behind: String = blanks(found, &[4, 5, 6]).collect();
        format!("<<<{before}{}>>>{behind}(", &found[3])
    });
    Cow::Owned(joined.into_owned())
}

fn blanks<'a>(found: &'a Captures<'_>, groups: &'a [usize]) -> impl Iterator<Item = char> + 'a {
    groups.iter().flat_map(|&group| found[group].chars())
}

#[cfg(test)]
mod tests;
