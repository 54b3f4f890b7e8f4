use super::*;

struct Tree {
    _dir: tempfile::TempDir,
    inside: PathBuf,
    outside: PathBuf,
}

impl Tree {
    /// `inside/a.pdf`, `inside/sub/`, `outside/secret.pdf`.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(dir.path()).unwrap();
        let (inside, outside) = (base.join("inside"), base.join("outside"));
        std::fs::create_dir_all(inside.join("sub")).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(inside.join("a.pdf"), b"%PDF-1.4").unwrap();
        std::fs::write(outside.join("secret.pdf"), b"%PDF-1.4").unwrap();
        Self {
            _dir: dir,
            inside,
            outside,
        }
    }

    async fn admit(&self, requested: impl AsRef<Path>) -> Result<Record, Envelope> {
        Access::new(vec![self.inside.clone()])
            .admit(requested.as_ref().to_str().unwrap())
            .await
    }

    async fn code(&self, requested: impl AsRef<Path>) -> Option<ErrorCode> {
        self.admit(requested)
            .await
            .err()
            .map(|refused| refused.code)
    }
}

#[tokio::test]
async fn an_ordinary_file_is_admitted_with_its_requested_name() {
    let tree = Tree::new();
    let record = tree.admit(tree.inside.join("sub/../a.pdf")).await.unwrap();
    assert_eq!(
        record.input(),
        &crate::contract::Input::Path {
            path: tree.inside.join("a.pdf").to_str().unwrap().into(),
            name: Some("a.pdf".into()),
        }
    );
}

#[tokio::test]
async fn what_cannot_be_a_path_is_refused_with_advice() {
    let access = Access::new(Vec::new());
    for (requested, advice) in [
        ("", "path is empty"),
        ("a\0b", "NUL"),
        ("file:///tmp/a.pdf", "plain local path"),
        ("FILE://localhost/a.pdf", "plain local path"),
    ] {
        let refused = access.admit(requested).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::McpInvalidArgument);
        assert!(refused.message.contains(advice), "{refused}");
    }
}

#[tokio::test]
async fn inside_the_roots_the_answer_gives_the_reason() {
    let tree = Tree::new();
    assert_eq!(
        tree.code(tree.inside.join("no.pdf")).await,
        Some(ErrorCode::McpPathNotFound)
    );
    assert_eq!(
        tree.code(tree.inside.join("a.pdf/b.pdf")).await,
        Some(ErrorCode::McpPathNotFound)
    );
    assert_eq!(
        tree.code(tree.inside.join("sub")).await,
        Some(ErrorCode::McpNotAFile)
    );
}

#[tokio::test]
async fn outside_the_roots_existing_and_missing_look_alike() {
    let tree = Tree::new();
    let outside = [
        tree.outside.join("secret.pdf"),
        tree.outside.join("missing.pdf"),
        tree.outside.clone(),
        tree.inside.join("../outside/secret.pdf"),
        tree.inside.join("../outside/missing.pdf"),
        // Would come back in if the directory existed; both must look alike.
        tree.outside.join("../inside/a.pdf"),
        tree.outside.join("missing/../../inside/a.pdf"),
    ];
    let mut messages = std::collections::BTreeSet::new();
    for path in &outside {
        let refused = tree.admit(path).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::McpPathOutsideRoots, "{path:?}");
        messages.insert(refused.message.replace(&format!("{path:?}"), "PATH"));
    }
    assert_eq!(messages.len(), 1, "{messages:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn symlinks_are_resolved_before_the_comparison() {
    use std::os::unix::fs::symlink;
    let tree = Tree::new();
    let link = |name: &str, to: &Path| symlink(to, tree.inside.join(name)).unwrap();
    link("out.pdf", &tree.outside.join("secret.pdf"));
    link("dangling.pdf", &tree.outside.join("missing.pdf"));
    link("door", &tree.outside);
    link("alias.docx", &tree.inside.join("a.pdf"));
    link("nothing.pdf", &tree.inside.join("nothing-there.pdf"));
    link("loop.pdf", &tree.inside.join("loop.pdf"));
    symlink(&tree.inside, tree.outside.join("back")).unwrap();

    for name in [
        "out.pdf",
        "dangling.pdf",
        "door/secret.pdf",
        "door/missing.pdf",
    ] {
        let code = tree.code(tree.inside.join(name)).await;
        assert_eq!(code, Some(ErrorCode::McpPathOutsideRoots), "{name}");
    }
    // Out and back in: the real path is inside.
    assert!(
        tree.admit(tree.inside.join("door/back/a.pdf"))
            .await
            .is_ok()
    );
    let alias = tree.admit(tree.inside.join("alias.docx")).await.unwrap();
    assert_eq!(alias.display_name(), Some("alias.docx"));
    assert_eq!(
        tree.code(tree.inside.join("nothing.pdf")).await,
        Some(ErrorCode::McpPathNotFound)
    );
    assert_eq!(
        tree.code(tree.inside.join("loop.pdf")).await,
        Some(ErrorCode::McpPathUnreadable)
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_swapped_after_the_check_has_no_effect() {
    use std::os::unix::fs::symlink;
    let tree = Tree::new();
    let link = tree.inside.join("doc.pdf");
    symlink(tree.inside.join("a.pdf"), &link).unwrap();
    let record = tree.admit(&link).await.unwrap();
    std::fs::remove_file(&link).unwrap();
    symlink(tree.outside.join("secret.pdf"), &link).unwrap();
    let crate::contract::Input::Path { path, .. } = record.input() else {
        panic!("a path was asked for")
    };
    assert_eq!(Path::new(path), tree.inside.join("a.pdf"));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_fifo_and_a_device_are_refused_without_being_opened() {
    let tree = Tree::new();
    let fifo = tree.inside.join("pipe.pdf");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert_eq!(tree.code(&fifo).await, Some(ErrorCode::McpNotAFile));
    let anywhere = Access::new(Vec::new());
    let refused = anywhere.admit("/dev/null").await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::McpNotAFile);
}

#[tokio::test]
async fn a_refusal_names_the_directories_that_may_be_read() {
    let tree = Tree::new();
    let refused = tree.admit("/etc/passwd").await.unwrap_err();
    assert!(
        refused.message.contains(tree.inside.to_str().unwrap()),
        "{refused}"
    );
}

#[tokio::test]
async fn a_relative_path_is_searched_for_in_each_root() {
    let tree = Tree::new();
    let other = tree.outside.clone();
    let access = Access::new(vec![other, tree.inside.clone()]);
    for (requested, found) in [("a.pdf", &tree.inside), ("secret.pdf", &tree.outside)] {
        let record = access.admit(requested).await.unwrap();
        let crate::contract::Input::Path { path, .. } = record.input() else {
            panic!("a path was requested")
        };
        assert_eq!(Path::new(path), found.join(requested));
    }
    let refused = access.admit("nowhere.pdf").await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::McpPathNotFound);
    let refused = access.admit("../elsewhere.pdf").await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::McpPathOutsideRoots);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_directory_that_is_not_utf_8_is_reached_by_a_link_that_is() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    let tree = Tree::new();
    let odd = tree.inside.join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("a.pdf"), b"%PDF-1.4").unwrap();
    let link = tree.outside.join("cafe");
    symlink(&odd, &link).unwrap();
    let access = Access::new(vec![odd]);
    assert!(
        access
            .admit(link.join("a.pdf").to_str().unwrap())
            .await
            .is_ok()
    );
    let refused = access.admit("a.pdf").await.unwrap_err();
    assert!(refused.message.contains("symbolic link"), "{refused}");
}
