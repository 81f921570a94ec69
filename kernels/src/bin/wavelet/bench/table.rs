//! A table for people and for programs.

/// Column heads and rows of cells.
pub(crate) struct Table {
    /// Printed above the table; not in the comma-separated file.
    notes: Vec<String>,
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(heads: &[&'static str]) -> Self {
        Self { notes: Vec::new(), heads: heads.to_vec(), rows: Vec::new() }
    }

    /// Adds a line above the table, once.
    pub(crate) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Appends a row of as many cells as there are heads.
    pub(crate) fn push(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Aligned columns; text to the left, numbers to the right.
    pub(crate) fn text(&self) -> String {
        let heads: Vec<_> = self.heads.iter().map(|head| (*head).to_owned()).collect();
        let lines: Vec<_> = std::iter::once(&heads).chain(&self.rows).collect();
        let widths: Vec<usize> = (0..heads.len())
            .map(|column| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max())
            .map(Option::unwrap_or_default)
            .collect();
        let is_number = |cell: &str| cell.starts_with(|c: char| c.is_ascii_digit()) && !cell.contains('x');
        let right: Vec<bool> = (0..heads.len())
            .map(|column| self.rows.iter().any(|row| row.get(column).is_some_and(|cell| is_number(cell))))
            .collect();
        let mut text: String = self.notes.iter().map(|note| note.clone() + "\n").collect();
        for line in lines {
            let cells = line.iter().zip(&widths).zip(&right);
            let row: Vec<_> = cells
                .map(
                    |((cell, width), right)| if *right { format!("{cell:>width$}") } else { format!("{cell:<width$}") },
                )
                .collect();
            text += row.join("  ").trim_end();
            text.push('\n');
        }
        text
    }

    /// Comma-separated, heads first; cells with a comma or quote are quoted.
    pub(crate) fn csv(&self) -> String {
        let cell = |text: &str| match text.contains([',', '"', '\n']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.to_owned(),
        };
        let line = |cells: Vec<String>| cells.join(",") + "\n";
        let heads = line(self.heads.iter().map(|head| cell(head)).collect());
        self.rows.iter().fold(heads, |text, row| text + &line(row.iter().map(|text| cell(text)).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_cells_are_quoted() {
        let mut table = Table::new(&["device", "ms"]);
        table.note("n".to_owned());
        table.push(vec!["a, \"b\"".to_owned(), "1.5".to_owned()]);
        table.push(vec!["c".to_owned(), "12.25".to_owned()]);
        assert_eq!(table.text(), "n\ndevice     ms\na, \"b\"    1.5\nc       12.25\n");
        assert_eq!(table.csv(), "device,ms\n\"a, \"\"b\"\"\",1.5\nc,12.25\n");
    }
}
