
"use strict";
(() => {
  // Everything that comes from a run reaches the page as text or as a number, never as markup.
  const by = (id) => document.getElementById(id);
  const live = document.body.dataset.live === "true";
  let data = JSON.parse(by("data").textContent);
  // What the reader has chosen; it outlives new data. step null: the last moment, whichever that is.
  const chosen = { off: new Set(), run: null, seed: null, step: null, calibrated: null, fixed: false, episode: 0 };

  function el(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }
  function svg(tag, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }
  const whole = (value) => Math.round(value).toLocaleString("en-GB");
  function number(value) {
    if (value === null || value === undefined) return "–";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e4 && size < 1e9) return whole(value).replace("-", "−");
    return String(Number(value.toPrecision(4))).replace("-", "−");
  }
  const seeds = (count) => `${count} seed${count === 1 ? "" : "s"}`;
  function clock(seconds) {
    if (seconds === null) return "–";
    const s = Math.round(seconds), h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
    return h ? `${h} h ${m} min` : m ? `${m} min ${s % 60} s` : `${s} s`;
  }
  const isOn = (run, seed) => !chosen.off.has(run.id) && (!seed || !chosen.off.has(seed.id));
  const colourOfRun = (place) => `c${place % 8}`;
  const colourOfSeed = (runPlace, place) => (data.runs.length === 1 ? `c${place % 8}` : colourOfRun(runPlace));
  const colourOfMiddle = (runPlace) => (data.runs.length === 1 ? "ink" : colourOfRun(runPlace));
  const nameOfSeed = (run, seed) => (data.runs.length === 1 ? `seed ${seed.seed}` : `${run.label}, seed ${seed.seed}`);

  // -- charts ----------------------------------------------------------------------------------------------------------

  function ticks(low, high, count) {
    const rough = (high - low) / Math.max(count, 1), size = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((times) => times * size).find((each) => each >= rough * 0.999);
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) found.push(Number((k * step).toPrecision(12)));
    return found;
  }
  function range(values) {
    let low = Infinity, high = -Infinity;
    for (const value of values) if (value !== null && value !== undefined) { low = Math.min(low, value); high = Math.max(high, value); }
    if (low > high) return null;
    if (low === high) { const by = Math.abs(low) * 0.1 || 1; low -= by; high += by; }
    return [low, high];
  }
  const short = (value, most) => value === 0 || most < 1e4 ? number(value) : most < 2e6 ? `${Number((value / 1e3).toPrecision(4))}k` : `${Number((value / 1e6).toPrecision(4))}M`;

  // Lines over a common x. A line: label, colour, kind (seed, bold, dash), x, y; also n and of, or spread for a band.
  function lineChart(host, options) {
    const box = el("div", {
      class: "chart", tabindex: 0, role: "slider", "aria-label": `${options.name}: arrow keys move along ${options.xName}`,
      "aria-valuemin": 0, "aria-valuemax": 0, "aria-valuenow": 0, "aria-valuetext": "no value chosen",
    });
    const tip = el("div", { class: "tip", hidden: true });
    host.replaceChildren(box);
    let lines = [], marks = [], at = null, scale = null, cursor = null;

    function draw() {
      const width = Math.max(box.clientWidth, 240), height = options.height || 300;
      const xs = range(lines.flatMap((line) => line.x)), shown = lines.flatMap((line) => line.spread
        ? line.y.flatMap((y, k) => (y === null || line.spread[k] === null ? [] : [y - line.spread[k], y + line.spread[k]])) : line.y);
      const ys = range(options.zero ? [...shown, 0] : shown);
      const picture = svg("svg", { height, "aria-hidden": "true" });
      box.replaceChildren(picture, tip);
      scale = null; cursor = null;
      if (!xs || !ys) {
        picture.append(svg("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, options.nothing || "nothing to show"));
        return;
      }
      const reach = ys[1] - ys[0], low = ys[0] - 0.05 * reach, high = ys[1] + 0.05 * reach;
      const first = options.fromZero ? Math.min(0, xs[0]) : xs[0];
      const yTicks = ticks(low, high, 5), left = 14 + 7.2 * Math.max(...yTicks.map((t) => number(t).length)) + 14;
      const right = 14, top = 8, bottom = 40;
      const X = (v) => left + ((v - first) / (xs[1] - first)) * (width - left - right);
      const Y = (v) => height - bottom - ((v - low) / (high - low)) * (height - top - bottom);
      scale = { X, Y, width, height, left, right, top, bottom };
      for (const t of yTicks) picture.append(
        svg("line", { class: "tick", x1: left, x2: width - right, y1: Y(t), y2: Y(t) }),
        svg("text", { x: left - 6, y: Y(t) + 4, "text-anchor": "end" }, number(t)));
      for (const t of ticks(first, xs[1], width < 500 ? 4 : 8)) picture.append(
        svg("line", { class: "tick", x1: X(t), x2: X(t), y1: top, y2: height - bottom }),
        svg("text", { x: X(t), y: height - bottom + 16, "text-anchor": "middle" }, short(t, xs[1])));
      picture.append(svg("text", { x: (left + width - right) / 2, y: height - 5, "text-anchor": "middle" }, options.xName));
      const middle = (top + height - bottom) / 2;
      picture.append(svg("text", { x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, options.yName));
      for (const mark of marks) if (mark.y >= low && mark.y <= high) picture.append(
        svg("line", { class: "goal", x1: left, x2: width - right, y1: Y(mark.y), y2: Y(mark.y) }),
        svg("text", { x: width - right - 4, y: Y(mark.y) - 5, "text-anchor": "end" }, mark.label));
      for (const line of lines) drawLine(picture, line, X, Y);
      cursor = svg("g", {});
      picture.append(cursor);
      if (at !== null) show(at);
    }
    function drawLine(picture, line, X, Y) {
      const kind = line.kind === "bold" ? "bold" : line.kind === "dash" ? "seed thin" : "seed";
      if (line.spread) {
        const known = line.x.map((x, k) => k).filter((k) => line.y[k] !== null && line.spread[k] !== null);
        const up = known.map((k) => `${X(line.x[k]).toFixed(1)},${Y(line.y[k] + line.spread[k]).toFixed(1)}`);
        const down = known.reverse().map((k) => `${X(line.x[k]).toFixed(1)},${Y(line.y[k] - line.spread[k]).toFixed(1)}`);
        if (up.length > 1) picture.append(svg("path", { class: `band ${line.colour}`, d: `M${up.join("L")}L${down.join("L")}Z` }));
      }
      // A median of fewer seeds than there are is dashed; a number that is missing leaves a gap.
      const pieces = { full: "", fewer: "" };
      let before = null;
      line.x.forEach((x, k) => {
        if (line.y[k] === null) { before = null; return; }
        const here = `${X(x).toFixed(1)} ${Y(line.y[k]).toFixed(1)}`;
        if (before !== null) {
          const fewer = line.n && (line.n[k] < line.of || line.n[k - 1] < line.of);
          pieces[fewer ? "fewer" : "full"] += `M${before}L${here}`;
        }
        before = here;
      });
      if (pieces.full) picture.append(svg("path", { class: `${kind} ${line.colour}`, d: pieces.full, "data-line": line.key || "" }));
      if (pieces.fewer) picture.append(svg("path", { class: `${kind} thin ${line.colour}`, d: pieces.fewer, "data-line": line.key || "" }));
      const known = line.y.filter((y) => y !== null).length;
      const alone = (k) => line.y[k] !== null && (k === 0 || line.y[k - 1] === null) && (k === line.y.length - 1 || line.y[k + 1] === null);
      line.x.forEach((x, k) => {
        if (line.y[k] !== null && ((known <= 40 && !options.plain) || alone(k)))
          picture.append(svg("circle", { class: line.colour, cx: X(x), cy: Y(line.y[k]), r: line.kind === "bold" ? 3 : 2, "data-line": line.key || "" }));
      });
    }
    const places = () => [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b);
    function show(x) {
      at = x;
      if (!scale) return;
      const all = places(), here = all.reduce((best, each) => (Math.abs(each - x) < Math.abs(best - x) ? each : best), all[0]);
      at = here;
      const found = [];
      for (const line of lines) { const k = line.x.indexOf(here); if (k >= 0) found.push({ line, y: line.y[k], k }); }
      const words = found.map(({ line, y, k }) => ({
        line, label: line.label + (line.n ? ` (n = ${line.n[k]} of ${line.of})` : ""),
        value: y === null ? "not finite" : number(y) + (line.spread ? ` ± ${number(line.spread[k])}` : ""),
      }));
      const { X, Y, width, height, top, bottom } = scale;
      cursor.replaceChildren(svg("line", { class: "rule", x1: X(here), x2: X(here), y1: top, y2: height - bottom }),
        ...found.filter(({ y }) => y !== null).map(({ line, y }) => svg("circle", { class: `at ${line.colour}`, cx: X(here), cy: Y(y), r: 4.5 })));
      const most = 12;
      tip.replaceChildren(el("strong", {}, `${options.xName === "steps" ? "after " : ""}${whole(here)} ${options.xName === "steps" ? "steps" : `(${options.xName})`}`),
        ...words.slice(0, most).map(({ line, label, value }) => el("div", {}, el("span", { class: `chip ${line.colour}` }), el("span", {}, label), el("span", {}, value))),
        ...(words.length > most ? [el("div", {}, `and ${words.length - most} more`)] : []));
      tip.hidden = false;
      const room = tip.offsetWidth, place = X(here) + 14 + room > width ? X(here) - 14 - room : X(here) + 14;
      tip.style.left = `${Math.max(0, Math.min(place, width - room))}px`;
      tip.style.top = `${top + 4}px`;
      box.setAttribute("aria-valuemin", all[0]); box.setAttribute("aria-valuemax", all[all.length - 1]); box.setAttribute("aria-valuenow", here);
      box.setAttribute("aria-valuetext", `${options.xName} ${whole(here)}: ` + words.map(({ label, value }) => `${label} ${value}`).join("; "));
    }
    function hide() { at = null; tip.hidden = true; if (cursor) cursor.replaceChildren(); }
    function point(event) {
      if (!scale) return;
      const all = places(), inside = event.clientX - box.getBoundingClientRect().left;
      show(all.reduce((best, each) => (Math.abs(scale.X(each) - inside) < Math.abs(scale.X(best) - inside) ? each : best), all[0]));
    }
    box.addEventListener("pointermove", point);
    box.addEventListener("pointerdown", point);
    box.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && document.activeElement !== box) hide(); });
    box.addEventListener("focus", () => { if (at === null && box.matches(":focus-visible")) { const all = places(); if (all.length) show(all[all.length - 1]); } });
    box.addEventListener("blur", hide);
    box.addEventListener("keydown", (event) => {
      const all = places(), k = at === null ? all.length - 1 : all.indexOf(at);
      const moves = { ArrowLeft: k - 1, ArrowDown: k - 1, ArrowRight: k + 1, ArrowUp: k + 1, Home: 0, End: all.length - 1, PageUp: k + 10, PageDown: k - 10 };
      if (event.key === "Escape") hide();
      else if (event.key in moves && all.length) { event.preventDefault(); show(all[Math.max(0, Math.min(all.length - 1, moves[event.key]))]); }
    });
    new ResizeObserver(() => { if (!scale || Math.abs(scale.width - box.clientWidth) > 1) draw(); }).observe(box);
    return { set(given, goals) { lines = given; marks = goals || []; draw(); } };
  }

  // Dots on a square whose two axes are the same, with the diagonal.
  function scatter(host, options) {
    const box = el("div", { class: "chart square", tabindex: 0, role: "slider", "aria-label": `${options.name}: arrow keys go from dot to dot`,
      "aria-valuemin": 0, "aria-valuemax": 0, "aria-valuenow": 0, "aria-valuetext": "no dot chosen" });
    const tip = el("div", { class: "tip", hidden: true });
    host.replaceChildren(box);
    let dots = [], at = null, drawn = null, cursor = null;
    function draw() {
      const width = Math.max(box.clientWidth, 240), height = Math.min(width, 430);
      const picture = svg("svg", { height, "aria-hidden": "true" });
      box.replaceChildren(picture, tip);
      drawn = null;
      const ends = range(dots.flatMap((dot) => [dot.mean - dot.std, dot.mean + dot.std, dot.realised]));
      if (!ends) { picture.append(svg("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "nothing to show: all runs and seeds are switched off, or no moment is this early")); return; }
      const reach = ends[1] - ends[0], low = ends[0] - 0.05 * reach, high = ends[1] + 0.05 * reach;
      const marks = ticks(low, high, width < 450 ? 4 : 6), left = 28 + 7.2 * Math.max(...marks.map((t) => number(t).length)), right = 12, top = 8, bottom = 40;
      const X = (v) => left + ((v - low) / (high - low)) * (width - left - right);
      const Y = (v) => height - bottom - ((v - low) / (high - low)) * (height - top - bottom);
      drawn = { X, Y, width, height };
      for (const t of marks) picture.append(
        svg("line", { class: "tick", x1: left, x2: width - right, y1: Y(t), y2: Y(t) }), svg("text", { x: left - 6, y: Y(t) + 4, "text-anchor": "end" }, number(t)),
        svg("line", { class: "tick", x1: X(t), x2: X(t), y1: top, y2: height - bottom }), svg("text", { x: X(t), y: height - bottom + 16, "text-anchor": "middle" }, number(t)));
      const middle = (top + height - bottom) / 2;
      picture.append(svg("line", { class: "diagonal", x1: X(low), y1: Y(low), x2: X(high), y2: Y(high) }),
        svg("text", { x: (left + width - right) / 2, y: height - 5, "text-anchor": "middle" }, "predicted (mean of members ± deviation)"),
        svg("text", { x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, "realised"));
      for (const dot of dots) picture.append(
        svg("line", { class: `bar ${dot.colour}`, x1: X(dot.mean - dot.std), x2: X(dot.mean + dot.std), y1: Y(dot.realised), y2: Y(dot.realised) }),
        svg("circle", { class: `dot ${dot.colour}`, cx: X(dot.mean), cy: Y(dot.realised), r: 3.5 }));
      cursor = svg("g", {});
      picture.append(cursor);
      if (at !== null && at < dots.length) show(at); else hide();
    }
    function show(k) {
      if (!drawn || !dots.length) return;
      at = k;
      const dot = dots[k], x = drawn.X(dot.mean), y = drawn.Y(dot.realised);
      cursor.replaceChildren(svg("circle", { class: `at ${dot.colour}`, cx: x, cy: y, r: 6 }));
      const far = dot.std > 0 ? `, ${number(Math.abs(dot.realised - dot.mean) / dot.std)} deviations apart` : "";
      const words = [dot.label, `predicted ${number(dot.mean)} ± ${number(dot.std)}`, `realised ${number(dot.realised)}${far}`];
      tip.replaceChildren(...words.map((line, place) => el(place ? "span" : "strong", {}, line, el("br"))));
      tip.hidden = false;
      const room = tip.offsetWidth;
      tip.style.left = `${Math.max(0, Math.min(x + 12, drawn.width - room))}px`;
      tip.style.top = `${y > drawn.height / 2 ? y - tip.offsetHeight - 10 : y + 12}px`;
      box.setAttribute("aria-valuemax", dots.length); box.setAttribute("aria-valuenow", k + 1); box.setAttribute("aria-valuetext", words.join(", "));
    }
    function hide() { at = null; tip.hidden = true; if (cursor) cursor.replaceChildren(); }
    function point(event) {
      if (!drawn) return;
      const frame = box.getBoundingClientRect(), px = event.clientX - frame.left, py = event.clientY - frame.top;
      let best = null, least = 30 * 30;
      dots.forEach((dot, k) => { const d = (drawn.X(dot.mean) - px) ** 2 + (drawn.Y(dot.realised) - py) ** 2; if (d < least) { least = d; best = k; } });
      if (best === null) hide(); else show(best);
    }
    box.addEventListener("pointermove", point); box.addEventListener("pointerdown", point);
    box.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
    box.addEventListener("focus", () => { if (at === null && box.matches(":focus-visible") && dots.length) show(0); });
    box.addEventListener("blur", hide);
    box.addEventListener("keydown", (event) => {
      const k = at === null ? -1 : at, moves = { ArrowLeft: k - 1, ArrowDown: k - 1, ArrowRight: k + 1, ArrowUp: k + 1, Home: 0, End: dots.length - 1 };
      if (event.key === "Escape") hide();
      else if (event.key in moves && dots.length) { event.preventDefault(); show(Math.max(0, Math.min(dots.length - 1, moves[event.key]))); }
    });
    new ResizeObserver(() => { if (!drawn || Math.abs(drawn.width - box.clientWidth) > 1) draw(); }).observe(box);
    return { set(given) { dots = given; draw(); } };
  }

  function slider(id, words, changed) {
    const input = el("input", { type: "range", id, min: 0, max: 0, step: 1, value: 0 });
    const output = el("output", { for: id });
    let steps = [];
    const tell = () => { output.textContent = steps.length ? `${whole(steps[input.value])} steps` : ""; input.setAttribute("aria-valuetext", output.textContent); };
    input.addEventListener("input", () => { tell(); changed(Number(input.value) === steps.length - 1 ? null : steps[input.value]); });
    return {
      box: el("label", { class: "slide", for: id }, words, input, output),
      set(given, step) { // step null: the last
        steps = given;
        input.max = Math.max(0, steps.length - 1); input.disabled = steps.length < 2;
        const place = step === null ? steps.length - 1 : steps.findLastIndex((each) => each <= step);
        input.value = Math.max(0, place);
        tell();
        return steps.length ? steps[Math.max(0, place)] : null;
      },
    };
  }

  // -- sections --------------------------------------------------------------------------------------------------------

  function summary() {
    const count = data.runs.reduce((sum, run) => sum + run.seeds.length, 0);
    const title = data.runs.length === 1 ? data.runs[0].title : `${data.runs.length} training runs`;
    by("title").textContent = title;
    by("made").textContent = `${data.runs.length} run${data.runs.length === 1 ? "" : "s"}, ${seeds(count)}. Made ${data.made} by bayesbellman ${data.version}.`;
    const bad = new Set(["failed", "diverged", "interrupted", "not begun", "stopped"]);
    by("verdicts").replaceChildren(...data.runs.map((run, place) => {
      const rows = run.seeds.map((seed) => el("tr", {},
        el("th", { scope: "row" }, String(seed.seed)),
        el("td", { class: bad.has(seed.how) ? "bad" : seed.how === "solved" ? "good" : null }, seed.how),
        ...[whole(seed.steps), number(seed.last), seed.best === null ? "–" : `${number(seed.best)} at ${whole(seed.best_at)}`,
          String(seed.evaluated) + (seed.not_finite ? ` (${seed.not_finite} not finite)` : ""), clock(seed.seconds)].map((cell) => el("td", {}, cell))));
      const names = ["seed", "ended", "steps", "last", "best", "evaluations", "time"];
      return el("article", { class: `run ${colourOfRun(place)}` },
        el("h3", {}, el("span", { class: "chip", "aria-hidden": "true" }), run.title),
        el("p", { class: "quiet small" }, `${run.label} · ${whole(run.planned)} steps for each of ${seeds(run.seeds.length)}`
          + (run.episodes ? ` · an evaluation is the mean return of ${run.episodes} episodes` : "")),
        el("p", { class: "verdict" }, run.verdict.charAt(0).toUpperCase() + run.verdict.slice(1) + "."),
        run.remarks.length ? el("ul", { class: "remarks" }, ...run.remarks.map((words) => el("li", {}, words))) : null,
        el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Seeds of ${run.label}` },
          el("table", {}, el("thead", {}, el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, ...rows))));
    }), el("p", { class: "quiet small" }, "The best of many evaluations flatters: it is the largest of noisy numbers."));
  }

  // The same switches stand above both charts; what is switched on one is switched on the other.
  function toggles(host) {
    const made = JSON.stringify(data.runs.map((run) => [run.id, run.label, run.seeds.map((seed) => [seed.id, seed.how])]));
    if (host.dataset.made === made) return;
    host.dataset.made = made;
    const held = document.activeElement && host.contains(document.activeElement) ? document.activeElement.id : null;
    const box = (id, words, colour, label) => el("label", {}, el("input", {
      type: "checkbox", id: `${host.id}-${id}`, "data-switch": id, class: colour, checked: !chosen.off.has(id), "aria-label": label,
      onchange: (event) => { if (event.target.checked) chosen.off.delete(id); else chosen.off.add(id); switched(); },
    }), words);
    host.replaceChildren(...data.runs.map((run, place) => el("fieldset", {},
      el("legend", {}, box(run.id, `${run.label}: all`, colourOfMiddle(place), `${run.label}, all seeds`)),
      ...run.seeds.map((seed, k) => box(seed.id, `seed ${seed.seed}${["finished", "solved"].includes(seed.how) ? "" : ` · ${seed.how}`}`,
        colourOfSeed(place, k), `${run.label}, seed ${seed.seed}, ${seed.how}`)))));
    if (held && by(held)) by(held).focus();
  }
  function switched() {
    for (const input of document.querySelectorAll("input[data-switch]")) input.checked = !chosen.off.has(input.dataset.switch);
    curves(); disagreement(); calibration();
  }
  // One chart for each environment: returns and values of different ones have no common scale.
  function chartsByEnv(host, options, make = lineChart) {
    const charts = new Map();
    return (draw) => {
      const envs = [...new Set(data.runs.map((run) => String(run.env)))];
      if (JSON.stringify(envs) !== JSON.stringify([...charts.keys()])) {
        charts.clear();
        host.replaceChildren(...envs.map((env) => {
          const place = el("div", {});
          charts.set(env, make(place, { ...options, name: envs.length > 1 ? `${options.name}, ${env}` : options.name }));
          return el("div", {}, envs.length > 1 ? el("h3", {}, env) : null, place);
        }));
      }
      for (const [env, chart] of charts) draw(chart, env);
    };
  }
  function linesOf(series, middle, env) {
    const lines = [];
    data.runs.forEach((run, place) => run.seeds.forEach((seed, k) => {
      if (String(run.env) === env && isOn(run, seed) && seed[series].x.length)
        lines.push({ key: seed.id, label: nameOfSeed(run, seed), colour: colourOfSeed(place, k), kind: run.seeds.length === 1 && data.runs.length > 1 ? "bold" : "seed", ...seed[series] });
    }));
    data.runs.forEach((run, place) => {
      if (String(run.env) === env && isOn(run) && run[middle].of > 1)
        lines.push({ key: run.id, label: data.runs.length === 1 ? "median" : `${run.label}, median`, colour: colourOfMiddle(place), kind: "bold", ...run[middle] });
    });
    return lines;
  }
  const curveCharts = chartsByEnv(by("curves-chart"), { name: "Learning curves", xName: "steps", yName: "return of an evaluation", fromZero: true, nothing: "no evaluation to show" });
  function curves() {
    toggles(by("curves-toggles"));
    const counted = data.runs.map((run) => `${run.label}: n = ${run.median.of} of ${seeds(run.seeds.length)}`).join("; ");
    by("curves-words").textContent = "Mean return of each evaluation, one line a seed. Bold: the median over all seeds of a run that were evaluated at that step,"
      + " whichever are switched on here; it is dashed where that is fewer than all that were ever evaluated. Evaluated: " + counted + ".";
    curveCharts((chart, env) => {
      const goals = new Set(data.runs.filter((run) => String(run.env) === env && isOn(run) && run.solved !== null).map((run) => run.solved));
      chart.set(linesOf("evaluations", "median", env), [...goals].map((y) => ({ y, label: `solved: ${number(y)}` })));
    });
  }
  const disagreementCharts = chartsByEnv(by("disagreement-chart"), { name: "Disagreement", xName: "steps", yName: "deviation of values", fromZero: true, zero: true, plain: true, height: 260, nothing: "no disagreement was recorded" });
  function disagreement() {
    toggles(by("disagreement-toggles"));
    disagreementCharts((chart, env) => chart.set(linesOf("disagreement", "disagreement", env)));
  }

  const missing = (words) => el("p", { class: "missing" }, words);
  const noMoments = "No diagnostics are recorded here: the run is older than they are, or has not come to its first evaluation. Train it again to have them.";
  const calibrationHost = by("calibration-body");
  const calibrationSlider = slider("calibration-moment", "Moment", (step) => { chosen.calibrated = step; calibration(); });
  const calibrationChart = el("div", {}), calibrationCounts = el("div", { class: "scroll counts" }), calibrationNote = el("div", {});
  calibrationHost.append(el("div", { class: "controls" }, calibrationSlider.box), el("div", { class: "beside" }, calibrationChart, el("div", {}, calibrationCounts, calibrationNote, by("calibration-how"))));
  const dotCharts = chartsByEnv(calibrationChart, { name: "Predicted against realised returns" }, scatter);
  function calibration() {
    const all = [...new Set(data.runs.flatMap((run) => run.seeds.flatMap((seed) => seed.moments.map((moment) => moment.steps))))].sort((a, b) => a - b);
    const none = data.runs.flatMap((run) => run.seeds.filter((seed) => !seed.moments.length).map((seed) => nameOfSeed(run, seed)));
    for (const part of [calibrationSlider.box, calibrationChart, calibrationCounts]) part.hidden = !all.length;
    calibrationNote.replaceChildren(...(!all.length ? [missing(noMoments)] : none.length ? [missing(`Without diagnostics, and so not here: ${none.join("; ")}.`)] : []));
    if (!all.length) return;
    const step = calibrationSlider.set(all, chosen.calibrated);
    const dots = [], counts = [];
    data.runs.forEach((run, place) => {
      const mine = [];
      let alone = false, asked = 0;
      run.seeds.forEach((seed, k) => {
        const moment = seed.moments.findLast((each) => each.steps <= step);
        if (!moment || !isOn(run, seed)) return;
        alone = alone || moment.members < 2;
        asked += 1;
        moment.start.mean.forEach((mean, episode) => {
          const dot = { env: String(run.env), mean, std: moment.start.std[episode], realised: moment.start.realised[episode], colour: colourOfSeed(place, k),
            label: `${nameOfSeed(run, seed)}, after ${whole(moment.steps)} steps, episode ${episode + 1}` };
          if (dot.mean !== null && dot.std !== null && dot.realised !== null) mine.push(dot);
        });
      });
      dots.push(...mine);
      if (!mine.length) return;
      const within = (times) => { const found = mine.filter((dot) => Math.abs(dot.realised - dot.mean) <= times * dot.std).length; return `${found} (${Math.round((100 * found) / mine.length)} %)`; };
      const bias = mine.reduce((sum, dot) => sum + dot.mean - dot.realised, 0) / mine.length;
      counts.push(el("tr", {}, el("th", { class: "name", scope: "row" }, run.label), el("td", {}, String(asked)), el("td", {}, String(mine.length)),
        el("td", {}, alone ? "one member" : within(1)), el("td", {}, alone ? "one member" : within(2)), el("td", {}, number(bias)),
        el("td", {}, run.target_noise === null ? "–" : number(run.target_noise))));
    });
    dotCharts((chart, env) => chart.set(dots.filter((dot) => dot.env === env)));
    const names = ["run", "seeds", "n", "within 1", "within 2", "predicted − realised", "target noise"];
    calibrationCounts.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, ...names.map((name, k) => el("th", { scope: "col", class: k ? null : "name" }, name)))),
      el("tbody", {}, ...counts, el("tr", { class: "quiet" }, el("th", { class: "name", scope: "row" }, "if normal and calibrated"), el("td", {}, ""), el("td", {}, ""), el("td", {}, "68 %"), el("td", {}, "95 %"), el("td", {}, "0"), el("td", {}, "")))));
  }

  // -- beliefs: maps over two-dimensional states, and values along episodes ---------------------------------------------

  const VIRIDIS = [[68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121], [110, 206, 88], [181, 222, 43], [253, 231, 37]];
  const INFERNO = [[0, 0, 4], [40, 11, 84], [101, 21, 110], [159, 42, 99], [212, 72, 66], [245, 125, 21], [250, 193, 39], [252, 255, 164]];
  const DIVERGING = [[5, 80, 150], [90, 165, 215], [242, 242, 242], [240, 150, 80], [190, 70, 0]];
  function colour(stops, share) {
    const place = Math.max(0, Math.min(1, share)) * (stops.length - 1), k = Math.min(stops.length - 2, Math.floor(place)), rest = place - k;
    return stops[k].map((value, channel) => Math.round(value + rest * (stops[k + 1][channel] - value)));
  }
  const decoded = new Map();
  function bytes(text) {
    if (!decoded.has(text)) {
      if (decoded.size > 600) decoded.clear();
      decoded.set(text, Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
    }
    return decoded.get(text);
  }
  const valueAt = (map, place) => map.low + (bytes(map.data)[place] / 255) * (map.high - map.low);
  const readingOf = (map, place) => valueAt(map, place).toFixed(Math.max(0, Math.min(8, Math.ceil(-Math.log10((map.high - map.low) / 255 || 1))))).replace("-", "−");
  function visitsAt(map, place) {
    const shade = bytes(map.data)[place];
    return shade === 0 ? 0 : Math.max(1, Math.round(Math.exp(((shade - 1) / 254) * Math.log(map.most))));
  }

  const controls = by("beliefs-controls"), mapsHost = by("beliefs-maps"), episodesHost = by("beliefs-episodes");
  const runChoice = el("select", { id: "choose-run", onchange: (event) => { chosen.run = event.target.value; chosen.seed = null; chosen.step = null; beliefs(); } });
  const seedChoice = el("select", { id: "choose-seed", onchange: (event) => { chosen.seed = event.target.value; beliefs(); } });
  const beliefSlider = slider("beliefs-moment", "Moment", (step) => { chosen.step = step; beliefs(); });
  controls.append(el("label", { for: "choose-run" }, "Run", runChoice), el("label", { for: "choose-seed" }, "Seed", seedChoice), beliefSlider.box);
  function options(select, given, value) {
    const made = JSON.stringify(given);
    if (select.dataset.made !== made) {
      select.dataset.made = made;
      select.replaceChildren(...given.map(([id, words]) => el("option", { value: id }, words)));
    }
    select.value = value;
  }
  function beliefs() {
    const some = (run) => run.seeds.some((seed) => seed.moments.length);
    const run = data.runs.find((each) => each.id === chosen.run) || data.runs.find(some) || data.runs[0];
    const seed = run.seeds.find((each) => each.id === chosen.seed) || run.seeds.find((each) => each.moments.length) || run.seeds[0];
    options(runChoice, data.runs.map((each) => [each.id, `${each.label}${some(each) ? "" : " (no diagnostics)"}`]), run.id);
    options(seedChoice, run.seeds.map((each) => [each.id, `${each.seed}${each.moments.length ? "" : " (no diagnostics)"}`]), seed.id);
    const step = beliefSlider.set(seed.moments.map((moment) => moment.steps), chosen.step);
    const moment = seed.moments.find((each) => each.steps === step);
    if (!moment) { mapsHost.replaceChildren(missing(noMoments)); drawMaps = null; episodes.hide(); return; }
    if (moment.grid) maps(run, seed, moment); else { mapsHost.replaceChildren(); drawMaps = null; }
    episodes.show(run, moment);
  }

  let drawMaps = null, cell = null, mapsOf = "";
  function maps(run, seed, moment) {
    const grid = moment.grid, side = grid.cells, axes = run.axes;
    const names = grid.action.map((map) => map.name), square = Boolean(grid.there), key = JSON.stringify([run.id, side, grid.members.length, names, square]);
    if (mapsOf !== key || !drawMaps) { cell = null; drawMaps = buildMaps(run, side, grid.members.length, names, square); mapsOf = key; }
    drawMaps(seed, moment, axes);
  }
  // A plane has its first dimension across and its second up; a square of cells has columns across and rows down.
  function buildMaps(run, side, members, actions, square) {
    const [across, up] = run.axes, canvas = () => el("canvas", { class: "map", width: side, height: side });
    const each = Array.from({ length: members }, canvas);
    const std = canvas(), visits = canvas(), mean = square ? canvas() : null, acts = actions.map(canvas);
    const split = (place) => [Math.floor(place / side), place % side];
    const pixel = (place) => { const [i, j] = split(place); return square ? [j, i] : [i, side - 1 - j]; };
    const placeAt = (x, y) => (square ? y * side + x : x * side + side - 1 - y);
    const reading = el("output", { class: "reading", id: "reading" }), note = el("p", { class: "quiet small" });
    const scaleBar = (stops) => {
      const bar = el("canvas", { class: "bar", width: 128, height: 1, "aria-hidden": "true" }), low = el("span"), high = el("span"), middle = el("span");
      const paint = bar.getContext("2d"), image = paint.createImageData(128, 1);
      for (let k = 0; k < 128; k++) image.data.set([...colour(stops, k / 127), 255], 4 * k);
      paint.putImageData(image, 0, 0);
      return { box: el("div", {}, bar, el("div", { class: "ends" }, low, middle, high)), set(a, b, c) { low.textContent = a; middle.textContent = b || ""; high.textContent = c; } };
    };
    const bars = { members: scaleBar(VIRIDIS), mean: scaleBar(VIRIDIS), std: scaleBar(INFERNO), visits: scaleBar(INFERNO), acts: acts.map(() => scaleBar(DIVERGING)) };
    const fixed = el("input", { type: "checkbox", id: "same-scale", checked: chosen.fixed, onchange: (event) => { chosen.fixed = event.target.checked; beliefs(); } });
    const group = el("div", { class: "panels", tabindex: 0, role: "application", "aria-describedby": "reading",
      "aria-label": `Maps over ${across} and ${up}: arrow keys move a cell over all of them, Escape leaves it` },
      el("div", {}, el("h3", {}, `Value of each member over ${across} (across) and ${up} (${square ? "down" : "up"})`), note,
        el("div", { class: "members" }, ...each.map((map, k) => el("figure", {}, map, el("figcaption", {}, `member ${k + 1}`)))), bars.members.box,
        el("label", { for: "same-scale" }, fixed, "the same colours at all moments")),
      el("div", {}, el("div", { class: "wholes" },
        el("figure", {}, visits, el("figcaption", {}, "states visited (in replay)"), bars.visits.box),
        mean ? el("figure", {}, mean, el("figcaption", {}, "mean of the members’ values"), bars.mean.box) : null,
        el("figure", {}, std, el("figcaption", {}, "deviation between members"), bars.std.box),
        ...acts.map((map, k) => el("figure", {}, map, el("figcaption", {}, actions[k]), bars.acts[k].box)), reading)));
    mapsHost.replaceChildren(group);
    let now = null;

    function paint(map, shade) {
      const brush = map.getContext("2d"), image = brush.createImageData(side, side);
      const there = now.grid.there ? bytes(now.grid.there) : null;
      for (let place = 0; place < side * side; place++) {
        const [x, y] = pixel(place);
        image.data.set(cell === place ? [255, 0, 200, 255] : there && !there[place] ? [0, 0, 0, 0] : shade(place), 4 * (y * side + x));
      }
      brush.putImageData(image, 0, 0);
    }
    const endsOf = (map) => { const most = Math.max(Math.abs(map.low), Math.abs(map.high)) || 1; return map.signed ? [-most, most] : [map.low, map.high]; };
    function paintAll() {
      const { grid, low, high, stdHigh } = now, opaque = (stops, share) => [...colour(stops, share), 255];
      if (mean) paint(mean, (place) => opaque(VIRIDIS, (valueAt(grid.mean, place) - low) / (high - low || 1)));
      grid.members.forEach((map, k) => paint(each[k], (place) => opaque(VIRIDIS, (valueAt(map, place) - low) / (high - low || 1))));
      paint(std, (place) => opaque(INFERNO, valueAt(grid.std, place) / (stdHigh || 1)));
      const shades = bytes(grid.visits.data);
      paint(visits, (place) => (shades[place] ? opaque(INFERNO, shades[place] / 255) : [0, 0, 0, 0]));
      grid.action.forEach((map, k) => {
        const [least, most] = endsOf(map);
        paint(acts[k], (place) => opaque(DIVERGING, (valueAt(map, place) - least) / (most - least || 1)));
      });
    }
    function read() {
      if (cell === null || !now) { reading.textContent = "Point at a map, or move over the maps with the arrow keys, to read its numbers."; return; }
      const { grid } = now, [i, j] = split(cell);
      const where = square ? `${up} ${i + 1}, ${across} ${j + 1}` : [across, up].map((name, axis) => `${name} ${number(grid.low[axis] + (([i, j][axis] + 0.5) / side) * (grid.high[axis] - grid.low[axis]))}`).join(", ");
      if (grid.there && !bytes(grid.there)[cell]) { reading.textContent = `${where}: it cannot be reached.`; return; }
      reading.textContent = `${where}: members ${grid.members.map((map) => readingOf(map, cell)).join(", ")}; `
        + (grid.mean ? `mean ${readingOf(grid.mean, cell)}; ` : "") + `deviation ${readingOf(grid.std, cell)}; `
        + grid.action.map((map) => `${map.name} ${readingOf(map, cell)}; `).join("") + `visits about ${whole(visitsAt(grid.visits, cell))}`;
    }
    const move = (place) => { cell = place; paintAll(); read(); };
    for (const map of [...each, std, visits, ...(mean ? [mean] : []), ...acts]) {
      const point = (event) => {
        const frame = map.getBoundingClientRect();
        const x = Math.floor(((event.clientX - frame.left) / frame.width) * side), y = Math.floor(((event.clientY - frame.top) / frame.height) * side);
        if (x >= 0 && y >= 0 && x < side && y < side) move(placeAt(x, y));
      };
      map.addEventListener("pointermove", point); map.addEventListener("pointerdown", point);
      map.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") move(null); });
    }
    group.addEventListener("keydown", (event) => {
      if (event.target !== group) return;
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      if (event.key === "Escape") move(null);
      else if (event.key in moves) {
        event.preventDefault();
        const from = pixel(cell === null ? placeAt(Math.floor(side / 2), Math.floor(side / 2)) : cell);
        move(placeAt(...from.map((k, axis) => Math.max(0, Math.min(side - 1, k + moves[event.key][axis])))));
      }
    });
    return (seed, moment) => {
      const grid = moment.grid, maps = (chosen.fixed ? seed.moments : [moment]).filter((each) => each.grid).map((each) => each.grid);
      const [low, high] = [Math.min(...maps.map((each) => each.members[0].low)), Math.max(...maps.map((each) => each.members[0].high))];
      const stdHigh = Math.max(...maps.map((each) => each.std.high));
      now = { grid, low, high, stdHigh };
      note.textContent = `After ${whole(moment.steps)} steps, ${square ? "each member with the action that is best by itself" : "with the action that evaluations play"}.` + (moment.members > grid.members.length ? ` The first ${grid.members.length} of ${moment.members} members.` : ` n = ${moment.members} member${moment.members === 1 ? "" : "s"}.`)
        + (square ? ` From left to right ${across} 1 to ${side}, downwards ${up} 1 to ${side}. Cells that cannot be reached are empty.`
          : ` From left to right ${across} ${number(grid.low[0])} to ${number(grid.high[0])}, upwards ${up} ${number(grid.low[1])} to ${number(grid.high[1])}.`);
      bars.members.set(number(low), "value", number(high)); bars.mean.set(number(low), "value", number(high)); bars.std.set("0", "", number(stdHigh)); bars.visits.set("1", `of ${whole(grid.visits.total)}`, `${whole(grid.visits.most)} visits`);
      grid.action.forEach((map, k) => { const [least, most] = endsOf(map); bars.acts[k].set(number(least), map.signed ? "0" : "", number(most)); });
      paintAll(); read();
    };
  }

  const episodes = (() => {
    const choice = el("select", { id: "choose-episode", onchange: (event) => { chosen.episode = Number(event.target.value); beliefs(); } });
    const values = el("div", {}), deviations = el("div", {}), words = el("p", { class: "quiet small" });
    const body = el("div", { hidden: true }, el("h3", {}, "Along an evaluation episode"), words, el("div", { class: "controls" }, el("label", { for: "choose-episode" }, "Episode", choice)), values, deviations);
    episodesHost.append(body);
    const valueChart = lineChart(values, { name: "Predicted and realised return along an episode", xName: "step of the episode", yName: "discounted return", plain: true, height: 240 });
    const deviationChart = lineChart(deviations, { name: "Disagreement along an episode", xName: "step of the episode", yName: "disagreement", plain: true, zero: true, height: 170 });
    return {
      hide() { body.hidden = true; },
      show(run, moment) {
        body.hidden = !moment.episodes.length;
        if (body.hidden) return;
        const place = Math.min(chosen.episode, moment.episodes.length - 1), episode = moment.episodes[place];
        options(choice, moment.episodes.map((each, k) => [String(k), `${k + 1} of ${moment.episodes.length} (${whole(each.length)} steps)`]), String(place));
        const kept = episode.x.length ? episode.x[episode.x.length - 1] + 1 : 0;
        words.textContent = `After ${whole(moment.steps)} steps of training: what the ensemble says is still to come (line and band: mean and one deviation between n = ${moment.members} member${moment.members === 1 ? "" : "s"}), and what came (dashed), both discounted. Near a time limit what came falls short, as the episode is cut.`
          + (kept < episode.length ? ` The first ${whole(kept)} of ${whole(episode.length)} steps.` : "");
        valueChart.set([
          { label: "predicted", colour: "c0", kind: "bold", x: episode.x, y: episode.mean, spread: episode.std },
          { label: "realised", colour: "c1", kind: "dash", x: episode.x, y: episode.realised },
        ]);
        deviationChart.set([{ label: "deviation between members", colour: "c0", kind: "bold", x: episode.x, y: episode.std }]);
      },
    };
  })();

  function settings() {
    const host = by("settings-body"), made = JSON.stringify(data.runs.map((run) => [run.label, run.settings, run.facts, run.commands, data.thinned]));
    if (host.dataset.made === made) return;
    host.dataset.made = made;
    const table = (label, rows) => {
      const names = [...new Set(rows.flatMap((row) => [...row.keys()]))];
      const several = data.runs.length > 1;
      return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, el("table", {},
        el("thead", {}, el("tr", {}, el("th", { class: "name", scope: "col" }, label), ...data.runs.map((run) => el("th", { class: "name", scope: "col" }, several ? run.label : "")))),
        el("tbody", {}, ...names.map((name) => {
          const values = rows.map((row) => (row.has(name) ? row.get(name) : "–"));
          return el("tr", { class: several && new Set(values).size > 1 ? "differs" : null }, el("th", { class: "name", scope: "row" }, name), ...values.map((value) => el("td", {}, value)));
        }))));
    };
    const plan = data.runs.map((run) => new Map([["agent", run.agent], ["env", String(run.env)], ["steps", whole(run.planned)], ["seeds", run.seeds.map((seed) => seed.seed).join(" ")],
      ["solved at", run.solved === null ? "–" : number(run.solved)], ...Object.entries(run.settings)]));
    host.replaceChildren(
      el("h3", {}, "Commands"),
      ...data.runs.map((run) => el("div", {}, data.runs.length > 1 ? el("p", { class: "quiet small" }, run.label) : null,
        run.commands.length ? el("pre", {}, run.commands.join("\n")) : missing("The run does not say by which command it was made."))),
      el("p", { class: "quiet small" }, "This page:"), el("pre", {}, data.command),
      ...(data.thinned ? [missing("To keep the page small, some of the recorded moments are left out; a page of fewer runs has them.")] : []),
      el("h3", {}, "Settings"), ...(data.runs.length > 1 ? [el("p", { class: "quiet small" }, "Bold: what differs between the runs.")] : []), table("setting", plan),
      el("h3", {}, "Where it was made"), table("provenance", data.runs.map((run) => new Map(run.facts))));
  }

  function update() { summary(); curves(); disagreement(); calibration(); beliefs(); settings(); }
  update();

  // -- live ------------------------------------------------------------------------------------------------------------

  if (live) {
    const status = by("live");
    let tag = null, said = "";
    const say = (words, lost) => { if (words !== said) { said = words; status.textContent = words; status.classList.toggle("lost", lost); } };
    status.hidden = false;
    const look = async () => {
      try {
        const answer = await fetch("data.json", { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
        if (answer.status === 200) {
          tag = answer.headers.get("ETag");
          data = await answer.json();
          update();
        } else if (answer.status !== 304) {
          say(`Not live: ${await answer.text()} (What is shown is the last that came.)`, true);
          return;
        }
        const going = data.runs.filter((run) => run.running);
        const words = going.map((run) => run.seeds.filter((seed) => seed.how === "running").map((seed) => `${nameOfSeed(run, seed)} at ${whole(seed.steps)} of ${whole(run.planned)} steps`).join(", "));
        say(going.length ? `Live: ${words.join("; ")}.` : "Live. Nothing is running.", false);
      } catch (error) {
        say("Not live: the server does not answer. What is shown is the last that came.", true);
      } finally {
        setTimeout(look, 2000);
      }
    };
    look();
  }
})();
