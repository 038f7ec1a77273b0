//! The plot: loss and held-out accuracy over the epochs, and the confusion matrix.

use std::error::Error;
use std::path::Path;

use diptych_examples::data::CLASSES;
use diptych_examples::real::Number;
use diptych_examples::training::{Outcome, accuracy};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn Error>>;

const SIZE: (u32, u32) = (1120, 560);
const TITLE_HEIGHT: u32 = 50;
const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(40, 44, 52);
const GRID: RGBColor = RGBColor(226, 229, 234);
const BLUE_LINE: RGBColor = RGBColor(31, 104, 178);
const GREEN_LINE: RGBColor = RGBColor(30, 132, 73);
const RED: RGBColor = RGBColor(192, 57, 43);

/// Writes the plot to `path` as SVG.
pub fn draw<T: Number>(path: &Path, outcome: &Outcome<T>) -> Drawn {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (title, body) = root.split_vertically(TITLE_HEIGHT);
    let percent = 100.0 * accuracy(&outcome.confusion);
    let epochs = outcome.history.len();
    let text =
        format!("Handwritten digits: {percent:.1} % of held-out images after {epochs} epochs");
    title.draw(&Text::new(
        text,
        (20, 18),
        (FONT, 22).into_font().color(&INK),
    ))?;

    let (curves, confusion) = body.split_horizontally(590);
    let (loss_area, accuracy_area) = curves.split_vertically((SIZE.1 - TITLE_HEIGHT) / 2);
    let points = |value: fn(&diptych_examples::training::Epoch) -> f64| {
        outcome
            .history
            .iter()
            .map(|epoch| (epoch.number as f64, value(epoch)))
            .collect::<Vec<_>>()
    };
    let losses = points(|epoch| epoch.loss);
    let accuracies = points(|epoch| 100.0 * epoch.accuracy);
    let highest = losses
        .iter()
        .fold(0.0, |high, &(_, loss)| f64::max(high, loss));
    let lowest = accuracies
        .iter()
        .fold(100.0, |low, &(_, percent)| f64::min(low, percent));
    let floor = f64::min(90.0, 10.0 * (lowest / 10.0).floor());
    curve(
        &loss_area,
        "squared error per image",
        &losses,
        (0.0, 1.05 * highest),
        BLUE_LINE,
    )?;
    curve(
        &accuracy_area,
        "held-out accuracy, %",
        &accuracies,
        (floor, 100.0),
        GREEN_LINE,
    )?;
    matrix(&confusion, &outcome.confusion)?;
    root.present()?;
    Ok(())
}

fn curve(
    area: &Area<'_>,
    label: &str,
    points: &[(f64, f64)],
    range: (f64, f64),
    color: RGBColor,
) -> Drawn {
    let last = points.last().map_or(1.0, |&(epoch, _)| epoch);
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .margin_right(24)
        .x_label_area_size(42)
        .y_label_area_size(62)
        .build_cartesian_2d(0.0..last, range.0..range.1)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(INK)
        .x_desc("epoch")
        .y_desc(label)
        .x_labels(11.min(points.len() + 1))
        .y_labels(6)
        .x_label_formatter(&|epoch| format!("{epoch:.0}"))
        .y_label_formatter(&|value| short(*value))
        .label_style((FONT, 13).into_font().color(&INK))
        .axis_desc_style((FONT, 15).into_font().color(&INK))
        .draw()?;
    chart.draw_series(LineSeries::new(
        points.iter().copied(),
        color.stroke_width(2),
    ))?;
    if let Some(&(x, y)) = points.last() {
        chart.draw_series([Circle::new((x, y), 4, color.filled())])?;
    }
    Ok(())
}

fn short(value: f64) -> String {
    if value.abs() < 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// Draws the confusion matrix. Cells are shaded by their share of the row; the right answers are on the diagonal.
fn matrix(area: &Area<'_>, counts: &[[u32; CLASSES]; CLASSES]) -> Drawn {
    const CELL: i32 = 42;
    const LEFT: i32 = 66;
    const TOP: i32 = 34;
    let middle = Pos::new(HPos::Center, VPos::Center);
    let style = |size: i32, color: RGBColor| (FONT, size).into_font().color(&color).pos(middle);
    let center = |index: usize| CELL * index as i32 + CELL / 2;
    let side = CELL * CLASSES as i32;

    for (shown, row) in counts.iter().enumerate() {
        let total = row.iter().sum::<u32>().max(1);
        for (recognised, &count) in row.iter().enumerate() {
            let share = f64::from(count) / f64::from(total);
            let (x, y) = (LEFT + center(recognised), TOP + center(shown));
            let right = shown == recognised;
            let corners = [(x - CELL / 2, y - CELL / 2), (x + CELL / 2, y + CELL / 2)];
            let color = shade(if right { BLUE_LINE } else { RED }, share, right);
            area.draw(&Rectangle::new(corners, color.filled()))?;
            area.draw(&Rectangle::new(corners, GRID.stroke_width(1)))?;
            if count > 0 {
                let ink = if right && share > 0.5 { WHITE } else { INK };
                area.draw(&Text::new(count.to_string(), (x, y), style(15, ink)))?;
            }
        }
        let digit = shown.to_string();
        area.draw(&Text::new(
            digit.clone(),
            (LEFT - 16, TOP + center(shown)),
            style(15, INK),
        ))?;
        area.draw(&Text::new(
            digit,
            (LEFT + center(shown), TOP + side + 16),
            style(15, INK),
        ))?;
    }
    let halfway = side / 2;
    let below = (LEFT + halfway, TOP + side + 40);
    area.draw(&Text::new("digit recognised", below, style(15, INK)))?;
    let upright = (FONT, 15).into_font().transform(FontTransform::Rotate270);
    let beside = (LEFT - 44, TOP + halfway);
    area.draw(&Text::new(
        "digit shown",
        beside,
        upright.color(&INK).pos(middle),
    ))?;
    let above = (LEFT + halfway, TOP - 18);
    area.draw(&Text::new(
        "Held-out images, counted",
        above,
        style(16, INK),
    ))?;
    Ok(())
}

/// Returns a shade between white and `color` for a share from 0 to 1. Wrong answers are rare, so their shade rises four
/// times as fast.
fn shade(color: RGBColor, share: f64, right: bool) -> RGBColor {
    let strength = if right {
        share
    } else {
        f64::min(1.0, 4.0 * share)
    };
    let mix = |channel: u8| (255.0 + strength * (f64::from(channel) - 255.0)).round() as u8;
    RGBColor(mix(color.0), mix(color.1), mix(color.2))
}

#[cfg(test)]
mod tests {
    use diptych::Exec;
    use diptych_examples::data::Digits;
    use diptych_examples::training::{Options, train};

    /// One epoch of training is enough for a complete plot: both curves and all rows of the matrix.
    #[test]
    fn plot_is_complete() {
        let options = Options {
            epochs: 1,
            hidden: 4,
            ..Options::default()
        };
        let outcome = train(&Digits::<f32>::load(), &options, &Exec::new(), |_| ()).unwrap();
        let path = std::env::temp_dir().join(format!("diptych-digits-{}.svg", std::process::id()));
        super::draw(&path, &outcome).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(svg.trim_end().ends_with("</svg>"));
        for text in [
            "squared error per image",
            "held-out accuracy",
            "digit recognised",
            "digit shown",
        ] {
            assert!(svg.contains(text), "{text} is missing");
        }
    }
}
