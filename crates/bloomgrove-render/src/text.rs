//! Makes texts from others presentable: escapes, shortens in the middle, measures them.

use std::fmt::Write;

/// Whether XML can contain the character, escaped or not.
fn in_xml(c: char) -> bool {
    !matches!(c, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}')
}

/// Whether the character is invisible, or changes how others are displayed.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// The text for display, with a mark in place of characters that are invisible or would change the direction of the
/// text around them.
pub(super) fn seen(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
            c if is_unseen(c) || !in_xml(c) => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// The text for XML, in an element or in quotation marks. A parser gets all of it back, except characters that XML does
/// not allow.
pub(super) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Unescaped, a parser would turn them into spaces.
            '\t' | '\n' | '\r' => _ = write!(out, "&#{};", u32::from(c)),
            c if !in_xml(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// The approximate width of a character relative to the font size: rather too wide, since the font is
/// unknown.
fn share(c: char) -> f64 {
    match c {
        '·' | 'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.34,
        'f' | 'r' | 't' | ' ' | '/' | '(' | ')' | '-' | '[' | ']' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.95,
        'A'..='Z' | '&' | '+' | '<' | '>' | '=' | '~' | '#' => 0.72,
        '\0'..='\u{24f}' => 0.6,
        '\u{250}'..='\u{10ff}' => 0.75,
        '…' | '↗' | '↙' => 0.9,
        _ => 1.2,
    }
}

/// The approximate width of the text in a font of this size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(share).sum::<f64>() * size
}

/// The text if it is not wider than `most`, otherwise its start and its end.
pub(super) fn shorten(text: &str, most: f64, size: f64) -> String {
    // However long it is, no more than this can be visible.
    let reach = (most / (size * 0.3)) as usize + 2;
    if text.len() <= 4 * reach && width(text, size) <= most {
        return text.to_owned();
    }
    let mut room = most - width("…", size);
    let mut first = String::new();
    let mut last = Vec::new();
    let mut left = text.chars().take(reach);
    let mut right = text.chars().rev().take(reach);
    // Texts with equal starts differ at the end, so both get the same width.
    loop {
        let taken = match width(&first, size) <= last.iter().copied().map(share).sum::<f64>() * size
        {
            true => left.next().map(|c| (c, true)),
            false => right.next().map(|c| (c, false)),
        };
        let Some((c, at_first)) = taken else { break };
        room -= share(c) * size;
        if room < 0.0 {
            break;
        }
        match at_first {
            true => first.push(c),
            false => last.push(c),
        }
    }
    first.push('…');
    first.extend(last.iter().rev());
    first
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_xml_means_something_by_is_escaped() {
        assert_eq!(xml("<a b=\"c\">'&"), "&lt;a b=&quot;c&quot;&gt;&#39;&amp;");
        assert_eq!(xml("a\tb\nc\rd"), "a&#9;b&#10;c&#13;d");
        assert_eq!(xml("\0\x1b\u{ffff}é"), "\u{fffd}\u{fffd}\u{fffd}é");
        assert_eq!(seen("a\nb\u{202e}c\u{7f}"), "a\u{240a}b\u{fffd}c\u{fffd}");
    }

    #[test]
    fn long_texts_keep_both_ends() {
        let uuid = "urn:uuid:6f9619ff-8b86-d011-b42d-00c04fc964ff";
        let short = shorten(uuid, 150.0, 12.0);
        let (first, last) = short.split_once('…').unwrap();
        assert!(uuid.starts_with(first) && uuid.ends_with(last), "{short}");
        assert!(first.len() >= 8 && last.len() >= 8, "{short}");
        assert_eq!(shorten("short", 150.0, 12.0), "short");
        assert_eq!(shorten("anything", 0.0, 12.0), "…");
    }

    proptest! {
        #[test]
        fn no_text_is_wider_than_its_room(text in "\\PC{0,60}|[a-z]{0,3000}", most in 20.0..300.0) {
            prop_assert!(width(&shorten(&text, most, 12.0), 12.0) <= most + 1e-6);
        }
    }
}
