//! Walks a path component by component, for paths that `realpath` cannot resolve or that climb.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};

/// Most symlinks that are followed in one path, as Linux has it.
const MAX_LINKS: usize = 40;

/// Where a path that does not exist would be: links are followed as far as they go, the rest is
/// appended as it is.
pub(super) fn would_be(path: &Path) -> PathBuf {
    walk(path, |_, _| ControlFlow::Continue(()))
}

/// Walks along a path and calls `before` with each place before it is touched. Ends where that says so.
pub(super) fn touch(path: &Path, mut before: impl FnMut(&Path) -> ControlFlow<()>) {
    walk(path, |at, step| match step {
        Step::Down(name) => before(&at.join(name)),
        Step::Root(_) | Step::Up => ControlFlow::Continue(()),
    });
}

/// Whether a `..` of the path is taken at a place that is neither inside a root nor above one. Such a
/// path may lead back inside, but only if the place exists, which an answer must not reveal.
pub(super) fn leaves_through_dots(path: &Path, roots: &[PathBuf]) -> bool {
    if !path.components().any(|part| part == Component::ParentDir) {
        return false;
    }
    let mut leaves = false;
    walk(path, |at, part| {
        let known = |root: &PathBuf| at.starts_with(root) || root.starts_with(at);
        leaves |= *part == Step::Up && !roots.iter().any(known);
        ControlFlow::Continue(())
    });
    leaves
}

#[derive(PartialEq, Eq)]
enum Step {
    Root(PathBuf),
    Up,
    Down(OsString),
}

fn walk(path: &Path, mut visit: impl FnMut(&Path, &Step) -> ControlFlow<()>) -> PathBuf {
    let mut at = PathBuf::new();
    let mut todo: VecDeque<Step> = steps(path).collect();
    if !path.has_root()
        && let Ok(here) = std::env::current_dir()
    {
        at = std::fs::canonicalize(&here).unwrap_or(here);
    }
    let mut links = 0;
    while let Some(step) = todo.pop_front() {
        if visit(&at, &step).is_break() {
            break;
        }
        match step {
            // In the spelling of real paths: Windows has another one for them.
            Step::Root(root) => at = std::fs::canonicalize(&root).unwrap_or(root),
            Step::Up => {
                at.pop();
            }
            Step::Down(name) => {
                let next = at.join(name);
                match std::fs::read_link(&next) {
                    Ok(target) if links < MAX_LINKS => {
                        links += 1;
                        for step in steps(&target).collect::<Vec<_>>().into_iter().rev() {
                            todo.push_front(step);
                        }
                    }
                    _ => at = next,
                }
            }
        }
    }
    at
}

fn steps(path: &Path) -> impl Iterator<Item = Step> {
    let mut prefix = PathBuf::new();
    path.components().filter_map(move |part| match part {
        Component::Prefix(drive) => {
            prefix.push(drive.as_os_str());
            None
        }
        Component::RootDir => {
            prefix.push(std::path::MAIN_SEPARATOR_STR);
            Some(Step::Root(prefix.clone()))
        }
        Component::CurDir => None,
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
    })
}
