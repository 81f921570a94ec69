//! A table for people, for programs and for documents, and the plot of it.

use anyhow::{Context, Result};

use super::plot::{Figure, Series};

/// Column heads and rows of cells.
pub(crate) struct Table {
    /// Printed above the table; not in the comma-separated file.
    notes: Vec<String>,
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    axes: Option<Axes>,
}

/// Columns that a plot shows; the horizontal axis is the number of pixels of the column `size`.
#[derive(Clone, Debug)]
pub(crate) struct Axes {
    /// One line above the plot.
    pub(crate) title: String,
    /// Columns of numbers, each a line of its own.
    pub(crate) values: &'static [&'static str],
    /// Columns of text; each combination that occurs is a line of its own.
    pub(crate) by: &'static [&'static str],
    /// Quantity and unit of the vertical axis.
    pub(crate) quantity: &'static str,
    /// True if the vertical axis is logarithmic.
    pub(crate) logarithmic: bool,
    /// For some names of lines another name, in whose colour the line is drawn, dashed.
    pub(crate) dashed: fn(&str) -> Option<String>,
}

impl Axes {
    /// Times of a frame, on a logarithmic axis.
    pub(crate) const TIMES: Self = Self {
        title: String::new(),
        values: &[],
        by: &[],
        quantity: "time of a frame, ms",
        logarithmic: true,
        dashed: |_| None,
    };
}

impl Table {
    /// Creates a table without rows.
    pub(crate) fn new(heads: &[&'static str]) -> Self {
        Self { notes: Vec::new(), heads: heads.to_vec(), rows: Vec::new(), axes: None }
    }

    /// Adds a line above the table, once.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Says what a plot of this table shows.
    pub(crate) fn plot(&mut self, axes: Axes) {
        self.axes = Some(axes);
    }

    /// Appends a row of as many cells as there are heads.
    pub(crate) fn push(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Returns this table with the rows of another that has the same heads.
    pub(crate) fn followed_by(mut self, other: Self) -> Self {
        other.notes.into_iter().for_each(|note| self.note(note));
        self.rows.extend(other.rows);
        self
    }

    /// Returns aligned columns; text to the left, numbers to the right.
    pub(crate) fn text(&self) -> String {
        let heads: Vec<_> = self.heads.iter().map(|head| (*head).to_owned()).collect();
        let lines: Vec<_> = std::iter::once(&heads).chain(&self.rows).collect();
        let widths: Vec<usize> = (0..heads.len())
            .map(|column| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max())
            .map(Option::unwrap_or_default)
            .collect();
        let mut text: String = self.notes.iter().map(|note| note.clone() + "\n").collect();
        for line in lines {
            let cells = line.iter().zip(&widths).zip(self.numeric());
            let row: Vec<_> = cells
                .map(|((cell, width), right)| if right { format!("{cell:>width$}") } else { format!("{cell:<width$}") })
                .collect();
            text += row.join("  ").trim_end();
            text.push('\n');
        }
        text
    }

    /// Returns comma-separated values, heads first; cells with a comma or quote are quoted.
    pub(crate) fn csv(&self) -> String {
        let cell = |text: &str| match text.contains([',', '"', '\n']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.to_owned(),
        };
        let line = |cells: Vec<String>| cells.join(",") + "\n";
        let heads = line(self.heads.iter().map(|head| cell(head)).collect());
        self.rows.iter().fold(heads, |text, row| text + &line(row.iter().map(|text| cell(text)).collect()))
    }

    /// Notes and a table in Markdown; numbers to the right.
    pub(crate) fn markdown(&self) -> String {
        let cell = |text: &str| text.replace('\\', "\\\\").replace('|', "\\|").replace('*', "\\*");
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let notes: String = self.notes.iter().map(|note| cell(note) + "\n\n").collect();
        let heads = line(self.heads.iter().map(|head| cell(head)).collect());
        let rule = line(self.numeric().map(|right| if right { "---:" } else { "---" }.to_owned()).collect());
        let rows = self.rows.iter().map(|row| line(row.iter().map(|text| cell(text)).collect()));
        notes + &heads + &rule + &rows.collect::<String>()
    }

    /// Returns the plot; a row without a number in a column is no point of that line.
    pub(crate) fn figure(&self) -> Result<Figure> {
        let axes = self.axes.as_ref().context("this measurement has no plot: leave --plot out")?;
        let column = |name| self.heads.iter().position(|head| *head == name).context("a plot of a missing column");
        let size = column("size")?;
        let by = axes.by.iter().map(|name| column(name)).collect::<Result<Vec<_>>>()?;
        let mut series: Vec<Series> = Vec::new();
        for value in axes.values {
            let at = column(value)?;
            for row in &self.rows {
                let (Some(x), Some(y)) =
                    (pixels(&row[size]), row[at].parse().ok().filter(|y: &f64| y.is_finite() && *y > 0.0))
                else {
                    continue;
                };
                let mut words: Vec<&str> = by.iter().map(|&column| row[column].as_str()).collect();
                if axes.values.len() > 1 || words.is_empty() {
                    words.push(quantity(value));
                }
                let name = words.join(" ");
                match series.iter_mut().find(|series| series.name == name) {
                    Some(series) => series.points.push((x, y)),
                    None => series.push(Series { like: (axes.dashed)(&name), name, points: vec![(x, y)] }),
                }
            }
        }
        let Axes { title, quantity, logarithmic, .. } = axes.clone();
        Ok(Figure { title, quantity, logarithmic, series })
    }

    /// Returns true for each column that holds numbers.
    fn numeric(&self) -> impl Iterator<Item = bool> + '_ {
        let is_number = |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit()) && !cell.contains('x');
        (0..self.heads.len()).map(move |column| self.rows.iter().any(|row| row.get(column).is_some_and(is_number)))
    }
}

/// Returns the width times height of a size such as `1920x1080`.
fn pixels(size: &str) -> Option<f64> {
    let (width, height) = size.split_once('x')?;
    Some(width.parse::<f64>().ok()? * height.parse::<f64>().ok()?)
}

/// Returns a column's name without its unit.
fn quantity(head: &str) -> &str {
    ["_ms", "_us", "_gb_s"].iter().find_map(|unit| head.strip_suffix(unit)).unwrap_or(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn columns_line_up_and_cells_are_quoted() {
        let mut table = Table::new(&["device", "ms"]);
        table.note("n|o");
        table.push(row(&["a, \"b\"", "1.5"]));
        table.push(row(&["c|d*", "12.25"]));
        assert_eq!(table.text(), "n|o\ndevice     ms\na, \"b\"    1.5\nc|d*    12.25\n");
        assert_eq!(table.csv(), "device,ms\n\"a, \"\"b\"\"\",1.5\nc|d*,12.25\n");
        assert_eq!(
            table.markdown(),
            "n\\|o\n\n| device | ms |\n| --- | ---: |\n| a, \"b\" | 1.5 |\n| c\\|d\\* | 12.25 |\n"
        );
    }

    #[test]
    fn tables_can_follow_one_another() {
        let table = |cell| {
            let mut table = Table::new(&["a"]);
            table.note("n");
            table.push(row(&[cell]));
            table
        };
        assert_eq!(table("1").followed_by(table("2")).text(), "n\na\n1\n2\n");
    }

    #[test]
    fn lines_of_a_plot_are_named_by_their_columns() {
        let mut table = Table::new(&["size", "way", "calc_ms", "total_ms"]);
        assert!(table.figure().is_err());
        let axes = |values, by| Axes {
            title: "t".to_owned(),
            values,
            by,
            quantity: "time, ms",
            logarithmic: true,
            dashed: |name| name.strip_prefix("back ").map(str::to_owned),
        };
        for (size, way, calc, total) in
            [("2x3", "there", "1", "2"), ("2x3", "back", "3", "inf"), ("4x4", "there", "5", "0")]
        {
            table.push(row(&[size, way, calc, total]));
        }
        let lines = |table: &mut Table, axes| {
            table.plot(axes);
            let series = table.figure().unwrap().series;
            series.into_iter().map(|series| (series.name, series.points)).collect::<Vec<_>>()
        };
        let there = |name: &str| (name.to_owned(), vec![(6.0, 1.0), (16.0, 5.0)]);
        let back = |name: &str| (name.to_owned(), vec![(6.0, 3.0)]);
        assert_eq!(lines(&mut table, axes(&["calc_ms"], &["way"])), [there("there"), back("back")]);
        let total = ("there total".to_owned(), vec![(6.0, 2.0)]);
        let both = lines(&mut table, axes(&["calc_ms", "total_ms"], &["way"]));
        assert_eq!(both, [there("there calc"), back("back calc"), total]);
        assert_eq!(table.figure().unwrap().series[1].like.as_deref(), Some("calc"));
        table.plot(axes(&["share"], &[]));
        assert!(table.figure().is_err());
    }
}
