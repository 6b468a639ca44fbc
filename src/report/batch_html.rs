//! A batch as a page that needs nothing else: the tables, and below each claim what it says.

use std::fmt::Write as _;

use serde_json::Value;

use super::batch::{BatchReport, ClaimReport, Group};
use super::html::{document, escaped};

impl BatchReport<'_> {
    /// A page about all claims.
    pub fn page(&self) -> String {
        let mut body = format!("<h1>{}</h1>\n", escaped(&self.summary()));
        for group in self.groups() {
            section(&mut body, &group);
        }
        document(&self.summary(), &body)
    }
}

fn section(out: &mut String, group: &Group) {
    out.push_str("<section>\n");
    if let Some(heading) = group.heading {
        let _ = writeln!(out, "<h2>{}</h2>", escaped(heading));
    }
    out.push_str("<div class=\"wide\"><table class=\"claims\">\n<tr>");
    for title in &group.own {
        let _ = write!(out, "<th>{title}</th>");
    }
    for title in &group.reference {
        let _ = write!(out, "<th class=\"reference\">{}</th>", escaped(title));
    }
    out.push_str("</tr>\n");
    for claim in &group.claims {
        row(out, group, claim);
    }
    out.push_str("</table></div>\n</section>\n");
}

fn row(out: &mut String, group: &Group, claim: &ClaimReport) {
    let (own, reference) = group.cells(claim);
    out.push_str(if claim.differs() { "<tr class=\"differs\">" } else { "<tr>" });
    for (title, cell) in group.own.iter().zip(&own) {
        let cell = escaped(cell);
        match *title {
            "claim" => {
                let _ = write!(out, "<td>{}</td>", details(claim, &cell));
            }
            "verdict" => {
                let class = claim.verdict.text();
                let _ = write!(out, "<td><span class=\"verdict {class}\">{cell}</span></td>");
            }
            _ => drop(write!(out, "<td>{cell}</td>")),
        }
    }
    for cell in &reference {
        let _ = write!(out, "<td class=\"reference\">{}</td>", escaped(cell));
    }
    out.push_str("</tr>\n");
    let width = own.len() + reference.len();
    for note in claim.remarks().iter().map(String::as_str).chain(claim.reason()) {
        let _ = writeln!(out, "<tr class=\"note\"><td colspan=\"{width}\">{}</td></tr>", escaped(note));
    }
}

/// The name, and on demand the formula, the command, and the run that violates the formula.
fn details(claim: &ClaimReport, name: &str) -> String {
    let answer = &claim.answer;
    let text = |key: &str| escaped(answer[key].as_str().unwrap_or_default());
    let mut out = format!(
        "<details><summary>{name}</summary><p><code>{}</code> in {} from <code>{}</code></p>\
         <p><code>{}</code></p>",
        text("formula"),
        text("module"),
        text("init"),
        escaped(&claim.command)
    );
    let run = &answer["counterexample"];
    if run.is_object() {
        out.push_str("<ol class=\"path\" start=\"0\">");
        let mut number = 0;
        for (part, class) in [("prefix", ""), ("cycle", " class=\"cycle\"")] {
            for step in run[part].as_array().into_iter().flatten() {
                let word = |value: &Value| escaped(value.as_str().unwrap_or_default());
                let (state, rule) = (word(&step["state"]), word(&step["rule"]));
                let _ = write!(
                    out,
                    "<li{class}><b>{number}</b> <code>{state}</code> <b class=\"rule\">{rule}</b></li>"
                );
                number += 1;
            }
        }
        out.push_str("</ol>");
    }
    out.push_str("</details>");
    out
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::report::batch::tests::claims;

    #[test]
    fn the_page_stands_alone() {
        let claims = claims();
        let page = BatchReport { claims: &claims, time: Duration::from_secs(65) }.page();
        assert!(page.contains("Table &lt;1&gt;") && !page.contains("<script"));
        assert!(!page.contains("http") && !page.contains("src=") && !page.contains("url("));
        for tag in ["section", "table", "tr", "td", "th", "li", "ol", "p", "code", "details", "div", "span"] {
            let opened =
                page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert!(page.contains("<td>1,234,567</td>") && page.contains("<td class=\"reference\">6.14s</td>"));
        assert!(page.contains("<tr class=\"differs\">") && page.contains("<li class=\"cycle\">"));
        assert!(page.contains("<tr class=\"note\"><td colspan=\"6\">interrupted</td></tr>"));
    }
}
