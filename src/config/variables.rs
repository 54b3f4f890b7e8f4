//! Every variable, one row each. Parsing, defaults, `--help`, the README's table and the list of
//! settings in force all come from these rows.

use super::field::{Field, Variable};
use super::{MAX_MS, MIB};

/// All variables, in the order of the README.
pub(super) const VARIABLES: &[Variable] = &[
    Variable {
        name: "DECKPROBE_MCP_ROOTS",
        field: Field::Directories(|draft| &mut draft.config.supervisor.roots),
        unset: "unrestricted",
        help: "directories that may be probed, separated as in `PATH`; real paths are compared",
    },
    Variable {
        name: "DECKPROBE_MCP_ENGINE",
        field: Field::Choice(|draft| &mut draft.config.supervisor.engine),
        unset: "",
        help: "`auto` (an external `deckprobe` if there is one, else the built-in engine), `external` or `builtin`",
    },
    Variable {
        name: "DECKPROBE_MCP_BIN",
        field: Field::Path(|draft| &mut draft.config.supervisor.bin),
        unset: "–",
        help: "the external engine's binary",
    },
    Variable {
        name: "DECKPROBE_MCP_TIMEOUT_MS",
        field: Field::Millis(
            |draft| &mut draft.config.supervisor.record_timeout,
            1..=MAX_MS,
        ),
        unset: "",
        help: "hard deadline of one document",
    },
    Variable {
        name: "DECKPROBE_MCP_MAX_CONCURRENCY",
        field: Field::Count(
            |draft| &mut draft.config.supervisor.max_concurrency,
            1..=1024,
        ),
        unset: "",
        help: "most engine processes alive at once",
    },
    Variable {
        name: "DECKPROBE_MCP_MAX_BATCH",
        field: Field::Count(|draft| &mut draft.config.max_batch, 1..=100_000),
        unset: "",
        help: "most paths in a `probe_batch`",
    },
    Variable {
        name: "DECKPROBE_MCP_MAX_QUEUE",
        field: Field::Count(
            |draft| &mut draft.config.supervisor.max_queue,
            0..=1_000_000,
        ),
        unset: "",
        help: "calls waiting before `MCP_OVERLOADED`; a batch is one",
    },
    Variable {
        name: "DECKPROBE_MCP_QUEUE_TIMEOUT_MS",
        field: Field::Millis(
            |draft| &mut draft.config.supervisor.queue_timeout,
            1..=MAX_MS,
        ),
        unset: "",
        help: "longest wait for a worker",
    },
    Variable {
        name: "DECKPROBE_MCP_DRAIN_MS",
        field: Field::Millis(|draft| &mut draft.config.drain, 0..=MAX_MS),
        unset: "",
        help: "longest wait for calls in flight after the end of input; after SIGTERM it is 10 s, and a second signal ends at once",
    },
    Variable {
        name: "DECKPROBE_MCP_PREWARM",
        field: Field::Count(|draft| &mut draft.config.supervisor.prewarm, 0..=1024),
        unset: "",
        help: "children started before the first call",
    },
    Variable {
        name: "DECKPROBE_MCP_IDLE_MS",
        field: Field::MillisOrNever(|draft| &mut draft.config.supervisor.idle, MAX_MS),
        unset: "",
        help: "an idle child is retired after this; 0 = never",
    },
    Variable {
        name: "DECKPROBE_MCP_MAX_RECORDS",
        field: Field::CountOrNever(
            |draft| &mut draft.config.supervisor.max_records,
            u32::MAX as u64,
        ),
        unset: "",
        help: "documents before a child is recycled; 0 = never",
    },
    Variable {
        name: "DECKPROBE_MCP_MAX_AGE_MS",
        field: Field::MillisOrNever(|draft| &mut draft.config.supervisor.max_age, MAX_MS),
        unset: "",
        help: "age before a child is recycled; 0 = never",
    },
    Variable {
        name: "DECKPROBE_MCP_MAX_RSS_MB",
        field: Field::MibOrNever(|draft| &mut draft.config.supervisor.max_rss_bytes, MIB),
        unset: "",
        help: "resident memory in MiB above which a child is recycled; 0 = never",
    },
    Variable {
        name: "DECKPROBE_MCP_SANDBOX",
        field: Field::Choice(|draft| &mut draft.config.supervisor.sandbox),
        unset: "",
        help: "`auto` (as far as the system allows), `require` or `off`",
    },
    Variable {
        name: "DECKPROBE_MCP_LOG",
        field: Field::Text(|draft| &mut draft.config.log.filter),
        unset: "",
        help: "a level, or `target=level` pairs separated by commas; logs go to stderr",
    },
    Variable {
        name: "DECKPROBE_MCP_LOG_FORMAT",
        field: Field::Choice(|draft| &mut draft.config.log.format),
        unset: "",
        help: "`text` or `json`",
    },
    Variable {
        name: "DECKPROBE_MCP_INLINE",
        field: Field::Choice(|draft| &mut draft.inline),
        unset: "",
        help: "documents inside calls (`name` and `data_base64`): `auto` (over HTTP only), `on` or `off`",
    },
    Variable {
        name: "DECKPROBE_MCP_MAX_INLINE_BYTES",
        field: Field::Bytes(|draft| &mut draft.max_inline_bytes, 1..=1024 * MIB),
        unset: "",
        help: "largest document inside a call, before encoding",
    },
    Variable {
        name: "DECKPROBE_MCP_HTTP_TOKEN",
        field: Field::Secret(|draft| &mut draft.http.token),
        unset: "–",
        help: "the bearer token; it or its file is required unless bound to loopback",
    },
    Variable {
        name: "DECKPROBE_MCP_HTTP_TOKEN_FILE",
        field: Field::Path(|draft| &mut draft.http.token_file),
        unset: "–",
        help: "a file that holds the bearer token",
    },
    Variable {
        name: "DECKPROBE_MCP_HTTP_HOSTS",
        field: Field::List(|draft| &mut draft.http.hosts),
        unset: "loopback and the bound address",
        help: "accepted `Host` values, separated by commas; `*` for any",
    },
    Variable {
        name: "DECKPROBE_MCP_HTTP_ORIGINS",
        field: Field::List(|draft| &mut draft.http.origins),
        unset: "the server's own",
        help: "accepted `Origin` values of web pages, such as `https://app.example:443`",
    },
    Variable {
        name: "DECKPROBE_MCP_HTTP_TIMEOUT_MS",
        field: Field::Millis(|draft| &mut draft.http.timeout, 1..=MAX_MS),
        unset: "",
        help: "longest time until a request is answered",
    },
    Variable {
        name: "DECKPROBE_MCP_HTTP_MAX_REQUESTS",
        field: Field::Count(|draft| &mut draft.http.max_requests, 1..=65_536),
        unset: "",
        help: "most requests at once; more get 503 and `Retry-After`",
    },
];
