use bloomgrove_http::config::LogFormat;
use clap::Command;

use super::*;

const SAMPLE: &str = "../../deploy/bloomgrove.toml";

/// The start and end of the file: access keys are not options.
const HEAD: &str = include_str!("sample-head.toml");
const KEYS: &str = include_str!("sample-keys.toml");

/// The combination of flags and a file.
fn read(flags: &[&str], text: &str) -> Result<Config, String> {
    let options = Config::augment_args(Command::new("serve")).mut_args(|arg| arg.env(None));
    let given = options.try_get_matches_from([&["serve"], flags].concat());
    let given = given.map_err(|error| error.to_string())?;
    let (config, _) = Config::from_settings(Settings::parse(&given, text)?)?;
    Ok(config)
}

/// The sample is generated from the settings. To regenerate it after a change:
/// `BLOOMGROVE_WRITE_SAMPLE=1 cargo test -p bloomgrove-server sample`.
#[test]
fn the_sample_has_every_setting_with_its_default() {
    let made = format!("{HEAD}{}{KEYS}", settings::sample::<Config>());
    if std::env::var_os("BLOOMGROVE_WRITE_SAMPLE").is_some() {
        std::fs::write(SAMPLE, &made).unwrap();
    }
    assert_eq!(std::fs::read_to_string(SAMPLE).unwrap(), made);
    assert_eq!(read(&[], &made), Ok(Config::default()));
    // With every setting uncommented: comments start with `# `, a setting with `#`.
    let line = |line: &'static str| match line.strip_prefix('#') {
        Some(setting) if !setting.is_empty() && !setting.starts_with(' ') => setting,
        _ => line,
    };
    let lines: Vec<_> = made.leak().lines().map(line).collect();
    let config = read(&[], &lines.join("\n")).unwrap();
    assert_eq!(config.keys.len(), 2, "the sample shows two keys");
    assert_eq!(config.keys[1].memory, Some(1 << 30));
    // These have no default, so the sample only shows that they exist.
    assert!(config.tls.is_some() && config.sites.ca.is_some());
    let config = Config {
        tls: None,
        keys: Vec::new(),
        sites: SiteOptions::default(),
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
    let file = "data = 'from-file'\nlisten = ['[::1]:1', '127.0.0.1:2']\n[limits]\nbody = '1MiB'\n\
                idle_time = 9\n[log]\nformat = 'json'";
    let config = read(&["--data", "from-flag", "--max-body=5"], file).unwrap();
    assert_eq!(config.data, Path::new("from-flag"));
    assert_eq!(config.listen.len(), 2);
    assert_eq!(config.limits.body, 5);
    assert_eq!(config.limits.idle_time, Duration::from_secs(9));
    assert_eq!(config.log.format, LogFormat::Json);
    assert_eq!(config.max_keys, Config::default().max_keys);
    let config = read(&["--demo", "--site-host", ".example.org,a"], "demo = false").unwrap();
    assert!(config.demo);
    assert_eq!(config.sites.hosts, [".example.org", "a"]);
    let hash = bloomgrove_http::access::hash_of("k");
    let keys = format!("[[keys]]\nname = 'file'\nrole = 'read'\nsha256 = '{hash}'");
    assert_eq!(read(&[], &keys).unwrap().keys[0].entry.name, "file");
    let flag = format!("--key=flag:write:{hash}:site/");
    let config = read(&[&flag], &keys).unwrap();
    assert_eq!(
        (config.keys.len(), &*config.keys[0].entry.prefix),
        (1, "site/")
    );
}

#[test]
fn what_is_wrong_in_a_file_is_named_with_its_line() {
    for (text, line, word) in [
        ("data = 'x'\ndirectory = 'y'", 2, "directory"),
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
        let error = read(&[], text).unwrap_err();
        assert!(error.starts_with(&format!(", line {line}: ")), "{error}");
        assert!(error.contains(word), "{error}");
    }
    let given = Config::augment_args(Command::new("serve")).get_matches_from(["serve"]);
    let error = Config::read(&given, Some(Path::new("no/such.toml"))).unwrap_err();
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
    assert!(
        read(&["--tls-cert=c.pem"], "")
            .unwrap_err()
            .contains("tls.key")
    );
    assert!(
        read(&[], "[tls]\nkey = 'k.pem'")
            .unwrap_err()
            .contains("tls.cert")
    );
    assert!(read(&["--tls-cert=c.pem"], "[tls]\nkey = 'k.pem'").is_ok());
    for text in [
        "listen = []",
        "[limits]\nbody = 0",
        "[limits]\nrequest_time = '0s'",
    ] {
        assert!(read(&[], text).is_err(), "{text}");
    }
}

#[test]
fn a_demo_is_not_restored() {
    let config = Config {
        demo: true,
        restore: Some("snapshot".into()),
        ..Config::default()
    };
    assert!(config.check().is_err());
}

#[test]
fn wrong_flags_say_what_to_write() {
    for (line, word) in [
        (&["--max-body", "much"][..], "1GiB"),
        (&["--memory", "150%"], "50%"),
        (&["--listen", "localhost"], "socket address"),
        (&["--log-format", "xml"], "pretty or json"),
        (&["--key", "a:b"], "NAME:ROLE:SHA256"),
    ] {
        let error = read(line, "").unwrap_err();
        assert!(error.contains(word), "{error}");
    }
}

/// By hand: renaming a flag or a variable breaks people's scripts.
#[test]
fn every_setting_has_its_flag_and_its_variable() {
    let options = Config::augment_args(Command::new("serve"));
    let names: Vec<_> = options
        .get_arguments()
        .map(|arg| {
            let variable = arg.get_env().unwrap().to_str().unwrap();
            assert!(variable.starts_with("BLOOMGROVE_"), "{variable}");
            (arg.get_long().unwrap(), &variable["BLOOMGROVE_".len()..])
        })
        .collect();
    let wanted = [
        ("data", "DATA"),
        ("listen", "LISTEN"),
        ("demo", "DEMO"),
        ("max-body", "MAX_BODY"),
        ("memory", "MEMORY"),
        ("request-time", "REQUEST_TIME"),
        ("header-time", "HEADER_TIME"),
        ("idle-time", "IDLE_TIME"),
        ("max-connections", "MAX_CONNECTIONS"),
        ("max-keys", "MAX_KEYS"),
        ("max-filter", "MAX_FILTER"),
        ("tls-cert", "TLS_CERT"),
        ("tls-key", "TLS_KEY"),
        ("key", "KEYS"),
        ("site-host", "SITE_HOSTS"),
        ("site-ca", "SITE_CA"),
        ("trace-time", "TRACE_TIME"),
        ("site-time", "SITE_TIME"),
        ("trace-links", "TRACE_LINKS"),
        ("log", "LOG"),
        ("log-format", "LOG_FORMAT"),
        ("slow", "SLOW"),
    ];
    assert_eq!(names, wanted);
}
