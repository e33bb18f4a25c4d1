//! The view in a real terminal: this program looks at itself, in tmux.

use actinium_actor::{Actor, Context, Shutdown, System};
use actinium_monitor::socket::{Folder, ServeOnSocket};
use actinium_top::{Client, Settings, Target};
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

struct Till;

impl Actor for Till {
    type Msg = u64;

    fn handle(&mut self, _: u64, _: &mut Context<'_, Self>) {}
}

struct Queue;

impl Actor for Queue {
    type Msg = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
}

/// Runs only in the terminal: shows the program whose sockets are in this folder.
#[test]
fn shown() -> Result<(), Box<dyn Error>> {
    let Some(folder) = std::env::var_os("SHOWN") else { return Ok(()) };
    let target = Target::choose(None, &Folder::at(folder))?;
    let settings = Settings { interval: Duration::from_millis(100) };
    Ok(actinium_top::run(Client::new(target, None), settings)?)
}

/// A terminal of its own.
struct Tmux<'a>(&'a Path);

impl Tmux<'_> {
    fn run(&self, arguments: &[&str]) -> std::io::Result<String> {
        let mut tmux = Command::new("tmux");
        let output =
            tmux.arg("-S").arg(self.0).args(["-f", "/dev/null"]).args(arguments).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Looks until the screen shows all of these.
    fn wait_for(&self, parts: &[&str]) -> std::io::Result<String> {
        // Each look starts a program; so many take minutes.
        let mut screen = String::new();
        for _ in 0..10_000 {
            screen = self.run(&["capture-pane", "-p", "-t", "0"])?;
            if parts.iter().all(|part| screen.contains(part)) {
                return Ok(screen);
            }
        }
        Err(std::io::Error::other(format!("{parts:?} did not come:\n{screen}")))
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        let _ = self.run(&["kill-server"]);
    }
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() -> Result<(), Box<dyn Error>> {
    if Command::new("tmux").arg("-V").output().is_err() {
        println!("skipped: no tmux");
        return Ok(());
    }
    let temporary = tempfile::tempdir()?;
    let folder = Folder::at(temporary.path().join("actinium"));
    let _system =
        System::builder().workers(1).observer(ServeOnSocket::at(folder.clone())).build()?;
    let this = std::env::current_exe()?;
    for (signal, status) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        let (socket, pid) = (temporary.path().join(signal), temporary.path().join("pid"));
        let tmux = Tmux(&socket);
        let command = format!(
            "sh -c 'echo $$ >{}; SHOWN={} exec {} --exact shown --nocapture'; echo ended $?; \
             stty -a; cat",
            pid.display(),
            folder.path().display(),
            this.display()
        );
        tmux.run(&["new-session", "-d", "-x", "120", "-y", "30", &command])?;
        tmux.wait_for(&["1 overview", "Workers"])?;
        let pid = std::fs::read_to_string(&pid)?;
        assert!(Command::new("kill").args(["-s", signal, pid.trim()]).status()?.success());
        let screen = tmux.wait_for(&[&format!("ended {status}"), " icanon", " echo "])?;
        assert!(!screen.contains("1 overview") && !screen.contains("-icanon"), "{screen}");
    }
    Ok(())
}

#[test]
fn a_program_is_shown_in_a_terminal_and_keys_sort_it() -> Result<(), Box<dyn Error>> {
    if Command::new("tmux").arg("-V").output().is_err() {
        println!("skipped: no tmux");
        return Ok(());
    }
    let temporary = tempfile::tempdir()?;
    let folder = Folder::at(temporary.path().join("actinium"));
    let system =
        System::builder().workers(1).observer(ServeOnSocket::at(folder.clone())).build()?;
    let tills: Vec<_> = (0..3).map(|_| system.spawn(Till)).collect();
    let queues: Vec<_> = (0..7).map(|_| system.spawn(Queue)).collect();
    tills[0].send(1)?;

    let socket = temporary.path().join("tmux");
    let tmux = Tmux(&socket);
    let this = std::env::current_exe()?;
    let command = format!(
        "SHOWN={} {} --exact shown --nocapture; echo ended; cat",
        folder.path().display(),
        this.display()
    );
    tmux.run(&["new-session", "-d", "-x", "120", "-y", "30", &command])?;
    tmux.wait_for(&["1 overview", "Workers", "actors 10"])?;
    // Another pane, sorted by time, messages, waiting, living.
    tmux.run(&["send-keys", "-t", "0", "2", "s", "s", "s"])?;
    let screen = tmux.wait_for(&["Types of actors, by living", "Till", "Queue"])?;
    let place = |name: &str| screen.find(name).ok_or_else(|| format!("{name} in {screen}"));
    assert!(place("::Queue")? < place("::Till")?, "{screen}");
    tmux.run(&["send-keys", "-t", "0", "s", "s"])?;
    tmux.wait_for(&["Types of actors, by type"])?;
    // Actors are searched and sorted by the program.
    tmux.run(&["send-keys", "-t", "0", "3", "/", "till", "Enter"])?;
    tmux.wait_for(&["Actors, by waiting messages: 1 to 3 of 3", "search: till"])?;
    tmux.run(&["send-keys", "-t", "0", "s", "s"])?;
    let screen = tmux.wait_for(&["Actors, by youngest: 1 to 3 of 3"])?;
    assert!(!screen.contains("Queue"), "{screen}");
    // One of them, looked at closer.
    tmux.run(&["send-keys", "-t", "0", "Enter"])?;
    tmux.wait_for(&["type           terminal::Till", "Its last turns: none"])?;
    for till in &tills {
        till.send(1)?;
    }
    tmux.wait_for(&["Its last turns: half of these took at most", "messages  worker"])?;
    tmux.run(&["send-keys", "-t", "0", "Escape"])?;
    tmux.wait_for(&["Actors, by youngest: 1 to 3 of 3"])?;

    drop((tills, queues));
    system.shutdown(Shutdown::Drain);
    tmux.wait_for(&["NO ANSWER"])?;
    tmux.run(&["send-keys", "-t", "0", "q"])?;
    // The terminal is as it was.
    let screen = tmux.wait_for(&["ended"])?;
    assert!(!screen.contains("1 overview"), "{screen}");
    Ok(())
}
