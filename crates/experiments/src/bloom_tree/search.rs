//! Figure 9: every configuration of two levels, and those that no other beats.

use anyhow::Result;

use super::setup::{Config, Rates, rates, small, standard};
use super::{Effort, claim, figure, table};
use crate::{Figure, Progress, Report, Stroke};

/// The paper's bounds C1 and C2, at rho_1 = 1.
const FIRST: std::ops::RangeInclusive<u32> = 2..=8;
const BITS: std::ops::RangeInclusive<u64> = 2..=8;
const HASHES: std::ops::RangeInclusive<u32> = 1..=4;

/// Trees that accept more absent keys than this are not drawn: they would fill half of the figure.
const MOST_RATE: f64 = 0.95;

/// One configuration with one of the two rates.
#[derive(Clone)]
struct Point {
    config: Config,
    rate: f64,
    /// Bits per item to send.
    coded: f64,
}

impl Point {
    /// The paper's third objective: the bits relative to a standard filter of this rate.
    fn score(&self) -> f64 {
        self.coded / standard(self.rate)
    }

    fn beats(&self, other: &Self) -> bool {
        let pairs = [
            (self.rate, other.rate),
            (self.coded, other.coded),
            (self.score(), other.score()),
        ];
        pairs.iter().all(|(own, others)| own <= others)
            && pairs.iter().any(|(own, others)| own < others)
    }
}

/// The points that no other beats, by rate.
fn front(points: &[Point]) -> Vec<Point> {
    let unbeaten = |point: &&Point| !points.iter().any(|other| other.beats(point));
    let mut front: Vec<Point> = points.iter().filter(unbeaten).cloned().collect();
    front.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    front
}

fn grid() -> Vec<Config> {
    let firsts = FIRST.flat_map(|first| BITS.map(move |bits| (first, bits)));
    let all = firsts.flat_map(|(first, bits)| HASHES.map(move |hashes| (first, bits, hashes)));
    all.map(|(first, bits, hashes)| Config::new(1.0, &[bits], &[first, hashes]))
        .collect()
}

pub(super) fn exhaustive(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let configs = grid();
    let mut measured: Vec<(Config, Rates)> = Vec::new();
    for config in configs {
        progress(&format!("figure 9: {config}"))?;
        let rates = rates(&config, effort.items, effort.items, effort)?;
        measured.push((config, rates));
    }
    let points = |rate: fn(&Rates) -> f64| -> Vec<Point> {
        let point = |(config, rates): &(Config, Rates)| Point {
            config: config.clone(),
            rate: rate(rates),
            coded: rates.coded / effort.items as f64,
        };
        measured.iter().map(point).collect()
    };
    let kinds = [
        ("geometric mean", points(|rates| rates.geometric)),
        ("real rate", points(|rates| rates.expected)),
    ];
    let x = ("rate", true);
    let mut sizes = figure("fig09a", x, ("bits per item to send", false));
    let mut scores = figure("fig09b", x, ("bits relative to a standard filter", false));
    let mut table = table(
        "fig09-front",
        &["objective", "d, rho, m, k", "rate", "W/n", "W/SBF"],
    );
    let mut claims = vec![claim(
        "fig09a",
        "configurations of d = 2",
        196.0,
        measured.len() as f64,
    )];
    for (color, (name, points)) in kinds.iter().enumerate() {
        draw(
            &mut sizes,
            &mut scores,
            &format!("all, {name}"),
            4 + color,
            Stroke::Points,
            points,
        );
        let front = front(points);
        draw(
            &mut sizes,
            &mut scores,
            &format!("front, {name}"),
            color,
            Stroke::Solid,
            &front,
        );
        for point in &front {
            table.rows.push(vec![
                (*name).to_owned(),
                point.config.to_string(),
                small(point.rate),
                format!("{:.3}", point.coded),
                format!("{:.3}", point.score()),
            ]);
        }
        let fine = points.iter().filter(|point| point.rate < 0.1);
        let least = fine.map(|point| point.coded).fold(f64::INFINITY, f64::min);
        let what = format!("bits per item for a rate below 0.1, {name} (less than)");
        claims.push(claim("fig09a", &what, 4.0, least));
        let best = front.iter().map(Point::score).fold(f64::INFINITY, f64::min);
        let what = format!("lowest W/SBF, {name} (less than)");
        claims.push(claim("fig09b", &what, 0.5, best));
    }
    claims.push(claim(
        "fig09a",
        "bits per item of an SBF of rate 0.1 (at least)",
        5.0,
        standard(0.1),
    ));
    Ok(Report {
        tables: vec![table],
        figures: vec![sizes, scores],
        claims,
        ..Report::default()
    })
}

fn draw(
    sizes: &mut Figure,
    scores: &mut Figure,
    name: &str,
    color: usize,
    stroke: Stroke,
    points: &[Point],
) {
    for point in points.iter().filter(|point| point.rate <= MOST_RATE) {
        sizes.draw(name, color, stroke, point.rate, point.coded);
        scores.draw(name, color, stroke, point.rate, point.score());
    }
}
