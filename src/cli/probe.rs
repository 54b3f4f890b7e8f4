//! `probe`: what the MCP tool does, for people. One JSON value a document on stdout.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use futures_util::future::join_all;

use super::args::ProbeArgs;
use super::{USAGE, block_on, complain, configure, say};
use crate::access::Access;
use crate::config::Config;
use crate::contract::{Envelope, ErrorCode, ProbeOptions, Record, Reply, indent};
use crate::supervisor::{Supervisor, Waiting};

pub(super) fn run(args: &ProbeArgs) -> ExitCode {
    let options = match args.flags.options() {
        Ok(options) => options.with_view(args.view.into()),
        Err(error) => {
            complain(&error.to_string());
            return ExitCode::from(USAGE);
        }
    };
    let config = match configure(&args.root.quiet()) {
        Ok(config) => config,
        Err(code) => return code,
    };
    block_on(probe(args, options, config))
}

async fn probe(args: &ProbeArgs, options: ProbeOptions, config: Config) -> ExitCode {
    let access = Access::new(config.supervisor.roots.clone());
    let supervisor = Supervisor::start(config.supervisor.clone());
    let code = tokio::select! {
        code = print_reports(args, options, &access, &supervisor) => code,
        _ = tokio::signal::ctrl_c() => ExitCode::from(130),
    };
    supervisor.drain(Duration::ZERO, Waiting::Refuse).await;
    code
}

async fn print_reports(
    args: &ProbeArgs,
    options: ProbeOptions,
    access: &Access,
    supervisor: &Supervisor,
) -> ExitCode {
    let records = join_all(args.paths.iter().map(|path| admit(access, path))).await;
    let mut batch = match supervisor.batch(records, options) {
        Ok(batch) => batch,
        Err(envelope) => {
            let reply = Reply::from_envelope(&envelope, &supervisor.tool_version());
            let code = ExitCode::from(envelope.code.exit_code());
            return match say(&format!("{}\n", reply.json()), code) {
                Ok(()) => code,
                Err(code) => code,
            };
        }
    };
    let pretty = args.pretty || std::io::stdout().is_terminal();
    let mut printer = Printer::new(args.paths.len(), pretty);
    while let Some((at, reply)) = batch.next().await {
        // Nobody reads what is left: it is not probed either.
        if let Err(code) = printer.take(at, reply) {
            return code;
        }
    }
    printer.finish()
}

async fn admit(access: &Access, path: &OsStr) -> Result<Record, Envelope> {
    match path.to_str() {
        Some(path) => access.admit(path).await,
        None => Err(Envelope::new(
            ErrorCode::McpPathUnreadable,
            format!("{path:?} is not valid UTF-8, which an engine cannot be given"),
        )),
    }
}

/// Prints replies in the order of the input as soon as their turn comes.
struct Printer {
    waiting: Vec<Option<Reply>>,
    next: usize,
    done: usize,
    pretty: bool,
    shows_progress: bool,
    worst: u8,
}

impl Printer {
    fn new(total: usize, pretty: bool) -> Self {
        Self {
            waiting: vec![None; total],
            next: 0,
            done: 0,
            pretty,
            shows_progress: total > 1
                && std::io::stderr().is_terminal()
                && !std::io::stdout().is_terminal(),
            worst: 0,
        }
    }

    fn take(&mut self, at: usize, reply: Reply) -> Result<(), ExitCode> {
        let status = u8::try_from(reply.head().exit_code).unwrap_or(u8::MAX);
        self.worst = self.worst.max(status);
        self.done += 1;
        if let Some(place) = self.waiting.get_mut(at) {
            *place = Some(reply);
        }
        while let Some(reply) = self.waiting.get_mut(self.next).and_then(Option::take) {
            self.next += 1;
            let so_far = ExitCode::from(self.worst);
            if self.pretty {
                say(&format!("{}\n", indent(reply.json())), so_far)?;
            } else {
                say(&format!("{}\n", reply.json()), so_far)?;
            }
        }
        self.show_progress();
        Ok(())
    }

    fn show_progress(&self) {
        use std::io::Write;
        if self.shows_progress {
            let (done, total) = (self.done, self.waiting.len());
            let _closed = write!(std::io::stderr(), "\r{done} of {total}");
        }
    }

    fn finish(self) -> ExitCode {
        if self.shows_progress {
            use std::io::Write;
            let _closed = writeln!(std::io::stderr());
        }
        ExitCode::from(self.worst)
    }
}
