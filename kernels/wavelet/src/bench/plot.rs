//! Line plots: a quantity against the number of pixels.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use image::{ImageFormat, RgbImage};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Axis;
use super::canvas::{self, Canvas, LARGE, OVERSAMPLING, SMALL};

/// Size of a file, pixels.
const SIZE: (u32, u32) = (1600, 1000);
/// Space around the plot, pixels of the canvas.
const MARGIN: u32 = 20 * OVERSAMPLING;
/// Space for the numbers and the name of the horizontal and of the vertical axis.
const LABELS: (u32, u32) = (80 * OVERSAMPLING, 120 * OVERSAMPLING);
/// Length of the line in front of a name in the legend, and the space for each character behind it.
const SAMPLE: i32 = 60 * OVERSAMPLING as i32;
const CHARACTER: i32 = SMALL as i32 * 7 / 12;
/// Colours that people with any colour vision can tell apart (Okabe and Ito, 2008), then two more.
const COLOURS: [RGBColor; 9] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(0, 0, 0),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(140, 86, 75),
    RGBColor(110, 60, 180),
];
const GRID: RGBColor = RGBColor(215, 215, 215);

type Area<'a> = DrawingArea<Canvas<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<Infallible>>;

/// Contents of a plot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// One line at the top.
    pub(crate) title: String,
    /// Quantity and unit of the vertical axis.
    pub(crate) quantity: &'static str,
    /// True if the vertical axis is logarithmic; it starts at 0 if not.
    pub(crate) logarithmic: bool,
    /// The lines.
    pub(crate) series: Vec<Series>,
}

/// One line of a plot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// Text in the legend.
    pub(crate) name: String,
    /// The line is dashed and has the colour of the line of this name.
    pub(crate) like: Option<String>,
    /// Numbers of pixels and values, all above 0.
    pub(crate) points: Vec<(f64, f64)>,
}

impl Figure {
    /// Draws into a PNG file.
    pub(crate) fn save(&self, path: &Path) -> Result<()> {
        let written = self.picture()?.save_with_format(path, ImageFormat::Png);
        written.with_context(|| format!("{} cannot be written", path.display()))
    }

    fn picture(&self) -> Result<RgbImage> {
        let mut picture = canvas::blank(SIZE.0, SIZE.1);
        let root = Canvas(&mut picture).into_drawing_area();
        let names = self.series.iter().map(|series| series.name.chars().count());
        let legend_width = CHARACTER * (names.max().unwrap_or(0) as i32 + 1) + SAMPLE * 3 / 2;
        let (plot, legend) = root.split_horizontally((SIZE.0 * OVERSAMPLING) as i32 - legend_width);
        self.draw_plot(&plot).and_then(|()| self.draw_legend(&legend)).map_err(|error| anyhow!("{error}"))?;
        drop((root, plot, legend));
        Ok(canvas::reduced(&picture))
    }

    fn draw_plot(&self, area: &Area<'_>) -> Drawn {
        let x_axis = Axis::powers_of_two(&self.values(|(x, _)| x));
        let values = self.values(|(_, y)| y);
        let y_axis = if self.logarithmic { Axis::decades(&values) } else { Axis::from_zero(&values) };
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, text(LARGE))
            .margin(MARGIN)
            .x_label_area_size(LABELS.0)
            .y_label_area_size(LABELS.1)
            .build_cartesian_2d(x_axis, y_axis)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.stroke_width(OVERSAMPLING))
            .axis_style(BLACK.stroke_width(OVERSAMPLING))
            .label_style(text(SMALL))
            .axis_desc_style(text(SMALL))
            .x_label_formatter(&|x| pixels(*x))
            .y_label_formatter(&|y| number(*y))
            .x_desc("pixels")
            .y_desc(self.quantity)
            .draw()?;
        for (series, style) in self.series.iter().zip(self.styles()) {
            let points = series.points.iter().copied();
            let dash = 9 * OVERSAMPLING as i32;
            match style.dashed {
                true => chart.draw_series(DashedLineSeries::new(points.clone(), dash, dash, style.line()))?,
                false => chart.draw_series(LineSeries::new(points.clone(), style.line()))?,
            };
            chart.draw_series(points.map(|point| style.marker(point)))?;
        }
        Ok(())
    }

    fn draw_legend(&self, area: &Area<'_>) -> Drawn {
        let left_middle = Pos::new(HPos::Left, VPos::Center);
        for ((series, style), row) in self.series.iter().zip(self.styles()).zip(2..) {
            let y = row * SMALL as i32 * 3 / 2;
            let parts = if style.dashed { vec![[0, SAMPLE / 3], [SAMPLE * 2 / 3, SAMPLE]] } else { vec![[0, SAMPLE]] };
            for part in parts {
                area.draw(&PathElement::new(part.map(|x| (x, y)), style.line()))?;
            }
            area.draw(&style.marker((SAMPLE / 2, y)))?;
            area.draw_text(&series.name, &text(SMALL).pos(left_middle), (SAMPLE + CHARACTER, y))?;
        }
        Ok(())
    }

    /// Returns the smallest and the largest of something; 1 if there is no point.
    fn values(&self, of: impl Fn((f64, f64)) -> f64) -> Range<f64> {
        let all = || self.series.iter().flat_map(|series| &series.points).map(|&point| of(point));
        let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        if least <= most { least..most } else { 1.0..1.0 }
    }

    fn styles(&self) -> Vec<Style> {
        let (mut known, mut styles) = (BTreeMap::new(), Vec::new());
        for Series { name, like, .. } in &self.series {
            let next = known.len();
            let index = *known.entry(like.as_ref().unwrap_or(name)).or_insert(next);
            let colour = COLOURS[index % COLOURS.len()];
            styles.push(Style { colour, dashed: like.is_some(), hollow: index >= COLOURS.len() });
        }
        styles
    }
}

/// Style of a line.
struct Style {
    colour: RGBColor,
    dashed: bool,
    hollow: bool,
}

impl Style {
    fn line(&self) -> ShapeStyle {
        self.colour.stroke_width(3 * OVERSAMPLING)
    }

    fn marker<C>(&self, at: C) -> Circle<C, u32> {
        let style = if self.hollow { self.colour.stroke_width(2 * OVERSAMPLING) } else { self.colour.filled() };
        Circle::new(at, 6 * OVERSAMPLING, style)
    }
}

fn text(size: u32) -> TextStyle<'static> {
    ("monospace", size).into_font().into()
}

/// Returns a number of pixels in binary units.
fn pixels(count: f64) -> String {
    const KIBI: f64 = 1024.0;
    match count {
        _ if count >= KIBI * KIBI => number(count / KIBI / KIBI) + " Mi",
        _ if count >= KIBI => number(count / KIBI) + " Ki",
        _ => number(count),
    }
}

/// Returns a number with at most three digits behind the point, no zeros at the end.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, height: f64) -> Series {
        let sizes = (8..=13).map(|exponent| f64::from(1 << (2 * exponent)));
        let like = name.strip_suffix('*').map(str::to_owned);
        Series { name: name.to_owned(), like, points: sizes.map(|x| (x, height * x.log2())).collect() }
    }

    fn figure(series: Vec<Series>) -> Figure {
        Figure { title: "A plot".to_owned(), quantity: "throughput, GB/s", logarithmic: false, series }
    }

    /// Returns the pixels of exactly this colour within some columns.
    fn count(picture: &RgbImage, colour: RGBColor, columns: Range<u32>) -> usize {
        let is = |(x, _, pixel): &(u32, u32, &image::Rgb<u8>)| {
            columns.contains(x) && pixel.0 == [colour.0, colour.1, colour.2]
        };
        picture.enumerate_pixels().filter(is).count()
    }

    #[test]
    fn a_plot_has_axes_lines_and_a_legend() {
        let picture = figure(vec![series("one", 1.0), series("two", 50.0)]).picture().unwrap();
        assert_eq!(picture.dimensions(), SIZE);
        let (left, right) = (100..1400, 1400..SIZE.0);
        for colour in [COLOURS[0], COLOURS[1]] {
            assert!(count(&picture, colour, left.clone()) > 1000, "line of {colour:?}");
            assert!(count(&picture, colour, right.clone()) > 50, "legend of {colour:?}");
        }
        assert_eq!(count(&picture, COLOURS[2], 0..SIZE.0), 0);
        let dark = |x: u32| (0..SIZE.1).filter(|&y| picture.get_pixel(x, y).0.iter().all(|&v| v < 160)).count();
        assert!((0..400).any(|x| dark(x) > 600), "vertical axis");
        let light = |&&image::Rgb([r, g, b]): &&image::Rgb<u8>| (200..250).contains(&r) && r == g && g == b;
        assert!(picture.pixels().filter(light).count() > 5000, "grid");
        assert!((0..60).map(dark).sum::<usize>() > 100, "name of the vertical axis");
    }

    #[test]
    fn a_line_like_another_is_dashed_and_has_its_colour() {
        let lines = figure(vec![series("a", 1.0), series("a*", 2.0), series("b", 3.0)]);
        let styles = lines.styles();
        assert_eq!(styles.iter().map(|style| style.dashed).collect::<Vec<_>>(), [false, true, false]);
        assert!(styles[0].colour == styles[1].colour && styles[1].colour != styles[2].colour);
        let inked = |name: &str| count(&figure(vec![series(name, 1.0)]).picture().unwrap(), COLOURS[0], 200..1300);
        let (solid, dashed) = (inked("a"), inked("a*"));
        assert!(dashed * 10 < solid * 8 && dashed * 10 > solid * 3, "{dashed} of {solid}");
    }

    #[test]
    fn one_point_and_none_can_be_drawn() {
        let point = Series { name: "p".to_owned(), like: None, points: vec![(2_073_600.0, 3.0)] };
        for (logarithmic, series) in
            [(true, vec![point.clone()]), (false, vec![point]), (true, vec![]), (false, vec![])]
        {
            let figure = Figure { logarithmic, ..figure(series) };
            figure.picture().unwrap();
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 0.05, 12.0, 1500.0, 0.125].map(number), ["0", "0.05", "12", "1500", "0.125"]);
        assert_eq!([256.0, 65536.0, 1048576.0, 67108864.0].map(pixels), ["256", "64 Ki", "1 Mi", "64 Mi"]);
    }
}
