//! The results of an experiment: curves, and single numbers compared with those of the paper.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bloomgrove::raw::format::WholeFile;

use crate::plot;

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// A line.
    Solid,
    /// A line with gaps.
    Dashed,
    /// A line of dots.
    Dotted,
    /// Points without a line: in any order, and with several for one x.
    Points,
}

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// The number of its color: curves of one color belong together.
    pub color: usize,
    /// How it is drawn.
    pub stroke: Stroke,
    /// Ascending in x. Curves of one figure need not share every x.
    pub points: Vec<(f64, f64)>,
}

/// What an axis shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Its label.
    pub name: &'static str,
    /// Whether it is logarithmic.
    pub log: bool,
}

/// A figure of a paper, reproduced.
#[derive(Clone, Debug)]
pub struct Figure {
    /// `fig05`: the name on the command line and of the files.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// What is varied.
    pub x: Axis,
    /// What is measured.
    pub y: Axis,
    /// The curves.
    pub series: Vec<Series>,
}

/// A number that the paper gives, and ours.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The figure it belongs to.
    pub figure: &'static str,
    /// What was measured.
    pub what: String,
    /// As published.
    pub paper: f64,
    /// As measured here.
    pub ours: f64,
}

/// A table of a paper, reproduced. Its cells are text and need not be numbers.
#[derive(Clone, Debug)]
pub struct Table {
    /// `table2`: the name on the command line and of the file.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The headings.
    pub head: Vec<String>,
    /// The rows, each as long as the headings.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Writes `<id>.csv` to the directory, and returns its path.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, directory: &Path) -> Result<PathBuf> {
        fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        let path = directory.join(format!("{}.csv", self.id));
        write_csv(&path, &self.head, &self.rows)?;
        Ok(path)
    }
}

/// A drawing of a paper, reproduced: nothing is measured.
#[derive(Clone, Debug)]
pub struct Picture {
    /// `fig01`: the name on the command line and of the file.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// For the terminal.
    pub text: String,
    /// For the documentation.
    pub svg: String,
}

impl Picture {
    /// Writes `<id>.svg` to the directory, and returns its path.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, directory: &Path) -> Result<PathBuf> {
        fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        let path = directory.join(format!("{}.svg", self.id));
        write_svg(&path, &self.svg)?;
        Ok(path)
    }
}

/// The results of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The drawings.
    pub pictures: Vec<Picture>,
    /// The tables.
    pub tables: Vec<Table>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// Numbers with a published counterpart.
    pub claims: Vec<Claim>,
}

impl Report {
    /// Keeps only the figures with these ids, and what belongs to them.
    pub fn keep(&mut self, ids: &[String]) {
        let wanted = |id: &str| ids.is_empty() || ids.iter().any(|wanted| wanted == id);
        self.pictures.retain(|picture| wanted(picture.id));
        self.tables.retain(|table| wanted(table.id));
        self.figures.retain(|figure| wanted(figure.id));
        self.claims.retain(|claim| wanted(claim.figure));
    }

    /// Appends another report.
    pub fn extend(&mut self, other: Self) {
        self.pictures.extend(other.pictures);
        self.tables.extend(other.tables);
        self.figures.extend(other.figures);
        self.claims.extend(other.claims);
    }
}

impl Figure {
    /// Adds a point to the curve with this name, which is created if necessary, solid and in the
    /// next color.
    pub fn add(&mut self, name: &str, x: f64, y: f64) {
        self.draw(name, self.series.len(), Stroke::Solid, x, y);
    }

    /// Adds a point to the curve with this name, which is created if necessary, with this style.
    pub fn draw(&mut self, name: &str, color: usize, stroke: Stroke, x: f64, y: f64) {
        match self.series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push((x, y)),
            None => self.series.push(Series {
                name: name.to_owned(),
                color,
                stroke,
                points: vec![(x, y)],
            }),
        }
    }

    /// The value of a curve at x, if it was measured there.
    pub fn value(&self, name: &str, x: f64) -> Option<f64> {
        let series = self.series.iter().find(|series| series.name == name)?;
        let point = series.points.iter().find(|point| point.0 == x)?;
        Some(point.1)
    }

    /// Every x at which something was measured, in ascending order.
    pub fn positions(&self) -> Vec<f64> {
        let points = self.series.iter().flat_map(|series| &series.points);
        let mut all: Vec<f64> = points.map(|point| point.0).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    }

    /// Headings and rows: x, then each curve; empty where nothing was measured.
    pub fn table(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let names = self.series.iter().map(|series| series.name.clone());
        let head = std::iter::once(self.x.name.to_owned()).chain(names);
        let row = |x: f64| {
            let cell = |series: &Series| match self.value(&series.name, x) {
                Some(value) => number(value),
                None => String::new(),
            };
            let cells = self.series.iter().map(cell);
            std::iter::once(number(x)).chain(cells).collect()
        };
        (
            head.collect(),
            self.positions().into_iter().map(row).collect(),
        )
    }

    /// Writes `<id>.csv` and `<id>.svg` to the directory, and returns both paths.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn save(&self, directory: &Path) -> Result<[PathBuf; 2]> {
        fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        let [table, picture] =
            ["csv", "svg"].map(|kind| directory.join(format!("{}.{kind}", self.id)));
        let (head, rows) = self.table();
        write_csv(&table, &head, &rows)?;
        write_svg(&picture, &plot::svg(self)?)?;
        Ok([table, picture])
    }
}

/// Both replace only files of their kind: a directory may have other files with the same names.
fn write_csv(path: &Path, head: &[String], rows: &[Vec<String>]) -> Result<()> {
    // The other columns are the curves, which need not be the same in every run.
    let first = head.first().cloned();
    let is_such = move |start: &[u8]| {
        let mut there = csv::Reader::from_reader(start);
        let head = there.headers();
        head.is_ok_and(|head| head.get(0) == first.as_deref())
    };
    let file = WholeFile::create(path, "a table of this figure", is_such)?;
    let mut writer = csv::Writer::from_writer(file);
    writer.write_record(head)?;
    for row in rows {
        writer.write_record(row)?;
    }
    let file = writer.into_inner().map_err(|error| error.into_error());
    file.with_context(|| path.display().to_string())?.finish()?;
    Ok(())
}

fn write_svg(path: &Path, svg: &str) -> Result<()> {
    let mut file = WholeFile::create(path, "an SVG picture", |start| start.starts_with(b"<svg "))?;
    file.write_all(svg.as_bytes())
        .with_context(|| path.display().to_string())?;
    file.finish()?;
    Ok(())
}

/// Integers without decimals, others with an appropriate number of digits.
pub(crate) fn number(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else if value.abs() >= 0.1 {
        format!("{value:.2}")
    } else if value.abs() >= 1e-4 {
        format!("{value:.6}")
    } else {
        format!("{value:.2e}")
    }
}
