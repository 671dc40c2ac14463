//! Recognising a call: which service, which operation, who signed it and for which region. The signature itself is not checked: the
//! sandbox has no secrets to protect and every client secret to forget.

use std::fmt;

use axum::http::request::Parts;
use serde_json::Value;

use super::elasticache::{self, Form};
use super::log::{Service, Subject};
use super::refusal::Refusal;
use super::ssm;
use super::xml::Xml;

/// The body of a request in the protocol of its service. It may hold secrets: `Debug` says only which protocol it is.
pub enum Body {
    Json(Value),
    Form(Form),
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json(_) => "Json(..)",
            Self::Form(_) => "Form(..)",
        })
    }
}

/// A call that the sandbox can answer.
#[derive(Debug)]
pub struct Recognised {
    pub service: Service,
    pub operation: String,
    /// Who signed and for which region; absent on an unsigned request.
    pub signer: Option<Signer>,
    pub subject: Subject,
    pub body: Body,
}

/// The public half of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    pub access_key: String,
    pub region: String,
}

pub fn recognise(parts: &Parts, body: &[u8]) -> Option<Recognised> {
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let signer = header("authorization").and_then(signer);
    if let Some(operation) = header("x-amz-target").and_then(|target| target.strip_prefix("AmazonSSM.")) {
        let input = serde_json::from_slice(body).unwrap_or(Value::Null);
        let subject = ssm::subject(&input);
        let operation = operation.to_owned();
        return Some(Recognised {
            service: Service::Ssm,
            operation,
            signer,
            subject,
            body: Body::Json(input),
        });
    }
    let form = Form::parse(body);
    let service = match form.get("Version")? {
        "2015-02-02" => Service::ElastiCache,
        "2011-06-15" => Service::Sts,
        _ => return None,
    };
    let operation = form.get("Action")?.to_owned();
    let subject = elasticache::subject(&form);
    Some(Recognised {
        service,
        operation,
        signer,
        subject,
        body: Body::Form(form),
    })
}

/// `AWS4-HMAC-SHA256 Credential=KEY/20260101/eu-west-1/ssm/aws4_request, SignedHeaders=…, Signature=…`
fn signer(authorization: &str) -> Option<Signer> {
    let scope = authorization.split_once("Credential=")?.1.split([',', ' ']).next()?;
    let mut part = scope.split('/');
    let (access_key, _date, region) = (part.next()?, part.next()?, part.next()?);
    Some(Signer {
        access_key: access_key.to_owned(),
        region: region.to_owned(),
    })
}

impl Body {
    /// Puts an answer into the envelope of its protocol.
    pub fn dress(&self, operation: &str, answer: &str, request_id: &str) -> String {
        match self {
            Self::Json(_) => answer.to_owned(),
            Self::Form(form) => {
                let namespace = match form.get("Version") {
                    Some("2011-06-15") => "https://sts.amazonaws.com/doc/2011-06-15/",
                    _ => elasticache::NAMESPACE,
                };
                format!(
                    "<{operation}Response xmlns=\"{namespace}\"><{operation}Result>{answer}</{operation}Result>\
                     <ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></{operation}Response>"
                )
            }
        }
    }

    pub fn refuse(&self, refusal: &Refusal, request_id: &str) -> String {
        match self {
            Self::Json(_) => serde_json::json!({"__type": refusal.code, "message": refusal.message}).to_string(),
            Self::Form(_) => {
                let mut xml = Xml::default();
                xml.nest("Error", |error| {
                    error.leaf("Type", if refusal.status < 500 { "Sender" } else { "Receiver" });
                    error.leaf("Code", &refusal.code);
                    error.leaf("Message", &refusal.message);
                });
                xml.leaf("RequestId", request_id);
                format!(
                    "<ErrorResponse xmlns=\"{}\">{}</ErrorResponse>",
                    elasticache::NAMESPACE,
                    xml.finish()
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_region_comes_from_the_credential_scope() {
        let header =
            "AWS4-HMAC-SHA256 Credential=AKIATEST/20261116/eu-west-1/ssm/aws4_request, SignedHeaders=host, Signature=0";
        let expected = Signer {
            access_key: "AKIATEST".to_owned(),
            region: "eu-west-1".to_owned(),
        };
        assert_eq!(signer(header), Some(expected));
        assert_eq!(signer("Bearer token"), None);
    }
}
