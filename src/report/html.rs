//! Checks as a page that needs nothing else: verdicts, and for each violation the path, the values
//! over time, and the cycle marked.

use std::fmt::Write as _;

use super::checked::{CheckReport, Layer, overall};
use super::run::Run;
use super::timeline::{Row, rows};

/// A page about these checks.
pub fn page(reports: &[CheckReport]) -> String {
    let title = match reports {
        [one] => format!("{}: {}", one.verdict.text(), one.label()),
        _ => overall(reports),
    };
    let mut out = String::new();
    if reports.len() > 1 {
        let _ = writeln!(out, "<p><b>{}</b></p>", escaped(&title));
    }
    for report in reports {
        section(&mut out, report);
    }
    document(&title, &out)
}

/// A page with the common style.
pub(super) fn document(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escaped(title)
    )
}

fn section(out: &mut String, report: &CheckReport) {
    let verdict = report.verdict.text();
    let name = report.name.as_ref().map_or_else(String::new, |name| format!("{} = ", escaped(name)));
    let _ = writeln!(
        out,
        "<section>\n<h1><span class=\"verdict {verdict}\">{verdict}</span> <code>{name}{}</code></h1>",
        escaped(&report.formula)
    );
    if let Some(why) = report.vacuity() {
        let _ = writeln!(out, "<p>Vacuous: {why}.</p>");
    }
    for note in report.notes() {
        let _ = writeln!(out, "<p>{}.</p>", escaped(&note));
    }
    for (kind, labels) in report.fairness() {
        let _ = writeln!(out, "<p>Assuming {kind} fairness: <code>{}</code></p>", escaped(&labels));
    }
    if let Some(reason) = &report.reason {
        let _ = writeln!(out, "<p>Reason: {}</p>", escaped(reason));
    }
    let _ = writeln!(out, "<p class=\"numbers\">{}</p>", escaped(&report.numbers()));
    if !report.layers.is_empty() {
        out.push_str("<table>\n<tr><th>layer depth</th><th>sub-state spaces</th><th>states</th><th>counterexample states</th></tr>\n");
        for layer in &report.layers {
            let Layer { depth, spaces, states, counterexample_states: cx, .. } = layer;
            let _ = writeln!(out, "<tr><td>{depth}</td><td>{spaces}</td><td>{states}</td><td>{cx}</td></tr>");
        }
        out.push_str("</table>\n");
    }
    if let Some(run) = &report.counterexample {
        let _ = writeln!(out, "<p>{}</p>", escaped(&run.summary()));
        path(out, run);
        values(out, run);
    }
    out.push_str("</section>\n");
}

/// The path: states as circles, rules between them; whole states on demand.
fn path(out: &mut String, run: &Run) {
    out.push_str("<h2>The run</h2>\n<ol class=\"path\" start=\"0\">\n");
    for (at, step) in run.steps.iter().enumerate() {
        let _ = write!(
            out,
            "<li{}><details><summary><b>{at}</b>{}</summary><code>{}</code></details>",
            class(&[("cycle", in_cycle(run, at)), ("entry", run.back == Some(at))]),
            if step.props.is_empty() {
                String::new()
            } else {
                format!(" <span class=\"props\">{}</span>", escaped(&step.props.join(", ")))
            },
            escaped(&step.state)
        );
        if let Some(next) = run.next(at) {
            let changes: Vec<String> = run
                .changes(at)
                .iter()
                .map(|change| format!("<code>{}</code>", escaped(&change.text())))
                .collect();
            let rule = escaped(step.rule.as_deref().unwrap_or_default());
            let back = if next > at { String::new() } else { format!(" <i>back to {next}</i>") };
            let _ = write!(out, "<p><b class=\"rule\">{rule}</b> {}{back}</p>", changes.join(" "));
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ol>\n");
}

/// The table: components and propositions by steps.
fn values(out: &mut String, run: &Run) {
    let cell_class = |at: usize, changed: bool| class(&[("cycle", in_cycle(run, at)), ("changed", changed)]);
    out.push_str(
        "<h2>Values over time</h2>\n<div class=\"wide\"><table class=\"values\">\n<tr><th>state</th>",
    );
    for at in 0..run.steps.len() {
        let mark = if run.back == Some(at) { "&#8635; " } else { "" };
        let _ = write!(out, "<th{}>{mark}{at}</th>", cell_class(at, false));
    }
    out.push_str("</tr>\n<tr><th>rule</th>");
    for (at, step) in run.steps.iter().enumerate() {
        let rule = escaped(step.rule.as_deref().unwrap_or_default());
        let _ = write!(out, "<td{}>{rule}</td>", cell_class(at, false));
    }
    out.push_str("</tr>\n");
    for Row { label, values } in rows(run.steps.iter().map(|step| &step.components[..])) {
        let _ = write!(out, "<tr><th><code>{}</code></th>", escaped(&label));
        for (at, value) in values.iter().enumerate() {
            let changed = at > 0 && values[at - 1] != *value;
            let value = escaped(value.as_deref().unwrap_or_default());
            let _ = write!(out, "<td{}><code>{value}</code></td>", cell_class(at, changed));
        }
        out.push_str("</tr>\n");
    }
    let mut props: Vec<&String> = run.steps.iter().flat_map(|step| &step.props).collect();
    props.sort_unstable();
    props.dedup();
    for prop in props {
        let _ = write!(out, "<tr class=\"prop\"><th><code>{}</code></th>", escaped(prop));
        let holds: Vec<bool> = run.steps.iter().map(|step| step.props.contains(prop)).collect();
        for (at, &here) in holds.iter().enumerate() {
            let mark = if here { "&#9679;" } else { "" };
            let _ = write!(out, "<td{}>{mark}</td>", cell_class(at, at > 0 && holds[at - 1] != here));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
    if let Some(back) = run.back {
        let last = run.steps.len() - 1;
        let _ = writeln!(out, "<p>After state {last} the run is in state {back} again.</p>");
    }
}

fn in_cycle(run: &Run, at: usize) -> bool {
    run.back.is_some_and(|back| at >= back)
}

/// The attribute with the names that apply.
fn class(names: &[(&str, bool)]) -> String {
    let names: Vec<&str> = names.iter().filter(|(_, applies)| *applies).map(|(name, _)| *name).collect();
    if names.is_empty() { String::new() } else { format!(" class=\"{}\"", names.join(" ")) }
}

pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(c),
        }
    }
    out
}

const STYLE: &str = "\
:root { color-scheme: light dark; --line: #8886; --mark: #f5a62355; --cycle: #4a90d922; --blue: #4a90d9; }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.25rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
code { font-family: ui-monospace, monospace; font-size: 0.93em; }
.verdict { color: white; border-radius: 0.3rem; padding: 0.1rem 0.5rem; }
.holds { background: #2e7d32; } .violated { background: #c62828; } .unknown { background: #9a6700; }
.numbers { opacity: 0.7; }
.path { list-style: none; padding: 0; }
.path li { border-left: 3px solid var(--line); padding: 0.1rem 0 0.1rem 0.8rem; }
.path li.cycle { border-left-color: var(--blue); background: var(--cycle); }
.path li.entry { border-top: 3px solid var(--blue); }
.path p { margin: 0.2rem 0 0.3rem 1.2rem; } .path p code { background: var(--mark); padding: 0 0.25rem; }
.props { color: var(--blue); margin-left: 0.5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; } th, td { border: 1px solid var(--line); padding: 0.15rem 0.5rem; }
.claims td, .claims th { text-align: right; vertical-align: top; white-space: nowrap; }
.claims td:first-child, .claims th:first-child, .claims .note td { text-align: left; white-space: normal; }
.claims .reference { background: var(--cycle); } .differs { outline: 2px solid #c62828; }
.values th:first-child { text-align: left; position: sticky; left: 0; background: Canvas; }
.values td { text-align: center; white-space: nowrap; }
.values .cycle { background: var(--cycle); } .values .changed { background: var(--mark); font-weight: bold; }
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::checked::tests::{holding, violated};

    #[test]
    fn the_page_stands_alone() {
        let mut report = violated();
        report.formula = "<script>\"&\"".to_owned();
        let page = page(&[report, holding()]);
        assert!(page.contains("&lt;script&gt;&quot;&amp;&quot;") && !page.contains("<script"));
        assert!(!page.contains("http") && !page.contains("src=") && !page.contains("url("));
        for tag in
            ["section", "table", "tr", "td", "th", "li", "ol", "p", "code", "details", "div", "body", "html"]
        {
            let opened =
                page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert!(page.contains("<title>1 holds, 1 violated (&lt;script&gt;&quot;&amp;&quot;)</title>"));
    }

    #[test]
    fn rows_by_steps() {
        let page = page(&[violated()]);
        let row = |label: &str| {
            page.lines().find(|line| line.contains(&format!("<th><code>{label}</code>"))).unwrap()
        };
        assert_eq!(
            row("pc[p1]:"),
            "<tr><th><code>pc[p1]:</code></th><td><code>rs</code></td>\
             <td class=\"cycle changed\"><code>ws</code></td><td class=\"cycle\"><code>ws</code></td>\
             <td class=\"cycle\"><code>ws</code></td></tr>"
        );
        assert_eq!(
            row("inWs1"),
            "<tr class=\"prop\"><th><code>inWs1</code></th><td></td><td class=\"cycle changed\">&#9679;</td>\
             <td class=\"cycle\">&#9679;</td><td class=\"cycle\">&#9679;</td></tr>"
        );
        assert!(page.contains("<th class=\"cycle\">&#8635; 1</th>"));
    }
}
