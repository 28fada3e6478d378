use std::path::Path;

use bloomgrove_http::config::LogFormat;

use super::*;

const SAMPLE: &str = include_str!("../../../../deploy/bloomgrove.toml");

/// The sample with every setting uncommented: prose begins with `# `, a setting with `#`.
fn uncommented() -> String {
    let line = |line: &'static str| match line.strip_prefix('#') {
        Some(setting) if !setting.is_empty() && !setting.starts_with(' ') => setting,
        _ => line,
    };
    let lines: Vec<_> = SAMPLE.lines().map(line).collect();
    lines.join("\n")
}

#[test]
fn the_sample_as_it_is_changes_nothing() {
    assert_eq!(Settings::from_toml(SAMPLE), Ok(Settings::default()));
}

#[test]
fn the_sample_has_every_setting_with_its_default() {
    let settings = Settings::from_toml(&uncommented()).unwrap();
    // Whole patterns: a new setting that the sample lacks does not compile here, or fails.
    let Settings {
        data: Some(_),
        listen: Some(_),
        demo: Some(_),
        restore: None,
        salvage: false,
        limits:
            LimitSettings {
                body: Some(_),
                keys: Some(_),
                memory: Some(_),
                filter: Some(_),
                request_time: Some(_),
                header_time: Some(_),
                idle_time: Some(_),
                connections: Some(_),
            },
        tls: TlsSettings {
            cert: Some(_),
            key: Some(_),
        },
        sites: SiteSettings {
            hosts: Some(_),
            ca: Some(_),
        },
        trace:
            TraceSettings {
                time: Some(_),
                site_time: Some(_),
                links: Some(_),
            },
        log:
            LogSettings {
                level: Some(_),
                format: Some(_),
                slow: Some(_),
            },
        keys: Some(_),
    } = &settings
    else {
        panic!("the sample lacks a setting: {settings:?}");
    };
    let config = settings.into_config().unwrap();
    assert_eq!(config.keys.len(), 2, "the sample shows two keys");
    // These have no default, so the sample shows what they may be.
    let config = Config {
        tls: None,
        keys: Vec::new(),
        restore: None,
        sites: SiteOptions {
            ca: None,
            ..config.sites
        },
        ..config
    };
    assert_eq!(config, Config::default());
}

#[test]
fn sites_are_where_they_may_be() {
    let sites = SiteOptions {
        hosts: vec!["Galway.example.org".into(), ".ie".into()],
        ca: None,
    };
    assert_eq!(sites.check(), Ok(()));
    for (host, allowed) in [
        ("galway.example.org", true),
        ("GALWAY.EXAMPLE.ORG", true),
        ("a.b.IE", true),
        ("ie", false),
        ("pie", false),
        ("x.galway.example.org", false),
        ("galway.example.org.evil", false),
        ("169.254.169.254", false),
    ] {
        assert_eq!(sites.allows(host), allowed, "{host}");
    }
    assert!(SiteOptions::default().allows("anywhere"));
    for host in [
        "169.254.169.254",
        "fe80::1",
        "febf::1",
        "::ffff:169.254.0.1",
    ] {
        assert!(SiteOptions::default().may_be_at(host).is_err(), "{host}");
        let hosts = vec![host.to_owned()];
        assert!(SiteOptions { hosts, ca: None }.check().is_err(), "{host}");
    }
    for host in [
        "169.253.1.1",
        "fec0::1",
        "fd00::1",
        "127.0.0.1",
        "10.0.0.1",
        "fe80.example",
    ] {
        assert_eq!(SiteOptions::default().may_be_at(host), Ok(()), "{host}");
    }
    for host in ["", ".", "*.org", "http://a", "a b"] {
        let hosts = vec![host.to_owned()];
        assert!(SiteOptions { hosts, ca: None }.check().is_err(), "{host}");
    }
}

#[test]
fn flags_win_over_the_file_and_the_file_over_defaults() {
    let file = "data = 'from-file'\n[limits]\nbody = '1MiB'\nidle_time = 9\n[log]\nformat = 'json'";
    let file = Settings::from_toml(file).unwrap();
    let mut flags = Settings {
        data: Some("from-flag".into()),
        ..Settings::default()
    };
    flags.limits.body = Some(5);
    let config = flags.or(file).into_config().unwrap();
    assert_eq!(config.data, Path::new("from-flag"));
    assert_eq!(config.limits.body, 5);
    assert_eq!(config.limits.idle_time, Duration::from_secs(9));
    assert_eq!(config.log.format, LogFormat::Json);
    assert_eq!(config.max_keys, Config::default().max_keys);
}

#[test]
fn what_is_wrong_in_a_file_is_named_with_its_line() {
    for (text, line, word) in [
        ("data = 'x'\nfolder = 'y'", 2, "folder"),
        ("[limits]\nbody = '64 gigs'", 2, "gigs"),
        ("[limits]\n\nmemory = '150%'", 3, "50%"),
        ("[limits]\nbodies = 1", 2, "bodies"),
        ("[limits]\nidle_time = -1", 2, "60s"),
        ("listen = ['localhost']", 1, "socket address"),
        ("[log]\nformat = 'xml'", 2, "xml"),
        (
            "[[keys]]\nname = 'a'\nrole = 'root'\nsha256 = ''",
            3,
            "root",
        ),
        ("[[keys]]\nname = 'a'\nrole = 'read'", 1, "sha256"),
        ("data = 'x", 1, "string"),
    ] {
        let error = Settings::from_toml(text).unwrap_err();
        assert!(error.starts_with(&format!(", line {line}: ")), "{error}");
        assert!(error.contains(word), "{error}");
    }
    let error = Settings::from_file(Path::new("no/such.toml")).unwrap_err();
    assert!(error.contains("no/such.toml"), "{error}");
}

#[test]
fn nobody_listens_elsewhere_without_keys() {
    let key = || {
        let hash = bloomgrove_http::access::hash_of("k");
        vec![format!("a:admin:{hash}").parse().unwrap()]
    };
    for (addr, needs_key) in [
        ("127.0.0.1:0", false),
        ("127.8.8.8:0", false),
        ("[::1]:0", false),
        ("0.0.0.0:0", true),
        ("[::]:0", true),
        ("192.168.1.1:80", true),
    ] {
        let mut config = Config {
            listen: vec!["127.0.0.1:1".parse().unwrap(), addr.parse().unwrap()],
            ..Config::default()
        };
        assert_eq!(config.check().is_err(), needs_key, "{addr}");
        config.keys = key();
        assert_eq!(config.check(), Ok(()), "{addr}");
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let half = Settings {
        tls: TlsSettings {
            cert: Some("c.pem".into()),
            key: None,
        },
        ..Settings::default()
    };
    assert!(half.into_config().unwrap_err().contains("key"));
    for text in [
        "listen = []",
        "[limits]\nbody = 0",
        "[limits]\nrequest_time = '0s'",
    ] {
        let settings = Settings::from_toml(text).unwrap();
        assert!(settings.into_config().is_err(), "{text}");
    }
}

#[test]
fn a_demo_is_not_restored() {
    let settings = Settings {
        demo: Some(true),
        restore: Some("snapshot".into()),
        ..Settings::default()
    };
    assert!(settings.into_config().is_err());
}
