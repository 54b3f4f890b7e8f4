//! The one thread that starts children.
//!
//! Linux ties the parent-death signal to the *thread* that forked: were children started from the
//! runtime's worker threads, the end of such a thread would kill them at random. This thread lives
//! as long as the process and does nothing else.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

struct Order {
    command: Command,
    runtime: Handle,
    done: oneshot::Sender<io::Result<Child>>,
}

/// Orders go to the thread of the process; it is started with the first one. A failure to start it
/// is not remembered.
static ORDERS: Mutex<Option<mpsc::Sender<Order>>> = Mutex::new(None);

/// Starts a child on the immortal thread, tended by the current runtime.
///
/// # Errors
/// Those of the system.
pub(super) async fn spawn(command: Command) -> io::Result<Child> {
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
        .unwrap_or_else(|_| Err(io::Error::other("starting the child panicked")))
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
            let _ended = done.send(child);
        }
    }
}
