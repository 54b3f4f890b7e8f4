//! What a caller most likely meant with a target that was refused.

use serde::Deserialize;

use super::super::services::Services;
use super::super::text::nearest;
use crate::contract::{Level, ProbeOptions};
use crate::supervisor::Introspection;

#[derive(Deserialize)]
struct Report {
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    id: String,
    #[serde(default)]
    aliases: Vec<String>,
    min_level: String,
}

impl Target {
    fn is(&self, name: &str) -> bool {
        self.id == name || self.aliases.iter().any(|alias| alias == name)
    }
}

/// One sentence for each target that the format does not have, or has at a deeper level only. Empty when
/// there is nothing to say.
pub(super) async fn targets(services: &Services, format: &str, options: &ProbeOptions) -> String {
    let question = Introspection::Targets(format.to_owned());
    let Ok(report) = services.supervisor.introspect(&question).await else {
        return String::new();
    };
    let Ok(report) = serde_json::from_str::<Report>(&report) else {
        return String::new();
    };
    let asked = options.targets().iter();
    asked
        .filter(|name| !name.starts_with('@'))
        .filter_map(|name| advice(&report, name, options.level()))
        .collect()
}

fn advice(report: &Report, name: &str, level: Level) -> Option<String> {
    if let Some(target) = report.targets.iter().find(|target| target.is(name)) {
        let needed = target.min_level.parse::<Level>().ok()?;
        return (needed > level).then(|| format!("{name} needs level {:?}; ", target.min_level));
    }
    let known: Vec<&str> = report
        .targets
        .iter()
        .flat_map(|target| target.aliases.iter().chain([&target.id]))
        .map(String::as_str)
        .collect();
    nearest(name, &known).map(|meant| format!("did you mean `{meant}`? "))
}
