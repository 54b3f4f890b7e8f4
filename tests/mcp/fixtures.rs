//! The documents under `fixtures/`: how they are made, and that the README's first command works.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::common::documents;
use crate::wire::{Server, binary};

/// Writes the fixtures anew: `cargo test --test mcp -- --ignored fixtures_are_written`.
#[test]
#[ignore = "writes into the source tree"]
fn fixtures_are_written() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    documents::write(
        &fixtures,
        "quarterly.docx",
        &documents::docx("Quarterly figures"),
    );
    documents::write(&fixtures, "page.pdf", &documents::pdf());
}

/// The worked example of `probe` in the README is what really comes out.
#[test]
fn the_worked_example_of_the_readme_is_true() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(home.join("README.md")).unwrap();
    let section = readme.split("### `probe`").nth(1).unwrap();
    let mut blocks = section
        .split("```json")
        .skip(1)
        .map(|block| block.split("```").next().unwrap());
    let arguments: Value = serde_json::from_str(blocks.next().unwrap()).unwrap();
    let mut expected: Value = serde_json::from_str(blocks.next().unwrap()).unwrap();
    let mut server = Server::open(binary().current_dir(home));
    let result = server.tool("probe", arguments);
    // A release changes the version, not the example.
    expected["tool_version"] = result["structuredContent"]["tool_version"].clone();
    assert_eq!(result["structuredContent"], expected);
    server.finish();
}

#[test]
fn the_first_command_of_the_readme_probes_a_real_document() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = binary()
        .current_dir(home)
        .stdin(std::fs::File::open(home.join("fixtures/session.jsonl")).unwrap())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success());
    let answers: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let probe = answers.iter().find(|answer| answer["id"] == 2).unwrap();
    let report = &probe["result"]["structuredContent"];
    assert_eq!(report["input"]["display_name"], "quarterly.docx");
    assert_eq!(report["driver"]["profile"], "docx");
}
