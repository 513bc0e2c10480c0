// The page of the run whose key, or how it begins, stands behind the # of the link.
"use strict";

const AXES = { passes: "passes (oracle calls / n)", time: "solver time (s)", calls: "oracle calls", at_lam: "lam" };
const MEASURES = {
  gap: "duality gap", suboptimality: "primal suboptimality", primal: "primal objective", dual: "dual objective",
  test_error: "test error", validation_error: "validation error", train_error: "training error",
  gap_estimate: "gap, as the method estimates it", cache_hits: "share of steps answered by the cache", atoms: "stored labelings",
};

function column(trace, name, n) {
  return name === "calls" ? trace.passes && n && trace.passes.map((value) => Math.round(value * n)) : trace[name];
}

// What can be chosen of some traces: of names with words, those that any trace has.
function choices(words, traces, n) {
  return Object.entries(words).filter(([name]) => traces.some((trace) => column(trace, name, n)));
}

// Draws lines {trace, n, method, words} as state {x, y, scale} says; scales are those of the values.
function drawTraces(place, lines, state) {
  const logarithmic = state.scale === "log";
  const positive = (values) => values.every((value) => value === null || value >= 0);
  const drawn = lines.filter(({ trace, n }) => column(trace, state.x, n) && trace[state.y]);
  const axis = (words, valuesOf) => ({ title: { text: words }, type: logarithmic && drawn.every((each) => positive(valuesOf(each))) ? "log" : "linear" });
  const xaxis = axis(AXES[state.x], ({ trace, n }) => column(trace, state.x, n));
  const yaxis = axis(MEASURES[state.y], ({ trace }) => trace[state.y]);
  // The start, at 0, has no place on a logarithmic axis; plotly would draw a line to it all the same.
  const placed = (values, { type }) => (type === "log" ? values.map((value) => (value > 0 ? value : null)) : values);
  const sides = drawn.map(({ trace, n, method, words }) => (
    line(method, placed(column(trace, state.x, n), xaxis), placed(trace[state.y], yaxis), words)
  ));
  plot(place, sides, layout(xaxis, yaxis));
  place.setAttribute("aria-label", `${MEASURES[state.y]} against ${AXES[state.x]} of ${drawn.length} lines`);
}

const page = document.getElementById("run");

function facts(entries) {
  return element("dl", { class: "facts" }, ...entries.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value instanceof Node ? value : String(value))]));
}

function certificate(stored) {
  if (stored.gap === null) return "No certificate: the method has no dual objective, or stopped before it logged one.";
  return `Primal ${stored.primal} minus dual ${stored.dual}: the objective is at most ${stored.gap} above its minimum.`;
}

function traceOf(run, stored) {
  const variants = Object.keys(stored.traces);
  const looks = report.data.runs.methods;
  const lines = variants.map((variant) => {
    const method = looks.find((each) => each.name === variant);
    return { trace: stored.traces[variant], n: stored.n, method, words: method.label };
  });
  const traces = lines.map((each) => each.trace);
  const [positions, measures] = [choices(AXES, traces, stored.n), choices(MEASURES, traces, stored.n)];
  if (!positions.length || !measures.length) return [];
  const state = { x: positions[0][0], y: measures[0][0], scale: "log" };
  const place = element("div", { class: "panel tall", role: "group" });
  const draw = () => drawTraces(place, lines, state);
  const change = (name) => (value) => { state[name] = value; draw(); };
  const columns = [...positions, ...measures];
  const rows = lines.flatMap(({ trace, method, n }) => (trace.passes || trace.at_lam).map((_, k) => element(
    "tr", {}, element("td", {}, method.label),
    ...columns.map(([name]) => element("td", {}, shownNumber((column(trace, name, n) || [])[k]))),
  )));
  const heads = ["iterate", ...columns.map(([, words]) => words)].map((words) => element("th", { scope: "col" }, words));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
  const known = (name) => lines.map(({ method }) => method).filter((method) => method.name === name);
  setTimeout(draw);  // when it has a size
  dark.addEventListener("change", draw);
  return [
    element("h2", {}, "Trace"),
    element("div", { class: "controls" }, select("Values", measures, state.y, change("y")), select("against", positions, state.x, change("x")),
      select("scales", SCALES.slice(1), state.scale, change("scale"))),
    element("p", { class: "note" }, `Lines: ${variants.map((name) => known(name)[0].label).join(", ")}.`),
    place,
    element("details", {}, element("summary", {}, `Some of its numbers: ${rows.length} rows`),
      element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "trace" }, table)),
  ];
}

function used(names, words, link) {
  if (!names.length) return [element("p", {}, `No ${words} uses this run.`)];
  return [element("ul", {}, ...names.map((name) => element("li", {}, ...link(name))))];
}

async function show() {
  const key = decodeURIComponent(location.hash.slice(1));
  const run = key && storedRuns().find((each) => each.key.startsWith(key.slice(0, 12)));
  if (!run) {
    page.replaceChildren(element("p", {}, key ? `No run has the key ${key}. ` : "No run is named. ", element("a", { href: "runs.html" }, "All runs")));
    return;
  }
  const index = report.data.runs;
  const stored = (await report.load(`data-${run.dataset}`))[run.key];
  const title = `${labelOf(run.method)} on ${run.place}`;
  document.title = `${title} (${run.key})`;
  document.querySelector("h1").textContent = title;
  page.replaceChildren(
    element("p", {}, element("a", { href: "runs.html" }, "All runs")),
    facts([
      ["status", `${run.status}${index.statuses[run.status] ? `: ${stored.reason || index.statuses[run.status]}` : ""}`],
      ["error", stored.error], ["damage", stored.damage],
      ["task", run.task], ["lam", stored.lam === null ? run.lam : `${run.lam}${run.lam.includes("/") ? ` = ${stored.lam}` : ""}`], ["seed", run.seed],
      ["passes", shownNumber(run.passes)], ["oracle calls", stored.oracle_calls], ["seconds", shownNumber(run.time)],
      ["options that differ", run.options],
    ]),
    element("h2", {}, "Certificate"), element("p", {}, certificate(stored)),
    ...traceOf(run, stored),
    element("h2", {}, "Claims that use this run"),
    ...used(run.claims, "claim", (id) => {
      const [file, verdict, statement] = index.claims[id];
      return [element("a", { href: `${file}.html#${id}` }, id), ` ${verdict}: ${statement}`];
    }),
    element("h2", {}, "Figures that show this run"),
    ...used(run.figures, "figure", (name) => {
      const [file, id, words] = index.figures[name];
      return [element("a", { href: `${file}.html#${id}` }, name), ` ${words}`];
    }),
    element("h2", {}, "Options"), element("pre", {}, stored.config || "unknown"),
    element("h2", {}, "Origin"),
    facts([["key", run.key], ["made", stored.created], ["with", index.environments[stored.environment]],
      ["code", stored.stale ? "other than what wrote this report" : "as it is here"], ["data", stored.data || "unknown"],
      ["lost with workers", stored.lost || "nothing"]]),
    element("p", {}, "Print it with ", element("code", {}, `fwexp ls key=${run.key}`), "; predict with ",
      element("code", {}, `fwexp.load_run("${run.key}")`), "."),
  );
}

window.addEventListener("hashchange", show);
show();
