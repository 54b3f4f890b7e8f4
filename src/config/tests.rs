use super::*;
use crate::supervisor::SandboxMode;
use std::ffi::OsString;

fn load(vars: &[(&str, &str)]) -> Result<Config, ConfigError> {
    load_with(vars, &Overrides::default())
}

fn load_with(vars: &[(&str, &str)], overrides: &Overrides) -> Result<Config, ConfigError> {
    let lookup = |name: &str| {
        vars.iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| OsString::from(value))
    };
    Config::load(&lookup, vars.iter().map(|(name, _)| *name), overrides)
}

#[test]
fn the_defaults_are_the_documented_ones() {
    let config = load(&[]).unwrap();
    let pool = &config.supervisor;
    assert_eq!(pool.record_timeout, Duration::from_secs(30));
    assert_eq!(pool.max_concurrency, 4);
    assert_eq!(config.max_batch, 64);
    assert_eq!(pool.max_queue, 1024);
    assert_eq!(pool.queue_timeout, Duration::from_secs(20));
    assert_eq!(config.drain, Duration::from_secs(30));
    assert_eq!(pool.prewarm, 1);
    assert_eq!(pool.idle, Some(Duration::from_secs(300)));
    assert_eq!(pool.max_records, Some(10_000));
    assert_eq!(pool.max_age, Some(Duration::from_secs(3600)));
    assert_eq!(pool.max_rss_bytes, Some(512 * 1024 * 1024));
    assert_eq!(pool.sandbox, SandboxMode::Auto);
    assert_eq!(config.log.filter, "info");
    assert!(pool.roots.is_empty() && config.warnings.is_empty());
}

#[test]
fn every_bad_value_is_in_the_one_message_with_value_unit_and_range() {
    let error = load(&[
        ("DECKPROBE_MCP_TIMEOUT_MS", "30s"),
        ("DECKPROBE_MCP_MAX_CONCURRENCY", "0"),
        ("DECKPROBE_MCP_MAX_BATCH", "-1"),
        ("DECKPROBE_MCP_MAX_RSS_MB", "18446744073709551615"),
        ("DECKPROBE_MCP_IDLE_MS", "18446744073709551615"),
        ("DECKPROBE_MCP_SANDBOX", "yes"),
        ("DECKPROBE_MCP_ENGINE", ""),
        ("DECKPROBE_MCP_BIN", ""),
        ("DECKPROBE_MCP_ROOTS", ""),
        ("DECKPROBE_MCP_LOG", "=loud="),
        ("DECKPROBE_MCP_LOG_FORMAT", "xml"),
    ])
    .unwrap_err();
    assert_eq!(error.problems.len(), 11, "{error}");
    let text = error.to_string();
    for part in [
        r#"DECKPROBE_MCP_TIMEOUT_MS="30s""#,
        "milliseconds from 1 to",
        r#"DECKPROBE_MCP_MAX_CONCURRENCY="0""#,
        r#"DECKPROBE_MCP_MAX_BATCH="-1""#,
        r#"DECKPROBE_MCP_MAX_RSS_MB="18446744073709551615""#,
        "one of auto, require, off",
        "one of auto, external, builtin",
        "one of text, json",
        "DECKPROBE_MCP_ROOTS entry \"\"",
    ] {
        assert!(text.contains(part), "{part} is missing in: {text}");
    }
}

#[test]
fn a_log_filter_is_made_of_levels_and_pairs() {
    let log = |filter: &str| load(&[("DECKPROBE_MCP_LOG", filter)]);
    for good in [
        "info",
        "OFF",
        "2",
        "warn,rmcp=trace",
        "deckprobe_mcp::supervisor=debug",
    ] {
        assert!(log(good).is_ok(), "{good:?}");
    }
    // Words that are not levels would be targets of that name, and all the rest would be silent.
    for bad in [
        "",
        "warning",
        "verbose",
        ",",
        "info,",
        "info, debug",
        "a=debug,b",
        "a=loud",
    ] {
        let error = log(bad).unwrap_err().to_string();
        assert!(error.contains("DECKPROBE_MCP_LOG="), "{bad:?}: {error}");
    }
}

#[test]
fn zero_means_never_where_the_table_says_so() {
    let pool = load(&[
        ("DECKPROBE_MCP_IDLE_MS", "0"),
        ("DECKPROBE_MCP_MAX_RECORDS", "0"),
        ("DECKPROBE_MCP_MAX_AGE_MS", "0"),
        ("DECKPROBE_MCP_MAX_RSS_MB", "0"),
    ])
    .unwrap()
    .supervisor;
    assert_eq!(pool.idle, None);
    assert_eq!(pool.max_records, None);
    assert_eq!(pool.max_age, None);
    assert_eq!(pool.max_rss_bytes, None);
}

#[test]
fn probable_mistakes_are_warnings_and_not_errors() {
    let cases: [(&[(&str, &str)], &str); 7] = [
        (&[("DECKPROBE_MCP_TIMEOUT_MS", "30")], "30 milliseconds"),
        (&[("DECKPROBE_MCP_IDLE_MS", "60")], "60 milliseconds"),
        (
            &[("DECKPROBE_MCP_PREWARM", "9")],
            "above DECKPROBE_MCP_MAX_CONCURRENCY=4",
        ),
        (
            &[("DECKPROBE_MCP_IDLE_MS", "1000")],
            "retires the prewarmed children",
        ),
        (
            &[("DECKPROBE_MCP_TIMEOUT_MS", "50000")],
            "give up after 60000 ms",
        ),
        (
            &[
                ("DECKPROBE_MCP_ENGINE", "builtin"),
                ("DECKPROBE_MCP_BIN", "/bin/deckprobe"),
            ],
            "is ignored because",
        ),
        (
            &[("DECKPROBE_MCP_ROOT", "/tmp")],
            "did you mean DECKPROBE_MCP_ROOTS?",
        ),
    ];
    for (vars, expected) in cases {
        let config = load(vars).unwrap();
        assert!(
            config.warnings.iter().any(|line| line.contains(expected)),
            "{vars:?} gave {:?}",
            config.warnings
        );
    }
}

#[test]
fn roots_are_resolved_and_must_be_directories() {
    let home = tempfile::tempdir().unwrap();
    let inner = home.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let file = home.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let dotted = home.path().join("inner/../inner");
    let both = std::env::join_paths([home.path(), &dotted]).unwrap();
    let config = load(&[("DECKPROBE_MCP_ROOTS", both.to_str().unwrap())]).unwrap();
    let real = std::fs::canonicalize(home.path()).unwrap();
    assert_eq!(config.supervisor.roots, [real.clone(), real.join("inner")]);

    let url = format!("file://{}", home.path().display());
    for bad in [
        file.to_str().unwrap(),
        "/no/such/directory",
        "~/documents",
        &url,
    ] {
        assert!(load(&[("DECKPROBE_MCP_ROOTS", bad)]).is_err(), "{bad}");
    }
}

#[test]
fn the_root_flag_overrides_the_variable_and_is_strict() {
    let home = tempfile::tempdir().unwrap();
    let with_root = |root: &Path| {
        let overrides = Overrides {
            root: Some(root.to_path_buf()),
            ..Overrides::default()
        };
        load_with(&[("DECKPROBE_MCP_ROOTS", "/no/such/directory")], &overrides)
    };
    let real = std::fs::canonicalize(home.path()).unwrap();
    assert_eq!(with_root(home.path()).unwrap().supervisor.roots, [real]);
    for bad in ["", "--version", "/no/such/directory"] {
        assert!(with_root(Path::new(bad)).is_err(), "{bad:?}");
    }
}

#[cfg(feature = "http")]
mod http {
    use super::*;

    fn serve(vars: &[(&str, &str)], address: &str) -> Result<HttpSettings, ConfigError> {
        let overrides = Overrides {
            http: Some(address.parse().unwrap()),
            ..Overrides::default()
        };
        load_with(vars, &overrides).map(|config| config.http.unwrap())
    }

    #[test]
    fn loopback_needs_nothing() {
        for address in ["127.0.0.1:0", "[::1]:0", "127.8.8.8:80"] {
            let http = serve(&[], address).unwrap();
            assert!(http.token.is_none());
        }
        assert_eq!(load(&[]).unwrap().inline_bytes, None);
        let on = load(&[("DECKPROBE_MCP_INLINE", "on")]).unwrap();
        assert_eq!(on.inline_bytes, Some(8 * MIB));
    }

    #[test]
    fn beyond_loopback_a_token_roots_and_host_names_are_required_and_the_message_says_why() {
        let error = serve(&[], "0.0.0.0:80").unwrap_err().to_string();
        for part in [
            "DECKPROBE_MCP_HTTP_TOKEN",
            "DECKPROBE_MCP_ROOTS",
            "whole disk",
            "DECKPROBE_MCP_HTTP_HOSTS",
        ] {
            assert!(error.contains(part), "{part} is not in {error}");
        }
        let home = tempfile::tempdir().unwrap();
        let root = home.path().to_str().unwrap();
        let settled = serve(
            &[
                ("DECKPROBE_MCP_ROOTS", root),
                ("DECKPROBE_MCP_HTTP_TOKEN", "0123456789abcdef0123"),
                (
                    "DECKPROBE_MCP_HTTP_HOSTS",
                    "probe.example, probe.example:8443",
                ),
            ],
            "0.0.0.0:80",
        )
        .unwrap();
        assert!(
            settled
                .hosts
                .iter()
                .any(|host| host == "probe.example:8443")
        );
        assert!(settled.token.is_some());
    }

    #[test]
    fn only_hosts_and_origins_that_a_request_can_carry_are_accepted() {
        let hosts = "probe.example,a-b.c:8443,LOCALHOST,10.0.0.1:80,[::1]:3930,::1,[fe80::1]";
        let origins =
            "https://app.example:443,http://localhost:*,null,https://[::1]:9,app://x,https://a/";
        let (hosts_at, origins_at) = ("DECKPROBE_MCP_HTTP_HOSTS", "DECKPROBE_MCP_HTTP_ORIGINS");
        let http = serve(&[(hosts_at, hosts), (origins_at, origins)], "127.0.0.1:0").unwrap();
        assert!(http.hosts.iter().any(|host| host == "a-b.c:8443"));
        for (name, bad) in [
            (hosts_at, "*,probe.example"),
            (hosts_at, "http://probe.example"),
            (hosts_at, "probe.example/"),
            (hosts_at, "a b"),
            (hosts_at, "a:99999"),
            (hosts_at, "a:"),
            (hosts_at, "me@a"),
            (origins_at, "*"),
            (origins_at, "app.example"),
            (origins_at, "https://"),
            (origins_at, "https://a/path"),
            (origins_at, "https://a b"),
            (origins_at, "https://a:99999"),
            (origins_at, "https://*.a"),
        ] {
            let error = serve(&[(name, bad)], "127.0.0.1:0")
                .unwrap_err()
                .to_string();
            assert!(error.contains(name), "{bad:?}: {error}");
        }
    }

    #[test]
    fn bad_http_variables_stop_other_commands_too_but_a_token_file_is_left_alone() {
        let error = load(&[
            ("DECKPROBE_MCP_HTTP_TIMEOUT_MS", "2m"),
            ("DECKPROBE_MCP_HTTP_MAX_REQUESTS", "0"),
            ("DECKPROBE_MCP_HTTP_HOSTS", "a b"),
            ("DECKPROBE_MCP_HTTP_ORIGINS", "*"),
            ("DECKPROBE_MCP_HTTP_TOKEN", "short"),
        ])
        .unwrap_err();
        assert_eq!(error.problems.len(), 5, "{error}");
        assert!(load(&[("DECKPROBE_MCP_HTTP_TOKEN_FILE", "/no/such/file")]).is_ok());
        let empty = load(&[("DECKPROBE_MCP_HTTP_TOKEN_FILE", "")]).unwrap_err();
        assert_eq!(empty.problems.len(), 1, "{empty}");
    }

    #[test]
    fn a_token_comes_from_one_place_and_is_never_shown() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("token");
        std::fs::write(&file, "  secret-of-the-file-0123  \n").unwrap();
        let path = file.to_str().unwrap();
        let http = serve(&[("DECKPROBE_MCP_HTTP_TOKEN_FILE", path)], "127.0.0.1:0").unwrap();
        assert!(
            http.token
                .as_ref()
                .unwrap()
                .matches(b"secret-of-the-file-0123")
        );
        assert!(
            !http
                .token
                .as_ref()
                .unwrap()
                .matches(b"secret-of-the-file-012")
        );
        assert!(!format!("{http:?}").contains("secret"));
        for vars in [
            &[
                ("DECKPROBE_MCP_HTTP_TOKEN", "a-token-a-token-a-token"),
                ("DECKPROBE_MCP_HTTP_TOKEN_FILE", path),
            ][..],
            &[("DECKPROBE_MCP_HTTP_TOKEN", "short")],
            &[("DECKPROBE_MCP_HTTP_TOKEN", "with a space inside of it")],
            &[("DECKPROBE_MCP_HTTP_TOKEN_FILE", "/no/such/file")],
        ] {
            let error = serve(vars, "127.0.0.1:0").unwrap_err().to_string();
            assert!(
                !error.contains("a-token") && !error.contains("short\""),
                "{error}"
            );
        }
    }
}
