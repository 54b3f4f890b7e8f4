//! Confinement on Linux: no new rights, a Landlock rule set, a seccomp filter.
//!
//! An engine reads documents and writes replies. Everything else is refused: writing to any file,
//! opening a socket, starting a process, signalling or tracing others. The filter lists what is
//! refused instead of what is allowed, since an external engine may use whatever its runtime needs;
//! Landlock, which works by objects, is the stricter of the two.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::thread::CapabilitySet;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::super::launcher::{Applied, Confinement, Spec};

/// What a dynamically linked engine reads before it begins: the loader and its libraries.
const LIBRARIES: [&str; 6] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/etc/ld.so.cache",
];

/// What language runtimes look at: the process itself, processors, memory. All of it is optional.
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
    // Only once no execution can bring them back.
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
    match filter_calls(spec) {
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
            .add_rules(path_beneath_rules([program.as_path()], run))?
            .add_rules(path_beneath_rules(LIBRARIES, run))?;
    }
    if spec.script {
        // Its interpreter and the engine behind it can be anywhere. It still cannot write.
        ruleset = ruleset.add_rules(path_beneath_rules(["/"], run))?;
    }
    Ok(match ruleset.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced => "full",
        RulesetStatus::PartiallyEnforced => "partial",
        RulesetStatus::NotEnforced => "off",
    })
}

/// Gives up what root may do beyond reading files of others. Without this, a server that runs as root
/// would have children that may look into any process, sandbox or not.
fn drop_capabilities() -> Result<(), rustix::io::Errno> {
    let mut sets = rustix::thread::capabilities(None)?;
    let kept = sets.permitted & CapabilitySet::DAC_READ_SEARCH;
    sets.permitted = kept;
    sets.effective = kept;
    sets.inheritable = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, sets)
}

fn filter_calls(spec: &Spec) -> Result<(), Box<dyn std::error::Error>> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let mut rules: Vec<(i64, Vec<SeccompRule>)> =
        ALWAYS.iter().map(|call| (*call, Vec::new())).collect();
    // The tie to the supervisor stays.
    rules.push((libc::SYS_prctl, vec![when_equal(0, 1)?]));
    if !spec.script {
        rules.extend(NO_PROCESSES.iter().map(|call| (*call, Vec::new())));
        // Threads are `clone` with CLONE_THREAD; anything else is a process.
        let thread = u64::from(libc::CLONE_THREAD.cast_unsigned());
        rules.push((libc::SYS_clone, vec![when_without(0, thread)?]));
        // Signals to itself only, as `abort` sends one.
        let own = u64::from(std::process::id());
        for call in [libc::SYS_kill, libc::SYS_tgkill] {
            rules.push((call, vec![when_not(0, own)?]));
        }
    }
    if spec.program.is_none() {
        rules.push((libc::SYS_execve, Vec::new()));
        rules.push((libc::SYS_execveat, Vec::new()));
    }
    // The C library reads "no such call" here and falls back to `clone`, whose flags can be seen.
    if !spec.script {
        let no_such_call = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
        install(vec![(libc::SYS_clone3, Vec::new())], no_such_call, arch)?;
    }
    install(rules, refused, arch)
}

fn install(
    rules: Vec<(i64, Vec<SeccompRule>)>,
    action: SeccompAction,
    arch: TargetArch,
) -> Result<(), Box<dyn std::error::Error>> {
    let rules = rules.into_iter().collect();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?;
    let program = BpfProgram::try_from(filter)?;
    Ok(seccompiler::apply_filter(&program)?)
}

type Rule = Result<SeccompRule, seccompiler::BackendError>;

fn when_equal(argument: u8, value: u64) -> Rule {
    rule(argument, SeccompCmpOp::Eq, value)
}

fn when_not(argument: u8, value: u64) -> Rule {
    rule(argument, SeccompCmpOp::Ne, value)
}

fn when_without(argument: u8, mask: u64) -> Rule {
    rule(argument, SeccompCmpOp::MaskedEq(mask), 0)
}

fn rule(argument: u8, op: SeccompCmpOp, value: u64) -> Rule {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)?;
    SeccompRule::new(vec![condition])
}

/// Refused in every engine.
const ALWAYS: &[i64] = &[
    // The network, also to this machine.
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    // Leaving the process group or the namespace.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_kcmp,
    // Ways round this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_memfd_create,
    // Keys, messages, the system.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mq_open,
    libc::SYS_shmget,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_reboot,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_acct,
    libc::SYS_quotactl,
    // Changing files. Landlock refuses most of this too, where the kernel has it.
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_renameat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
];

/// Refused unless the engine is a script, which has to start programs.
const NO_PROCESSES: &[i64] = &[
    libc::SYS_tkill,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];
