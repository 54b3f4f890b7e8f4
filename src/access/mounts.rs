//! Which mount a path is on, without touching it.

use std::path::{Path, PathBuf};

/// The mount points of this system, or the roots where the system does not list them.
pub(super) struct Mounts(Vec<PathBuf>);

impl Mounts {
    pub(super) fn read(roots: &[PathBuf]) -> Self {
        let listed = std::fs::read("/proc/self/mountinfo").ok();
        let points = listed.map(|text| parse(&text));
        Self(points.unwrap_or_else(|| roots.to_vec()))
    }

    /// The mount that holds a path without links and dots. `/` if none is known.
    pub(super) fn of(&self, path: &Path) -> &Path {
        let holding = self.0.iter().filter(|mount| path.starts_with(mount));
        holding
            .max_by_key(|mount| mount.as_os_str().len())
            .map_or(Path::new("/"), PathBuf::as_path)
    }
}

/// The fifth field of each line (proc(5)); spaces and backslashes in it are octal escapes.
fn parse(text: &[u8]) -> Vec<PathBuf> {
    let lines = text.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4))
        .filter_map(|field| path_of(unescape(field)))
        .collect()
}

fn unescape(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        let digits = match after {
            [a, b, c, ..] if *first == b'\\' => std::str::from_utf8(&[*a, *b, *c])
                .ok()
                .and_then(|digits| u8::from_str_radix(digits, 8).ok()),
            _ => None,
        };
        let (byte, used) = digits.map_or((*first, 1), |byte| (byte, 4));
        out.push(byte);
        rest = rest.get(used..).unwrap_or_default();
    }
    out
}

#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Some(std::ffi::OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_mount_holds_a_path() {
        let text = b"22 1 8:1 / / rw - ext4 /dev/vda rw\n\
                     40 22 0:30 / /mnt/a\\040b rw - nfs4 host:/x rw\n\
                     41 40 0:31 / /mnt/a\\040b/in rw shared:1 - fuse x rw\n";
        let mounts = Mounts(parse(text));
        for (path, mount) in [
            ("/etc/passwd", "/"),
            ("/mnt/a b", "/mnt/a b"),
            ("/mnt/a bc", "/"),
            ("/mnt/a b/in/x.pdf", "/mnt/a b/in"),
        ] {
            assert_eq!(mounts.of(Path::new(path)), Path::new(mount), "{path}");
        }
    }
}
