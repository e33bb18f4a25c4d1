//! Programs of the same user look at a system by a socket. The observer is a process of its own
//! where the environment matters.

use actinium_actor::{Actor, Context, Shutdown, System};
use actinium_monitor::ENV_TOP;
use actinium_monitor::live::{ActorsNow, FamilyNow, Snapshot};
use actinium_monitor::socket::{Folder, ServeOnSocket};
use std::error::Error;
use std::io::{Read, Write};
use std::net::Shutdown as Close;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

struct Counter;

impl Actor for Counter {
    type Msg = u64;

    fn handle(&mut self, _: u64, _: &mut Context<'_, Self>) {}
}

/// Sends this, and returns status and body of the answer.
fn asked(socket: &Path, request: &[u8]) -> Result<(u16, String), Box<dyn Error>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(request)?;
    stream.shutdown(Close::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).ok_or("no status")?.parse()?;
    let body = answer.split_once("\r\n\r\n").ok_or("no body")?.1;
    Ok((status, body.to_owned()))
}

fn get(socket: &Path, path: &str) -> Result<(u16, String), Box<dyn Error>> {
    asked(socket, format!("GET {path} HTTP/1.1\r\nHost: local\r\n\r\n").as_bytes())
}

#[test]
fn a_system_is_seen_at_its_socket_until_it_ends() -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let folder = Folder::at(temporary.path().join("actinium"));
    let system =
        System::builder().workers(1).observer(ServeOnSocket::at(folder.clone())).build()?;
    let counters: Vec<_> = (0..5).map(|_| system.spawn(Counter)).collect();
    counters[0].send(1)?;
    system.wait_idle(std::time::Duration::from_secs(60))?;
    let programs = folder.programs()?;
    let [program] = &programs[..] else { return Err(format!("{programs:?}").into()) };
    assert_eq!((program.pid, program.system), (std::process::id(), 1));
    let socket = &program.socket;

    let (status, body) = get(socket, "/api/snapshot")?;
    let seen: Snapshot = serde_json::from_str(&body)?;
    assert_eq!((status, seen.now.actors, seen.about.pid), (200, 5, std::process::id()));
    // Turns are measured from the first look on.
    counters[0].send(2)?;
    system.wait_idle(std::time::Duration::from_secs(60))?;
    assert!(system.measured().types.iter().any(|it| it.kind.ends_with("Counter")));
    let (_, body) = get(socket, "/api/actors?sort=youngest&take=2&search=count")?;
    let page: ActorsNow = serde_json::from_str(&body)?;
    assert_eq!((page.total, page.actors.len()), (5, 2));
    let next = page.next.ok_or("there are more")?;
    let (_, body) = get(socket, &format!("/api/actors?sort=youngest&take=9&after={next}"))?;
    assert_eq!(serde_json::from_str::<ActorsNow>(&body)?.actors.len(), 3);
    let number = counters[0].id().as_u64();
    assert!(get(socket, &format!("/api/actor/{number}"))?.1.contains("Counter"));
    let (_, body) = get(socket, "/api/family")?;
    assert_eq!(serde_json::from_str::<FamilyNow>(&body)?.total, 0);

    let path = socket.clone();
    system.shutdown(Shutdown::Drain);
    assert!(!path.exists() && folder.programs()?.is_empty());
    Ok(())
}

#[test]
fn what_is_no_request_gets_an_answer_that_says_so() -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let folder = Folder::at(temporary.path().join("actinium"));
    let system =
        System::builder().workers(1).observer(ServeOnSocket::at(folder.clone())).build()?;
    let socket = folder.programs()?.remove(0).socket;
    for (path, expected) in [
        ("/api/nothing", 404),
        ("/api/actor/x", 404),
        ("/api/actor/999", 404),
        ("/api/actors?sort=colour", 400),
        ("/api/actors?take=many", 400),
        ("/api/actors?colour=red", 400),
        ("/api/actors?after=x", 400),
        ("/api/family?of=x", 400),
    ] {
        let (status, body) = get(&socket, path)?;
        assert_eq!(status, expected, "{path}: {body}");
        assert!(body.contains("\"error\""), "{path}: {body}");
    }
    assert_eq!(asked(&socket, b"\x00\xff\xfe garbage \r\n\r\n")?.0, 400);
    assert_eq!(asked(&socket, b"POST /api/snapshot HTTP/1.1\r\n\r\n")?.0, 405);
    // Who says nothing holds a place, and no more than that; others are refused, not kept waiting.
    let silent: Vec<_> = (0..8).map(|_| UnixStream::connect(&socket)).collect::<Result<_, _>>()?;
    assert_eq!(refused(&socket)?, 503);
    drop(silent);
    // Their places are free when the threads have seen that they are gone.
    while !get(&socket, "/api/snapshot").is_ok_and(|it| it.0 == 200) {
        std::thread::yield_now();
    }
    let counter = system.spawn(Counter);
    counter.send(1)?;
    assert_eq!(system.shutdown(Shutdown::Drain).handled, 1);
    Ok(())
}

/// The status that a client gets which does not say anything.
fn refused(socket: &Path) -> Result<u16, Box<dyn Error>> {
    let mut answer = String::new();
    UnixStream::connect(socket)?.read_to_string(&mut answer)?;
    Ok(answer.split(' ').nth(1).ok_or("no status")?.parse()?)
}

/// Runs only as the program that others look at.
#[test]
fn observed_by_the_environment() -> Result<(), Box<dyn Error>> {
    if std::env::var_os("OBSERVED").is_none() {
        return Ok(());
    }
    let system = System::builder().workers(1).build()?;
    let second = System::builder().workers(1).build()?;
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    drop((system, second));
    Ok(())
}

#[test]
fn the_environment_alone_opens_sockets_and_a_killed_program_s_are_removed()
-> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let folder = Folder::at(temporary.path().join("actinium"));
    let mut observed = Command::new(std::env::current_exe()?)
        .args(["--exact", "observed_by_the_environment", "--nocapture"])
        .env("OBSERVED", "1")
        .env(ENV_TOP, "1")
        .env("XDG_RUNTIME_DIR", temporary.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdout = observed.stdout.take().ok_or("no output")?;
    let mut said = Vec::new();
    while !said.windows(5).any(|it| it == b"ready") {
        let mut byte = [0];
        stdout.read_exact(&mut byte)?;
        said.push(byte[0]);
    }
    let programs = folder.programs()?;
    let found: Vec<_> = programs.iter().map(|it| (it.pid, it.system)).collect();
    assert_eq!(found, [(observed.id(), 1), (observed.id(), 2)]);
    assert!(programs[0].command.iter().any(|it| it == "--exact"), "{programs:?}");
    assert_eq!(get(&programs[1].socket, "/api/snapshot")?.0, 200);

    observed.kill()?;
    observed.wait()?;
    assert!(programs[0].socket.exists(), "nobody has removed it yet");
    assert!(folder.programs()?.is_empty());
    assert!(!programs[0].socket.exists() && !programs[1].socket.exists());
    Ok(())
}

#[test]
fn a_folder_that_is_open_to_others_stops_the_build() -> Result<(), Box<dyn Error>> {
    use std::os::unix::fs::PermissionsExt;
    let temporary = tempfile::tempdir()?;
    std::fs::set_permissions(temporary.path(), std::fs::Permissions::from_mode(0o777))?;
    let observer = ServeOnSocket::at(Folder::at(temporary.path()));
    let error = System::builder().workers(1).observer(observer).build().err();
    let error = error.ok_or("it was built")?.to_string();
    assert!(error.contains("777"), "{error}");
    Ok(())
}
