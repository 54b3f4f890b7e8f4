//! No session is kept: any replica answers any request.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::http::{HttpServer, Request, exchange};
use crate::wire::{Desk, binary};

/// A plain round-robin proxy: the first connection goes to the first replica, the next to the next.
fn proxy(replicas: Vec<SocketAddr>) -> (SocketAddr, Arc<Vec<AtomicUsize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let served: Arc<Vec<AtomicUsize>> =
        Arc::new(replicas.iter().map(|_| AtomicUsize::new(0)).collect());
    let counters = Arc::clone(&served);
    std::thread::spawn(move || {
        for (turn, client) in listener.incoming().flatten().enumerate() {
            let at = turn % replicas.len();
            counters[at].fetch_add(1, Ordering::Relaxed);
            let replica = TcpStream::connect(replicas[at]).unwrap();
            for (mut from, mut to) in [
                (client.try_clone().unwrap(), replica.try_clone().unwrap()),
                (replica, client),
            ] {
                std::thread::spawn(move || {
                    let mut chunk = [0; 16 * 1024];
                    while let Ok(len @ 1..) = from.read(&mut chunk) {
                        if to.write_all(&chunk[..len]).is_err() {
                            break;
                        }
                    }
                    let _already_closed = to.shutdown(std::net::Shutdown::Write);
                });
            }
        }
    });
    (address, served)
}

#[test]
fn any_replica_answers_any_request() {
    let desk = Desk::new();
    let replicas = [
        HttpServer::start(&mut binary()),
        HttpServer::start(&mut binary()),
    ];
    let (address, served) = proxy(replicas.iter().map(|replica| replica.address).collect());
    let path = desk.path("good.docx");
    let ask = |request: Request| exchange(address, &request.bytes());

    // The handshake generation: each step lands on the other replica.
    let hello = ask(Request::message(
        &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "alternating", "version": "1"}}}),
    ));
    assert_eq!(hello.json()["result"]["serverInfo"]["name"], "deckprobe");
    assert!(!hello.head.to_ascii_lowercase().contains("mcp-session-id"));
    let ready = ask(Request::message(
        &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ));
    assert_eq!(ready.status, 202);
    for _ in 0..6 {
        let tools = ask(Request::rpc("tools/list", json!({}))).json();
        assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 4);
        let probe = ask(Request::tool(
            "probe",
            json!({"path": path, "targets": ["@header"]}),
        ));
        let report = &probe.json()["result"]["structuredContent"];
        assert_eq!(report["input"]["display_name"], "good.docx");
        // The stateless generation.
        let probe = ask(Request::modern(
            "tools/call",
            json!({"name": "probe", "arguments": {"path": path, "targets": ["@header"]}}),
        ));
        let report = &probe.json()["result"]["structuredContent"];
        assert_eq!(report["input"]["display_name"], "good.docx");
    }
    for replica in served.iter() {
        assert!(replica.load(Ordering::Relaxed) >= 9);
    }
}
