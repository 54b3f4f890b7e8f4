//! Confinement on Linux: no new privileges, no capabilities, a Landlock rule set, a seccomp filter.
//!
//! An engine reads documents and writes replies. Everything else is refused: writing to any file,
//! opening a socket, starting a process, signalling or tracing others. Landlock works by objects and
//! decides which files may be read; the filter of system calls covers what Landlock cannot see.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::thread::CapabilitySet;

use super::super::launch_spec::{Applied, Confinement, Spec};
use super::seccomp;

/// What a dynamically linked engine reads before it starts: the loader and its libraries.
const LIBRARIES: [&str; 6] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/etc/ld.so.cache",
];

/// What language runtimes read: the process itself, processors, memory. All of it is optional.
const RUNTIME: [&str; 6] = [
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
    "/dev/null",
    "/dev/urandom",
];

/// Applies what the spec asks for to the current process, which must have one thread.
///
/// # Errors
/// With `require`, what could not be applied.
pub(super) fn apply(spec: &Spec) -> Result<Applied, String> {
    let mut applied = Applied {
        landlock: "off".to_owned(),
        ..Applied::default()
    };
    if !spec.confined() {
        return Ok(applied);
    }
    let mut missing = Vec::new();
    match rustix::thread::set_no_new_privs(true) {
        Ok(()) => applied.no_new_privs = true,
        Err(error) => missing.push(format!("no_new_privs: {error}")),
    }
    // After no_new_privs, so that no `exec` can bring them back.
    if let Err(error) = drop_capabilities() {
        missing.push(format!("capabilities: {error}"));
    }
    match restrict_files(spec) {
        Ok(status) => {
            applied.landlock = status.to_owned();
            if status == "off" {
                missing.push("landlock: this kernel does not offer it".to_owned());
            }
        }
        Err(error) => missing.push(format!("landlock: {error}")),
    }
    match seccomp::apply(spec) {
        Ok(()) => applied.seccomp = true,
        Err(error) => missing.push(format!("seccomp: {error}")),
    }
    if spec.sandbox == Confinement::Require && !missing.is_empty() {
        return Err(format!(
            "the sandbox is required (DECKPROBE_MCP_SANDBOX=require) and cannot be applied: {}",
            missing.join("; ")
        ));
    }
    applied.missing = missing;
    Ok(applied)
}

fn restrict_files(spec: &Spec) -> Result<&'static str, landlock::RulesetError> {
    let abi = ABI::V6;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let run = read | AccessFs::Execute;
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))?
        .handle_access(AccessNet::from_all(abi))?
        .scope(Scope::from_all(abi))?
        .create()?;
    ruleset = ruleset.add_rules(path_beneath_rules(RUNTIME, read))?;
    ruleset = if spec.roots.is_empty() {
        ruleset.add_rules(path_beneath_rules(["/"], read))?
    } else {
        ruleset.add_rules(path_beneath_rules(&spec.roots, read))?
    };
    if let Some(program) = &spec.program {
        ruleset = ruleset
            .add_rules(path_beneath_rules([program], run))?
            .add_rules(path_beneath_rules(LIBRARIES, run))?;
    }
    if spec.script {
        // Its interpreter and the engine that it starts can be anywhere. It still cannot write.
        ruleset = ruleset.add_rules(path_beneath_rules(["/"], run))?;
    }
    Ok(match ruleset.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced => "full",
        RulesetStatus::PartiallyEnforced => "partial",
        RulesetStatus::NotEnforced => "off",
    })
}

/// Drops what root may do beyond reading files of others. Without this, a server that runs as root
/// would have children that may read any process, sandboxed or not.
fn drop_capabilities() -> Result<(), rustix::io::Errno> {
    let mut sets = rustix::thread::capabilities(None)?;
    let kept = sets.permitted & CapabilitySet::DAC_READ_SEARCH;
    sets.permitted = kept;
    sets.effective = kept;
    sets.inheritable = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, sets)
}
