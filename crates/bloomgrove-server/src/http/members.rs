//! What is in the sets.

use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bloomgrove_client::api::{
    Estimate, EstimateQuery, ReconstructQuery, Reconstruction, Sample, SampleQuery,
};
use bloomgrove_http::budget::Charge;
use bloomgrove_http::extract::{Json, Reader};

use super::App;
use super::extract::Ready;
use super::problems::Problems;
use crate::Error;

/// Estimates how many items are in a combination of sets
#[utoipa::path(post, path = "/v1/estimate", tag = "queries", request_body = EstimateQuery,
    responses((status = 200, body = Estimate), Problems), security((), ("key" = [])))]
pub(super) async fn estimate(
    _: Reader,
    State(app): State<App>,
    Ready(coordinator): Ready,
    charge: Charge,
    Json(request): Json<EstimateQuery>,
) -> Result<Answer<Estimate>, Error> {
    let estimate = app.search(charge.clone(), move || {
        coordinator.estimate(&request, |bytes| charge.take(bytes))
    });
    Ok(Answer(estimate.await??))
}

/// Draws members of a combination of sets uniformly at random
#[utoipa::path(post, path = "/v1/sample", tag = "queries", request_body = SampleQuery,
    responses((status = 200, body = Sample), Problems), security((), ("key" = [])))]
pub(super) async fn sample(
    _: Reader,
    State(app): State<App>,
    Ready(coordinator): Ready,
    charge: Charge,
    Json(request): Json<SampleQuery>,
) -> Result<Response, Error> {
    let sample = app.search(charge.clone(), move || -> Result<_, Error> {
        let sample = coordinator.sample(&request, |bytes| charge.take(bytes))?;
        Ok(Answer(sample).into_response())
    });
    sample.await?
}

/// Lists all members of a combination of sets
#[utoipa::path(post, path = "/v1/reconstruct", tag = "queries", request_body = ReconstructQuery,
    responses((status = 200, body = Reconstruction), Problems), security((), ("key" = [])))]
pub(super) async fn reconstruct(
    _: Reader,
    State(app): State<App>,
    Ready(coordinator): Ready,
    charge: Charge,
    Json(request): Json<ReconstructQuery>,
) -> Result<Response, Error> {
    // Encoded there, too: a long list takes milliseconds to encode and to free.
    let members = app.search(charge.clone(), move || -> Result<_, Error> {
        let members = coordinator.reconstruct(&request, |bytes| charge.take(bytes))?;
        Ok(Answer(members).into_response())
    });
    members.await?
}
