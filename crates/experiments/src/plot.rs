//! A figure as an SVG plot.

use anyhow::{Result, anyhow};
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;

use crate::figure::{Axis, Figure, Stroke, number};

const SIZE: (u32, u32) = (860, 440);
/// The legend is to the right of this, where it hides no curve.
const LEGEND: u32 = 650;
/// More powers of ten than this would be too close on an axis, so some have no line.
const MOST_POWERS: i32 = 12;
/// Distinguishable in print and by the color-blind (after Okabe and Ito).
const COLORS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(90, 90, 90),
];

pub(crate) fn svg(figure: &Figure) -> Result<String> {
    let mut svg = String::new();
    draw(figure, &mut svg).map_err(|error| anyhow!("{}: {error}", figure.id))?;
    Ok(svg)
}

/// The axis for plotters: logarithms are taken here, because its logarithmic axis is another type,
/// and there would be four kinds of charts.
fn scaled(axis: Axis, value: f64) -> f64 {
    if axis.log { value.log10() } else { value }
}

fn label(axis: Axis, value: f64) -> String {
    if !axis.log {
        return number((value * 1e4).round() / 1e4);
    }
    // Only powers of ten have labels; the lines between them have none.
    let whole = (value - value.round()).abs() < 1e-6;
    let power = 10f64.powi(value.round() as i32);
    match whole {
        true if power >= 1.0 => format!("{power:.0}"),
        true if value.round() >= -3.0 => format!("{power}"),
        true => format!("1e{:.0}", value.round()),
        false => String::new(),
    }
}

/// From zero, unless all values are above this share of the highest: then the lower part would be
/// empty. Whole powers of ten on a logarithmic axis.
fn range(axis: Axis, share: f64, values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let values = values.map(|value| scaled(axis, value));
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if axis.log {
        let high = high.ceil();
        low.floor().min(high - 1.0)..high + 0.05
    } else if low > share * high {
        let margin = (high - low).max(high * 0.01) * 0.06;
        low - margin..high + margin
    } else {
        0.0..high * 1.06
    }
}

/// A range whose ticks on a logarithmic axis are the powers of ten.
#[derive(Clone)]
struct Scale {
    axis: Axis,
    inner: plotters::coord::types::RangedCoordf64,
}

impl Ranged for Scale {
    type FormatOption = plotters::coord::ranged1d::NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.inner.map(value, limit)
    }

    fn key_points<Hint: plotters::coord::ranged1d::KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if !self.axis.log {
            return self.inner.key_points(hint);
        }
        let range = self.inner.range();
        // A range may end between two powers; the one beyond it is not on the chart.
        let (first, last) = (range.start.round() as i32, range.end.floor() as i32);
        let step = ((last - first) / MOST_POWERS + 1) as usize;
        let powers = (first..=last).rev().step_by(step);
        powers.map(f64::from).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.inner.range()
    }
}

impl ValueFormatter<f64> for Scale {
    fn format_ext(&self, value: &f64) -> String {
        label(self.axis, *value)
    }
}

type Failure = Box<dyn std::error::Error>;

fn draw(figure: &Figure, svg: &mut String) -> Result<(), Failure> {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    // A logarithmic axis has no zero.
    let shown = |point: &&(f64, f64)| {
        let on = |axis: Axis, value: f64| value.is_finite() && (!axis.log || value > 0.0);
        on(figure.x, point.0) && on(figure.y, point.1)
    };
    let points = || {
        let all = figure.series.iter().flat_map(|series| &series.points);
        all.filter(shown)
    };
    let scale = |axis: Axis, range: std::ops::Range<f64>| Scale {
        axis,
        inner: range.into(),
    };
    let mut x_range = range(figure.x, 0.4, points().map(|point| point.0));
    if figure.x.log {
        // Sizes that are not powers of ten need not extend to the next one.
        let values = points().map(|point| scaled(figure.x, point.0));
        x_range.end = values.fold(x_range.start, f64::max) + 0.05;
    }
    let y_range = range(figure.y, 0.7, points().map(|point| point.1));
    let (plot, legend) = area.split_horizontally(LEGEND);
    let mut chart = ChartBuilder::on(&plot)
        .caption(figure.title, ("sans-serif", 19))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(74)
        .build_cartesian_2d(scale(figure.x, x_range), scale(figure.y, y_range))?;
    chart
        .configure_mesh()
        .x_desc(figure.x.name)
        .y_desc(figure.y.name)
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(225, 228, 230))
        .axis_desc_style(("sans-serif", 15))
        .label_style(("sans-serif", 13))
        .draw()?;
    for (i, series) in figure.series.iter().enumerate() {
        let color = COLORS[series.color % COLORS.len()];
        let place = |&(x, y): &(f64, f64)| (scaled(figure.x, x), scaled(figure.y, y));
        let line = series.points.iter().filter(shown).map(place);
        let y = 56 + 22 * i as i32;
        let sample = [(4, y), (24, y)];
        let style = color.stroke_width(2);
        // Markers on a curve of many points would hide its stroke.
        let few = series.points.len() <= 40;
        match series.stroke {
            Stroke::Solid => {
                chart.draw_series(LineSeries::new(line.clone(), style))?;
                legend.draw(&PathElement::new(sample, color.stroke_width(3)))?;
            }
            Stroke::Dashed => {
                chart.draw_series(DashedLineSeries::new(line.clone(), 6, 4, style))?;
                legend.draw(&PathElement::new([sample[0], (12, y)], style))?;
                legend.draw(&PathElement::new([(17, y), sample[1]], style))?;
            }
            Stroke::Dotted => {
                chart.draw_series(DashedLineSeries::new(line.clone(), 2, 5, style))?;
                for x in [6, 14, 22] {
                    legend.draw(&Circle::new((x, y), 2, color.filled()))?;
                }
            }
            Stroke::Points => legend.draw(&Circle::new((14, y), 3, color.filled()))?,
        }
        let size = if few { 3 } else { 2 };
        let dot = |at| Circle::new(at, size, color.filled());
        if few || series.stroke == Stroke::Points {
            chart.draw_series(line.map(dot))?;
        }
        legend.draw(&Text::new(
            series.name.as_str(),
            (32, y - 6),
            ("sans-serif", 13),
        ))?;
    }
    area.present()?;
    Ok(())
}
