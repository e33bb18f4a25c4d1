//! Ranks of a job of Open MPI on hosts of their own, over TCP. The job is started at the switch,
//! and its remote shell is `ip netns exec`.

use crate::Test;
use crate::hosts::{Network, address, command_in};
use crate::process::{Process, VARIABLE};
use crate::setting::Setting;
use crate::zenoh::{
    DOWN_NS, all_up, cut_under_frames, expect_silent, get_over_a_long_cut, lost_of, unnoticed,
};
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(crate) const TESTS: &[Test] = &[
    ("mpi_a_short_cut_loses_nothing", short_cut),
    ("mpi_a_long_cut_is_down_on_both_sides_and_up_again_when_it_heals", long_cut),
    ("mpi_a_host_that_dies_is_named_and_ends_the_job", dead_host),
];

/// The job's launcher, with what ranks are told and say in a folder of its own.
struct Job {
    mpiexec: Child,
    folder: PathBuf,
}

impl Job {
    /// Rank N on host N.
    fn start<const N: usize>(
        network: &Network,
        change: impl Fn(&mut Setting),
        options: &[&str],
    ) -> (Self, [Process; N]) {
        let folder = std::env::temp_dir().join(format!("actinium-netns-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let ranks = std::array::from_fn(|rank| rank_pipes(&folder, rank));
        let mut setting = Setting { mpi: true, ..Setting::new(0, N as u32, "", &[]) };
        change(&mut setting);
        let hosts: Vec<String> = (0..N as u32).map(|host| address(host) + ":1").collect();
        let mut command = command_in(&network.switch());
        command
            .args(["mpiexec", "--allow-run-as-root", "--bind-to", "none", "-x", VARIABLE])
            .args(["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "eth0"])
            .args(["--mca", "plm_rsh_agent", &shell(network, &folder)])
            .args(options)
            .args(["--host", &hosts.join(","), "-n", &N.to_string(), "sh", "-c"]);
        let me = std::env::current_exe().unwrap();
        let (me, pipes) = (me.display(), folder.display());
        let rank = "$OMPI_COMM_WORLD_RANK";
        command.arg(format!("exec '{me}' <'{pipes}'/told-{rank} >'{pipes}'/said-{rank}"));
        command.env(VARIABLE, setting.write()).stdin(Stdio::null());
        let said = File::create(folder.join("mpiexec")).unwrap();
        let mpiexec = command.stdout(said.try_clone().unwrap()).stderr(said).spawn().unwrap();
        (Job { mpiexec, folder }, ranks)
    }

    /// Its end: whether that was a good one, and what the launcher has said.
    fn end(mut self) -> (bool, String) {
        let status = self.mpiexec.wait().unwrap();
        let said = std::fs::read_to_string(self.folder.join("mpiexec")).unwrap();
        (status.success(), said)
    }

    /// All leave together.
    fn leave(self, mut ranks: impl AsMut<[Process]>) {
        for rank in ranks.as_mut() {
            rank.tell("leave");
        }
        for rank in ranks.as_mut() {
            rank.expect("left");
        }
        let (is_good, said) = self.end();
        assert!(is_good, "{said}");
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // It may have ended. What it has started ends with the hosts.
        let _ = self.mpiexec.kill();
        let _ = self.mpiexec.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A rank, which is told and heard through pipes with names: the launcher's own go over the cables
/// that are pulled.
fn rank_pipes(folder: &Path, rank: usize) -> Process {
    let [told, said] = ["told", "said"].map(|name| folder.join(format!("{name}-{rank}")));
    assert!(Command::new("mkfifo").args([&told, &said]).status().unwrap().success());
    // Opened for both, so that nobody needs to be there yet.
    let told = File::options().read(true).write(true).open(told).unwrap();
    Process::attach(format!("rank {rank}"), Box::new(told), || File::open(said).unwrap())
}

/// A remote shell: it reaches a host by its address, and gives it a name. If the host dies, it
/// notices nothing, as one over a network would not.
fn shell(network: &Network, folder: &Path) -> String {
    let path = folder.join("shell");
    let hosts: String =
        (0..10).map(|host| format!("{}) host={};;\n", address(host), network.host(host))).collect();
    let script = format!(
        "#!/bin/sh\ncase $1 in\n{hosts}esac\nshift\n\
         ip netns exec $host unshare --uts sh -c \"hostname $host; $*\"\n\
         code=$?\n[ $code -lt 128 ] || exec sleep infinity\nexit $code\n"
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn ready(ranks: &mut [Process]) {
    ranks.iter_mut().for_each(|rank| drop(rank.expect("ready")));
}

fn short_cut() {
    let network = Network::new(2).unwrap();
    let (job, mut ranks) = Job::start::<2>(&network, |_| {}, &[]);
    ready(&mut ranks);
    let [zero, one] = &mut ranks;
    let sent = cut_under_frames(&network, zero, one);
    network.heal(1);
    assert_eq!(lost_of(zero, one, sent), 0);
    unnoticed([zero, one]);
    job.leave(ranks);
}

fn short_patience(setting: &mut Setting) {
    setting.node.link.down_after_ns = DOWN_NS;
}

fn long_cut() {
    let network = Network::new(3).unwrap();
    let (job, mut ranks) = Job::start::<3>(&network, short_patience, &[]);
    ready(&mut ranks);
    let ranks = get_over_a_long_cut(&network, ranks);
    job.leave(ranks);
}

/// The links notice, and say which rank; then the launcher does, and says which host. That takes as
/// long as its connections' keep-alive.
fn dead_host() {
    let network = Network::new(3).unwrap();
    let keep_alive = |name: &'static str, value: &'static str| ["--mca", name, value];
    let options = [
        keep_alive("oob_tcp_keepalive_time", "15"),
        keep_alive("oob_tcp_keepalive_intvl", "2"),
        keep_alive("oob_tcp_keepalive_probes", "3"),
    ];
    let (job, mut ranks) = Job::start::<3>(&network, short_patience, options.as_flattened());
    ready(&mut ranks);
    let [zero, one, two] = &mut ranks;
    all_up([zero, one, two]);
    network.kill(1);
    expect_silent(zero, 1);
    expect_silent(two, 1);
    let (is_good, said) = job.end();
    assert!(!is_good, "{said}");
    assert!(said.contains("lost communication") && said.contains(&address(1)), "{said}");
}
