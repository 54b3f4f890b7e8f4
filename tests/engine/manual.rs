//! The examples of `docs/engine.md` print what the page says.

#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[test]
fn the_examples_of_the_manual_are_true() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/engine.md")).unwrap();
    let mut compared = 0;
    let mut printed = Vec::new();
    for block in page.split("```").skip(1).step_by(2) {
        if let Some(commands) = block.strip_prefix("sh\n") {
            printed = values(&run(root, commands));
        } else if let Some(expected) = block.strip_prefix("json\n") {
            assert_eq!(printed, values(expected), "{expected}");
            compared += 1;
        }
    }
    assert_eq!(compared, 3);
}

fn run(root: &Path, commands: &str) -> String {
    let engine = Path::new(env!("CARGO_BIN_EXE_deckprobe-mcp"));
    let mut path = std::ffi::OsString::from(engine.parent().unwrap());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", commands])
        .current_dir(root)
        .env("PATH", path)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{commands}");
    String::from_utf8(output.stdout).unwrap()
}

/// The JSON values of a text, but for what a release or a clock changes.
fn values(text: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(text)
        .into_iter::<Value>()
        .map(|value| {
            let mut value = value.unwrap();
            value["tool_version"] = Value::Null;
            let message = &mut value["error"]["message"];
            if let Some((told, _)) = message
                .as_str()
                .and_then(|text| text.split_once("; spent "))
            {
                *message = told.into();
            }
            value
        })
        .collect()
}
