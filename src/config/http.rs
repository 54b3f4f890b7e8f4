//! The HTTP side's settings: safe by default, and strict as soon as others can reach it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::http::Uri;
use subtle::ConstantTimeEq;

use super::reader::Reader;
use super::{Config, ms};

/// Shortest token that is accepted, in bytes.
const SHORTEST_TOKEN: usize = 16;
/// Largest token file that is read, in bytes.
const LARGEST_TOKEN: usize = 4096;
/// What a request may have beside an inline document, in bytes.
const BODY_BESIDE_INLINE: u64 = 1024 * 1024;

/// How HTTP is served.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Where to listen.
    pub address: SocketAddr,
    /// What a client must present; `None` only on loopback.
    pub token: Option<Token>,
    /// Names under which clients may reach us; empty for any.
    pub hosts: Vec<String>,
    /// Web pages that may call us. Requests that no browser sent have no origin and pass.
    pub origins: Vec<String>,
    /// Longest time until a request is answered.
    pub timeout: Duration,
    /// Most requests at once.
    pub max_requests: usize,
    /// Largest request body in bytes.
    pub max_body: usize,
}

/// A bearer token. It is never printed.
#[derive(Clone)]
pub struct Token(Box<[u8]>);

impl Token {
    /// Whether this is the token, in a time that tells nothing about it but its length.
    #[must_use]
    pub fn matches(&self, presented: &[u8]) -> bool {
        self.0.ct_eq(presented).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl HttpSettings {
    /// Reads the variables for their problems alone: what would stop `serve --http` is told by every
    /// other command too. A token file is left alone, since it may be for another user's eyes.
    pub(super) fn check(read: &mut Reader<'_>) {
        if read.path("DECKPROBE_MCP_HTTP_TOKEN_FILE").is_none() {
            token(read);
        }
        hosts(read, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        origins(read);
        timeout(read);
        max_requests(read);
    }

    pub(super) fn load(read: &mut Reader<'_>, address: SocketAddr, config: &Config) -> Self {
        let inline = config.inline_bytes.unwrap_or(0);
        let max_body = inline / 3 * 4 + BODY_BESIDE_INLINE;
        let settings = Self {
            address,
            token: token(read),
            hosts: hosts(read, address),
            origins: origins(read),
            timeout: timeout(read),
            max_requests: max_requests(read),
            max_body: usize::try_from(max_body).unwrap_or(usize::MAX),
        };
        if !address.ip().is_loopback() {
            settings.demand_protection(read, config);
        }
        settings
    }

    /// Whoever can reach the address can ask for any document: that needs a token and an allow-list.
    fn demand_protection(&self, read: &mut Reader<'_>, config: &Config) {
        let address = self.address;
        if self.token.is_none() {
            read.problem(format!(
                "{address} is no loopback address: set DECKPROBE_MCP_HTTP_TOKEN_FILE or \
                 DECKPROBE_MCP_HTTP_TOKEN, which clients present as a bearer token"
            ));
        }
        if config.supervisor.roots.is_empty() {
            read.problem(format!(
                "{address} is no loopback address and the whole disk would be open to it: set \
                 DECKPROBE_MCP_ROOTS or --root to the directories that may be probed"
            ));
        }
        if self.hosts.is_empty() && address.ip().is_unspecified() && !allows_any_host(read) {
            read.problem(format!(
                "{address} does not say under which names clients reach it: set \
                 DECKPROBE_MCP_HTTP_HOSTS to them, separated by commas, or to * for any"
            ));
        }
    }
}

fn timeout(read: &mut Reader<'_>) -> Duration {
    ms(read, "DECKPROBE_MCP_HTTP_TIMEOUT_MS", 120_000, 1)
}

fn max_requests(read: &mut Reader<'_>) -> usize {
    super::count(read, "DECKPROBE_MCP_HTTP_MAX_REQUESTS", 256, 1, 65_536)
}

fn origins(read: &mut Reader<'_>) -> Vec<String> {
    let name = "DECKPROBE_MCP_HTTP_ORIGINS";
    let origins = list(read, name);
    for origin in origins.iter().filter(|origin| !is_origin(origin)) {
        read.problem(format!(
            "{name} entry {origin:?} is not accepted: an origin with its scheme and no path, such as \
             https://app.example:443 or http://localhost:*"
        ));
    }
    origins
}

/// Whether an entry can match an `Origin` at all: `null`, or scheme, host and perhaps a port.
fn is_origin(entry: &str) -> bool {
    if entry == "null" {
        return true;
    }
    let Ok(uri) = entry.strip_suffix(":*").unwrap_or(entry).parse::<Uri>() else {
        return false;
    };
    match (uri.scheme_str(), uri.authority()) {
        (Some(_), Some(authority)) => {
            is_host(authority.as_str()) && uri.path() == "/" && uri.query().is_none()
        }
        _ => false,
    }
}

/// Whether an entry can match a `Host` at all: a name or an address, perhaps with a port.
fn is_host(entry: &str) -> bool {
    let is_name = |name: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        !name.is_empty() && name.bytes().all(plain)
    };
    let bare = entry
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if bare.unwrap_or(entry).parse::<IpAddr>().is_ok() || entry.parse::<SocketAddr>().is_ok() {
        return true;
    }
    match entry.split_once(':') {
        Some((name, port)) => is_name(name) && port.parse::<u16>().is_ok(),
        None => is_name(entry),
    }
}

fn token(read: &mut Reader<'_>) -> Option<Token> {
    let (plain, file) = ("DECKPROBE_MCP_HTTP_TOKEN", "DECKPROBE_MCP_HTTP_TOKEN_FILE");
    let (name, text) = match (read.secret(plain), read.path(file)) {
        (Some(_), Some(_)) => {
            read.problem(format!("{plain} and {file} are both set; one is enough"));
            return None;
        }
        (Some(text), None) => (plain, text),
        (None, Some(path)) => match read_small(&path) {
            Ok(text) => (file, text),
            Err(error) => {
                read.problem(format!("{file}={path:?} cannot be read: {error}"));
                return None;
            }
        },
        (None, None) => return None,
    };
    let text = text.trim();
    let plain_bytes = text.bytes().all(|byte| byte.is_ascii_graphic());
    if text.len() < SHORTEST_TOKEN || text.len() > LARGEST_TOKEN || !plain_bytes {
        read.problem(format!(
            "{name} is not accepted: {SHORTEST_TOKEN} or more visible ASCII characters without spaces"
        ));
        return None;
    }
    Some(Token(text.as_bytes().into()))
}

fn read_small(path: &std::path::Path) -> std::io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(LARGEST_TOKEN as u64 + 2)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// The names that are accepted. Without a list: loopback and the very address that we listen on.
fn hosts(read: &mut Reader<'_>, address: SocketAddr) -> Vec<String> {
    if allows_any_host(read) {
        return Vec::new();
    }
    let name = "DECKPROBE_MCP_HTTP_HOSTS";
    let named = list(read, name);
    for host in named.iter().filter(|host| !is_host(host)) {
        read.problem(format!(
            "{name} entry {host:?} is not accepted: a host name or address with or without a port, such \
             as probe.example:8443, or a single * for any"
        ));
    }
    if address.ip().is_unspecified() {
        return named;
    }
    let loopback = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let own = address.ip().to_string();
    named.into_iter().chain(loopback).chain([own]).collect()
}

fn allows_any_host(read: &mut Reader<'_>) -> bool {
    list(read, "DECKPROBE_MCP_HTTP_HOSTS") == ["*"]
}

fn list(read: &mut Reader<'_>, name: &str) -> Vec<String> {
    read.text(name)
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(str::to_owned)
        .collect()
}
