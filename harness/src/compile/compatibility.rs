//! Old code that nvcc and older compilers took and Clang does not. General measures only, none for a program in particular:
//! what nvcc declares without being asked, headers that stand in for missing ones, C before C99, launch brackets with blanks.

use std::borrow::Cow;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::builder::Builder;
use super::error::BuildError;
use super::stage::Arg;
use super::unit::Unit;

/// Where the headers lie in the repository.
const FOLDER: &str = "harness/compatibility";

/// What C compilers only warned about before Clang 16.
const OLD_C: [&str; 5] = [
    "-Wno-error=implicit-function-declaration",
    "-Wno-error=implicit-int",
    "-Wno-error=int-conversion",
    "-Wno-error=incompatible-function-pointer-types",
    "-Wno-error=incompatible-pointer-types",
];

/// A launch with blanks inside its brackets, up to the parenthesis of the kernel's arguments.
static SPLIT_LAUNCH: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"<(\s*)<(\s*)<([^;{}]*?)>(\s*)>(\s*)>(\s*)\(").ok());

impl Builder {
    /// For every CUDA compilation: the header in front, and the stand-ins behind all other include folders.
    pub(super) fn compatible_cuda(&self) -> Result<Vec<Arg>, BuildError> {
        let header = self.installation.folder(FOLDER)?.join("old_cuda.h");
        let mut args = vec!["-include".into(), Arg::input(header)];
        args.extend(self.stand_ins()?);
        Ok(args)
    }

    /// For every C and C++ compilation.
    pub(super) fn compatible_helper(&self, is_c: bool) -> Result<Vec<Arg>, BuildError> {
        let mut args = self.stand_ins()?;
        if is_c {
            args.extend(OLD_C.map(Arg::from));
        }
        Ok(args)
    }

    fn stand_ins(&self) -> Result<Vec<Arg>, BuildError> {
        let folder = self.installation.folder(FOLDER)?.join("include");
        Ok(vec![
            "-idirafter".into(),
            Arg::Place(folder.to_string_lossy().into_owned()),
        ])
    }

    /// Lets the compiler read a unit whose launch brackets have blanks inside as if they had none. Lines and columns stay.
    pub(super) fn joined_brackets(&self, unit: &Unit<'_>) -> Result<Vec<Arg>, BuildError> {
        let source: PathBuf = unit.program.folder.join(&unit.unit.file);
        // What cannot be read, or is no text, is the compiler's business.
        let Ok(text) = fs::read_to_string(source) else {
            return Ok(Vec::new());
        };
        let Cow::Owned(joined) = join_brackets(&text) else {
            return Ok(Vec::new());
        };
        let file = self.runner.text_file("joined.cu", joined.as_bytes())?;
        Ok(vec![
            "-Xclang".into(),
            "-remap-file".into(),
            "-Xclang".into(),
            Arg::Input(format!("{};", unit.unit.file.display()), file, ""),
        ])
    }
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

/// The characters of some groups of a match.
fn blanks<'a>(found: &'a Captures<'_>, groups: &'a [usize]) -> impl Iterator<Item = char> + 'a {
    groups.iter().flat_map(|&group| found[group].chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_joined_and_nothing_moves() {
        let text = "  f << < blocks, threads >> > (a, b);\n  g<  <\n<1, 2>>>(c);\n";
        let joined = join_brackets(text);
        assert_eq!(
            joined,
            "  f <<<  blocks, threads >>>  (a, b);\n  g<<<  \n1, 2>>>(c);\n"
        );
        assert_eq!(joined.len(), text.len());
        assert_eq!(joined.lines().count(), text.lines().count());
    }

    #[test]
    fn what_is_no_split_launch_stays_as_it_is() {
        for text in [
            "f<<<1, 2>>>(a);",
            "f<<<dim3(a >> 1), 2>>> (a);",
            "x = a << b; if (c < d) { y = e >> f; } if (g > (h)) return;",
            "std::vector<std::vector<std::vector<int> > > v(3);",
            "map<int, set<int> > m; f<<<1, 2>>>(m);",
        ] {
            assert!(matches!(join_brackets(text), Cow::Borrowed(_)), "{text}");
        }
    }
}
