//! Strict readers for the formats: anything unexpected fails the test.

use std::collections::HashMap;

use crate::{dot, svg, turtle};
use bloomgrove_client::api::Trace;

/// A parsed tag: its name and attributes.
type Tag = (String, HashMap<String, String>);

/// Parses XML strictly enough for these drawings, and returns all tags. Unclosed elements, missing escapes and invalid
/// characters are errors.
fn read_xml(text: &str) -> Result<Vec<Tag>, String> {
    let mut open = Vec::new();
    let mut tags = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        content(&rest[..at])?;
        rest = &rest[at + 1..];
        if let Some(closing) = rest.strip_prefix('/') {
            let (name, after) = closing.split_once('>').ok_or("a tag does not end")?;
            if open.pop().as_deref() != Some(name) {
                return Err(format!("</{name}> closes what is not open"));
            }
            rest = after;
            continue;
        }
        let end = rest.find([' ', '>', '/']).ok_or("a tag does not end")?;
        let name = rest[..end].to_owned();
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphabetic()) {
            return Err(format!("<{name} is no tag"));
        }
        rest = &rest[end..];
        let mut attributes = HashMap::new();
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix("/>") {
                rest = after;
                break;
            }
            if let Some(after) = rest.strip_prefix('>') {
                open.push(name.clone());
                rest = after;
                break;
            }
            let (key, after) = rest.split_once("=\"").ok_or("an attribute without value")?;
            let (value, after) = after.split_once('"').ok_or("a value does not end")?;
            if key.contains(|c: char| !c.is_ascii_alphabetic() && c != '-') {
                return Err(format!("{key} is no attribute"));
            }
            if attributes.insert(key.to_owned(), content(value)?).is_some() {
                return Err(format!("{key} is there twice"));
            }
            rest = after;
        }
        tags.push((name, attributes));
    }
    match content(rest) {
        Ok(text) if open.is_empty() && text.trim().is_empty() => Ok(tags),
        other => Err(format!("{open:?} and {other:?} at the end")),
    }
}

/// Text without its escapes.
fn content(text: &str) -> Result<String, String> {
    let wrong =
        |c: char| matches!(c, '<' | '\0'..='\x08' | '\x0b'..='\x1f' | '\u{fffe}' | '\u{ffff}');
    if text.contains(wrong) {
        return Err(format!("not escaped: {text:?}"));
    }
    let mut parts = text.split('&');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, after) = part
            .split_once(';')
            .ok_or_else(|| format!("a bare & in {text:?}"))?;
        out.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#39" => '\'',
            "#9" => '\t',
            "#10" => '\n',
            "#13" => '\r',
            other => return Err(format!("&{other};")),
        });
        out.push_str(after);
    }
    Ok(out)
}

/// Checks a drawing, and returns its nodes.
pub(super) fn check_svg(trace: &Trace) -> Vec<HashMap<String, String>> {
    let text = svg(trace);
    let tags = read_xml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let number = |tag: &HashMap<String, String>, key: &str| tag[key].parse::<f64>().unwrap();
    let root = &tags[0].1;
    let (width, height) = (number(root, "width"), number(root, "height"));
    for (name, attributes) in &tags {
        const NAMES: [&str; 8] = [
            "svg", "style", "rect", "g", "text", "circle", "path", "title",
        ];
        assert!(NAMES.contains(&name.as_str()), "{name}");
        assert!(
            attributes
                .keys()
                .all(|key| !key.starts_with("on") && key != "href"),
            "{name}"
        );
    }
    let boxes: Vec<[f64; 4]> = tags
        .iter()
        .filter(|(_, one)| one.get("class").is_some_and(|class| class == "box"))
        .map(|(_, one)| ["x", "y", "width", "height"].map(|key| number(one, key)))
        .collect();
    for (at, [x, y, w, h]) in boxes.iter().enumerate() {
        assert!(
            *x >= -0.06 && *y >= -0.06 && x + w < width && y + h < height,
            "outside"
        );
        for [x2, y2, w2, h2] in &boxes[..at] {
            let apart =
                x + w <= x2 + 0.2 || x2 + w2 <= x + 0.2 || y + h <= y2 + 0.2 || y2 + h2 <= y + 0.2;
            assert!(apart, "two overlap in\n{text}");
        }
    }
    let class = |one: &HashMap<String, String>, word: &str| {
        one.get("class")
            .is_some_and(|class| class.split(' ').any(|own| own == word))
    };
    let nodes: Vec<_> = tags
        .iter()
        .map(|(_, one)| one.clone())
        .filter(|one| class(one, "node"))
        .collect();
    assert_eq!(nodes.len(), boxes.len());
    for one in &nodes {
        let own = &trace.nodes[one["data-node"].parse::<usize>().unwrap()]
            .node
            .id;
        let in_xml = |c: char| !matches!(c, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}');
        let wanted: String = own
            .chars()
            .map(|c| if in_xml(c) { c } else { '\u{fffd}' })
            .collect();
        assert_eq!(one["data-id"], wanted);
        assert_eq!(one["tabindex"], "0");
        assert!(!one["aria-label"].contains('\u{202e}'));
    }
    nodes
}

/// Parses the subset of Graphviz that is written here: nodes and edges with their labels.
pub(super) fn check_dot(trace: &Trace) -> (usize, usize) {
    let text = dot(trace);
    let body = text
        .strip_prefix("digraph trace {\n")
        .unwrap()
        .strip_suffix("}\n")
        .unwrap();
    let (mut nodes, mut edges) = (0, 0);
    let mut quoted = false;
    let mut statement = String::new();
    let mut letters = body.chars();
    while let Some(c) = letters.next() {
        match c {
            '\\' if quoted => {
                let next = letters.next().unwrap();
                assert!(matches!(next, '"' | '\\' | 'n'), "\\{next}");
            }
            '"' => {
                quoted = !quoted;
                statement.push(c);
            }
            c if quoted => assert!(!c.is_control(), "{c:?}"),
            ';' => {
                edges += usize::from(statement.contains(" -> "));
                nodes += usize::from(statement.contains("shape="));
                let plain = |c: char| c.is_ascii_alphanumeric() || " \n[]=,.->\"".contains(c);
                assert!(statement.chars().all(plain), "{statement}");
                statement.clear();
            }
            c => statement.push(c),
        }
    }
    assert!(!quoted && statement.trim().is_empty(), "{statement}");
    (nodes, edges)
}

/// Every line of Turtle is one of the few forms that are written here.
pub(super) fn check_turtle(trace: &Trace) {
    let text = turtle(trace);
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
    for line in text.lines() {
        let subject = line.trim_start().trim_start_matches("a prov:");
        let known = ["@prefix ", "# ", "<", "bg:", "rdfs:", "prov:", ""];
        assert!(known.iter().any(|start| subject.starts_with(start)));
        if let Some(rest) = line.strip_prefix('<') {
            let (iri, rest) = rest.split_once('>').unwrap();
            assert!(
                !iri.contains(|c: char| c <= ' ' || "<>\"{}|^`\\".contains(c)),
                "{iri}"
            );
            assert!(rest.starts_with(' '), "{line}");
        }
    }
    let links = text.lines().filter(|line| line.contains("> . # ")).count();
    assert_eq!(links, trace.links.len());
}
