//! Data flows one way: no layer uses a later one.

use std::path::Path;

/// Layers with their ranks; those of one rank may use each other.
/// `mixfix` and `module` share the statements' data types, `cli` opens the prompt of `repl`.
const LAYERS: &[(&str, u32)] = &[
    ("base", 0),
    ("syntax", 1),
    ("logic", 1),
    ("sorts", 2),
    ("term", 3),
    ("mixfix", 4),
    ("module", 4),
    ("matching", 5),
    ("builtin", 5),
    ("theory", 6),
    ("rewrite", 7),
    ("graph", 8),
    ("check", 9),
    ("report", 10),
    ("interp", 11),
    ("batch", 11),
    ("jobs", 12),
    ("cli", 13),
    ("repl", 13),
];

/// Layers that see less than all earlier ones: temporal logic knows no terms, and the checkers see
/// a system only as numbers.
const WALLS: &[(&str, &[&str])] =
    &[("logic", &["base", "logic"]), ("check", &["base", "logic", "graph", "check"])];

fn rank(layer: &str) -> Option<u32> {
    LAYERS.iter().find(|(name, _)| *name == layer).map(|(_, rank)| *rank)
}

#[test]
fn no_layer_uses_a_later_one() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut mistakes = Vec::new();
    let mut work = vec![source.clone()];
    while let Some(directory) = work.pop() {
        for entry in std::fs::read_dir(&directory).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                work.push(path);
                continue;
            }
            // Tests may look at everything.
            if path.extension().is_none_or(|e| e != "rs") || path.ends_with("tests.rs") {
                continue;
            }
            let inside = path.strip_prefix(&source).expect("below src");
            let mut parts = inside.components();
            let layer = parts.next().expect("a name").as_os_str().to_string_lossy().into_owned();
            if parts.next().is_none() {
                continue;
            }
            let Some(own) = rank(&layer) else {
                mistakes.push(format!("layer {layer} has no rank"));
                continue;
            };
            let text = std::fs::read_to_string(&path).expect("readable");
            for (number, line) in text.lines().enumerate() {
                let place = format!("{}:{}", inside.display(), number + 1);
                if line.contains("super::super::") {
                    mistakes.push(format!("{place}: super::super:: hides which layer is meant"));
                }
                if line.trim_start().starts_with("//") {
                    continue;
                }
                for (at, _) in line.match_indices("crate::") {
                    let rest = &line[at + 7..];
                    let used: String =
                        rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                    let beyond_wall =
                        WALLS.iter().any(|(name, allowed)| *name == layer && !allowed.contains(&&*used));
                    if rank(&used).is_some_and(|used| used > own || beyond_wall) {
                        mistakes.push(format!("{place}: {layer} uses {used}"));
                    }
                }
            }
        }
    }
    mistakes.sort();
    mistakes.dedup();
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}
