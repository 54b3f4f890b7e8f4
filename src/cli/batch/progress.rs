//! How far a batch is, on stderr: a bar on a terminal, a line now and then elsewhere.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::input::Found;

/// Time between two lines where there is no terminal.
const EVERY: Duration = Duration::from_secs(10);

pub(super) struct Progress {
    shown: Shown,
    found: Arc<Found>,
    done: u64,
    begun: Instant,
}

enum Shown {
    Nothing,
    Bar(ProgressBar),
    /// With the time of the last line.
    Lines(Instant),
}

impl Progress {
    pub(super) fn new(quiet: bool, found: Arc<Found>) -> Self {
        let begun = Instant::now();
        let shown = if quiet {
            Shown::Nothing
        } else if !std::io::stderr().is_terminal() {
            Shown::Lines(begun)
        } else if std::io::stdout().is_terminal() {
            // The reports themselves show how far it is.
            Shown::Nothing
        } else {
            Shown::Bar(bar())
        };
        Self {
            shown,
            found,
            done: 0,
            begun,
        }
    }

    pub(super) fn advance(&mut self) {
        self.done += 1;
        match &mut self.shown {
            Shown::Nothing => {}
            Shown::Bar(bar) => {
                if let Some(total) = self.found.total()
                    && bar.length() != Some(total)
                {
                    bar.set_length(total);
                }
                bar.inc(1);
            }
            Shown::Lines(last) => {
                if last.elapsed() >= EVERY {
                    *last = Instant::now();
                    self.line();
                }
            }
        }
    }

    fn line(&self) {
        #[allow(clippy::cast_precision_loss, reason = "a rate for people")]
        let rate = self.done as f64 / self.begun.elapsed().as_secs_f64();
        let of = self.found.total().map(|total| format!(" of {total}"));
        let of = of.unwrap_or_default();
        let _closed = writeln!(std::io::stderr(), "{}{of} done, {rate:.0}/s", self.done);
    }

    pub(super) fn finish(self) {
        if let Shown::Bar(bar) = self.shown {
            bar.finish_and_clear();
        }
    }
}

/// It has no length until the list was read to its end.
fn bar() -> ProgressBar {
    let bar = ProgressBar::no_length();
    let template = "{bar:40} {human_pos}/{human_len} {per_sec:>12} ETA {eta}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
