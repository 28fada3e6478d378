//! The sites of a federation: registering and listing them.

use axum::Json as Answer;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use bloomgrove_client::api::{Code, RegisterSite, Registered, SiteList, sets_of_site};
use bloomgrove_client::host_of;
use bloomgrove_http::extract::{Json, Reader, Who};
use http::StatusCode;

use super::App;
use super::extract::{Name, Ready};
use super::problems::Problems;
use crate::Error;

/// The site in a path, if the caller may change its sets; checked before any body is read.
pub(super) struct OwnSite(String);

impl<S: Send + Sync> FromRequestParts<S> for OwnSite {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let Name(name) = Name::from_request_parts(parts, state).await?;
        let Who(who) = Who::from_request_parts(parts, state).await?;
        who.may_write(&sets_of_site(&name))?;
        Ok(Self(name))
    }
}

/// Registers a site, or records its heartbeat
///
/// Requires an access key that may change the sets of the site, whose names start with `NAME/ids/`. The response contains
/// their versions.
#[utoipa::path(put, path = "/v1/sites/{name}", tag = "sites", params(("name" = String, Path, description = "The name of the site")),
    request_body = RegisterSite, responses((status = 200, body = Registered), Problems),
    security((), ("key" = [])))]
pub(super) async fn register_site(
    OwnSite(name): OwnSite,
    Who(who): Who,
    State(app): State<App>,
    Ready(coordinator): Ready,
    Json(site): Json<RegisterSite>,
) -> Result<Answer<Registered>, Error> {
    // An invalid URL is rejected by the coordinator.
    if let Ok(host) = host_of(&site.url) {
        let may_query = app.tracer().may_query(&host);
        may_query.map_err(|why| Error::new(Code::Forbidden, why))?;
    }
    let _room = coordinator.room_for_site(&name, who.prefix()).await?;
    Ok(Answer(coordinator.register(&name, site).await?))
}

/// Lists the sites by name
#[utoipa::path(get, path = "/v1/sites", tag = "sites",
    responses((status = 200, body = SiteList), Problems), security((), ("key" = [])))]
pub(super) async fn list_sites(
    _: Reader,
    State(app): State<App>,
    Ready(coordinator): Ready,
) -> Result<Answer<SiteList>, Error> {
    Ok(Answer(app.look(move || coordinator.sites()).await?))
}

/// Removes a site but keeps its sets
#[utoipa::path(delete, path = "/v1/sites/{name}", tag = "sites", params(("name" = String, Path, description = "The name of the site")),
    responses((status = 204), Problems), security((), ("key" = [])))]
pub(super) async fn remove_site(
    OwnSite(name): OwnSite,
    Ready(coordinator): Ready,
) -> Result<StatusCode, Error> {
    coordinator.forget_site(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}
