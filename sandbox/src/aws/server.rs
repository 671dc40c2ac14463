//! The wire: one HTTP server for all services. A call is recognised, entered in the log, struck by a fault or not, and answered; when the
//! fault says so the connection breaks instead.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::call::{Body as Asked, Recognised, recognise};
use super::fault::{Fault, RuleId};
use super::refusal::Refusal;
use super::{Shared, admin};

const LARGEST_REQUEST: usize = 1 << 20;

/// The answer is that there is none: whoever writes it to the socket must break the connection.
#[derive(Clone, Copy, Debug)]
struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the sandbox was told to break this connection")
    }
}

impl std::error::Error for Cut {}

/// Accepts connections until dropped; its connections end with it.
pub async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let router = Router::new()
        .nest("/_sandbox", admin::routes())
        .fallback(aws)
        .with_state(shared);
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let _ = stream.set_nodelay(true);
        let inner = TowerToHyperService::new(router.clone());
        connections.spawn(async move {
            let service = service_fn(|request| {
                let answer = inner.call(request);
                async move {
                    match answer.await {
                        Ok(response) if response.extensions().get::<Cut>().is_none() => Ok(response),
                        _ => Err(Cut),
                    }
                }
            });
            // A broken connection is the client's affair or our own doing: there is nothing to report.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn aws(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LARGEST_REQUEST).await else {
        return (
            StatusCode::PAYLOAD_TOO_LARGE,
            "the request is larger than the sandbox takes",
        )
            .into_response();
    };
    let Some(asked) = recognise(&parts, &body) else {
        return unknown(&parts);
    };
    answer(&shared, asked).await
}

fn unknown(parts: &Parts) -> Response {
    let message = format!(
        "{} {} is no call that the sandbox knows",
        parts.method,
        parts.uri.path()
    );
    (StatusCode::NOT_FOUND, message).into_response()
}

async fn answer(shared: &Shared, asked: Recognised) -> Response {
    let (seq, verdict) = shared.admit(&asked);
    let struck = match verdict {
        Ok(struck) => struck,
        Err(refusal) => return finish(shared, seq, &asked, Err(refusal)),
    };
    let Some((rule, fault)) = struck else {
        let applied = apply(shared, &asked).await;
        return finish(shared, seq, &asked, applied);
    };
    if let Some(refusal) = fault.refusal(asked.service) {
        return finish(shared, seq, &asked, Err(refusal));
    }
    match fault {
        Fault::Delay(delay) => {
            tokio::time::sleep(delay).await;
            let applied = apply(shared, &asked).await;
            finish(shared, seq, &asked, applied)
        }
        Fault::LostReply => {
            let applied = apply(shared, &asked).await;
            cut(shared, seq, &format!("lost-reply {}", outcome(&applied)))
        }
        Fault::HeldReply => {
            let applied = apply(shared, &asked).await;
            shared.note(seq, &format!("held-reply {}", outcome(&applied)));
            hang(shared, rule).await;
            cut_quietly()
        }
        Fault::Timeout => {
            shared.note(seq, "timeout");
            hang(shared, rule).await;
            cut_quietly()
        }
        Fault::LostRequest => cut(shared, seq, "lost-request"),
        Fault::Error { .. } | Fault::Throttle | Fault::AccessDenied => cut(shared, seq, "refused"),
    }
}

async fn apply(shared: &Shared, asked: &Recognised) -> Result<String, Refusal> {
    let applied = shared.apply(asked, Instant::now());
    shared.let_projection_catch_up(asked).await;
    applied
}

/// Waits until the rule that makes this call hang is cleared. A client that gives up ends it sooner, with its connection.
async fn hang(shared: &Shared, rule: RuleId) {
    let mut cleared = shared.cleared.subscribe();
    while shared.lock().faults.holds(rule) {
        if cleared.changed().await.is_err() {
            return;
        }
    }
}

fn outcome(applied: &Result<String, Refusal>) -> &str {
    applied.as_ref().map_or_else(|refusal| refusal.code.as_str(), |_| "ok")
}

fn finish(shared: &Shared, seq: u64, asked: &Recognised, applied: Result<String, Refusal>) -> Response {
    shared.note(seq, outcome(&applied));
    let request_id = format!("00000000-0000-4000-8000-{seq:012}");
    let (status, body) = match applied {
        Ok(body) => (200, asked.body.dress(&asked.operation, &body, &request_id)),
        Err(refusal) => (refusal.status, asked.body.refuse(&refusal, &request_id)),
    };
    let mut response = Response::new(Body::from(Bytes::from(body)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let content_type = match asked.body {
        Asked::Json(_) => "application/x-amz-json-1.1",
        Asked::Form(_) => "text/xml",
    };
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Ok(id) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert("x-amzn-requestid", id);
    }
    response
}

fn cut(shared: &Shared, seq: u64, outcome: &str) -> Response {
    shared.note(seq, outcome);
    cut_quietly()
}

fn cut_quietly() -> Response {
    let mut response = Response::new(Body::empty());
    response.extensions_mut().insert(Cut);
    response
}
