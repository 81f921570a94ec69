use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

use super::*;
use crate::identity::Identity;
use crate::quic::Input;
use crate::quic::tests::options;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A listener that keeps what it has accepted. It ends without a word to anyone.
struct Listener {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl Listener {
    fn start(options: EndpointOptions, address: SocketAddr) -> Self {
        let (bound, is_bound) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let mut kept = Vec::new();
            runtime().block_on(async {
                let endpoint = Endpoint::bind(&options, address, true).unwrap();
                bound.send(endpoint.local_addr().unwrap()).unwrap();
                let (sender, mut accepted) = mpsc::channel(8);
                tokio::spawn(accept_for_ever(
                    endpoint,
                    Some(sender),
                    Arc::new(AtomicBool::new(false)),
                    Obstacles::default(),
                ));
                let keep = async {
                    while let Some(connection) = accepted.recv().await {
                        kept.push(connection);
                    }
                };
                tokio::select! {
                    _ = stopped => {}
                    () = keep => {}
                }
            });
        });
        Self { address: is_bound.recv().unwrap(), stop, thread }
    }

    fn end(self) {
        self.stop.send(()).unwrap();
        self.thread.join().unwrap();
    }
}

const ANY: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

/// Returns the next connection that works.
async fn next(connections: &mut mpsc::Receiver<Result<Connection, QuicError>>) -> Connection {
    let mut connection = connections.recv().await.unwrap().unwrap();
    while !matches!(connection.next(&mut [0; 8], b"hello").await.unwrap(), Input::Written(_)) {}
    connection
}

#[test]
fn a_stalled_connection_is_not_waited_for() {
    let [own, first, second]: [Identity; 3] = std::array::from_fn(|_| Identity::generate().unwrap());
    let listener = Listener::start(options(&first, &[&own]), ANY.into());
    let address = listener.address;
    let (sender, mut connections) = mpsc::channel(4);
    let silence_max = Arc::new(SilenceMax::new(Duration::from_secs(3600)));
    runtime().block_on(async {
        let dialler = options(&own, &[&first, &second]);
        tokio::spawn(dial_for_ever(
            Dialler::new(dialler, address.to_string(), Obstacles::default()),
            sender,
            Arc::clone(&silence_max),
        ));
        let old = next(&mut connections).await;
        assert_eq!(old.peer().key, first.public_key());
        // Another takes the address that knows nothing of the old one's connections.
        listener.end();
        let _other = Listener::start(options(&second, &[&own]), address);
        silence_max.set(Duration::from_millis(100));
        let new = next(&mut connections).await;
        assert_eq!(new.peer().key, second.public_key());
        assert!(!old.end().has_ended(), "the old connection was waited for");
    });
}

/// A way with one connection to give. It tells what is asked of it.
struct OneConnection {
    connection: Option<Connection>,
    asked: mpsc::UnboundedSender<&'static str>,
}

impl Find for OneConnection {
    async fn find(&mut self, _: Option<&End>) -> Result<Option<Connection>, QuicError> {
        self.asked.send("find").unwrap();
        match self.connection.take() {
            Some(connection) => Ok(Some(connection)),
            None => std::future::pending().await,
        }
    }

    async fn attend(&mut self) {
        self.asked.send("attend").unwrap();
        std::future::pending().await
    }
}

#[test]
fn a_program_that_says_goodbye_does_not_dial_again() {
    let [own, other]: [Identity; 2] = std::array::from_fn(|_| Identity::generate().unwrap());
    let listener = Listener::start(options(&other, &[&own]), ANY.into());
    runtime().block_on(async {
        let endpoint = Endpoint::bind(&options(&own, &[&other]), ANY.into(), false).unwrap();
        let connection = endpoint.dial(listener.address).await.unwrap();
        let (asked, mut asked_for) = mpsc::unbounded_channel();
        let (sender, mut connections) = mpsc::channel(4);
        let silence_max = Arc::new(SilenceMax::new(Duration::from_secs(3600)));
        let way = OneConnection { connection: Some(connection), asked };
        tokio::spawn(dial_for_ever(way, sender, silence_max));
        let connection = connections.recv().await.unwrap().unwrap();
        connections.close();
        connection.close(CloseCode::Done, "goodbye");
        for expected in ["find", "attend", "attend"] {
            assert_eq!(asked_for.recv().await, Some(expected));
        }
    });
}

#[test]
fn hundreds_of_connections_leave_nothing_behind() {
    let [own, other]: [Identity; 2] = std::array::from_fn(|_| Identity::generate().unwrap());
    let listener = Listener::start(options(&other, &[&own]), ANY.into());
    let address = listener.address;
    let sockets = Arc::new(Mutex::new(Sockets { options: options(&own, &[&other]), v4: None, v6: None }));
    runtime().block_on(async {
        for _ in 0..300 {
            let connection = attempt(Arc::clone(&sockets), address.to_string()).await.unwrap();
            connection.finish(b"hello", Duration::from_secs(60), CloseCode::Done, "next").await;
        }
        let endpoint = sockets.lock().unwrap().of(address).unwrap();
        while endpoint.open_connections() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
}

#[test]
fn who_is_turned_away_dials_at_most_once_a_second() {
    let mut pace = Pace::default();
    let long = 2 * LIFE_MIN;
    assert_eq!(pace.pause(long, 0), Duration::ZERO, "a connection that has worked is dialled anew at once");
    let pauses: Vec<_> = (0..5).map(|_| pace.pause(Duration::ZERO, 0).as_millis()).collect();
    assert_eq!(pauses, [250, 500, 1000, 1000, 1000]);
    assert_eq!(pace.pause(Duration::ZERO, 99).as_millis(), 1495, "not in step with others");
    assert_eq!(pace.pause(long, 0), Duration::ZERO);
    assert_eq!(pace.pause(Duration::ZERO, 0), PAUSE_MIN);
}

/// The machine that a dialler means is told from those that only say so.
#[test]
fn a_dialler_outlives_a_machine_with_another_key() {
    let [own, right, wrong]: [Identity; 3] = std::array::from_fn(|_| Identity::generate().unwrap());
    let listener = Listener::start(options(&wrong, &[&own]), ANY.into());
    let address = listener.address;
    let sockets = Arc::new(Mutex::new(Sockets { options: options(&own, &[&right]), v4: None, v6: None }));
    runtime().block_on(async {
        let error = attempt(Arc::clone(&sockets), address.to_string()).await.unwrap_err();
        assert_eq!(error, QuicError::KeyNotAllowed(wrong.public_key()));
        let (sender, mut connections) = mpsc::channel(4);
        let silence_max = Arc::new(SilenceMax::new(Duration::from_secs(3600)));
        tokio::spawn(dial_for_ever(
            Dialler::new(options(&own, &[&right]), address.to_string(), Obstacles::default()),
            sender,
            silence_max,
        ));
        tokio::time::sleep(RETRY).await;
        listener.end();
        let _right = Listener::start(options(&right, &[&own]), address);
        assert_eq!(next(&mut connections).await.peer().key, right.public_key());
    });
}

#[test]
fn a_listener_that_was_killed_and_runs_again_says_so() {
    let [own, other]: [Identity; 2] = std::array::from_fn(|_| Identity::generate().unwrap());
    let first = Listener::start(options(&other, &[&own]), ANY.into());
    let address = first.address;
    let sockets = Arc::new(Mutex::new(Sockets { options: options(&own, &[&other]), v4: None, v6: None }));
    runtime().block_on(async {
        let mut connection = attempt(sockets, address.to_string()).await.unwrap();
        while !matches!(connection.next(&mut [0; 8], b"hello").await.unwrap(), Input::Written(_)) {}
        first.end();
        let _second = Listener::start(options(&other, &[&own]), address);
        let end = loop {
            // Packets go while nothing is answered, as those of a sender do.
            connection.send_datagram(vec![0; 100]);
            let mut buffer = [0; 8];
            tokio::select! {
                input = connection.next(&mut buffer, b"") => if let Err(error) = input { break error },
                () = tokio::time::sleep(Duration::from_millis(30)) => {}
            }
        };
        assert_eq!(end, QuicError::Reset);
    });
}

/// Returns how many attempts begin in each minute with somebody who never answers.
fn attempts_each_minute(was_called: bool, minutes: u64) -> Vec<usize> {
    let begin = Instant::now();
    let eagerness = Eagerness::new(was_called, begin);
    let mut counts = vec![0; minutes as usize];
    // Four at once, each for two seconds.
    let least = Duration::from_secs(2) / ATTEMPTS_MAX as u32;
    let mut at = Duration::ZERO;
    while let Some(count) = counts.get_mut(at.as_secs() as usize / 60) {
        *count += 1;
        at += eagerness.pause(begin + at).unwrap_or(least);
    }
    counts
}

#[test]
fn whoever_never_answers_is_asked_more_and_more_rarely() {
    let stranger = attempts_each_minute(false, 30);
    assert_eq!(stranger[0], 120);
    assert!(stranger[1] < 15 && stranger[4..].iter().all(|count| *count <= 4), "{stranger:?}");
    // The line of a call that was on is back in a moment, for ten minutes.
    let friend = attempts_each_minute(true, 30);
    assert!(
        friend[..11].iter().all(|count| *count == 120) && friend[15..].iter().all(|count| *count <= 4),
        "{friend:?}"
    );
}

#[test]
fn the_network_of_now_is_no_change() {
    runtime().block_on(async {
        let now = own_addresses();
        assert!(tokio::time::timeout(3 * LOOK_AT_NETWORK, network_changed(&now)).await.is_err());
        network_changed(&[]).await;
    });
}
