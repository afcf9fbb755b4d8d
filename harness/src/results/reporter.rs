//! What a command says while it works: progress for people on standard error, messages for programs on standard output.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Map, Value, json};

/// Form of a command's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum MessageFormat {
    /// Text for people.
    #[default]
    Human,
    /// One JSON object a line, with `reason` and `schema_version`.
    Json,
}

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Whether standard output is to be coloured.
    pub fn on_stdout(self) -> bool {
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                    && std::io::stdout().is_terminal()
            }
        }
    }
}

/// Version of the messages of `--message-format json`.
const MESSAGE_SCHEMA_VERSION: u32 = 1;

/// Tells how far a command is. Cheap to clone; clones share one progress line.
#[derive(Debug, Clone)]
pub struct Reporter {
    format: MessageFormat,
    bar: ProgressBar,
    terminal: bool,
}

impl Reporter {
    /// A reporter. Progress is shown only when standard error is a terminal and messages are for people.
    pub fn new(format: MessageFormat) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let visible = terminal && format == MessageFormat::Human;
        let target = if visible {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} [{elapsed_precise}] {msg}") {
            bar.set_style(style);
        }
        if visible {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        Self {
            format,
            bar,
            terminal,
        }
    }

    /// A reporter that says nothing, for tests and for use as a library.
    pub fn silent() -> Self {
        Self {
            format: MessageFormat::Human,
            bar: ProgressBar::hidden(),
            terminal: false,
        }
    }

    /// Form of the messages.
    pub fn format(&self) -> MessageFormat {
        self.format
    }

    /// What is being done now. Replaces the progress line; nothing is kept of it.
    pub fn doing(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }

    /// A line that stays: on standard error for people, nothing for programs (they get [`Reporter::message`]).
    pub fn line(&self, text: &str) {
        if self.format == MessageFormat::Human {
            // A closed pipe must not stop a run in the middle.
            let print = || {
                let _ = writeln!(std::io::stderr(), "{text}");
            };
            if self.terminal {
                self.bar.suspend(print);
            } else {
                print();
            }
        }
    }

    /// A message for programs, one JSON object on a line of standard output. Nothing for people.
    pub fn message(&self, reason: &str, fields: Value) {
        if self.format != MessageFormat::Json {
            return;
        }
        let mut object = Map::new();
        object.insert("reason".to_owned(), json!(reason));
        object.insert("schema_version".to_owned(), json!(MESSAGE_SCHEMA_VERSION));
        if let Value::Object(fields) = fields {
            object.extend(fields);
        }
        // A closed pipe must not stop a run in the middle.
        let _ = writeln!(std::io::stdout(), "{}", Value::Object(object));
    }

    /// Ends the progress line.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
