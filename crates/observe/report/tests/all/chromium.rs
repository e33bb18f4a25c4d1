//! The report in a real browser: every component draws itself, whatever the data; nothing is
//! written to the console and nothing is loaded.

#[path = "../../examples/components.rs"]
mod components;

use crate::browser::draws;
use actinium_report::html::{
    Bar, Bars, Chart, Column, Figure, Gantt, HeatMap, HeatRow, LineChart, Page, Scaling,
    ScalingCurve, ScalingPoint, Section, Series, Span, Table, Unit,
};
use serde_json::json;

#[test]
fn every_component_draws_itself() {
    let script = "
        const count = (what) => document.querySelectorAll(what).length;
        const inked = [...document.querySelectorAll('.plot canvas')].map((canvas) => {
            const image = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            const colours = new Set();
            for (let at = 0; at < image.data.length; at += 4) if (image.data[at + 3]) colours.add(image.data.slice(at, at + 3).join());
            return colours.size > 3;
        });
        return {
            figures: count('figure.chart'), areas: count('.lines .plot path'), bars: count('.bar-fill'), inked,
            points: count('.scaling circle'), rows: document.querySelector('table.sortable').tBodies[0].rows.length,
            labelled: [...document.querySelectorAll('.plot svg[role=img]')].every((svg) => svg.getAttribute('aria-label').length > 20),
            wide: document.documentElement.scrollWidth > innerWidth,
        };";
    let Some(said) = draws(&components::page().html(), script) else { return };
    assert_eq!(said["figures"], 10);
    assert!(said["areas"].as_u64() >= Some(8), "{said}");
    assert_eq!(said["bars"], 24);
    assert_eq!(said["inked"], json!([true, true]), "both canvases have more than one colour");
    assert_eq!(said["points"], 2 * 2 * 7);
    assert_eq!(said["rows"], 20);
    assert_eq!((&said["labelled"], &said["wide"]), (&json!(true), &json!(false)));
}

// tidy: functions: one page with every odd value, and one look at it.
#[test]
fn odd_data_are_drawn_too() {
    let evil = "</script><script>alert('&\"')</script><!-- \u{2028}\0\u{202e}";
    let numbers = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        -1.0,
        1.0,
        1e300,
        f64::MIN_POSITIVE,
    ];
    let lines = |points: Vec<(f64, f64)>| {
        let plain = LineChart::new(evil, Unit::Seconds).series(Series::new(evil, points));
        let stacked =
            plain.clone().series(Series::new("again", vec![(1.0, 2.0)])).stacked().steps();
        [Chart::from(plain.clone()), plain.steps().into(), stacked.into()]
    };
    let mut charts = Vec::new();
    charts.extend(lines(vec![]));
    charts.extend(lines(vec![(5.0, 5.0)]));
    charts.extend(lines(vec![(0.0, 0.0), (0.0, 0.0)]));
    charts.extend(lines(vec![(0.0, f64::NAN), (1.0, f64::NAN)]));
    charts.extend(lines(numbers.iter().zip(0..).map(|(&y, x)| (f64::from(x), y)).collect()));
    charts.extend(lines(numbers.iter().map(|&x| (x, 1.0)).collect()));
    charts.extend(lines(vec![(1e18, 1.0), (1e18 + 256.0, 2.0), (-1e-300, -1e-300)]));
    for step in [1.0, 0.0, f64::NAN] {
        for values in [vec![], vec![0.0], numbers.to_vec()] {
            charts
                .push(HeatMap::new(evil, Unit::Share, step).row(HeatRow::new(evil, values)).into());
        }
    }
    charts.push(HeatMap::new(evil, Unit::Bytes, 1.0).into());
    let span = |start_s, end_s| Span {
        lane: 0,
        start_s,
        end_s,
        label: evil.into(),
        kind: evil.into(),
        detail: evil.into(),
    };
    for spans in [vec![], vec![span(1.0, 1.0)], vec![span(0.0, 1e300), span(f64::NAN, 1.0)]] {
        charts.push(Gantt::new(evil, vec![evil.repeat(40), "b".into()], spans).into());
    }
    charts.push(Gantt::new(evil, vec![], vec![span(0.0, 1.0)]).into());
    for points in [vec![], vec![(1.0, 1.0)], numbers.iter().map(|&n| (n, n)).collect()] {
        let range = |&(x, y): &(f64, f64)| ScalingPoint { x, y, range: Some((y, f64::NAN)) };
        let curve = ScalingCurve { label: evil.into(), points: points.iter().map(range).collect() };
        charts.push(
            Scaling::new(evil, evil, Unit::PerSecond).curve(curve).ceiling(evil, f64::NAN).into(),
        );
    }
    charts.push(Bars::new(evil, Unit::Count, numbers.map(|n| Bar::new(evil, n)).to_vec()).into());
    charts.push(Bars::default().into());
    charts.push(Table::new(evil, vec![]).row(vec![1.0.into()]).into());
    charts.push(
        numbers
            .iter()
            .fold(Table::new(evil, vec![Column::number(evil, Unit::Bytes)]), |table, &n| {
                table.row(vec![n.into()])
            })
            .into(),
    );
    let section = charts.into_iter().fold(Section::new(evil).text(evil), Section::chart);
    let page = Page::new(evil)
        .summary(evil)
        .figure(Figure::new(evil, evil))
        .setting(evil, evil)
        .section(section);
    let script = "
        // Everything is drawn again, and looked at.
        document.querySelector('button.theme').click();
        report.charts.forEach((chart) => {
            if (!chart.svg) return;
            const box = chart.svg.getBoundingClientRect();
            for (const share of [0.2, 0.5, 0.8]) {
                const at = { bubbles: true, clientX: box.left + box.width * share, clientY: box.top + box.height * share };
                chart.svg.dispatchEvent(new PointerEvent('pointermove', at));
            }
            if (chart.zoom) { chart.zoom(0.5); chart.pan(0.3); chart.zoom(2); }
        });
        const wrong = [...document.querySelectorAll('.plot, .tip')].map((found) => found.outerHTML.match(/NaN|Infinity/)).find(Boolean);
        return { heading: document.querySelector('h1').textContent, wrong: wrong || null, failed: document.querySelectorAll('[data-drawn=no]').length };";
    let Some(said) = draws(&page.html(), script) else { return };
    let shown = evil.replace('\0', "\u{fffd}");
    assert_eq!(said["heading"], json!(shown), "the text is shown as it is");
    assert_eq!((&said["failed"], &said["wrong"]), (&json!(0), &json!(null)));
}

#[test]
fn ticks_are_round_and_few() {
    let script = "
        const { ticks, axisTicks, show } = report;
        const labels = (...from) => { const made = axisTicks(...from); return made.at.map(({ label }) => label).concat(made.symbol); };
        return {
            plain: ticks(0, 10, 5), inside: ticks(0.13, 0.87, 4), negative: ticks(-3, 3, 3), whole: ticks(0, 2, 8, true),
            one: ticks(7, 7, 5), endless: ticks(0, Infinity, 5), far: ticks(1e15, 1e15 + 4, 4),
            micro: labels(0, 0.00004, 4, 'seconds'), share: labels(0, 1, 4, 'share'), bytes: labels(0, 3 * 1024 ** 2, 3, 'bytes'),
            deep: labels(12.34567, 12.34571, 4, 'seconds'),
            show: [show(0.00123, 'seconds'), show(90, 'seconds'), show(300, 'seconds'), show(1234567, 'per_second'), show(0.97, 'share'), show(null, 'count'), show(91.19, { other: 'GeV' })],
        };";
    let Some(said) = draws(&Page::new("ticks").html(), script) else { return };
    assert_eq!(said["plain"], json!([0, 2, 4, 6, 8, 10]));
    assert_eq!(said["inside"], json!([0.2, 0.4, 0.6000000000000001, 0.8]));
    assert_eq!(said["negative"], json!([-2, 0, 2]));
    assert_eq!(said["whole"], json!([0, 1, 2]), "a count has no halves");
    assert_eq!((&said["one"], &said["endless"]), (&json!([7]), &json!([0])));
    assert_eq!(said["far"].as_array().map(Vec::len), Some(5));
    assert_eq!(said["micro"], json!(["0", "10", "20", "30", "40", "µs"]));
    assert_eq!(said["share"], json!(["0", "20", "40", "60", "80", "100", "%"]));
    assert_eq!(said["bytes"], json!(["0", "1", "2", "3", "MiB"]));
    assert_eq!(
        said["deep"],
        json!(["12.34567", "12.34568", "12.34569", "12.34570", "12.34571", "s"])
    );
    let shown = ["1.23 ms", "90 s", "5 min", "1.23 M/s", "97.0 %", "-", "91.2 GeV"];
    assert_eq!(said["show"], json!(shown));
}

// tidy: functions: one script that does what a user does, and its results.
#[test]
fn one_can_zoom_hover_hide_sort_filter_and_change_the_theme() {
    let script = "
        const say = {};
        const [threads, load] = report.charts;
        const at = (chart, type, x, y, more) => {
            const box = chart.svg.getBoundingClientRect();
            chart.svg.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerId: 1, button: 0, clientX: box.left + x, clientY: box.top + y, ...more }));
        };
        threads.svg.setPointerCapture = () => {};
        const tip = () => { const tip = document.querySelector('.tip'); return tip.hidden ? null : tip.textContent; };
        at(threads, 'pointermove', threads.x(6.2), 40);
        say.hover = tip();
        say.cursors = document.querySelectorAll('.cursor').length;
        at(threads, 'pointerleave', 0, 0);
        say.left = [tip(), document.querySelectorAll('.cursor').length];

        const [from, to] = [threads.x(3), threads.x(4)];
        at(threads, 'pointerdown', from, 40);
        at(threads, 'pointermove', (from + to) / 2, 40);
        at(threads, 'pointermove', to, 40);
        say.brush = document.querySelectorAll('.brush').length;
        at(threads, 'pointerup', to, 40);
        say.zoomed = threads.domain();
        say.linked = load.domain();
        say.gantt = report.charts[4].domain()[1] > 12;
        const key = (key) => threads.svg.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        key('ArrowRight'); say.panned = threads.domain();
        key('-'); say.out = threads.domain();
        key('0'); say.all = threads.domain();
        for (let n = 0; n < 200; n += 1) key('+');
        const [low, high] = threads.domain();
        say.deepest = high > low && high - low < 1e-6;
        document.querySelector('.tools button:last-child').click();
        say.reset = threads.domain();

        const gantt = report.charts[4];
        at(gantt, 'pointermove', gantt.x(gantt.data.start[50] + gantt.data.length[50] / 2), gantt.tops[gantt.data.lane[50]] + 5);
        say.span = tip();

        const before = document.querySelectorAll('#c1 path').length;
        document.querySelector('#c1 .legend button').click();
        say.hidden = before - document.querySelectorAll('#c1 path').length;

        const table = document.querySelector('table.sortable');
        const cell = (column) => table.tBodies[0].rows[0].cells[column];
        const values = (column) => [...table.tBodies[0].rows].map((row) => Number(row.cells[column].dataset.value));
        const sorted = (values) => values.every((value, n) => n === 0 || values[n - 1] >= value);
        table.tHead.rows[0].cells[3].firstChild.click();
        say.down = [sorted(values(3)), table.tHead.rows[0].cells[3].getAttribute('aria-sort')];
        table.tHead.rows[0].cells[3].firstChild.click();
        say.up = [sorted(values(3).reverse()), table.tHead.rows[0].cells[3].getAttribute('aria-sort')];
        table.tHead.rows[0].cells[4].firstChild.click();
        say.missingLast = 'value' in cell(4).dataset;
        document.querySelector('button.more').click();
        say.more = table.tBodies[0].rows.length;
        const input = document.querySelector('.find input');
        input.value = 'MUONS'; input.dispatchEvent(new Event('input'));
        say.found = [...table.tBodies[0].rows].every((row) => row.textContent.includes('muons')) && table.tBodies[0].rows.length;

        const page = () => getComputedStyle(document.body).backgroundColor;
        const pixel = () => { const canvas = gantt.surface; return canvas.getContext('2d').getImageData(canvas.width / 2, gantt.tops[3] * (devicePixelRatio || 1) + 3, 1, 1).data.join(); };
        const light = [page(), pixel()];
        document.querySelector('button.theme').click();
        const dark = [page(), pixel()];
        say.theme = [document.documentElement.dataset.theme, light[0] !== dark[0], light[1] !== dark[1]];
        dispatchEvent(new Event('beforeprint'));
        say.paper = page() === light[0];
        dispatchEvent(new Event('afterprint'));
        say.after = page() === dark[0];
        return say;";
    let Some(said) = draws(&components::page().html(), script) else { return };
    let near = |value: &serde_json::Value, expected: [f64; 2]| {
        let close =
            |n: usize| value[n].as_f64().is_some_and(|value| (value - expected[n]).abs() < 1e-3);
        assert!(close(0) && close(1), "{value} is not {expected:?}");
    };
    let hover = said["hover"].as_str().expect("a tip");
    assert!(hover.starts_with("6.20") && hover.contains("busy"), "{hover}");
    assert_eq!(said["cursors"], 4, "linked charts share the cursor");
    assert_eq!(said["left"], json!([null, 0]));
    assert_eq!(said["brush"], 1);
    near(&said["zoomed"], [3.0, 4.0]);
    near(&said["linked"], [3.0, 4.0]);
    assert_eq!(said["gantt"], true, "the chart that is not linked stays");
    near(&said["panned"], [3.2, 4.2]);
    near(&said["out"], [2.7, 4.7]);
    let all = [0.0, 12.4];
    near(&said["all"], all);
    near(&said["reset"], all);
    assert_eq!(said["deepest"], true);
    let span = said["span"].as_str().expect("a tip");
    assert!(
        span.contains("module") && span.contains("event ") && span.contains("waited 1.2 ms"),
        "{span}"
    );
    assert_eq!(said["hidden"], 1);
    assert_eq!(said["down"], json!([true, "descending"]));
    assert_eq!(said["up"], json!([true, "ascending"]));
    assert_eq!(said["missingLast"], true);
    assert_eq!((&said["more"], &said["found"]), (&json!(461), &json!(92)));
    assert_eq!(said["theme"], json!(["dark", true, true]));
    assert_eq!((&said["paper"], &said["after"]), (&json!(true), &json!(true)));
}

#[test]
fn a_large_page_stays_small() {
    let series = |n: u32| {
        let points =
            (0..200_000).map(|at| (f64::from(at) * 1e-3, f64::from((at * (n + 7)) % 997) / 7.0));
        Series::new(format!("resource {n}"), points.collect())
    };
    let lines =
        (0..40).map(series).fold(LineChart::new("queues", Unit::Count).steps(), LineChart::series);
    let rows = (0..512).map(|cpu| {
        HeatRow::new(format!("CPU {cpu}"), (0..2_000).map(|n| f64::from(n % 97) / 97.0).collect())
    });
    let heat = HeatMap { rows: rows.collect(), ..HeatMap::new("load", Unit::Share, 0.1) };
    let span = |n: u32| {
        let start_s = f64::from(n) * 1.000_123e-4;
        let (lane, label) = ((n % 64) as usize, format!("module {}", n % 461));
        Span {
            lane,
            start_s,
            end_s: start_s + 6e-3,
            label,
            kind: format!("event {}", n / 461),
            ..Span::default()
        }
    };
    let lanes = (0..64).map(|n| format!("worker {n}")).collect();
    let gantt = Gantt::new("last events", lanes, (0..100_000).map(span).collect());
    let page =
        Page::new("large").section(Section::new("all").chart(lines).chart(heat).chart(gantt));
    let html = page.html();
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
    draws(&html, "return null;");
}
