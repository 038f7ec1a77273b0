//! The plots: speed over size, for Diptych, the peers and the ceiling.
#![forbid(unsafe_code)]

use crate::cell::Cell;
use crate::section::Section;
use diptych_benches::bench::Form;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::error::Error;
use std::path::Path;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn Error + Send + Sync>>;

const PLOT: (u32, u32) = (520, 330);
const ACROSS: usize = 2;
const LEGEND: u32 = 64;
const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(40, 44, 52);
const GRID: RGBColor = RGBColor(226, 229, 234);
const CEILING: &str = "ceiling of the machine";
/// The lines with their colours, in drawing order: the last is on top.
const LINES: [(&str, RGBColor); 10] = [
    (CEILING, RGBColor(130, 134, 142)),
    ("BLIS", RGBColor(148, 103, 189)),
    ("faer", RGBColor(188, 140, 60)),
    ("matrixmultiply", RGBColor(140, 86, 75)),
    ("gemm", RGBColor(227, 119, 194)),
    ("MKL", RGBColor(23, 150, 180)),
    ("NumPy", RGBColor(120, 160, 40)),
    ("PyTorch", RGBColor(238, 110, 30)),
    ("OpenBLAS", RGBColor(44, 140, 60)),
    ("Diptych", RGBColor(200, 30, 45)),
];

/// A plot of one operation and element type.
struct Plot {
    title: &'static str,
    /// Whether the axis of the rate is logarithmic.
    logarithmic: bool,
    /// The axis of sizes: logarithmic with labels at the powers of a base, or linear.
    base: Option<f64>,
    op: &'static str,
    dtype: &'static str,
}

const PLOTS: [Plot; 8] = [
    plot("gemm f32, n x n x n", false, "gemm", "f32"),
    plot("gemm f64, n x n x n", false, "gemm", "f64"),
    small_squares("gemm f32, n x n x n, up to 64", "f32"),
    small_squares("gemm f64, n x n x n, up to 64", "f64"),
    plot("outer f32, n x n, written", true, "outer", "f32"),
    plot(
        "gradient of least squares f32, A 10n x n, read once",
        true,
        "lsq_grad",
        "f32",
    ),
    plot("sum f32, n elements", true, "sum", "f32"),
    plot("clamp f32, n elements", true, "clamp", "f32"),
];

const fn plot(
    title: &'static str,
    logarithmic: bool,
    op: &'static str,
    dtype: &'static str,
) -> Plot {
    Plot {
        title,
        logarithmic,
        base: Some(if matches!(op.as_bytes(), b"gemm" | b"outer") {
            2.0
        } else {
            10.0
        }),
        op,
        dtype,
    }
}

const fn small_squares(title: &'static str, dtype: &'static str) -> Plot {
    Plot {
        base: None,
        ..plot(title, false, "gemm", dtype)
    }
}

impl Plot {
    /// Returns the cells that the plot shows, by increasing size.
    fn cells<'a>(&self, cells: &'a [Cell]) -> Vec<&'a Cell> {
        let shown = |cell: &&Cell| {
            let (work, shape) = (cell.case.work, cell.case.shape);
            let square = work.op != "gemm" || (shape.m == shape.n && shape.n == shape.k);
            let axes = matches!(work.form, Form::Rows | Form::Columns);
            let small = cell.case.section == Section::Small;
            let is_shown = match self.base {
                None => cell.case.section == Section::Squares,
                Some(_) => cell.case.section != Section::Squares || shape.n.is_power_of_two(),
            };
            work.op == self.op && cell.dtype == self.dtype && square && !axes && !small && is_shown
        };
        let mut cells: Vec<_> = cells.iter().filter(shown).collect();
        cells.sort_by_key(|cell| cell.case.shape.n);
        cells
    }
}

/// Returns the points of one line: size and rate.
fn points(cells: &[&Cell], name: &str) -> Vec<(f64, f64)> {
    let seconds = |cell: &Cell| match name {
        "Diptych" => Some(cell.seconds),
        CEILING => cell.floor,
        _ => {
            let mut peers = cell.peers.iter();
            peers.find(|peer| peer.name == name).map(|p| p.seconds)
        }
    };
    let point = |cell: &&Cell| Some((cell.case.shape.n as f64, cell.rate(seconds(cell)?)));
    cells.iter().filter_map(point).collect()
}

/// Writes the plots to `path` as SVG. Returns false if no plot has two points.
pub fn draw(
    path: &Path,
    title: &str,
    cells: &[Cell],
) -> Result<bool, Box<dyn Error + Send + Sync>> {
    let plots: Vec<_> = PLOTS
        .iter()
        .map(|plot| (plot, plot.cells(cells)))
        .filter(|(_, cells)| cells.len() > 1)
        .collect();
    if plots.is_empty() {
        return Ok(false);
    }
    let down = plots.len().div_ceil(ACROSS);
    let size = (PLOT.0 * ACROSS as u32, PLOT.1 * down as u32 + LEGEND);
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE)?;
    let (head, body) = root.split_vertically(LEGEND);
    let present: Vec<_> = LINES
        .into_iter()
        .filter(|(name, _)| {
            plots
                .iter()
                .any(|(_, cells)| !points(cells, name).is_empty())
        })
        .collect();
    legend(&head, title, &present)?;
    for ((plot, cells), area) in plots.iter().zip(body.split_evenly((down, ACROSS))) {
        draw_plot(&area, plot, cells, &present)?;
    }
    root.present()?;
    Ok(true)
}

fn legend(area: &Area<'_>, title: &str, lines: &[(&str, RGBColor)]) -> Drawn {
    area.draw(&Text::new(
        title,
        (20, 10),
        (FONT, 18).into_font().color(&INK),
    ))?;
    let mut x = 20;
    for (name, color) in lines.iter().rev() {
        let sample = [(x, 48), (x + 18, 48)];
        area.draw(&PathElement::new(
            sample,
            color.stroke_width(width(name) + 1),
        ))?;
        let text = (FONT, 13).into_font().color(&INK);
        area.draw(&Text::new(*name, (x + 23, 41), text))?;
        x += 40 + 8 * name.len() as i32;
    }
    Ok(())
}

/// Formats a size; large ones in scientific notation.
fn short(n: f64) -> String {
    if n < 1e5 {
        format!("{n}")
    } else {
        format!("{n:e}")
    }
}

fn width(name: &str) -> u32 {
    if name == "Diptych" { 3 } else { 1 }
}

fn draw_plot(area: &Area<'_>, plot: &Plot, cells: &[&Cell], lines: &[(&str, RGBColor)]) -> Drawn {
    let all: Vec<_> = lines
        .iter()
        .flat_map(|(name, _)| points(cells, name))
        .collect();
    let fold = |of: fn(&(f64, f64)) -> f64, by: fn(f64, f64) -> f64| {
        all.iter().map(of).reduce(by).unwrap_or(1.0)
    };
    let (left, right) = (fold(|p| p.0, f64::min), fold(|p| p.0, f64::max));
    let (low, high) = (fold(|p| p.1, f64::min), fold(|p| p.1, f64::max));
    let mut builder = ChartBuilder::on(area);
    builder
        .margin(10)
        .margin_right(32)
        .caption(plot.title, (FONT, 15).into_font().color(&INK))
        .x_label_area_size(34)
        .y_label_area_size(54);
    let unit = cells[0].unit();
    let linear = left..right;
    let logarithmic = linear.clone().log_scale().base(plot.base.unwrap_or(2.0));
    /// A macro, because the kinds of axes have different types.
    macro_rules! chart {
        ($sizes:expr, $rates:expr) => {{
            let mut chart = builder.build_cartesian_2d($sizes, $rates)?;
            chart
                .configure_mesh()
                .light_line_style(TRANSPARENT)
                .bold_line_style(GRID)
                .axis_style(INK)
                .x_desc("n")
                .y_desc(unit)
                .y_labels(6)
                .x_label_formatter(&|n| short(*n))
                .y_label_formatter(&|rate| format!("{rate}"))
                .label_style((FONT, 12).into_font().color(&INK))
                .draw()?;
            for (name, color) in lines {
                let (points, style) = (points(cells, name), color.stroke_width(width(name)));
                if *name == CEILING {
                    chart.draw_series(DashedLineSeries::new(points, 6, 4, style))?;
                } else {
                    let dots = points
                        .iter()
                        .map(|&at| Circle::new(at, width(name) + 1, color.filled()));
                    chart.draw_series(dots)?;
                    chart.draw_series(LineSeries::new(points, style))?;
                }
            }
        }};
    }
    if plot.base.is_none() {
        chart!(linear, 0.0..1.1 * high);
    } else if plot.logarithmic {
        chart!(logarithmic, (0.9 * low..1.1 * high).log_scale());
    } else {
        chart!(logarithmic, 0.0..1.1 * high);
    }
    Ok(())
}
