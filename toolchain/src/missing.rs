//! What was looked for and not found, and how to mend each.

use std::fmt;

/// One tool or file that is absent or unfit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingTool {
    /// The tool's name, for example `clang++`.
    pub name: String,
    /// Where it was looked for, or why what was found does not serve.
    pub why: String,
    /// What to run or set.
    pub mend: String,
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
        for tool in &self.tools {
            write!(f, "\n  {}: {}; to mend: {}", tool.name, tool.why, tool.mend)?;
        }
        Ok(())
    }
}

impl std::error::Error for Missing {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_listed_with_its_mend() {
        let tool = |name: &str| MissingTool {
            name: name.into(),
            why: "not in PATH".into(),
            mend: format!("install {name}"),
        };
        let text = Missing {
            tools: vec![tool("clang++"), tool("ptxas")],
        }
        .to_string();
        assert_eq!(text.lines().count(), 3);
        assert!(
            text.contains("clang++: not in PATH; to mend: install clang++"),
            "{text}"
        );
        assert!(
            text.contains("ptxas: not in PATH; to mend: install ptxas"),
            "{text}"
        );
    }
}
