//! A stand-in engine that speaks the contract and misbehaves on command.
//!
//! The command is in the file name of a record: `/x/VERB+VERB~tag.pdf`. Verbs are carried out from
//! left to right; if none of them answers or ends the process, an ordinary reply follows. `tag` makes
//! a name unique and means nothing. Faults at start stand in a file beside the program, one verb a
//! line: `<program>.chaos`. `count:K:VERB` carries a verb out at its K-th occasion only,
//! `until:K:VERB` at the first K, counted in files beside the program, so that it outlives a process.
#![allow(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used
)]

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const VERSION: &str = "2.4.0";

pub fn main() {
    let program = PathBuf::from(std::env::args_os().next().unwrap());
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--linger") {
        linger(&arguments);
    }
    let mut engine = Engine {
        program,
        version: VERSION.to_owned(),
        served: 0,
        worst: 0,
        arguments,
        hoard: Vec::new(),
    };
    engine.begin();
    let first = engine.arguments.first().cloned().unwrap_or_default();
    match first.as_str() {
        "--version" => println!("deckprobe {}", engine.version),
        "formats" => println!(
            r#"{{"formats":[],"schema_version":2,"status":"ok","tool_version":"{}"}}"#,
            engine.version
        ),
        "targets" => engine.targets(),
        "schema" => println!(r#"{{"$schema":"x","type":"object"}}"#),
        _ if engine.arguments.iter().any(|a| a == "--jsonl") => engine.serve(),
        _ => exit(2),
    }
}

/// A grandchild: sits on the pipes it was given.
fn linger(arguments: &[String]) -> ! {
    if arguments.iter().any(|a| a == "setsid") {
        rustix::process::setsid().unwrap();
    }
    sleep(Duration::from_secs(600));
    exit(0);
}

struct Engine {
    program: PathBuf,
    version: String,
    served: u64,
    worst: i32,
    arguments: Vec<String>,
    hoard: Vec<Vec<u8>>,
}

struct Record {
    path: String,
    name: String,
}

/// Whether the record still wants an ordinary reply.
#[derive(PartialEq)]
enum Then {
    Reply,
    Done,
}

impl Engine {
    fn begin(&mut self) {
        let script = std::fs::read_to_string(self.beside("chaos")).unwrap_or_default();
        let serving = self.arguments.iter().any(|a| a == "--jsonl");
        for verb in script.lines().filter(|line| !line.is_empty()) {
            if let Some(version) = verb.strip_prefix("version:") {
                self.version = version.to_owned();
                continue;
            }
            // The rest misbehaves as a server of records only.
            if !serving {
                continue;
            }
            let Some(verb) = self.due(verb) else { continue };
            let (word, number) = split(&verb);
            match word {
                "start-wait" => sleep(Duration::from_millis(number)),
                "start-exit" => exit(i32::try_from(number).unwrap()),
                // From set-user-id to root for good, so that an ordinary parent may not signal us.
                "become-root" => {
                    // SAFETY: a plain system call.
                    assert_eq!(unsafe { libc::setuid(0) }, 0);
                }
                "banner" => say("hello, I am an engine\n"),
                "refuse-arguments" => {
                    say(&(error("CLI_SYNTAX", 2, "error: no such option").to_string() + "\n"));
                    exit(2);
                }
                "ignore-term" => ignore_term(),
                "start-never-read" => sleep(Duration::from_secs(600)),
                other => panic!("unknown start verb {other}"),
            }
        }
    }

    fn targets(&self) {
        let format = self
            .arguments
            .iter()
            .find_map(|a| a.strip_prefix("--format="));
        match format {
            Some("pdf") => println!(
                r#"{{"driver":"pdf","status":"ok","targets":[],"tool_version":"{}"}}"#,
                self.version
            ),
            other => {
                let message = format!("unsupported format: {}", other.unwrap_or_default());
                println!("{}", error("UNSUPPORTED_FORMAT", 3, &message));
                exit(3);
            }
        }
    }

    fn serve(&mut self) -> ! {
        let stdin = std::io::stdin();
        let mut line = Vec::new();
        loop {
            line.clear();
            if stdin.lock().read_until(b'\n', &mut line).unwrap_or(0) == 0 {
                exit(self.worst);
            }
            let value: Option<Value> = serde_json::from_slice(&line).ok();
            let text = |key: &str| {
                let value = value.as_ref()?.get(key)?;
                Some(value.as_str()?.to_owned())
            };
            let name = text("name");
            let Some(path) = text("path").or_else(|| name.clone()) else {
                self.worst = self.worst.max(1);
                let reply = error("INVALID_REQUEST", 1, "invalid request: no input");
                say(&(reply.to_string() + "\n"));
                continue;
            };
            let last = Path::new(&path).file_name().and_then(|n| n.to_str());
            let name = name.unwrap_or_else(|| last.unwrap_or_default().to_owned());
            self.obey(&Record { path, name });
            self.served += 1;
        }
    }

    fn obey(&mut self, record: &Record) {
        let stem = Path::new(&record.path).file_stem().and_then(|n| n.to_str());
        let command = stem
            .unwrap_or_default()
            .split('~')
            .next()
            .unwrap_or_default();
        let mut then = Then::Reply;
        for verb in command.split('+') {
            if let Some(verb) = self.due(verb) {
                then = self.act(&verb, record);
            }
            if then == Then::Done {
                return;
            }
        }
        self.reply(record, json!({}));
    }

    #[allow(clippy::too_many_lines)]
    fn act(&mut self, verb: &str, record: &Record) -> Then {
        let (word, number) = split(verb);
        let millis = Duration::from_millis(number);
        match word {
            "wait" => sleep(millis),
            "silent" => sleep(Duration::from_secs(600)),
            "spin" => {
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_secs(600) {
                    std::hint::spin_loop();
                }
            }
            "half" | "half-exit" => {
                say(r#"{"status":"ok","inp"#);
                if word == "half-exit" {
                    exit(0);
                }
                sleep(Duration::from_secs(600));
            }
            "two" => {
                self.reply(record, json!({}));
                self.reply(record, json!({"second": true}));
                return Then::Done;
            }
            "unasked" => {
                let text = self.text(record, json!({"unasked": true}));
                std::thread::spawn(move || {
                    sleep(millis);
                    say(&text);
                });
            }
            "swap" => {
                let other = Record {
                    path: "/elsewhere/other.pdf".into(),
                    name: "other.pdf".into(),
                };
                self.reply(&other, json!({}));
                return Then::Done;
            }
            "not-json" => return done("this is not JSON\n"),
            "number" => return done("42\n"),
            "array" => return done("[1,2]\n"),
            "tail" => return done("{\"status\":\"ok\"} tail\n"),
            "blank" => return done("\n"),
            "crlf" => {
                let text = self.text(record, json!({}));
                return done(&text.replace('\n', "\r\n"));
            }
            "bom" => return done(&format!("\u{feff}{}", self.text(record, json!({})))),
            "bad-utf8" => {
                raw(b"{\"status\":\"ok\",\"x\":\"\xff\xfe\"}\n");
                return Then::Done;
            }
            "deep-json" => {
                let (open, close) = ("[".repeat(10_000), "]".repeat(10_000));
                return done(&format!("{{\"status\":\"ok\",\"x\":{open}{close}}}\n"));
            }
            "huge" => {
                raw(b"{\"status\":\"ok\",\"x\":\"");
                let chunk = vec![b'x'; 1 << 16];
                let mut left = usize::try_from(number).unwrap();
                while left > 0 {
                    let n = left.min(chunk.len());
                    raw(&chunk[..n]);
                    left -= n;
                }
                return done("\"}\n");
            }
            // A reply of exactly this many bytes, without its line feed.
            "exactly" => {
                let text = self.text(record, json!({"pad": ""}));
                let pad = usize::try_from(number).unwrap() - (text.len() - 1);
                let pad = format!("\"pad\":\"{}\"", "x".repeat(pad));
                return done(&text.replace("\"pad\":\"\"", &pad));
            }
            "drip" => {
                for byte in self.text(record, json!({})).bytes() {
                    raw(&[byte]);
                    sleep(millis);
                }
                return Then::Done;
            }
            "stderr" => {
                let chunk = vec![b'e'; 1 << 16];
                let mut left = usize::try_from(number).unwrap();
                let mut stderr = std::io::stderr().lock();
                while left > 0 {
                    let n = left.min(chunk.len());
                    let _ = stderr.write_all(&chunk[..n]);
                    left -= n;
                }
            }
            "say" => {
                let _ = std::io::stderr().write_all(b"\x1b[31mlast\xff words\x07");
            }
            "error" => {
                self.worst = self.worst.max(4);
                let reply = error("MALFORMED_INPUT", 4, "malformed input: as asked");
                return done(&(reply.to_string() + "\n"));
            }
            "ignore-term" => ignore_term(),
            "stop-self" => signal_self(rustix::process::Signal::STOP),
            "exit" => exit(i32::try_from(number).unwrap()),
            "then-exit" => {
                self.reply(record, json!({}));
                exit(i32::try_from(number).unwrap());
            }
            "signal" => {
                let raw = i32::try_from(number).unwrap();
                // SAFETY: default dispositions, so that the signal does what it does to a victim.
                unsafe { libc::signal(raw, libc::SIG_DFL) };
                signal_self(rustix::process::Signal::from_named_raw(raw).unwrap());
            }
            "kill-self" => signal_self(rustix::process::Signal::KILL),
            "panic" => panic!("as asked"),
            "abort" => std::process::abort(),
            "close-out" => {
                // SAFETY: nothing uses the descriptor afterwards.
                unsafe { libc::close(1) };
                sleep(Duration::from_secs(600));
            }
            "close-in" => {
                self.reply(record, json!({}));
                // SAFETY: the process only sleeps afterwards.
                unsafe { libc::close(0) };
                sleep(Duration::from_secs(600));
            }
            "never-read" => {
                // Answers, and never reads again.
                self.reply(record, json!({}));
                sleep(Duration::from_secs(600));
            }
            "fork" | "fork-setsid" => {
                let mut command = Command::new(&self.program);
                command.arg("--linger");
                if word == "fork-setsid" {
                    command.arg("setsid");
                }
                let child = command.spawn();
                if let Err(refused) = child {
                    self.reply(record, json!({"refused": refused.to_string()}));
                    return Then::Done;
                }
            }
            "grow" => {
                for _ in 0..number {
                    self.hoard.push(vec![1_u8; 1 << 20]);
                }
            }
            "fds" => {
                let open = || std::fs::File::open("/dev/null");
                let files: Vec<_> = (0..number).map_while(|_| open().ok()).collect();
                self.reply(record, json!({"opened": files.len()}));
                return Then::Done;
            }
            "who" => {
                let who = json!({
                    "pid": std::process::id(),
                    "served": self.served,
                    "arguments": self.arguments,
                });
                self.reply(record, who);
                return Then::Done;
            }
            "env" => {
                let env: std::collections::BTreeMap<_, _> = std::env::vars().collect();
                self.reply(record, json!({"env": env}));
                return Then::Done;
            }
            "limits" => {
                self.reply(record, limits());
                return Then::Done;
            }
            "open" => {
                let read = std::fs::read(&record.path).map(drop);
                let outcome_of =
                    read.map_or_else(|error| error.kind().to_string(), |()| "done".into());
                self.reply(record, json!({"open": outcome_of}));
                return Then::Done;
            }
            "escape" => {
                self.reply(record, escape());
                return Then::Done;
            }
            _ => {}
        }
        Then::Reply
    }

    /// The verb to carry out now, if its occasion has come.
    fn due(&self, verb: &str) -> Option<String> {
        let (word, rest) = verb.split_once(':').unwrap_or((verb, ""));
        if word != "count" && word != "until" {
            return Some(verb.to_owned());
        }
        let (number, inner) = rest.split_once(':').unwrap();
        let number: u64 = number.parse().unwrap();
        let occasion = self.occasion(inner);
        let due = if word == "count" {
            occasion == number
        } else {
            occasion <= number
        };
        due.then(|| inner.to_owned())
    }

    /// Which occasion this is, counted over all processes of this program.
    fn occasion(&self, verb: &str) -> u64 {
        let create = |n: &u64| {
            let file = self.beside(&format!("{verb}.{n}"));
            std::fs::File::create_new(file).is_ok()
        };
        (1..1_000_000).find(create).unwrap()
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.program.clone().into_os_string();
        name.push(".");
        name.push(suffix);
        name.into()
    }

    fn reply(&self, record: &Record, more: Value) {
        say(&self.text(record, more));
    }

    fn text(&self, record: &Record, more: Value) -> String {
        let mut reply = json!({
            "echo": record.path,
            "input": {"display_name": record.name, "source_kind": "local_file"},
            "schema_version": 2,
            "status": "ok",
            "tool_version": self.version,
        });
        let (Some(reply_map), Value::Object(more)) = (reply.as_object_mut(), more) else {
            unreachable!()
        };
        reply_map.extend(more);
        reply.to_string() + "\n"
    }
}

/// What the process was started with.
fn limits() -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let files = std::fs::read_dir("/proc/self/fd").into_iter().flatten();
    let files: Vec<String> = files
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .map(|target| target.display().to_string())
        .collect();
    json!({
        "limits": read("/proc/self/limits"),
        "state": read("/proc/self/status"),
        "files": files,
        "cwd": std::env::current_dir().ok(),
        "group": rustix::process::getpgrp().as_raw_nonzero().get(),
        "pid": std::process::id(),
    })
}

/// Tries to get out of a sandbox, and tells how each attempt ended.
fn escape() -> Value {
    let outcome_of = |outcome: std::io::Result<()>| match outcome {
        Ok(()) => "done".to_owned(),
        Err(error) => error.kind().to_string(),
    };
    let temporary = std::env::temp_dir().join(format!("chaos-{}", std::process::id()));
    let socket = |address: &str| std::net::TcpStream::connect(address).map(drop);
    let parent = rustix::process::getppid().unwrap();
    json!({
        "write": outcome_of(std::fs::write(&temporary, "x")),
        "unlink": outcome_of(std::fs::remove_file(&temporary)),
        "read": outcome_of(std::fs::read("/etc/passwd").map(drop)),
        "spawn": outcome_of(Command::new("/bin/true").status().map(drop)),
        "connect": outcome_of(socket("127.0.0.1:9")),
        "signal": outcome_of(
            rustix::process::kill_process(parent, rustix::process::Signal::CONT).map_err(Into::into)
        ),
        "spy": outcome_of(std::fs::read(format!("/proc/{}/environ", parent.as_raw_nonzero())).map(drop)),
        "thread": outcome_of(std::thread::Builder::new().spawn(|| ()).map(|t| t.join().unwrap())),
    })
}

fn split(verb: &str) -> (&str, u64) {
    let (word, number) = verb.split_once(':').unwrap_or((verb, "0"));
    (word, number.parse().unwrap_or(0))
}

fn done(text: &str) -> Then {
    say(text);
    Then::Done
}

fn say(text: &str) {
    raw(text.as_bytes());
}

fn raw(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    if stdout
        .write_all(bytes)
        .and_then(|()| stdout.flush())
        .is_err()
    {
        exit(101);
    }
}

fn error(code: &str, status: i32, message: &str) -> Value {
    json!({
        "error": {"code": code, "exit_code": status, "message": message},
        "schema_version": 2,
        "status": "error",
        "tool_version": VERSION,
    })
}

fn ignore_term() {
    // SAFETY: ignoring a signal installs no handler.
    unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
}

fn signal_self(signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::getpid(), signal).unwrap();
    // A fatal signal is delivered before this returns, a stop until somebody continues it.
    sleep(Duration::from_millis(50));
}
