//! The allow-list, seen by a client.

use serde_json::json;

use crate::wire::{Desk, Server, binary};

#[cfg(unix)]
#[test]
fn only_files_whose_real_path_is_inside_are_probed() {
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
        let _stop = Stop(&running);
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

/// A directory that is swapped with a link to another one, as fast as possible, while the sandbox is
/// off: the engine compares what it has opened with the roots, so nothing outside is read.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_swapped_between_check_and_use_never_leads_out_without_a_sandbox() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};
    let (inside, outside) = (Desk::new(), Desk::new());
    outside.put("good.docx", &crate::common::documents::docx("SECRET"));
    let (door, other) = (inside.root().join("door"), inside.root().join("other"));
    std::fs::create_dir(&door).unwrap();
    std::fs::copy(inside.path("good.docx"), door.join("good.docx")).unwrap();
    symlink(outside.root(), &other).unwrap();
    let file = door.join("good.docx");
    let mut command = binary();
    command.env("DECKPROBE_MCP_ROOTS", inside.root());
    command.env("DECKPROBE_MCP_SANDBOX", "off");
    let mut server = Server::open(&mut command);

    let running = AtomicBool::new(true);
    let (mut probed, mut caught) = (0, 0);
    std::thread::scope(|scope| {
        let _stop = Stop(&running);
        scope.spawn(|| {
            while running.load(Ordering::Relaxed) {
                renameat_with(CWD, &door, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        for _ in 0..1000 {
            let result = server.tool("probe", json!({"path": file, "targets": ["title"]}));
            let text = result.to_string();
            assert!(!text.contains("SECRET"), "{text}");
            probed += usize::from(result["isError"] != true);
            caught += usize::from(text.contains("SOURCE_IO"));
        }
    });
    eprintln!("{probed} probed inside, {caught} caught by the engine");
    assert!(probed > 0, "the directory was never seen inside");
    server.finish();
}

/// The same check, without a race.
#[cfg(unix)]
#[test]
fn the_engine_refuses_an_open_file_that_is_outside_its_roots() {
    let (inside, outside) = (Desk::new(), Desk::new());
    let link = inside.root().join("link.docx");
    std::os::unix::fs::symlink(outside.path("good.docx"), &link).unwrap();
    for (file, status) in [(inside.root().join("good.docx"), 0), (link, 2)] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_deckprobe-mcp"))
            .args(["engine", "--root"])
            .arg(inside.root())
            .arg(&file)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(status), "{file:?}: {text}");
    }
}

/// A file system whose server never answers: each access to it blocks.
#[cfg(target_os = "linux")]
struct DeadMount {
    at: std::path::PathBuf,
    _unanswered: std::fs::File,
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, clippy::print_stderr)]
impl DeadMount {
    /// `None`, with a message, where this user may not mount.
    fn new(at: std::path::PathBuf) -> Option<Self> {
        use std::os::fd::AsRawFd;
        use std::os::unix::ffi::OsStrExt;
        let device = std::fs::File::options()
            .read(true)
            .write(true)
            .open("/dev/fuse");
        let mounted = device.and_then(|device| {
            let options = format!(
                "fd={},rootmode=40000,user_id=0,group_id=0",
                device.as_raw_fd()
            );
            let options = std::ffi::CString::new(options).unwrap();
            let target = std::ffi::CString::new(at.as_os_str().as_bytes()).unwrap();
            let kind = c"fuse".as_ptr();
            // SAFETY: the strings outlive the call.
            let result =
                unsafe { libc::mount(kind, target.as_ptr(), kind, 0, options.as_ptr().cast()) };
            if result == 0 {
                Ok(device)
            } else {
                Err(std::io::Error::last_os_error())
            }
        });
        match mounted {
            Ok(device) => Some(Self {
                at,
                _unanswered: device,
            }),
            Err(error) => {
                eprintln!("SKIPPED: a dead mount needs root and /dev/fuse: {error}");
                None
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, clippy::print_stderr)]
impl Drop for DeadMount {
    fn drop(&mut self) {
        use std::os::unix::ffi::OsStrExt;
        let target = std::ffi::CString::new(self.at.as_os_str().as_bytes()).unwrap();
        // SAFETY: the string outlives the call. Closing the device then fails what still waits.
        unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
    }
}

/// A batch of paths on a dead mount, half of them through links elsewhere, does not stop others; the
/// mount is named.
#[cfg(target_os = "linux")]
#[test]
fn a_dead_mount_does_not_stop_probes_of_other_files() {
    let inside = Desk::new();
    let at = inside.root().join("dead");
    std::fs::create_dir(&at).unwrap();
    let mut paths: Vec<String> = (0..25)
        .map(|n| inside.path(&format!("dead/{n}.docx")))
        .collect();
    for n in 0..25 {
        let link = inside.root().join(format!("link-{n}.docx"));
        std::os::unix::fs::symlink(at.join("x.docx"), &link).unwrap();
        paths.push(crate::wire::text(&link));
    }
    paths.push(inside.path("good.docx"));
    let Some(_dead) = DeadMount::new(at) else {
        return;
    };
    let mut server = Server::open(binary().env("DECKPROBE_MCP_ROOTS", inside.root()));
    let batches = [0, 1].map(|_| server.ask_tool("probe_batch", json!({"paths": paths})));
    let single: Vec<_> = paths[..50]
        .iter()
        .map(|path| server.ask_tool("probe", json!({"path": path})))
        .collect();
    for _ in 0..20 {
        let result = server.tool("probe", json!({"path": inside.path("page.pdf")}));
        assert_ne!(result["isError"], true, "{result}");
    }
    for id in batches {
        let result = server.answer(id);
        let reports = result["result"]["structuredContent"]["reports"]
            .as_array()
            .unwrap();
        let (good, bad) = reports.split_last().unwrap();
        assert_ne!(good["report"]["status"], "error", "{good}");
        for report in bad {
            let error = &report["report"]["error"];
            assert_eq!(error["code"], "MCP_PATH_UNREADABLE", "{report}");
        }
        let last = bad.last().unwrap().to_string();
        assert!(last.contains("/dead did not answer"), "{last}");
    }
    for id in single {
        let answer = server.answer(id).to_string();
        assert!(answer.contains("MCP_PATH_UNREADABLE"), "{answer}");
    }
    server.finish();
}

/// A root whose name is not UTF-8 is served: by itself through a link, and beside another root.
#[cfg(target_os = "linux")]
#[test]
fn a_root_that_is_not_utf_8_works() {
    use std::os::unix::ffi::OsStrExt;
    let desk = Desk::new();
    let root = desk.root().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&root).unwrap();
    std::fs::copy(desk.path("good.docx"), root.join("good.docx")).unwrap();
    let link = desk.root().join("cafe");
    std::os::unix::fs::symlink(&root, &link).unwrap();
    let other = Desk::new();
    let mut roots = root.into_os_string();
    roots.push(":");
    roots.push(other.root());
    let mut server = Server::open(binary().env("DECKPROBE_MCP_ROOTS", roots));
    for path in [
        crate::wire::text(&link.join("good.docx")),
        other.path("good.docx"),
    ] {
        let result = server.tool("probe", json!({"path": path}));
        assert_ne!(result["isError"], true, "{result}");
    }
    let (code, _) = server.refusal("probe", json!({"path": desk.path("good.docx")}));
    assert_eq!(code, "MCP_PATH_OUTSIDE_ROOTS");
    server.finish();
}

/// Ends a thread of a test, also when the test fails.
#[cfg(unix)]
struct Stop<'a>(&'a std::sync::atomic::AtomicBool);

#[cfg(unix)]
impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(false, std::sync::atomic::Ordering::Relaxed);
    }
}
