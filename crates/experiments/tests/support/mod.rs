//! Checks of reports, shared by the tests of all papers.

#![allow(dead_code)]

use experiments::Report;

/// Checks that these figures and tables are present, that none is empty, and that all can be written.
pub(crate) fn check<'i>(
    report: &Report,
    wanted: impl IntoIterator<Item = &'i str>,
) -> anyhow::Result<()> {
    let pictures = report.pictures.iter().map(|picture| picture.id);
    let tables = report.tables.iter().map(|table| table.id);
    let figures = report.figures.iter().map(|figure| figure.id);
    let ids: Vec<&str> = pictures.chain(tables).chain(figures).collect();
    for id in wanted {
        assert!(ids.contains(&id), "{id} is missing");
    }
    let directory = tempfile::tempdir()?;
    for table in &report.tables {
        let id = table.id;
        assert!(!table.rows.is_empty() && !table.title.is_empty(), "{id}");
        assert!(
            table.rows.iter().all(|row| row.len() == table.head.len()),
            "{id}"
        );
        let path = table.save(directory.path())?;
        let lines = std::fs::read_to_string(path)?.lines().count();
        assert_eq!(lines, table.rows.len() + 1, "{id}");
    }
    for figure in &report.figures {
        let id = figure.id;
        assert!(
            !figure.series.is_empty() && !figure.title.is_empty(),
            "{id}"
        );
        figure.save(directory.path())?;
    }
    Ok(())
}

/// The cells of a column of a table as numbers; None if a cell is not a number.
pub(crate) fn column(report: &Report, table: &str, name: &str) -> Vec<Option<f64>> {
    let table = report.tables.iter().find(|found| found.id == table);
    let table = table.expect(name);
    let place = table.head.iter().position(|head| head == name);
    let place = place.expect(name);
    let cells = table.rows.iter().map(|row| row[place].parse().ok());
    cells.collect()
}
