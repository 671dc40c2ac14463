//! A plan as text and as JSON, for people and for pipelines.

use std::fmt;

use serde_json::{Value, json};

use crate::observed::Layer;

use super::{Plan, Verdict};

impl Verdict {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InSync => "in sync",
            Self::Changing => "changing",
            Self::Waiting => "waiting",
            Self::Unknown => "unknown",
            Self::Wrong => "wrong",
        }
    }
}

impl Plan {
    /// Where a layer's steps happen, as a phrase.
    fn place(&self, layer: Layer) -> String {
        match (layer, &self.placement) {
            (Layer::Database, Some(placement)) => format!(" on {}", placement.database),
            (Layer::Cache, Some(placement)) => placement
                .cache
                .as_ref()
                .map_or(String::new(), |cache| format!(" on {cache}")),
            (Layer::Store, _) | (Layer::Database | Layer::Cache, None) => String::new(),
        }
    }

    /// The plan as a versioned JSON document.
    pub fn to_json(&self) -> Value {
        let steps: Vec<Value> = self
            .steps
            .iter()
            .map(|planned| {
                json!({
                    "layer": planned.step.layer().as_str(),
                    "text": format!("{}{}", planned.step, self.place(planned.step.layer())),
                    "because": planned.because,
                    "writes": planned.step.writes(),
                    "needs": planned.needs,
                    "detail": planned.step,
                })
            })
            .collect();
        let findings: Vec<Value> = self
            .findings
            .iter()
            .map(|finding| {
                json!({
                    "layer": finding.layer.as_str(),
                    "app": finding.app,
                    "reason": finding.failure.reason.as_str(),
                    "class": finding.failure.class.as_str(),
                    "message": finding.failure.message,
                })
            })
            .collect();
        let layers: serde_json::Map<String, Value> = Layer::ALL
            .iter()
            .map(|layer| (layer.as_str().into(), self.verdict(*layer).as_str().into()))
            .collect();
        let held: Vec<Value> = self
            .held
            .iter()
            .map(|step| {
                json!({
                    "layer": step.layer().as_str(),
                    "text": format!("{step}{}", self.place(step.layer())),
                    "detail": step,
                })
            })
            .collect();
        json!({"version": 1, "layers": layers, "steps": steps, "held": held, "findings": findings})
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for layer in Layer::ALL {
            writeln!(f, "{}: {}", layer.as_str(), self.verdict(layer).as_str())?;
        }
        for finding in &self.findings {
            let app = finding.app.as_ref().map_or(String::new(), |app| format!(" ({app})"));
            writeln!(f, "! {}{app}: {}", finding.failure.reason, finding.failure.message)?;
        }
        for step in &self.held {
            writeln!(f, " -. {step}{}: held back", self.place(step.layer()))?;
        }
        for (index, planned) in self.steps.iter().enumerate() {
            let place = self.place(planned.step.layer());
            writeln!(f, "{:>2}. {}{place}: {}", index + 1, planned.step, planned.because)?;
        }
        Ok(())
    }
}
