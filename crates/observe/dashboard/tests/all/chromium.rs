//! The page in a real browser: charts move, tables sort, nothing is written to the console, in both
//! colours and on narrow screens.

use crate::browser::{Browser, open};
use crate::client::{Counter, LONG, Msg, system};
use actinium_actor::{SpawnOptions, System};
use actinium_dashboard::Dashboard;
use actinium_monitor::live;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const EVIL: &str = "<img src=x onerror=\"document.title='evil'\">";

/// Looks at a busy system by this, in a browser if there is one.
fn look(at: impl FnOnce(&Browser, &System, u64)) {
    let Some(browser) = open() else { return };
    let system = system();
    let counters: Vec<_> = (0..40).map(|_| system.spawn(Counter::new())).collect();
    let till = system
        .spawn_with(SpawnOptions::new().name(format!("till {EVIL}")), Counter::new())
        .expect("a free name");
    till.tell(Msg::Raise(3));
    let ended = system.spawn(Counter::new());
    ended.kill();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // Relaxed: it stops a round later.
            while !stop.load(Ordering::Relaxed) {
                (0..1_000).for_each(|n: usize| counters[n % 40].tell(Msg::Count));
                ended.tell(Msg::Count);
                system.wait_idle(LONG).expect("it comes to rest");
                // The browser needs the CPUs, too.
                thread::park_timeout(Duration::from_millis(5));
            }
        });
        // What fails has to stop the other one, too.
        let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            at(&browser, &system, till.id().as_u64());
        }));
        stop.store(true, Ordering::Relaxed); // Relaxed: as above.
        seen.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn tab(browser: &Browser, name: &str) {
    let name = json!(name);
    browser.eval(&format!(
        "[...document.querySelectorAll('[role=tab]')].find((tab) => tab.textContent === {name}).click()"
    ));
    browser.until(&format!(
        "document.querySelector('[role=tab][aria-selected=true]').textContent === {name}"
    ));
}

const SEEN: &str = "document.querySelector('[role=tabpanel]:not([hidden])')";
const STATE: &str = "document.getElementById('state').textContent";

/// Opens the page, and waits until it shows something.
fn visit(browser: &Browser, address: &str) {
    browser.go(&format!("http://{address}/"));
    browser.until(&format!("{STATE} === 'live'"));
    browser.until("document.querySelector('.figures dd').textContent.includes('/s')");
}

#[test]
fn charts_move_and_every_pane_is_drawn_in_both_colours_and_on_narrow_screens() {
    look(|browser, system, _| {
        let _evil = live::section(EVIL, || json!({ "open": 3, "tills": [{ "name": EVIL }] }));
        let serving = Dashboard::new(system).serve("127.0.0.1:0").expect("it listens");
        browser.resize(1_200, 900);
        browser.prefer("light");
        visit(browser, &serving.address().to_string());
        browser.eval("window.first = document.querySelector('canvas').toDataURL()");
        browser.until("document.querySelector('canvas').toDataURL() !== window.first");
        for (width, colours) in [(1_200, "light"), (400, "dark")] {
            browser.resize(width, 900);
            browser.prefer(colours);
            let dark = colours == "dark";
            let shade = "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/)[0] < 100";
            browser.until(&format!("({shade}) === {dark}"));
            for name in ["Throughput", "Latency", "Threads and CPUs", "Dead letters"] {
                tab(browser, name);
                browser.until(&format!(
                    "[...{SEEN}.querySelectorAll('canvas')].every((canvas) => {{ \
                     const {{ data }} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height); \
                     const colours = new Set(); \
                     for (let at = 0; at < data.length; at += 4) if (data[at + 3]) colours.add(data.slice(at, at + 3).join()); \
                     return colours.size > 3; }})"
                ));
            }
            for (name, what) in [
                ("Throughput", "table tbody tr:nth-child(4)"),
                ("Threads and CPUs", "table tbody tr"),
                ("Machine", "svg .pu"),
                ("Actors", "table tbody tr[tabindex]"),
                ("Supervision", ".tree .tree li, .tree ul li"),
                ("Dead letters", "table tbody tr"),
                (EVIL, "table tbody tr"),
            ] {
                tab(browser, name);
                browser.until(&format!("{SEEN}.querySelector({}) !== null", json!(what)));
                let wide = browser.eval("document.documentElement.scrollWidth > innerWidth");
                assert_eq!(wide, false, "{name} at {width}");
            }
        }
        let odd = "document.images.length + (document.title === 'evil' ? 100 : 0)";
        assert_eq!(browser.eval(odd), 0, "names are texts");
        assert!(!browser.eval("document.body.innerText").to_string().contains("NaN"));
        // The button wins over the system.
        browser.eval("document.getElementById('theme').click()");
        browser.until("document.documentElement.dataset.theme === 'light'");
        assert_eq!(browser.complaints(), [""; 0], "the console has to be empty");
    });
}

#[test]
fn tables_sort_by_the_keyboard_and_an_actor_opens() {
    look(|browser, system, till| {
        let serving = Dashboard::new(system).serve("127.0.0.1:0").expect("it listens");
        browser.resize(1_200, 900);
        visit(browser, &serving.address().to_string());
        // From tab to tab by the arrows.
        browser.eval("document.querySelector('[role=tab]').focus()");
        browser.press("ArrowRight");
        browser.until("document.activeElement.textContent === 'Latency'");
        browser.until("document.activeElement.getAttribute('aria-selected') === 'true'");

        // In the page: a table of the workers.
        tab(browser, "Throughput");
        let workers = format!("[...{SEEN}.querySelectorAll('table')].at(-2)");
        let first = format!("{workers}.querySelector('tbody td').textContent");
        browser.until(&format!("{first} === '0'"));
        browser.eval(&format!("{workers}.querySelector('th button').focus()"));
        let outline = "getComputedStyle(document.activeElement).outlineStyle";
        browser.press("Enter");
        browser.until(&format!("{first} === '1'"));
        assert_eq!(browser.eval(outline), "solid", "one sees where the keyboard is");
        let sorted = format!("{workers}.querySelector('th').getAttribute('aria-sort')");
        assert_eq!(browser.eval(&sorted), "descending");

        // By the server: the table of actors.
        tab(browser, "Actors");
        let table = format!("{SEEN}.querySelectorAll('table')[1]");
        let rows = format!(
            "[...{table}.querySelectorAll('tbody tr')].map((row) => row.firstChild.textContent)"
        );
        browser.until(&format!("{rows}.length === 25"));
        browser.eval(&format!("{table}.querySelector('th button').focus()"));
        browser.press("Enter");
        browser.until(&format!(
            "{table}.querySelector('th').getAttribute('aria-sort') === 'ascending'"
        ));
        let numbers = format!("{rows}.map((text) => Number(text.split('#').at(-1)))");
        browser.until(&format!("{numbers}.every((it, at, all) => at === 0 || it > all[at - 1])"));
        browser.press("Enter");
        browser.until(&format!("{numbers}.every((it, at, all) => at === 0 || it < all[at - 1])"));
        browser.eval(&format!(
            "[...{SEEN}.querySelectorAll('button')].find((it) => it.textContent === 'Next').click()"
        ));
        browser.until(&format!("{SEEN}.innerText.includes('26–')"));
        browser.eval(&format!(
            "(() => {{ const search = {SEEN}.querySelector('input'); search.value = 'TILL'; \
             search.dispatchEvent(new Event('input')); }})()"
        ));
        browser.until(&format!("{rows}.length === 1 && {rows}[0].endsWith('#{till}')"));

        browser.eval(&format!("{table}.querySelector('tbody tr').focus()"));
        browser.press("Enter");
        browser.until("document.querySelector('#details').innerText.includes('supervises')");
        browser.until("document.querySelectorAll('#details .tree li').length === 3");
        browser.press("Escape");
        browser.until("document.querySelector('#details').hidden");
        browser.until("document.activeElement.tagName === 'TR'");
        assert_eq!(browser.complaints(), [""; 0], "the console has to be empty");
    });
}

#[test]
fn the_page_survives_a_restart_of_the_program() {
    look(|browser, system, _| {
        let serving = Dashboard::new(system).serve("127.0.0.1:0").expect("it listens");
        let address = serving.address().to_string();
        visit(browser, &address);
        serving.stop();
        browser.until(&format!("{STATE}.startsWith('no connection')"));
        let _again = Dashboard::new(system).serve(address).expect("the same port");
        browser.until(&format!("{STATE} === 'live'"));
        browser.until("document.querySelector('#about').textContent.includes('2 workers')");
        browser.until("document.querySelector('.figures dd').textContent.includes('/s')");
    });
}

#[test]
fn a_form_asks_for_the_token() {
    look(|browser, system, _| {
        let dashboard = Dashboard::new(system).token("a secret");
        let serving = dashboard.serve("127.0.0.1:0").expect("it listens");
        browser.go(&format!("http://{}/", serving.address()));
        browser.until("document.querySelector('input[type=password]')");
        browser.eval("document.querySelector('input').value = 'a secret'; document.querySelector('button').click()");
        browser.until(&format!("{STATE} === 'live'"));
        assert_eq!(browser.eval("location.search + document.cookie"), "", "no script sees it");
    });
}

#[test]
fn nodes_are_chosen_in_the_page() {
    look(|browser, one, _| {
        let other = system();
        let nodes = [one, &other]
            .map(|system| Dashboard::new(system).serve("127.0.0.1:0").expect("it listens"));
        let addresses = nodes.iter().map(|it| it.address().to_string());
        let both = Dashboard::of_nodes(addresses).serve("127.0.0.1:0").expect("it listens");
        visit(browser, &both.address().to_string());
        tab(browser, "Nodes");
        browser.until(&format!("{SEEN}.querySelectorAll('tbody tr').length === 2"));
        let second = nodes[1].address().to_string();
        browser.eval(&format!(
            "[...{SEEN}.querySelectorAll('tbody tr')].find((row) => row.innerText.startsWith('{second}')).click()"
        ));
        browser.until("document.getElementById('node').value === '1'");
        browser.until(
            "[...document.querySelectorAll('.figures dd')][2].firstChild.textContent === '0'",
        );
        assert_eq!(browser.complaints(), [""; 0], "the console has to be empty");
        let [_, stopped] = nodes;
        stopped.stop();
        browser.until(&format!("{STATE} === 'down'"));
        browser.until("document.getElementById('problem').textContent.includes('is down')");
    });
}

/// Instead of the server: looks come as fast as a test sends them.
const FAKE: &str = "
    window.EventSource = class {
        constructor() { this.told = {}; window.source = this; }
        addEventListener(name, f) { this.told[name] = f; }
        close() {}
    };";

#[test]
fn an_hour_of_looks_takes_little_memory() {
    look(|browser, system, _| {
        let serving = Dashboard::new(system).serve("127.0.0.1:0").expect("it listens");
        browser.tell("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": FAKE }));
        browser.go(&format!("http://{}/", serving.address()));
        browser.until("window.source && window.source.told.now");
        let look = live::Live::new(system).now();
        let about = live::Live::new(system);
        browser.eval(&format!(
            "window.look = {}; window.life = '{}'",
            json!(look),
            about.about().life
        ));
        // Four a second, for an hour, on a machine of 32 workers.
        browser.eval(
            "(async () => {
                const workers = Array.from({ length: 32 }, () => look.workers[0]);
                for (let n = 1; n <= 14400; n += 1) {
                    look.at_s = n / 4;
                    look.workers = workers.map((it) => ({ ...it, counters: { ...it.counters, handled: n * 1000 } }));
                    look.latencies = Array.from({ length: 40 }, (_, at) => [Math.floor(2 ** (7 + at / 2)), n * (at + 1)]);
                    source.told.now({ data: JSON.stringify({ node: 0, life, now: look }) });
                    if (n % 100 === 0) await new Promise((done) => setTimeout(done));
                }
            })()",
        );
        browser.tell("HeapProfiler.enable", &json!({}));
        browser.tell("HeapProfiler.collectGarbage", &json!({}));
        let used = browser.tell("Runtime.getHeapUsage", &json!({}));
        let bytes = used["usedSize"].as_f64().expect("a number")
            + used["backingStorageSize"].as_f64().unwrap_or(0.0);
        assert!(bytes < 50e6, "{used}");
        assert_eq!(browser.complaints(), [""; 0], "the console has to be empty");
    });
}
