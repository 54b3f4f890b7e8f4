//! The SDK's own client against the real binary.

use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, ReadResourceRequestParams, ResourceContents};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};

use crate::wire::{Desk, binary};

async fn connect() -> RunningService<RoleClient, ()> {
    let command = tokio::process::Command::from(binary());
    let transport = TokioChildProcess::new(command).unwrap();
    ().serve(transport).await.unwrap()
}

fn call(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    let Value::Object(map) = arguments else {
        panic!("arguments are an object")
    };
    CallToolRequestParams::new(tool).with_arguments(map)
}

#[tokio::test]
async fn sdk_client_uses_every_tool_and_the_resources() {
    let desk = Desk::new();
    let client = connect().await;
    let info = client.peer_info().unwrap();
    assert_eq!(info.server_info.as_ref().unwrap().name, "deckprobe");
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools.len(), 4);
    let good = desk.path("good.docx");
    for (tool, arguments, key) in [
        ("probe", json!({"path": good}), "results"),
        ("probe_batch", json!({"paths": [good, good]}), "reports"),
        ("list_formats", json!({}), "formats"),
        ("list_targets", json!({"format": "docx"}), "targets"),
    ] {
        let result = client.call_tool(call(tool, arguments)).await.unwrap();
        assert_ne!(result.is_error, Some(true), "{tool}");
        let structured = result.structured_content.unwrap();
        assert!(
            structured[key].is_object() || structured[key].is_array(),
            "{tool}"
        );
    }
    let refused = client
        .call_tool(call("probe", json!({"path": good, "nope": 1})))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("nope"), "{refused}");

    let schema = client
        .read_resource(ReadResourceRequestParams::new("deckprobe://schema"))
        .await
        .unwrap();
    let ResourceContents::TextResourceContents { text, .. } = &schema.contents[0] else {
        panic!("the schema is text")
    };
    assert!(text.contains("schema_version"));
    tokio::time::timeout(Duration::from_secs(10), client.cancel())
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn concurrent_calls_each_get_their_own_answer() {
    let desk = Desk::new();
    let client = connect().await;
    let calls = (0..40).map(|at| {
        let name = format!("copy-{at}.docx");
        let path = desk.put(&name, &crate::common::documents::docx("x"));
        let client = &client;
        async move {
            let result = client
                .call_tool(call("probe", json!({"path": path, "targets": ["@header"]})))
                .await
                .unwrap();
            let shown = result.structured_content.unwrap();
            assert_eq!(shown["input"]["display_name"], name);
        }
    });
    futures_util::future::join_all(calls).await;
    client.cancel().await.unwrap();
}
