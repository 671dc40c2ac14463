//! Just enough HTTP to ask the control plane whether it is ready and to have etcd compact: one request, one answer, no client library.

use anyhow::{Context, Result, anyhow, bail};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct Request {
    pub port: u16,
    /// Plain without it.
    pub tls: Option<Arc<ClientConfig>>,
    pub token: Option<crate::secret::Secret>,
    pub method: &'static str,
    pub path: String,
    pub body: String,
}

impl Request {
    /// The body of a 200; anything else is an error that holds what was answered.
    pub async fn send(self) -> Result<String> {
        let what = format!("{} {} on port {}", self.method, self.path, self.port);
        let answer = tokio::task::spawn_blocking(move || self.exchange())
            .await
            .context("waiting for an answer")?;
        let answer = answer.with_context(|| what.clone())?;
        let (head, body) = answer
            .split_once("\r\n\r\n")
            .ok_or_else(|| anyhow!("{what}: the answer has no head"))?;
        match head.split_whitespace().nth(1) {
            Some("200") => Ok(body.to_owned()),
            _ => bail!("{what}: {} {body}", head.lines().next().unwrap_or_default()),
        }
    }

    fn exchange(&self) -> Result<String> {
        let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).context("connecting")?;
        socket.set_read_timeout(Some(TIMEOUT)).context("setting a time limit")?;
        socket
            .set_write_timeout(Some(TIMEOUT))
            .context("setting a time limit")?;
        match &self.tls {
            None => self.converse(socket),
            Some(config) => {
                let name = ServerName::try_from("localhost").context("naming the server")?;
                let connection = ClientConnection::new(Arc::clone(config), name).context("preparing TLS")?;
                self.converse(StreamOwned::new(connection, socket))
            }
        }
    }

    fn converse(&self, mut stream: impl Read + Write) -> Result<String> {
        // Version 1.0, so that the answer is not chunked and ends with the connection.
        let Self { method, path, body, .. } = self;
        let bearer = self
            .token
            .as_ref()
            .map(|token| format!("Authorization: Bearer {}\r\n", token.expose()));
        let (bearer, length) = (bearer.unwrap_or_default(), body.len());
        let request =
            format!("{method} {path} HTTP/1.0\r\nHost: localhost\r\n{bearer}Content-Length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).context("asking")?;
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Ok(_) => {}
            // A server that hangs up without TLS's farewell has still answered.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof && !answer.is_empty() => {}
            Err(error) => return Err(error).context("reading the answer"),
        }
        String::from_utf8(answer).context("reading the answer")
    }
}
