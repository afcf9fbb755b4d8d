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
        for (index, tool) in self.tools.iter().enumerate() {
            write!(f, "\n  {}: {}", tool.name, tool.why)?;
            // Tools of one package have the same hint, which is printed once.
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
mod tests;
