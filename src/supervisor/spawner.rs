//! The one thread that starts children.
//!
//! Linux ties the parent-death signal to the *thread* that forked: were children started from the
//! runtime's worker threads, the end of such a thread would kill them at random. This thread lives
//! as long as the process and does nothing else.
//!
//! A start for which the system has no thread, descriptor or memory just now is tried again for a short
//! time: what takes them may be this very process, for path checks that end soon.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::os;

/// How long a start waits for what the system has not got just now.
const SHORTAGE_WAIT: Duration = Duration::from_secs(3);
/// How often it is tried meanwhile.
const TRY_EVERY: Duration = Duration::from_millis(50);

struct Order {
    command: Command,
    runtime: Handle,
    done: oneshot::Sender<(Command, io::Result<Child>)>,
}

/// Orders go to the thread of the process; it is started with the first one. A failure to start it
/// is not remembered.
static ORDERS: Mutex<Option<mpsc::Sender<Order>>> = Mutex::new(None);

/// Starts a child on that thread; the current runtime watches it.
///
/// # Errors
/// Those of the system.
pub(super) async fn spawn(mut command: Command) -> io::Result<Child> {
    let give_up = Instant::now() + SHORTAGE_WAIT;
    loop {
        let started = match order(command).await {
            Ok((returned, started)) => {
                command = returned;
                started
            }
            // Not even the thread could be started.
            Err(error) => return Err(error),
        };
        match started {
            Err(error) if os::is_shortage(&error) && Instant::now() < give_up => {}
            started => return started,
        }
        sleep(TRY_EVERY).await;
    }
}

async fn order(command: Command) -> io::Result<(Command, io::Result<Child>)> {
    let (done, answer) = oneshot::channel();
    let order = Order {
        command,
        runtime: Handle::current(),
        done,
    };
    orders()?
        .send(order)
        .map_err(|_| io::Error::other("the thread that starts children is gone"))?;
    answer
        .await
        .map_err(|_| io::Error::other("starting the child panicked"))
}

fn orders() -> io::Result<mpsc::Sender<Order>> {
    let mut orders = ORDERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sender) = &*orders {
        return Ok(sender.clone());
    }
    let (sender, receiver) = mpsc::channel::<Order>();
    std::thread::Builder::new()
        .name("engine-spawner".into())
        .spawn(move || work(&receiver))?;
    *orders = Some(sender.clone());
    Ok(sender)
}

fn work(orders: &mpsc::Receiver<Order>) {
    // The sender lives in a static, so this ends with the process only.
    while let Ok(order) = orders.recv() {
        let Order {
            mut command,
            runtime,
            done,
        } = order;
        // A panic must not end the thread: it would take every child with it.
        let child = catch_unwind(AssertUnwindSafe(|| {
            let _entered = runtime.enter();
            command.spawn()
        }));
        if let Ok(child) = child {
            // A caller that is gone drops the child here, which kills it (`kill_on_drop`).
            let _ended = done.send((command, child));
        }
    }
}
