//! Hosts on this machine: network namespaces, each with one cable to a switch in a namespace of its
//! own. Cables are pulled and put back; a host's processes are killed all at once. All of it ends
//! with the test.

use std::process::Command;

/// The network's first three numbers. Nothing of it is seen outside the namespaces.
const NET: &str = "10.213.47";

/// Hosts at one switch.
pub(crate) struct Network {
    name: String,
    hosts: u32,
}

impl Network {
    /// So many hosts, all in touch.
    ///
    /// # Errors
    /// If namespaces are not permitted here, or `ip` is not there: why.
    pub(crate) fn new(hosts: u32) -> Result<Self, String> {
        let network = Network { name: format!("actinium-{}", std::process::id()), hosts };
        let switch = network.switch();
        ip(&["netns", "add", &switch])?;
        ip(&["-n", &switch, "link", "set", "lo", "up"])?;
        ip(&["-n", &switch, "link", "add", "switch", "type", "bridge"])?;
        // Also a host, in whose place a job is started.
        ip(&["-n", &switch, "address", "add", &format!("{NET}.254/24"), "dev", "switch"])?;
        ip(&["-n", &switch, "link", "set", "switch", "up"])?;
        for host in 0..hosts {
            network.plug_in(&switch, host)?;
        }
        Ok(network)
    }

    fn plug_in(&self, switch: &str, host: u32) -> Result<(), String> {
        let (name, port) = (self.host(host), port(host));
        ip(&["netns", "add", &name])?;
        ip(&["-n", &name, "link", "set", "lo", "up"])?;
        let mut cable = vec!["-n", switch, "link", "add", &port, "type", "veth"];
        cable.extend(["peer", "name", "eth0", "netns", &name]);
        ip(&cable)?;
        ip(&["-n", switch, "link", "set", &port, "master", "switch", "up"])?;
        let address = format!("{}/24", address(host));
        ip(&["-n", &name, "address", "add", &address, "dev", "eth0"])?;
        ip(&["-n", &name, "link", "set", "eth0", "up"])
    }

    /// The namespace of the switch.
    pub(crate) fn switch(&self) -> String {
        format!("{}-switch", self.name)
    }

    /// The namespace of a host.
    pub(crate) fn host(&self, host: u32) -> String {
        format!("{}-{host}", self.name)
    }

    /// Pulls a host's cable: what is sent goes nowhere, and nobody is told.
    pub(crate) fn cut(&self, host: u32) {
        ip(&["-n", &self.switch(), "link", "set", &port(host), "down"]).unwrap();
    }

    /// Puts it back.
    pub(crate) fn heal(&self, host: u32) {
        ip(&["-n", &self.switch(), "link", "set", &port(host), "up"]).unwrap();
    }

    /// A power cut: nobody hears anything of its processes' end.
    pub(crate) fn kill(&self, host: u32) {
        self.cut(host);
        kill_all(&self.host(host));
    }

    /// Makes a cable bad: so many packets in a hundred are lost, and the rest is late. What it has
    /// come to, one line for each; what this kernel can not do is skipped, with the reason.
    pub(crate) fn spoil(&self, host: u32, lost_percent: u32, late_ms: u32) -> Vec<String> {
        let name = self.host(host);
        let (loss, delay) = (format!("{lost_percent}%"), format!("{late_ms}ms"));
        let mut netem = Command::new("tc");
        netem.args(["-n", &name, "qdisc", "add", "dev", "eth0", "root", "netem"]);
        netem.args(["loss", &loss, "delay", &delay]);
        let Err(no_netem) = run(&mut netem) else {
            return vec![format!("host {host}: {loss} lost and {delay} late, by netem")];
        };
        // Dropped on its way out, the sender would be told.
        let drops = format!(
            "table inet bad {{\n chain in {{\n type filter hook input priority 0;\n \
             iifname eth0 numgen random mod 100 < {lost_percent} drop\n }}\n }}"
        );
        let lost = match run(command_in(&name).args(["nft", &drops])) {
            Ok(()) => format!("host {host}: {loss} lost, by nft"),
            Err(why) => format!("skipped: loss at host {host}: {why}"),
        };
        vec![lost, format!("skipped: delay at host {host}: {no_netem}")]
    }

    /// Segments that a host's TCP has sent more than once.
    pub(crate) fn segments_resent(&self, host: u32) -> u64 {
        let output = command_in(&self.host(host)).args(["cat", "/proc/net/snmp"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut tcp = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
        let (names, values) = (tcp.next().unwrap(), tcp.next().unwrap());
        let mut columns = names.split(' ').zip(values.split(' '));
        columns.find(|(name, _)| *name == "RetransSegs").unwrap().1.parse().unwrap()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // Some of it may not have been made.
        for name in (0..self.hosts).map(|host| self.host(host)).chain([self.switch()]) {
            kill_all(&name);
            let _ = ip(&["netns", "delete", &name]);
        }
    }
}

/// A host's address.
pub(crate) fn address(host: u32) -> String {
    format!("{NET}.{}", host + 1)
}

fn port(host: u32) -> String {
    format!("port{host}")
}

/// A command that runs in a namespace.
pub(crate) fn command_in(namespace: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]);
    command
}

/// Until none is left: some start others while they are killed.
fn kill_all(namespace: &str) {
    loop {
        let found = Command::new("ip").args(["netns", "pids", namespace]).output();
        let found = found.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
        let processes = found.unwrap_or_default();
        if processes.trim().is_empty() {
            return;
        }
        // Some may have ended meanwhile.
        let _ = Command::new("kill").arg("-KILL").args(processes.split_whitespace()).output();
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    run(Command::new("ip").args(arguments))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}: {}", why.trim()))
}
