//! Missing tools, each with a hint.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingTool {
    pub name: String,
    pub why: String,
    pub hint: String,
}

/// Everything that is missing; never empty in an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    pub tools: Vec<MissingTool>,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to find the tools to compile CUDA programs:")?;
        for group in self.tools.chunk_by(|tool, next| tool.hint == next.hint) {
            for tool in group {
                write!(f, "\n  {}: {}", tool.name, tool.why)?;
            }
            write!(f, "\n    to fix: {}", group[0].hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for Missing {}

#[cfg(test)]
mod tests;
