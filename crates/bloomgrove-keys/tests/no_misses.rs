//! A text that a pattern matches is always a candidate: random patterns and texts, against the
//! regex crate.

use std::collections::HashSet;

use bloomgrove_keys::{Error, Extraction, Pattern, PatternOptions};
use proptest::prelude::*;

/// Pieces of regular expressions, from which larger ones are made.
fn regex() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "a",
        "b",
        "foo",
        "Foo",
        "bar",
        "k",
        "s",
        "ß",
        "é",
        "É",
        "中",
        "“",
        "-",
        " ",
        "_",
        "7",
        "ab-cd",
        "foo bar",
        ".",
        r"\w",
        r"\d",
        r"\s",
        r"\W",
        "[ab]",
        "[A-F]",
        "[- ]",
        "[^a]",
        "[éa]",
        r"\b",
        r"\B",
        "^",
        "$",
        r"\b{start}",
        r"\b{end}",
        r"\b{start-half}",
        r"\b{end-half}",
        "(?-u:a)",
        r"(?-u:\b)",
        r"(?-u:\xC3)",
        r"(?-u:.)",
        "(?i:k)",
        "(?i)",
        "",
        r"\x{212a}",
        r"\pL",
        r"[\w-]",
        r"[^\w]",
        "=",
    ]);
    leaf.prop_map(String::from).prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 1..5).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(inner.clone(), 2..4)
                .prop_map(|parts| format!("(?:{})", parts.join("|"))),
            2 => (inner, prop::sample::select(vec!["?", "*", "+", "{2}", "{1,2}", "{0,3}", "{2,}", "{10}", "+?", "{0}"]))
                .prop_map(|(part, times)| format!("({part}){times}")),
        ]
    })
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        &b"a"[..],
        b"b",
        b"A",
        b"foo",
        b"FOO",
        b"bar",
        b"foo bar",
        b"ab-cd",
        b"k",
        b"K",
        "\u{212a}".as_bytes(),
        b"s",
        "ſ".as_bytes(),
        "ß".as_bytes(),
        "é".as_bytes(),
        "É".as_bytes(),
        "中".as_bytes(),
        "“".as_bytes(),
        b"-",
        b" ",
        b"_",
        b"7",
        b"\n",
        b"\r\n",
        b"\t",
        b"\xc3",
        b"\xa9",
        b"\xff",
        b"\0",
        b"=",
        b"7777777777",
        "\u{301}".as_bytes(),
    ]);
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn check(pattern: &str, options: PatternOptions, text: &[u8]) -> Result<(), TestCaseError> {
    let escaped = regex::escape(pattern);
    let mut source = match options.fixed_strings {
        true => escaped.as_str(),
        false => pattern,
    }
    .to_owned();
    if options.line {
        source = format!("^(?:{source})$");
    } else if options.word {
        source = format!(r"\b{{start-half}}(?:{source})\b{{end-half}}");
    }
    let built = regex::bytes::RegexBuilder::new(&source)
        .multi_line(true)
        .case_insensitive(options.ignore_case)
        .build();
    let Ok(built) = built else { return Ok(()) };
    // As grep: a match is within a line.
    let matches = text
        .split(|&byte| byte == b'\n')
        .any(|line| built.is_match(line));
    let parsed = Pattern::new(&[pattern], options).expect("regex accepts it");
    for extraction in ["tokens", "ngrams=2", "ngrams=3"] {
        let extraction: Extraction = extraction.parse().unwrap();
        let mut keys = HashSet::new();
        let extracted = extraction.each_key(text, &mut |key| {
            keys.insert(key.to_vec());
            Ok::<_, Error>(())
        });
        extracted.unwrap();
        let needed = parsed.needed(&extraction);
        let candidate = needed.may_match(&mut |key| keys.contains(key));
        prop_assert!(
            candidate || !matches,
            "{extraction} misses {pattern:?} ({options:?}) in {:?}: it needs {needed}",
            String::from_utf8_lossy(text)
        );
    }
    Ok(())
}

fn options() -> impl Strategy<Value = PatternOptions> {
    any::<[bool; 3]>().prop_map(|[ignore_case, word, line]| {
        let mut options = PatternOptions::default();
        (options.ignore_case, options.word, options.line) =
            (ignore_case, word, line && ignore_case);
        options
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn no_match_is_missed(pattern in regex(), options in options(), text in text()) {
        check(&pattern, options, &text)?;
    }

    /// Strings that occur in the text, cut out anywhere.
    #[test]
    fn no_substring_is_missed(text in text(), options in options(), from in 0usize..60, len in 1usize..20) {
        let from = from.min(text.len());
        let piece = &text[from..(from + len).min(text.len())];
        if let Ok(piece) = std::str::from_utf8(piece) && !piece.contains('\n') {
            let mut options = options;
            options.fixed_strings = true;
            check(piece, options, &text)?;
        }
    }
}

/// What is needed is as much as can be known.
#[test]
fn needed_keys_are_found() {
    let tokens = |pattern: &str, word: bool| {
        let mut options = PatternOptions::default();
        options.word = word;
        Pattern::new(&[pattern], options)
            .unwrap()
            .needed(&Extraction::Tokens)
            .to_string()
    };
    for (pattern, word, expected) in [
        ("foo", true, "foo"),
        ("foo", false, "anything"),
        ("Foo bar-BAZ", true, "all of (foo, bar, baz)"),
        ("Foo bar-BAZ", false, "bar"),
        (r"\bfoo\b", false, "foo"),
        (r"\bfoo\s+bar\b", false, "all of (foo, bar)"),
        (
            r"\bfoo\s*bar\b",
            false,
            "any of (foobar, all of (foo, bar))",
        ),
        (r"^error: .* in", false, "error"),
        (r" (foo|bar) ", false, "any of (foo, bar)"),
        (r"(?i) FOO ", false, "foo"),
        (r" https?:", false, "any of (http, https)"),
        (r" id=\d+ ", false, "id"),
        (r" [ab]x ", false, "any of (ax, bx)"),
        (r"( foo )+", false, "foo"),
        (r"( foo )*", false, "anything"),
        (r" (foo )+bar ", false, "all of (foo, bar)"),
        ("", true, "anything"),
    ] {
        assert_eq!(tokens(pattern, word), expected, "{pattern}");
    }
    let many: Vec<String> = (0..2000).map(|n| format!("word{n}")).collect();
    let mut options = PatternOptions::default();
    options.word = true;
    let needed = Pattern::new(&many, options)
        .unwrap()
        .needed(&Extraction::Tokens);
    let mut keys = Vec::new();
    needed.keys(&mut keys);
    assert_eq!(keys.len(), 2000);
    let one = Pattern::new(&[format!("({})", many.join("|"))], options).unwrap();
    assert_eq!(one.needed(&Extraction::Tokens), needed);
    let grams = Pattern::regex("abcde")
        .unwrap()
        .needed(&"ngrams=4".parse().unwrap());
    assert_eq!(grams.to_string(), "all of (abcd, bcde)");
}
