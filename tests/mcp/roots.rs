//! The allow-list, from outside.

use serde_json::json;

use crate::wire::{Desk, Server, binary};

#[cfg(unix)]
#[test]
fn only_what_really_stands_inside_is_probed() {
    use std::os::unix::fs::symlink;
    let (inside, outside) = (Desk::new(), Desk::new());
    let secret = outside.path("good.docx");
    symlink(&secret, inside.root().join("out.docx")).unwrap();
    symlink(
        outside.path("nothing.docx"),
        inside.root().join("dangling.docx"),
    )
    .unwrap();
    symlink(outside.root(), inside.root().join("door")).unwrap();
    symlink(inside.root(), outside.root().join("back")).unwrap();
    symlink(inside.path("good.docx"), inside.root().join("alias.docx")).unwrap();

    let mut server = Server::open(binary().env("DECKPROBE_MCP_ROOTS", inside.root()));
    for path in [
        inside.path("good.docx"),
        inside.path("alias.docx"),
        inside.path("door/back/page.pdf"),
    ] {
        let result = server.tool("probe", json!({"path": path}));
        assert_ne!(result["isError"], true, "{path}: {result}");
        let name = path.rsplit('/').next().unwrap();
        assert_eq!(result["structuredContent"]["input"]["display_name"], name);
    }
    let mut answers = std::collections::BTreeSet::new();
    for path in [
        secret.clone(),
        outside.path("nothing.docx"),
        inside.path("out.docx"),
        inside.path("dangling.docx"),
        inside.path("door/good.docx"),
        inside.path("door/nothing.docx"),
        inside.path("../nowhere"),
        "/etc/passwd".into(),
    ] {
        let (code, message) = server.refusal("probe", json!({"path": path}));
        assert_eq!(code, "MCP_PATH_OUTSIDE_ROOTS", "{path}");
        answers.insert(message.replace(&path, "PATH"));
    }
    assert_eq!(
        answers.len(),
        1,
        "existing and missing must look alike: {answers:?}"
    );

    let batch = server.tool(
        "probe_batch",
        json!({"paths": [inside.path("page.pdf"), secret]}),
    );
    let reports = &batch["structuredContent"]["reports"];
    assert_eq!(reports[0]["report"]["input"]["display_name"], "page.pdf");
    assert_eq!(
        reports[1]["report"]["error"]["code"],
        "MCP_PATH_OUTSIDE_ROOTS"
    );
    server.finish();
}

/// A link that is swapped between inside and outside as fast as possible never shows the outside.
#[cfg(unix)]
#[test]
fn a_link_swapped_between_check_and_use_never_leads_out() {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};
    let (inside, outside) = (Desk::new(), Desk::new());
    let good = inside.path("good.docx");
    let secret = outside.put("good.docx", &crate::common::documents::docx("SECRET"));
    let link = inside.root().join("link.docx");
    symlink(&good, &link).unwrap();
    let mut server = Server::open(binary().env("DECKPROBE_MCP_ROOTS", inside.root()));

    let running = AtomicBool::new(true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let next = inside.root().join("next.docx");
            let mut targets = [&good, &secret].into_iter().cycle();
            while running.load(Ordering::Relaxed) {
                symlink(targets.next().unwrap(), &next).unwrap();
                std::fs::rename(&next, &link).unwrap();
            }
        });
        let mut probed = 0;
        for _ in 0..200 {
            let result = server.tool("probe", json!({"path": link, "targets": ["title"]}));
            let text = result.to_string();
            assert!(!text.contains("SECRET"), "{text}");
            if result["isError"] == true {
                assert!(text.contains("MCP_PATH_OUTSIDE_ROOTS"), "{text}");
            } else {
                probed += 1;
            }
        }
        running.store(false, Ordering::Relaxed);
        assert!(probed > 0, "the link was never seen pointing inside");
    });
    server.finish();
}

#[test]
fn the_root_flag_is_a_root() {
    let (inside, outside) = (Desk::new(), Desk::new());
    let mut server = Server::open(binary().arg("--root").arg(inside.root()));
    let result = server.tool("probe", json!({"path": inside.path("good.docx")}));
    assert_ne!(result["isError"], true);
    let (code, _) = server.refusal("probe", json!({"path": outside.path("good.docx")}));
    assert_eq!(code, "MCP_PATH_OUTSIDE_ROOTS");
    server.finish();
}
