//! What was looked for and not found, and how to fix each.

use std::fmt;

/// One tool or file that is absent or unfit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingTool {
    /// The tool's name, for example `clang++`.
    pub name: String,
    /// Where it was looked for, or why what was found does not serve.
    pub why: String,
    /// What to run or set.
    pub hint: String,
}

/// Everything that is missing; never empty when it comes back as an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The missing tools in the order they are needed.
    pub tools: Vec<MissingTool>,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to find the tools to compile CUDA programs:")?;
        for (index, tool) in self.tools.iter().enumerate() {
            write!(f, "\n  {}: {}", tool.name, tool.why)?;
            // Tools of one package share their hint: once is enough.
            if self
                .tools
                .get(index + 1)
                .is_none_or(|next| next.hint != tool.hint)
            {
                write!(f, "\n    to fix: {}", tool.hint)?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Missing {}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(tools: &[(&str, &str)]) -> String {
        let tool = |(name, hint): &(&str, &str)| MissingTool {
            name: name.to_string(),
            why: "not in PATH".to_owned(),
            hint: hint.to_string(),
        };
        Missing {
            tools: tools.iter().map(tool).collect(),
        }
        .to_string()
    }

    #[test]
    fn every_item_is_listed_with_its_mend() {
        let text = text(&[("clang++", "install clang-22"), ("ptxas", "run setup")]);
        assert!(
            text.contains("\n  clang++: not in PATH\n    to fix: install clang-22\n"),
            "{text}"
        );
        assert!(
            text.ends_with("\n  ptxas: not in PATH\n    to fix: run setup"),
            "{text}"
        );
    }

    #[test]
    fn a_shared_mend_is_said_once() {
        let text = text(&[("llc", "install llvm-22"), ("opt", "install llvm-22")]);
        assert_eq!(text.matches("to fix").count(), 1, "{text}");
    }
}
