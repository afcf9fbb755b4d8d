//! Output of a running command: progress for humans on standard error, messages for programs on standard output.

use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use clap::{ColorChoice, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use superstep_trace::Capture;

use super::human_bytes;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum MessageFormat {
    /// Human-readable text.
    #[default]
    Human,
    /// One JSON object per line, with `reason` and `schema_version`.
    Json,
}

/// Amount of text on standard error.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct Verbosity {
    /// Print only warnings, errors and results.
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print each step of a build.
    #[arg(long, short, global = true)]
    pub verbose: bool,
}

/// Set once from the command line; [`Reporter::new`] reads it.
pub static VERBOSITY: OnceLock<Verbosity> = OnceLock::new();

pub fn is_coloured(choice: ColorChoice) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                && std::io::stdout().is_terminal()
        }
    }
}

/// Reports the progress of a command. Clones share one progress line.
#[derive(Debug, Clone)]
pub struct Reporter {
    format: MessageFormat,
    bar: ProgressBar,
    /// Whether a progress line on standard error is shown and updated in place.
    has_bar: bool,
    /// Whether a line for each step is written to standard error.
    is_log: bool,
    is_verbose: bool,
}

impl Reporter {
    /// Creates a reporter. A terminal shows progress on one line, unless messages are JSON or `--quiet` or `--verbose`
    /// is given.
    pub fn new(format: MessageFormat) -> Self {
        let Verbosity { quiet, verbose } = VERBOSITY.get().copied().unwrap_or_default();
        let is_human = format == MessageFormat::Human;
        let has_bar = is_human && !quiet && !verbose && std::io::stderr().is_terminal();
        let target = match has_bar {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} [{elapsed_precise}] {msg}") {
            bar.set_style(style);
        }
        if has_bar {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        Self {
            format,
            bar,
            has_bar,
            is_log: is_human && !has_bar && !quiet,
            is_verbose: is_human && verbose,
        }
    }

    pub fn doing(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }

    /// Reports a short step; only `--verbose` prints a line for it.
    pub fn detail(&self, what: String) {
        if self.is_verbose {
            self.line(&what);
        }
        self.doing(what);
    }

    /// Prints a progress line unless `--quiet` is given.
    pub fn note(&self, text: &str) {
        if self.has_bar || self.is_log {
            self.line(text);
        }
    }

    /// Begins a step that ends when the result is dropped. Its progress is the share of `capture` that has been read.
    #[must_use]
    pub fn step(&self, what: impl Into<String>, capture: Option<&Capture>) -> Step {
        Step::new(self.clone(), what.into(), capture, true)
    }

    /// Begins the only step of a command; a log shows it only if it takes a long time.
    #[must_use]
    pub fn single_step(what: &str, capture: &Capture) -> Step {
        let reporter = Self::new(MessageFormat::Human);
        Step::new(reporter, what.to_owned(), Some(capture), false)
    }

    /// In human format, prints a line on standard error.
    pub fn line(&self, text: &str) {
        if self.format == MessageFormat::Human {
            // A closed pipe must not stop the run.
            let print = || {
                let _ = writeln!(std::io::stderr(), "{text}");
            };
            if self.has_bar {
                self.bar.suspend(print);
            } else {
                print();
            }
        }
    }

    /// In JSON format, prints a JSON object as a line on standard output.
    pub fn message(&self, reason: &str, fields: Value) {
        if self.format != MessageFormat::Json {
            return;
        }
        let mut message = json!({ "reason": reason, "schema_version": 1 });
        if let (Value::Object(message), Value::Object(fields)) = (&mut message, fields) {
            message.extend(fields);
        }
        let _ = writeln!(std::io::stdout(), "{message}");
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Reports a step's progress until the sender of `end` is dropped.
    fn tick(&self, started: Instant, text: impl Fn() -> String, end: &Receiver<()>) {
        let mut interval = match self.is_log {
            true => LOG_INTERVAL[0],
            false => TERMINAL_INTERVAL,
        };
        while end.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
            if self.is_log {
                let seconds = started.elapsed().as_secs();
                self.line(&format!("{}, {seconds} s so far", text()));
                interval = LOG_INTERVAL[1].min(2 * interval);
            } else {
                self.doing(text());
            }
        }
    }
}

/// A step in progress. A terminal shows it on its progress line; a log gets lines at intervals and at the end.
#[derive(Debug)]
pub struct Step {
    reporter: Reporter,
    what: String,
    started: Instant,
    is_logged: bool,
    ticker: Option<(Sender<()>, JoinHandle<()>)>,
}

/// First and longest interval between log lines about a step; the interval doubles after each line.
const LOG_INTERVAL: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(60)];
const TERMINAL_INTERVAL: Duration = Duration::from_millis(250);

impl Step {
    fn new(reporter: Reporter, what: String, capture: Option<&Capture>, is_logged: bool) -> Self {
        reporter.doing(what.clone());
        let started = Instant::now();
        let ticks = reporter.is_log || reporter.has_bar && capture.is_some();
        let ticker = ticks.then(|| {
            let (sender, receiver) = channel();
            let (reporter, what) = (reporter.clone(), what.clone());
            let read = capture.map(|capture| {
                let progress = capture.progress.clone();
                (progress.read_bytes(), progress, capture.access_bytes())
            });
            let text = move || match &read {
                None => what.clone(),
                Some((before, progress, all)) => {
                    let read = (progress.read_bytes() - before).min(*all);
                    let percent = 100.0 * read as f64 / (*all).max(1) as f64;
                    let (read, all) = (human_bytes(read), human_bytes(*all));
                    format!("{what}: {read} of {all} read ({percent:.0} %)")
                }
            };
            let tick = move || reporter.tick(started, text, &receiver);
            (sender, std::thread::spawn(tick))
        });
        Self {
            reporter,
            what,
            started,
            is_logged,
            ticker,
        }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.ticker.take() {
            drop(sender);
            let _ = thread.join();
        }
        if !self.is_logged {
            self.reporter.finish();
        } else if self.reporter.is_log {
            let seconds = self.started.elapsed().as_secs_f64();
            // Shorter times would print as 0.00.
            if seconds >= 0.005 {
                let what = &self.what;
                self.reporter.line(&format!("{what}: {seconds:.2} s"));
            }
        }
    }
}
