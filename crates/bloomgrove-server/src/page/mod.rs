//! The page at `/`: sets, a map of the index, a search box, live charts; traces across sites.
//!
//! Plain files without a build step that are part of the binary, so that nothing else is needed to serve them: no directory, no
//! internet. The page uses the API under `/v1` like any client. The page itself is open to everyone; the API is not.
//!
//! | file | purpose |
//! |---|---|
//! | `index.html`, `style.css` | the frame, light and dark, wide and narrow |
//! | `app.js` | combines the parts; address bar, keyboard, the form for the access key |
//! | `server.js` | sends requests to the server |
//! | `search.js` | which sets contain a key, and the cost |
//! | `picture.js` | all sets as cells |
//! | `sets.js`, `details.js` | the table of sets, and one set |
//! | `trace.js`, `graph.js` | where a document comes from, which sites report it and what the trace cost; its drawing |
//! | `drawing.js` | reads a drawing as data, not as markup |
//! | `sites.js` | the table of sites |
//! | `figures.js` | small charts of the last two minutes |
//! | `words.js` | formats numbers, creates elements from text |
//!
//! Names and tags come from others, so they only ever become text: the scripts never pass markup to the browser, and the
//! content security policy blocks anything that would slip through.

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, StatusCode};
use xxhash_rust::xxh3::xxh3_64;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The path, media type and text of each file.
const FILES: [(&str, &str, &str); 14] = [
    ("/", HTML, include_str!("index.html")),
    ("/style.css", CSS, include_str!("style.css")),
    ("/app.js", SCRIPT, include_str!("app.js")),
    ("/page/server.js", SCRIPT, include_str!("server.js")),
    ("/page/search.js", SCRIPT, include_str!("search.js")),
    ("/page/picture.js", SCRIPT, include_str!("picture.js")),
    ("/page/sets.js", SCRIPT, include_str!("sets.js")),
    ("/page/details.js", SCRIPT, include_str!("details.js")),
    ("/page/trace.js", SCRIPT, include_str!("trace.js")),
    ("/page/graph.js", SCRIPT, include_str!("graph.js")),
    ("/page/drawing.js", SCRIPT, include_str!("drawing.js")),
    ("/page/sites.js", SCRIPT, include_str!("sites.js")),
    ("/page/figures.js", SCRIPT, include_str!("figures.js")),
    ("/page/words.js", SCRIPT, include_str!("words.js")),
];

/// Whether this is the path of one of the page's files.
pub(crate) fn has(path: &str) -> bool {
    FILES.iter().any(|(own, ..)| *own == path)
}

/// Serves the page and its files.
pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES
        .into_iter()
        .fold(Router::new(), |router, (path, media_type, text)| {
            let tag = format!("\"{:016x}\"", xxh3_64(text.as_bytes()));
            let answer = move |headers: HeaderMap| {
                let answer = file(media_type, text, &tag, &headers);
                async move { answer }
            };
            router.route(path, get(answer))
        })
}

/// The file, or that the browser's copy is current: the browser checks every time, so that a new server is never used with an
/// old page.
fn file(media_type: &'static str, text: &'static str, tag: &str, request: &HeaderMap) -> Response {
    let headers = [
        (CONTENT_TYPE, media_type),
        (CACHE_CONTROL, "no-cache"),
        (ETAG, tag),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    let known = request.get_all(IF_NONE_MATCH).iter().any(|value| {
        let value = value.to_str().unwrap_or_default();
        let mut tags = value.split(',').map(|one| one.trim());
        tags.any(|one| one == "*" || one.trim_start_matches("W/") == tag)
    });
    match known {
        true => (StatusCode::NOT_MODIFIED, headers).into_response(),
        false => (headers, text).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::Request;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    use super::*;

    async fn get(path: &str, tag: Option<&str>) -> Response {
        let mut request = Request::get(path);
        if let Some(tag) = tag {
            request = request.header(IF_NONE_MATCH, tag);
        }
        let request = request.body(Body::empty()).unwrap();
        router::<()>().oneshot(request).await.unwrap()
    }

    async fn text(answer: Response) -> String {
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn every_file_comes_with_its_type_and_the_policy() {
        for (path, media_type, expected) in FILES {
            let answer = get(path, None).await;
            assert_eq!(answer.status(), StatusCode::OK, "{path}");
            assert_eq!(answer.headers()[CONTENT_TYPE], media_type, "{path}");
            assert_eq!(answer.headers()[X_CONTENT_TYPE_OPTIONS], "nosniff");
            let policy = answer.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
            assert!(policy.starts_with("default-src 'none'; script-src 'self';"));
            assert!(policy.ends_with("frame-ancestors 'none'"));
            assert!(!policy.contains("unsafe") && !policy.contains("  "));
            assert_eq!(text(answer).await, expected, "{path}");
        }
    }

    #[tokio::test]
    async fn a_file_the_browser_has_is_not_sent_again() {
        let tag = get("/app.js", None).await.headers()[ETAG].clone();
        let tag = tag.to_str().unwrap();
        for known in [
            tag.to_owned(),
            format!("W/{tag}"),
            format!("\"old\", {tag}"),
            "*".to_owned(),
        ] {
            let answer = get("/app.js", Some(&known)).await;
            assert_eq!(answer.status(), StatusCode::NOT_MODIFIED, "{known}");
            assert_eq!(answer.headers()[ETAG], tag);
            assert_eq!(text(answer).await, "");
        }
        let other = get("/style.css", Some(tag)).await;
        assert_eq!(other.status(), StatusCode::OK);
    }

    /// What the policy forbids would be silently dead in the browser; what it cannot see, such as
    /// text made into elements, must not be there at all.
    #[test]
    fn nothing_in_the_files_needs_more_than_the_policy_allows() {
        for (path, _, text) in FILES {
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "setHTML",
                "srcdoc",
                "DOMParser",
                "createContextualFragment",
                "document.write",
                "eval(",
                "new Function",
                "style=\"",
                "onclick=",
                "onload=",
                "http://",
                "https://",
            ] {
                // A namespace is a name, not an address that is fetched.
                let text = text.replace("http://www.w3.org/2000/svg", "");
                assert!(!text.contains(word), "{path} has {word}");
            }
        }
        let html = FILES[0].2;
        for (path, _, _) in &FILES[1..3] {
            assert!(html.contains(&format!("\"{path}\"")), "{path} is not used");
        }
    }
}
