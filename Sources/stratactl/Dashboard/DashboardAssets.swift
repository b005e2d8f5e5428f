#if Dashboard
import HTTPTypes
import Hummingbird

/// The style and the script of the pages: files of their own, since no page may bring its own.
enum DashboardAssets {
    static func add(to router: Router<DashboardContext>) {
        router.get("assets/dashboard.css") { _, _ in answer(style, "text/css; charset=utf-8") }
        // Browsers ask for it by themselves.
        router.get("favicon.ico") { _, _ in HTTPResponse.Status.noContent }
        router.get("assets/dashboard.js") { _, _ in answer(script, "text/javascript; charset=utf-8") }
    }

    private static func answer(_ text: String, _ type: String) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: type, .cacheControl: "no-cache"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }

    private static let style = """
        :root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --faint: #5b6470; --line: #d0d7de; --box: #f3f5f7;
          --link: #0550ae; --bad: #a40e26; --good: #116329; --c0: #0550ae; --c1: #a04100; --c2: #6e40c9; --c3: #116329; }
        @media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --faint: #9aa4af; --line: #3d444d;
          --box: #161b22; --link: #79b8ff; --bad: #ff8f8f; --good: #6fdd8b; --c0: #79b8ff; --c1: #ffab70; --c2: #c8a6ff;
          --c3: #6fdd8b; } }
        * { box-sizing: border-box; }
        body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
        header, main { max-width: 76rem; margin: 0 auto; padding: .6rem 1rem; }
        header { display: flex; flex-wrap: wrap; gap: .5rem 1.2rem; align-items: center; border-bottom: 1px solid var(--line); }
        header form { margin-left: auto; }
        nav a { margin-right: .8rem; }
        a { color: var(--link); }
        .skip { position: absolute; left: -99rem; }
        .skip:focus { left: 1rem; top: .3rem; background: var(--paper); padding: .3rem; }
        :focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
        main:focus { outline: none; }
        h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
        h2 { font-size: 1.1rem; margin: 1.4rem 0 .4rem; }
        input, button { font: inherit; padding: .35rem .6rem; color: inherit; background: var(--paper);
          border: 1px solid var(--faint); border-radius: .3rem; min-height: 2.5rem; }
        button { cursor: pointer; background: var(--box); }
        .box { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; background: var(--box); padding: .8rem;
          border-radius: .4rem; }
        .box input:not([type=hidden]) { flex: 1 1 14rem; min-width: 0; }
        .scroll { overflow-x: auto; }
        table { border-collapse: collapse; width: 100%; }
        th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
        code, dd, td, tbody th, #events, #hottest { font-family: ui-monospace, monospace; font-size: .9rem; overflow-wrap: anywhere; }
        dt { font-weight: 600; margin-top: .6rem; }
        dd { margin-left: 1rem; }
        .warning, .danger { color: var(--bad); }
        .ok strong { color: var(--good); }
        li.warning strong, li.unknown strong { color: var(--bad); }
        .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 1rem; }
        figure { margin: 0; background: var(--box); padding: .6rem; border-radius: .4rem; }
        figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; }
        figcaption span { font-size: .9rem; }
        svg { width: 100%; height: 8rem; display: block; }
        svg .axis { stroke: var(--line); fill: none; }
        svg .s0 { stroke: var(--c0); } svg .s1 { stroke: var(--c1); stroke-dasharray: 7 3; }
        svg .s2 { stroke: var(--c2); stroke-dasharray: 2 3; } svg .s3 { stroke: var(--c3); stroke-dasharray: 9 3 2 3; }
        svg polyline { fill: none; stroke-width: 2; }
        .legend { display: flex; flex-wrap: wrap; gap: 0 1rem; margin: 0; padding: 0; list-style: none; font-size: .9rem; }
        .legend svg { display: inline-block; width: 2rem; height: .6rem; margin-right: .3rem; }
        #instances th, #instances td { overflow-wrap: normal; }
        #events { max-height: 20rem; overflow-y: auto; }
        """

    /// Draws what the stream of a keyspace tells; every text goes in as text.
    private static let script = #"""
        "use strict";
        (() => {
          const live = document.getElementById("live");
          if (!live) return;
          const SVG = "http://www.w3.org/2000/svg", MOST = 150, MOST_EVENTS = 200;
          const by = id => document.getElementById(id);
          const make = (tag, text) => { const e = document.createElement(tag); if (text !== undefined) e.textContent = text; return e; };
          const draw = (tag, attributes) => {
            const e = document.createElementNS(SVG, tag);
            for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
            return e;
          };
          const isMissing = v => v === null || v === undefined;
          const number = v => v === 0 ? "0" : v >= 100 ? v.toFixed(0) : v >= 1 ? v.toFixed(1) : v.toFixed(2);

          class Chart {
            constructor(title, unit, top) {
              this.unit = unit; this.top = top; this.series = new Map(); this.title = title;
              const figure = make("figure");
              const caption = make("figcaption", title);
              this.scale = make("span");
              caption.append(this.scale);
              figure.append(caption);
              this.svg = draw("svg", { viewBox: "0 0 300 100", preserveAspectRatio: "none", role: "img" });
              this.legend = make("ul"); this.legend.className = "legend";
              figure.append(this.svg, this.legend);
              by("charts").append(figure);
            }
            add(values) {
              for (const name of Object.keys(values)) if (!this.series.has(name) && this.series.size < 4) this.series.set(name, []);
              for (const [name, points] of this.series) {
                points.push(name in values ? values[name] : null);
                if (points.length > MOST) points.shift();
              }
              this.show();
            }
            show() {
              const all = [...this.series.values()].flat().filter(v => v !== null);
              const top = this.top || Math.max(1e-9, ...all) * 1.1;
              const shapes = [draw("path", { class: "axis", d: "M0 1H300M0 50H300M0 99H300" })], items = [], said = [];
              let index = 0;
              for (const [name, points] of this.series) {
                const kind = "s" + index++;
                let run = [];
                const end = () => { if (run.length) shapes.push(draw("polyline", { class: kind, points: run.join(" "), "vector-effect": "non-scaling-stroke" })); run = []; };
                points.forEach((v, i) => {
                  if (v === null) return end();
                  run.push((300 - (points.length - 1 - i) * 300 / (MOST - 1)).toFixed(1) + "," + (99 - Math.min(v / top, 1) * 98).toFixed(1));
                });
                end();
                const item = make("li"), sample = draw("svg", { viewBox: "0 0 32 10", "aria-hidden": "true" });
                sample.append(draw("polyline", { class: kind, points: "0,5 32,5" }));
                const now = points[points.length - 1];
                const text = name + " " + (isMissing(now) ? "–" : number(now) + this.unit);
                said.push(text);
                item.append(sample, text);
                items.push(item);
              }
              this.svg.replaceChildren(...shapes);
              this.scale.textContent = all.length ? "0 to " + number(top) + this.unit : "";
              this.svg.setAttribute("aria-label", this.title + ", now: " + said.join(", ") + ". Top of the chart: " + number(top) + this.unit);
              this.legend.replaceChildren(...items);
            }
          }

          const rates = new Chart("Reads and fetches a second", "/s"), hits = new Chart("Hits", " %", 100);
          const calls = new Chart("Redis, the slowest instance", " ms"), fetches = new Chart("Fetches, the slowest instance", " ms");

          const grid = (place, data, empty, link) => {
            const box = by(place);
            if (!box) return;
            if (!data.rows.length) return box.replaceChildren(make("p", empty));
            const table = make("table"), head = make("tr"), body = make("tbody"), top = make("thead");
            for (const title of data.titles) { const th = make("th", title); th.scope = "col"; head.append(th); }
            for (const row of data.rows) {
              const tr = make("tr");
              row.forEach((cell, i) => {
                const td = make(i ? "td" : "th", i || !link ? cell : undefined);
                if (!i) { td.scope = "row"; if (link) td.append(why(cell)); }
                tr.append(td);
              });
              body.append(tr);
            }
            top.append(head);
            table.append(top, body);
            box.replaceChildren(table);
          };
          const why = key => { const a = make("a", key); a.href = live.dataset.why + encodeURIComponent(key); return a; };
          const state = (text, isBad) => { const e = by("state"); if (e.textContent !== text) e.textContent = text; e.className = isBad ? "warning" : ""; };

          let isPaused = false;
          const pause = by("pause");
          pause.addEventListener("click", () => {
            isPaused = !isPaused;
            pause.setAttribute("aria-pressed", String(isPaused));
            pause.textContent = isPaused ? "Resume" : "Pause";
          });

          const source = new EventSource(live.dataset.stream);
          source.addEventListener("sample", event => {
            const s = JSON.parse(event.data);
            state(s.instances + (s.instances === 1 ? " instance" : " instances") + (s.silent ? ", " + s.silent + " silent" : ""), false);
            rates.add({ reads: s.readsPerSecond, fetches: s.fetchesPerSecond });
            hits.add(Object.fromEntries(s.hits.map(h => [h.level, h.percent ?? null])));
            const spans = (chart, kind) => { const v = s.spans[kind]; chart.add(v ? { median: v.median, "95 %": v.p95, "99 %": v.p99 } : {}); };
            spans(calls, "call");
            spans(fetches, "fetch");
            grid("instances", s.table, "No instance is listed: an instance has to run a FleetMember.");
            grid("leases", s.leases, "No key is being fetched.", true);
            by("hottest").replaceChildren(...(s.hottest.length ? s.hottest.map(key => { const li = make("li"); li.append(why(key)); return li; }) : [make("li", "None is known.")]));
          });
          source.addEventListener("nines", event => grid("nines", JSON.parse(event.data), "No measurements yet."));
          source.addEventListener("trouble", event => state("Redis cannot be asked: " + JSON.parse(event.data).text, true));
          source.addEventListener("change", event => {
            if (isPaused) return;
            const c = JSON.parse(event.data), li = make("li", c.time.slice(11, 23) + " " + c.event + " " + c.subject);
            const list = by("events");
            list.prepend(li);
            while (list.children.length > MOST_EVENTS) list.lastChild.remove();
          });
          source.addEventListener("error", () => state(source.readyState === EventSource.CLOSED
            ? "Updates have stopped. Load the page again, or log in again." : "The dashboard does not answer; trying again.", true));
        })();
        """#
}
#endif
