//! Tables, for a terminal or in Markdown.

/// Rows of text under headings; the first column is a name, the others figures.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(headings: &[&str]) -> Table {
        let headings = headings.iter().map(|heading| heading.to_string()).collect();
        Table { rows: vec![headings] }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub fn print(&self, markdown: bool) {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        let (open, between, close) = if markdown { ("| ", " | ", " |") } else { ("", "  ", "") };
        for (at, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, &width))| match column {
                    0 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                })
                .collect();
            let line = format!("{open}{}{close}", cells.join(between));
            println!("{}", line.trim_end());
            if at == 0 {
                println!("{}", rule(&widths, markdown));
            }
        }
    }
}

/// The line below the headings.
fn rule(widths: &[usize], markdown: bool) -> String {
    let dashes = widths.iter().enumerate().map(|(column, &width)| {
        if markdown && column > 0 { format!("{}:", "-".repeat(width.max(2) - 1)) } else { "-".repeat(width) }
    });
    let dashes: Vec<String> = dashes.collect();
    if markdown { format!("| {} |", dashes.join(" | ")) } else { dashes.join("  ") }
}
