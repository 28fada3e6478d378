//! The contents of the drawings.

use super::*;

#[test]
fn text_is_the_tree_of_figure_1() {
    let drawn = figure_1()
        .draw()
        .names(|slot| format!("leaf {slot}"))
        .to_text();
    let expected = "\
#9  2 children  75.0%  11111010
├─ #7  4 children  50.0%  11110000
│  ├─ leaf 1  12.5%  10000000
│  ├─ leaf 2  12.5%  01000000
│  ├─ leaf 3  12.5%  00100000
│  └─ leaf 4  12.5%  00010000
└─ #8  2 children  25.0%  00001010
   ├─ leaf 5  12.5%  00001000
   └─ leaf 6  12.5%  00000010
";
    assert_eq!(drawn, expected);
}

#[test]
fn children_beyond_the_limit_are_counted() {
    let tree = figure_1();
    let drawing = tree.draw().most_children(1);
    assert!(
        drawing
            .to_text()
            .contains("│  └─ ... and 3 more\n└─ ... and 1 more\n")
    );
    assert!(drawing.to_dot().contains("\"... and 3 more\""));
    assert!(drawing.to_svg().contains(">... and 3 more<"));
    assert_eq!(drawing.to_svg().matches("<g ").count(), 3);
}

#[test]
fn names_cannot_break_out_of_a_picture() {
    let tree = figure_1();
    let name = "<b>\"&'\\\n";
    let drawing = tree.draw().names(|_| name.into());
    let svg = drawing.to_svg();
    assert!(!svg.contains("<b>"));
    assert!(svg.contains("&lt;b&gt;&quot;&amp;&apos;\\\u{fffd}"));
    assert!(drawing.to_dot().contains(r#"[label="<b>\"&'\\"#));
    assert_eq!(drawing.to_text().lines().count(), 9);
}

#[test]
fn an_empty_tree_has_a_picture_too() {
    let tree = Bloofi::new(figure_params(), BloofiOptions::default()).unwrap();
    assert_eq!(tree.draw().to_text(), "(empty)\n");
    assert!(tree.draw().to_svg().ends_with("</svg>\n"));
    assert!(tree.draw().to_dot().starts_with("digraph"));
}

#[test]
fn svg_boxes_of_one_level_do_not_overlap() {
    let svg = figure_1().draw().to_svg();
    let boxes: Vec<(f64, f64)> = svg
        .lines()
        .filter(|line| line.starts_with("<g "))
        .filter_map(|line| {
            let number = |name: &str| {
                let rest = &line[line.find(name)? + name.len()..];
                rest[..rest.find('"')?].parse().ok()
            };
            Some((number("<rect x=\"")?, number(" y=\"")?))
        })
        .collect();
    assert_eq!(boxes.len(), 9);
    for (i, a) in boxes.iter().enumerate() {
        for b in &boxes[i + 1..] {
            assert!(a.1 != b.1 || (a.0 - b.0).abs() > 136.0, "{a:?} {b:?}");
        }
    }
}
