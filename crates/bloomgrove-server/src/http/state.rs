//! The server itself: its status, its map of all sets, its snapshots.

use axum::Json as Answer;
use axum::extract::State;
use bloomgrove_client::api::{Picture, Snapshot, Snapshots, Status};
use bloomgrove_http::budget::Charge;
use bloomgrove_http::extract::{QueryParams, Reader, Who};
use http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use super::App;
use super::extract::Ready;
use super::problems::Problems;
use crate::Error;
use crate::demo;

/// Returns the status of the server
#[utoipa::path(get, path = "/v1/status", tag = "server",
    responses((status = 200, body = Status), Problems), security((), ("key" = [])))]
pub(super) async fn status(
    _: Reader,
    State(app): State<App>,
    Ready(coordinator): Ready,
) -> Result<Answer<Status>, Error> {
    let mut status = app.look(move || coordinator.status()).await?;
    status.examples = app.examples().to_vec();
    if app.is_demo() {
        status.traces = demo::traces();
    }
    Ok(Answer(status))
}

/// The resolution of a picture.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PictureParams {
    /// Maximum number of cells; 2000 by default, at most 20000.
    cells: Option<usize>,
}

/// Returns a map of all sets, sorted by name; each cell gives the highest fill of its sets
#[utoipa::path(get, path = "/v1/picture", tag = "server", params(PictureParams),
    responses((status = 200, body = Picture), Problems), security((), ("key" = [])))]
pub(super) async fn picture(
    _: Reader,
    State(app): State<App>,
    Ready(coordinator): Ready,
    charge: Charge,
    QueryParams(query): QueryParams<PictureParams>,
) -> Result<Answer<Picture>, Error> {
    let picture = app.work(charge, move || coordinator.picture(query.cells));
    Ok(Answer(picture.await?))
}

/// Writes a snapshot to the data directory without interrupting service
#[utoipa::path(post, path = "/v1/snapshots", tag = "server",
    responses((status = 201, body = Snapshot), Problems), security((), ("key" = [])))]
pub(super) async fn make_snapshot(
    Who(who): Who,
    State(app): State<App>,
    Ready(coordinator): Ready,
) -> Result<(StatusCode, Answer<Snapshot>), Error> {
    who.may_administer()?;
    let snapshot = app.snapshot(move || coordinator.snapshot()).await??;
    Ok((StatusCode::CREATED, Answer(snapshot)))
}

/// Lists the snapshots
#[utoipa::path(get, path = "/v1/snapshots", tag = "server",
    responses((status = 200, body = Snapshots), Problems), security((), ("key" = [])))]
pub(super) async fn snapshots(
    Who(who): Who,
    Ready(coordinator): Ready,
) -> Result<Answer<Snapshots>, Error> {
    who.may_administer()?;
    Ok(Answer(coordinator.snapshots()))
}
