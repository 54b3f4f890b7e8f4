//! What the engine knows: extensions, and which targets each format has.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;

use crate::contract::ProbeOptions;
use crate::supervisor::{Introspection, Supervisor};

/// The formats of the engine, by extension.
pub(super) struct Catalogue {
    profiles: Vec<String>,
    targets: HashMap<String, Targets>,
}

#[derive(Deserialize)]
struct Formats {
    formats: Vec<Family>,
}

#[derive(Deserialize)]
struct Family {
    profiles: Vec<String>,
}

/// The targets of one format.
#[derive(Deserialize)]
struct Targets {
    targets: Vec<Target>,
    /// By selector and level.
    selector_expansions: HashMap<String, HashMap<String, Vec<String>>>,
}

#[derive(Deserialize)]
struct Target {
    id: String,
    aliases: Vec<String>,
}

impl Catalogue {
    /// Asks the engine; for the targets of all formats only if they are needed.
    pub(super) async fn load(supervisor: &Supervisor, with_targets: bool) -> Result<Self, String> {
        let formats: Formats = introspect(supervisor, &Introspection::Formats).await?;
        let profiles: Vec<String> = formats
            .formats
            .into_iter()
            .flat_map(|family| family.profiles)
            .collect();
        let mut targets = HashMap::new();
        for profile in profiles.iter().filter(|_| with_targets) {
            // A profile without a discovery name of its own is not an extension either.
            let question = Introspection::Targets(profile.clone());
            if let Ok(known) = introspect(supervisor, &question).await {
                targets.insert(profile.clone(), known);
            }
        }
        Ok(Self { profiles, targets })
    }

    pub(super) fn extensions(&self) -> HashSet<String> {
        self.profiles.iter().cloned().collect()
    }

    /// Refuses targets that no format has.
    pub(super) fn check(&self, options: &ProbeOptions) -> Result<(), String> {
        let is_unknown = |name: &&String| {
            !self
                .targets
                .values()
                .any(|targets| targets.has(name.as_str()))
        };
        match options.targets().iter().find(is_unknown) {
            Some(name) => Err(format!("targets: no format has {name:?}")),
            None => Ok(()),
        }
    }

    /// The options of the formats that have some of the targets and lack others.
    pub(super) fn narrowed(&self, options: &ProbeOptions) -> HashMap<String, Arc<ProbeOptions>> {
        let narrow = |(extension, targets): (&String, &Targets)| {
            let known = options.targets().iter().filter(|name| targets.has(name));
            let known: Vec<String> = known.cloned().collect();
            if known.is_empty() || known.len() == options.targets().len() {
                return None;
            }
            let narrowed = options.clone().with_targets(known).ok()?;
            Some((extension.clone(), Arc::new(narrowed)))
        };
        self.targets.iter().filter_map(narrow).collect()
    }

    /// The ids of everything that the options request from any format, sorted.
    pub(super) fn columns(&self, options: &ProbeOptions) -> Vec<String> {
        let default = ["@default".to_owned()];
        let names = match options.targets() {
            [] => &default[..],
            names => names,
        };
        let mut columns = BTreeSet::new();
        for targets in self.targets.values() {
            for name in names {
                columns.extend(targets.ids(name, options.level().as_str()));
            }
        }
        columns.into_iter().collect()
    }
}

impl Targets {
    fn has(&self, name: &str) -> bool {
        self.selector_expansions.contains_key(name) || self.find(name).is_some()
    }

    fn find(&self, name: &str) -> Option<&Target> {
        let mut targets = self.targets.iter();
        targets.find(|target| target.id == name || target.aliases.iter().any(|a| a == name))
    }

    fn ids(&self, name: &str, level: &str) -> Vec<String> {
        match self.selector_expansions.get(name) {
            Some(levels) => levels.get(level).cloned().unwrap_or_default(),
            None => self.find(name).map(|t| t.id.clone()).into_iter().collect(),
        }
    }
}

async fn introspect<T>(supervisor: &Supervisor, what: &Introspection) -> Result<T, String>
where
    T: for<'a> Deserialize<'a>,
{
    let text = supervisor.introspect(what).await;
    let text = text.map_err(|reply| format!("the engine does not answer: {}", reply.json()))?;
    serde_json::from_str(&text).map_err(|error| format!("the engine's catalogue: {error}"))
}
