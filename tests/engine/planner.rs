//! The planner against a second one, written here from contract §6 and §7 and fed with the
//! contract's own tables: thousands of random requests, plan only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use deckprobe_mcp::engine::Session;
use serde_json::{Value, json};

use crate::harness::{container_for, json_of, record, run, shared};

/// Requests for each profile.
const ROUNDS: usize = 150;

#[test]
fn plans_are_the_contracts_for_any_request() {
    let Some(shared) = shared() else { return };
    let tables = shared.join("contract");
    let drivers = read(&tables.join("paths.json"));
    let mut planned = 0;
    let mut refused = 0;
    for entry in std::fs::read_dir(tables.join("targets")).unwrap() {
        let model = Model::new(&read(&entry.unwrap().path()), &drivers);
        if model.profile == "xlsb" {
            continue; // Answered like every workbook, which the original cannot.
        }
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15 ^ model.profile.len() as u64);
        for _ in 0..ROUNDS {
            let request = model.random_request(&mut dice);
            let expected = model.plan(&request);
            match &expected {
                Ok(_) => planned += 1,
                Err(_) => refused += 1,
            }
            assert_eq!(
                answer(&model.profile, &request),
                expected,
                "{}: {}",
                model.profile,
                request.argv().join(" ")
            );
        }
    }
    assert!(
        planned > refused / 2 && refused > 100,
        "{planned} {refused}"
    );
}

type Plan = Result<Value, String>;

/// What the engine says: the parts of its plan, or the code of its error.
fn answer(profile: &str, request: &Request) -> Plan {
    let mut engine = Session::new(request.argv()).unwrap();
    let (name, bytes) = container_for(profile);
    let mut out = Vec::new();
    let line = record(&name, &bytes).to_string();
    let status = engine.answer(line.as_bytes(), 1, &mut out).unwrap();
    let reply: Value = serde_json::from_slice(&out).unwrap();
    if let Some(code) = reply["error"]["code"].as_str() {
        return Err(code.to_owned());
    }
    assert_eq!((status, &reply["status"]), (0, &json!("ok")));
    assert_eq!(reply["driver"]["profile"], profile);
    let execution = &reply["execution"];
    let statuses: BTreeMap<_, _> = reply["results"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(id, entry)| (id.clone(), entry["status"].clone()))
        .collect();
    Ok(json!({
        "paths": execution["paths"],
        "cost": execution["estimated_cost"],
        "unresolved": execution["unresolved_targets"],
        "piggyback": execution.get("piggyback_targets").unwrap_or(&json!([])),
        "statuses": statuses,
    }))
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

const LEVELS: [&str; 3] = ["header", "metadata", "deep"];
const CONFIDENCES: [&str; 5] = ["none", "low", "medium", "high", "exact"];

fn rank(words: &[&str], word: &str) -> usize {
    words.iter().position(|known| *known == word).unwrap()
}

#[derive(Debug)]
struct Request {
    targets: Vec<String>,
    optional: Vec<String>,
    level: &'static str,
    confidence: &'static str,
    overrides: Vec<(String, &'static str)>,
    options: Vec<(String, String)>,
    no_piggyback: bool,
}

impl Request {
    fn argv(&self) -> Vec<String> {
        let mut argv = vec![
            "--plan-only".to_owned(),
            format!("--probe-level={}", self.level),
            format!("--minimum-confidence={}", self.confidence),
        ];
        argv.extend(self.targets.iter().map(|name| format!("-t{name}")));
        if !self.optional.is_empty() {
            argv.push(format!("--optional-targets={}", self.optional.join(" ,, ")));
        }
        argv.extend(self.overrides.iter().map(|(k, v)| format!("-C{k}={v}")));
        argv.extend(self.options.iter().map(|(k, v)| format!("-O{k}={v}")));
        argv.extend(self.no_piggyback.then(|| "-N".to_owned()));
        argv
    }
}

struct ModelPath {
    id: String,
    level: usize,
    confidence: usize,
    cost: u64,
    targets: BTreeSet<String>,
    /// Option key and the values with which the path exists.
    when: Option<(String, Vec<String>)>,
}

/// One profile as the contract's tables have it.
struct Model {
    profile: String,
    driver: String,
    /// Names that may be drawn: those of targets that we offer exactly where the contract does.
    drawable: Vec<String>,
    names: BTreeMap<String, String>,
    selectors: BTreeMap<(String, String), BTreeSet<String>>,
    paths: Vec<ModelPath>,
    options: BTreeMap<String, Vec<String>>,
}

impl Model {
    fn new(tables: &Value, drivers: &Value) -> Self {
        let profile = text(&tables["profile"]);
        let driver = text(&tables["driver"]);
        let mut names = BTreeMap::new();
        let mut drawable = Vec::new();
        let ours = discovery_of(&profile);
        for target in items(&tables["targets"]) {
            let id = text(&target["id"]);
            let own = items(&ours["targets"])
                .iter()
                .find(|own| own["id"] == target["id"]);
            let same = own.is_none_or(|own| own["supported_levels"] == target["supported_levels"]);
            let aliases = items(&target["aliases"]).iter().map(text);
            for name in aliases.chain([id.clone()]) {
                if same {
                    drawable.push(name.clone());
                }
                names.insert(name, id.clone());
            }
        }
        let mut selectors = BTreeMap::new();
        for (selector, levels) in tables["selector_expansions"].as_object().unwrap() {
            for (level, ids) in levels.as_object().unwrap() {
                let ids = items(ids).iter().map(text).collect();
                selectors.insert((selector.clone(), level.clone()), ids);
            }
        }
        let paths = items(&drivers[&driver])
            .iter()
            .filter(|path| {
                let not = path.get("not_profiles").map(items).unwrap_or_default();
                !not.iter().any(|name| *name == json!(profile))
            })
            .map(|path| ModelPath {
                id: text(&path["id"]),
                level: rank(&LEVELS, path["min_level"].as_str().unwrap()),
                confidence: rank(&CONFIDENCES, path["confidence"].as_str().unwrap()),
                cost: path["estimated_cost"].as_u64().unwrap(),
                targets: items(match path.get("targets_by_profile") {
                    Some(by_profile) => &by_profile[&profile],
                    None => &path["targets"],
                })
                .iter()
                .map(text)
                .collect(),
                when: path.get("when").map(|when| {
                    let values = items(&when["values"]).iter().map(text).collect();
                    (text(&when["option"]), values)
                }),
            })
            .collect();
        let options = items(&tables["format_options"])
            .iter()
            .map(|option| {
                let allowed = items(&option["allowed"]).iter().map(text).collect();
                (text(&option["key"]), allowed)
            })
            .collect();
        Self {
            profile,
            driver,
            drawable,
            names,
            selectors,
            paths,
            options,
        }
    }

    fn random_request(&self, dice: &mut Dice) -> Request {
        let level = *dice.pick(&LEVELS);
        let mut targets = Vec::new();
        for _ in 0..dice.below(7) {
            targets.push(self.random_name(level, dice));
        }
        let mut optional = Vec::new();
        for _ in 0..dice.below(4) {
            optional.push(self.random_name(level, dice));
        }
        let mut overrides = Vec::new();
        for _ in 0..dice.below(4).saturating_sub(1) {
            // Mostly of names that were asked for.
            let asked: Vec<&String> = targets
                .iter()
                .chain(&optional)
                .filter(|name| !name.starts_with('@'))
                .collect();
            let name = if asked.is_empty() || dice.below(8) == 0 {
                dice.pick(&self.drawable).clone()
            } else {
                (*dice.pick(&asked)).clone()
            };
            // Now and then by its other spelling.
            let spelled = if dice.below(2) == 0 {
                self.names.get(&name).cloned().unwrap_or(name)
            } else {
                name
            };
            overrides.push((spelled, *dice.pick(&CONFIDENCES[1..])));
        }
        let mut options = Vec::new();
        for _ in 0..dice.below(3) {
            let keys: Vec<_> = self.options.keys().collect();
            if keys.is_empty() || dice.below(16) == 0 {
                options.extend((dice.below(4) == 0).then(|| ("nonsense".into(), "x".into())));
                continue;
            }
            let key = (*dice.pick(&keys)).clone();
            let allowed = &self.options[&key];
            let value = match allowed.len() {
                0 => dice.below(10).to_string(),
                _ => dice.pick(allowed).clone(),
            };
            let short = key.rsplit('.').next().unwrap().to_owned();
            options.push((if dice.below(2) == 0 { key } else { short }, value));
        }
        Request {
            targets,
            optional,
            level,
            confidence: CONFIDENCES[1 + dice.below(4)],
            overrides,
            options,
            no_piggyback: dice.below(8) == 0,
        }
    }

    fn random_name(&self, level: &str, dice: &mut Dice) -> String {
        match dice.below(32) {
            0 => "nonsense".into(),
            1..=6 => {
                let selectors: Vec<_> = self.selectors.keys().map(|(name, _)| name).collect();
                let name = *dice.pick(&selectors);
                // Our own targets join `@all` at deep.
                if name == "@all" && level == "deep" {
                    "@default".into()
                } else {
                    name.clone()
                }
            }
            _ => dice.pick(&self.drawable).clone(),
        }
    }

    /// Contract §3 (order of checks), §6 and §7.
    fn plan(&self, request: &Request) -> Plan {
        let default = ["@default".to_owned()];
        let asked = if request.targets.is_empty() {
            &default
        } else {
            &request.targets[..]
        };
        let requested = self.expand(asked, request.level)?;
        if requested.is_empty() {
            return Err("INVALID_REQUEST".into());
        }
        let optional = self.expand(&request.optional, request.level)?;
        if !request.optional.is_empty() && optional.is_empty() {
            return Err("INVALID_REQUEST".into());
        }
        let optional: BTreeSet<_> = optional.difference(&requested).cloned().collect();
        let mut minima = BTreeMap::new();
        // One value a spelling, the last on the command line.
        let by_spelling: BTreeMap<_, _> = request.overrides.iter().cloned().collect();
        for (name, confidence) in by_spelling {
            let id = self.names.get(&name).ok_or("UNSUPPORTED_TARGET")?;
            if !requested.contains(id) && !optional.contains(id) {
                return Err("INVALID_REQUEST".into());
            }
            minima.insert(id.clone(), rank(&CONFIDENCES, confidence));
        }
        let floor = rank(&CONFIDENCES, request.confidence);
        let minimum = |id: &String| minima.get(id).copied().unwrap_or(floor);
        let options = self.options_of(request)?;
        let level = rank(&LEVELS, request.level);
        let usable: Vec<&ModelPath> = self
            .paths
            .iter()
            .filter(|path| path.level <= level)
            .filter(|path| {
                path.when.as_ref().is_none_or(|(key, values)| {
                    options.get(key).is_none_or(|value| values.contains(value))
                })
            })
            .collect();
        let mut uncovered = requested.clone();
        let mut chosen: Vec<&ModelPath> = Vec::new();
        let mut cost = 0;
        loop {
            let mut best: Option<(u64, usize, &str, &ModelPath, BTreeSet<String>)> = None;
            for path in &usable {
                let covered: BTreeSet<String> = path
                    .targets
                    .iter()
                    .filter(|id| uncovered.contains(*id) && path.confidence >= minimum(id))
                    .cloned()
                    .collect();
                if covered.is_empty() {
                    continue;
                }
                let price = path.cost / covered.len() as u64;
                let better = best.as_ref().is_none_or(|(p, c, id, ..)| {
                    (price, 9 - path.confidence, path.id.as_str()) < (*p, 9 - *c, *id)
                });
                if better {
                    best = Some((price, path.confidence, &path.id, path, covered));
                }
            }
            let Some((.., path, covered)) = best else {
                break;
            };
            chosen.push(path);
            cost += path.cost;
            uncovered.retain(|id| !covered.contains(id));
        }
        if chosen.is_empty() {
            return Err("UNSUPPORTED_TARGET".into());
        }
        let granted: BTreeSet<_> = optional
            .into_iter()
            .filter(|_| !request.no_piggyback)
            .filter(|id| {
                chosen
                    .iter()
                    .any(|path| path.targets.contains(id) && path.confidence >= minimum(id))
            })
            .collect();
        let statuses: BTreeMap<_, _> = requested
            .union(&granted)
            .map(|id| {
                let lost = uncovered.contains(id);
                (id, if lost { "unsupported" } else { "planned" })
            })
            .collect();
        let paths: Vec<_> = chosen.iter().map(|path| &path.id).collect();
        Ok(json!({
            "paths": paths,
            "cost": cost,
            "unresolved": uncovered,
            "piggyback": granted,
            "statuses": statuses,
        }))
    }

    fn expand(&self, names: &[String], level: &str) -> Result<BTreeSet<String>, String> {
        let mut set = BTreeSet::new();
        for name in names {
            if let Some(ids) = self.selectors.get(&(name.clone(), level.to_owned())) {
                set.extend(ids.iter().cloned());
            } else {
                set.insert(self.names.get(name).ok_or("UNSUPPORTED_TARGET")?.clone());
            }
        }
        Ok(set)
    }

    fn options_of(&self, request: &Request) -> Result<BTreeMap<String, String>, String> {
        let by_spelling: BTreeMap<_, _> = request.options.iter().cloned().collect();
        let mut options = BTreeMap::new();
        for (key, value) in by_spelling {
            let full = format!("{}.{key}", self.driver);
            let known = self
                .options
                .keys()
                .find(|known| **known == key || **known == full);
            options.insert(known.ok_or("INVALID_REQUEST")?.clone(), value);
        }
        Ok(options)
    }
}

/// What our engine says of a profile. Discovery does not name the encrypted package, which shares
/// its paths with the other compound files.
fn discovery_of(profile: &str) -> Value {
    let name = if profile == "encrypted-ooxml" {
        "doc"
    } else {
        profile
    };
    json_of(&run(&["targets", name], b""))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Repeatable chance (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }
}
