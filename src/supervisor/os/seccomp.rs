//! The system-call filters of a confined child.
//!
//! Our own engine makes few kinds of calls, and we know them all: it gets an allow-list. An external
//! engine may use whatever its runtime needs: it gets a list of refused calls. Both stop calls that
//! Landlock cannot see, such as those that change another process or the attributes of a file.

mod allowed;
mod refused;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::super::launch_spec::{SANDBOX_DEBUG, Spec};
use super::raw;

type Failure = Box<dyn std::error::Error>;
/// A call and the arguments that it is listed with; without rules, it is listed whatever they are.
type Entry = (i64, Vec<SeccompRule>);

/// The processes that an argument may name.
#[derive(Clone, Copy)]
struct Processes {
    own: u64,
    parent: u64,
}

/// Filters the calls of this process from now on.
///
/// # Errors
/// When the kernel or this architecture has no filters.
pub(super) fn apply(spec: &Spec) -> Result<(), Failure> {
    let processes = Processes {
        own: u64::from(std::process::id()),
        parent: u64::from(spec.parent),
    };
    refuse_x32()?;
    if spec.program.is_none() {
        return install(allowed::entries(processes)?, Listed::Allowed);
    }
    // Runtimes read "no such call" here and fall back to an older call, whose flags a filter can see.
    install(refused::unknown(spec.script), Listed::Unknown)?;
    install(refused::entries(processes, spec.script)?, Listed::Refused)
}

/// What a list means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listed {
    Allowed,
    Refused,
    Unknown,
}

fn install(entries: Vec<Entry>, listed: Listed) -> Result<(), Failure> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refuse = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let (others, matching) = match listed {
        Listed::Allowed => (refuse_and_report(refuse), SeccompAction::Allow),
        Listed::Refused => (SeccompAction::Allow, refuse),
        Listed::Unknown => {
            let unknown = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
            (SeccompAction::Allow, unknown)
        }
    };
    let filter = SeccompFilter::new(entries.into_iter().collect(), others, matching, arch)?;
    let program = BpfProgram::try_from(filter)?;
    Ok(seccompiler::apply_filter(&program)?)
}

/// For developers: each refused call is printed once, by number, and still refused.
fn refuse_and_report(refuse: SeccompAction) -> SeccompAction {
    if std::env::var_os(SANDBOX_DEBUG).is_some() && raw::report_refused_calls() {
        SeccompAction::Trap
    } else {
        refuse
    }
}

/// Refuses the second set of call numbers that some x86-64 kernels offer: no list here names them.
fn refuse_x32() -> Result<(), Failure> {
    if !cfg!(target_arch = "x86_64") {
        return Ok(());
    }
    const NUMBER_OFFSET: u32 = 0;
    const X32_BIT: u32 = 0x4000_0000;
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let at_least = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
    let step = |code: u32, jt, jf, k| {
        u16::try_from(code).map(|code| seccompiler::sock_filter { code, jt, jf, k })
    };
    let program = [
        step(load, 0, 0, NUMBER_OFFSET)?,
        step(at_least, 0, 1, X32_BIT)?,
        step(answer, 0, 0, refuse)?,
        step(answer, 0, 0, libc::SECCOMP_RET_ALLOW)?,
    ];
    Ok(seccompiler::apply_filter(&program)?)
}

type Rule = Result<SeccompRule, seccompiler::BackendError>;
/// An argument by its place, and what its lower 32 bits are compared with.
type Condition = (u8, SeccompCmpOp, u64);

fn equal(argument: u8, value: u64) -> Condition {
    (argument, SeccompCmpOp::Eq, value)
}

fn not(argument: u8, value: u64) -> Condition {
    (argument, SeccompCmpOp::Ne, value)
}

fn without(argument: u8, mask: u64) -> Condition {
    (argument, SeccompCmpOp::MaskedEq(mask), 0)
}

fn with(argument: u8, bit: u64) -> Condition {
    (argument, SeccompCmpOp::MaskedEq(bit), bit)
}

/// A rule that holds when all conditions do.
fn when(conditions: &[Condition]) -> Rule {
    let conditions = conditions.iter().map(|(argument, op, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, op.clone(), *value)
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

/// A call with rules of which one must hold.
fn any_of(call: i64, rules: &[&[Condition]]) -> Result<Entry, seccompiler::BackendError> {
    let rules = rules.iter().map(|conditions| when(conditions));
    Ok((call, rules.collect::<Result<_, _>>()?))
}

/// A flag or command of the system, as an argument.
fn value(flag: i32) -> u64 {
    u64::from(flag.cast_unsigned())
}

/// Flags of `open` that create or change a file.
const WRITE_FLAGS: [i32; 5] = [
    libc::O_WRONLY,
    libc::O_RDWR,
    libc::O_CREAT,
    libc::O_TRUNC,
    // O_TMPFILE without the bit that it shares with O_DIRECTORY.
    libc::O_TMPFILE & !libc::O_DIRECTORY,
];
