//! Two machines and a network of nodes on the loopback, right and hostile ones.

use common::path::ways::{Candidate, Kind, Role};
use nodes::Nodes;
use tokio::time::{Duration, Instant};

use super::*;
use crate::identity::Identity;
use crate::reach::proof::Secret;

fn addresses(seed: u64, side: u8) -> Vec<Candidate> {
    let [a, b, ..] = seed.to_le_bytes();
    vec![Candidate::new(Kind::ServerReflexive, ([203, a, b, side], 20_000).into()).unwrap()]
}

/// Waits until this is what was found last.
async fn find(dht: &mut Dht, wanted: &[Candidate]) {
    while dht.next().await.note.candidates != wanted {}
}

/// Two machines that know each other.
fn pair(network: &Nodes) -> [Dht; 2] {
    let [a, b] = std::array::from_fn(|_| Identity::generate().unwrap());
    [(&a, &b), (&b, &a)].map(|(own, other)| {
        let keys = ItemKeys::of_peers(own, &other.public_key()).unwrap();
        Dht::start(keys, network.entrances().to_vec(), Does { publishes: true, looks: true })
    })
}

/// Both find each other, both change their addresses at once while nodes come and go, and find each other again; returns the time of
/// that.
async fn meet_again(network: &mut Nodes, seed: u64, churn: usize) -> Duration {
    let [mut one, mut other] = pair(network);
    let [before, after] = [seed * 2, seed * 2 + 1].map(|n| [addresses(n, 1), addresses(n, 2)]);
    one.publish(before[0].clone());
    other.publish(before[1].clone());
    tokio::join!(find(&mut one, &before[1]), find(&mut other, &before[0]));
    network.churn(churn, seed as usize).unwrap();
    let begun = Instant::now();
    for (dht, own) in [(&one, &after[0]), (&other, &after[1])] {
        dht.publish(own.clone());
        dht.hurry();
    }
    tokio::join!(find(&mut one, &after[1]), find(&mut other, &after[0]));
    begun.elapsed()
}

fn on_a_runtime<T>(task: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(task)
}

#[test]
fn addresses_that_change_on_both_sides_at_once_are_found_among_hostile_nodes() {
    on_a_runtime(async {
        let mut network = Nodes::start(30, 1).await.unwrap();
        for seed in 0..3 {
            meet_again(&mut network, seed, 2).await;
        }
        assert!(network.asked() > 10, "the hostile ones were asked");
        assert!(answers(network.entrances()).await.unwrap() > 10);
    });
}

#[test]
fn a_joiner_leaves_its_addresses_for_whoever_made_the_ticket() {
    on_a_runtime(async {
        let network = Nodes::start(8, 0).await.unwrap();
        let start = |role, does| {
            Dht::start(ItemKeys::of_ticket(&Secret::new(&[5; 16]), role), network.entrances().to_vec(), does)
        };
        let mut invites = start(Role::Waits, Does { publishes: false, looks: true });
        let joins = start(Role::Dials, Does { publishes: true, looks: false });
        joins.publish(addresses(1, 1));
        find(&mut invites, &addresses(1, 1)).await;
    });
}

/// `make dht-seeds`: seeds on all processors, on a network of nodes for each of them.
#[test]
#[ignore = "a measurement: how long it takes depends on the machine"]
fn many_seeds_are_measured() {
    let number = |name: &str, usual: u64| std::env::var(name).ok().map_or(usual, |text| text.parse().unwrap());
    let seeds = number("SEEDS", 100);
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let jobs = number("JOBS", cores).clamp(1, seeds);
    let measure = |job: u64| {
        on_a_runtime(async {
            let mut network = Nodes::start(42, 1).await.unwrap();
            let mut times = Vec::new();
            for seed in (job..seeds).step_by(jobs as usize) {
                times.push(meet_again(&mut network, seed, 4).await.as_millis());
            }
            (times, network.asked())
        })
    };
    let measured: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs).map(|job| scope.spawn(move || measure(job))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut times: Vec<_> = measured.iter().flat_map(|(times, _)| times.clone()).collect();
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    println!("{seeds} seeds, {jobs} at once; ms to find both again: p50 {} p95 {} max {}", at(50), at(95), at(100));
    println!("hostile nodes were asked {} times", measured.iter().map(|(_, asked)| asked).sum::<u64>());
    assert!(at(95) <= 10_000, "{times:?}");
}
