//! The settings of the HTTP side: safe by default, and strict when others can reach it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use axum::http::Uri;
use subtle::ConstantTimeEq;

use super::Config;
use super::field::HttpValues;
use super::reader::Reader;

/// Shortest token that is accepted, in bytes.
const SHORTEST_TOKEN: usize = 16;
/// Largest token file that is read, in bytes.
const LARGEST_TOKEN: usize = 4096;
/// Room in a request body beside an inline document, in bytes.
const BODY_BESIDE_INLINE: u64 = 1024 * 1024;

/// How HTTP is served.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Where to listen.
    pub address: SocketAddr,
    /// What a client must present; `None` only on loopback.
    pub token: Option<Token>,
    /// Accepted `Host` values; empty for any.
    pub hosts: Vec<String>,
    /// Accepted `Origin` values. Requests that no browser sent have no origin and pass.
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
    /// Whether this is the token. The time that it takes depends on the length alone.
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
    /// Reports what is wrong with the variables where HTTP is not served: a command that starts now
    /// and one that would not start later must not differ. The token file is not read, since it may be
    /// meant for another user.
    pub(super) fn check(values: HttpValues, read: &mut Reader<'_>) {
        if values.token_file.is_none() {
            token(values.token, None, read);
        }
        check_hosts(&values.hosts, read);
        check_origins(&values.origins, read);
    }

    pub(super) fn new(
        values: HttpValues,
        address: SocketAddr,
        config: &Config,
        read: &mut Reader<'_>,
    ) -> Self {
        check_hosts(&values.hosts, read);
        check_origins(&values.origins, read);
        let inline = config.inline_bytes.unwrap_or(0);
        let max_body = inline / 3 * 4 + BODY_BESIDE_INLINE;
        let any_host = allows_any_host(&values.hosts);
        let settings = Self {
            address,
            token: token(values.token, values.token_file, read),
            hosts: hosts(values.hosts, address),
            origins: values.origins,
            timeout: values.timeout,
            max_requests: values.max_requests,
            max_body: usize::try_from(max_body).unwrap_or(usize::MAX),
        };
        if !address.ip().is_loopback() {
            settings.demand_protection(any_host, config, read);
        }
        settings
    }

    /// Everyone who can reach the address can request any document, so a token and an allow-list are
    /// required.
    fn demand_protection(&self, any_host: bool, config: &Config, read: &mut Reader<'_>) {
        let address = self.address;
        if self.token.is_none() {
            read.problem(format!(
                "{address} is not a loopback address: set DECKPROBE_MCP_HTTP_TOKEN_FILE or \
                 DECKPROBE_MCP_HTTP_TOKEN, which clients present as a bearer token"
            ));
        }
        if config.supervisor.roots.is_empty() {
            read.problem(format!(
                "{address} is not a loopback address and the whole disk would be open to it: set \
                 DECKPROBE_MCP_ROOTS or --root to the directories that may be probed"
            ));
        }
        if self.hosts.is_empty() && address.ip().is_unspecified() && !any_host {
            read.problem(format!(
                "{address} does not name the hosts under which clients reach it: set \
                 DECKPROBE_MCP_HTTP_HOSTS to them, separated by commas, or to * for any"
            ));
        }
    }
}

fn check_origins(origins: &[String], read: &mut Reader<'_>) {
    for origin in origins.iter().filter(|origin| !is_origin(origin)) {
        read.problem(format!(
            "DECKPROBE_MCP_HTTP_ORIGINS entry {origin:?} is not accepted: an origin with its scheme and \
             no path, such as https://app.example:443 or http://localhost:*"
        ));
    }
}

fn check_hosts(hosts: &[String], read: &mut Reader<'_>) {
    if allows_any_host(hosts) {
        return;
    }
    for host in hosts.iter().filter(|host| !is_host(host)) {
        read.problem(format!(
            "DECKPROBE_MCP_HTTP_HOSTS entry {host:?} is not accepted: a host name or address with or \
             without a port, such as probe.example:8443, or a single * for any"
        ));
    }
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

fn token(given: Option<String>, file: Option<PathBuf>, read: &mut Reader<'_>) -> Option<Token> {
    let (plain, from_file) = ("DECKPROBE_MCP_HTTP_TOKEN", "DECKPROBE_MCP_HTTP_TOKEN_FILE");
    let (name, text) = match (given, file) {
        (Some(_), Some(_)) => {
            read.problem(format!(
                "{plain} and {from_file} are both set; one is enough"
            ));
            return None;
        }
        (Some(text), None) => (plain, text),
        (None, Some(path)) => match read_small(&path) {
            Ok(text) => (from_file, text),
            Err(error) => {
                read.problem(format!("{from_file}={path:?} cannot be read: {error}"));
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

/// The names that are accepted; none means any. Without a list: loopback and the address that is
/// listened on.
fn hosts(named: Vec<String>, address: SocketAddr) -> Vec<String> {
    if allows_any_host(&named) {
        return Vec::new();
    }
    if address.ip().is_unspecified() {
        return named;
    }
    let loopback = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let own = address.ip().to_string();
    named.into_iter().chain(loopback).chain([own]).collect()
}

fn allows_any_host(hosts: &[String]) -> bool {
    hosts == ["*"]
}
