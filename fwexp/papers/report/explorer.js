// The explorer: what is chosen stands in the link, so that the link shows the same again.
"use strict";

const everyRun = storedRuns().filter((run) => run.passes !== null);
const nameOf = (run) => (run.task === "train" ? run.place : `${run.place} (${run.task})`);
const distinct = (values) => [...new Set(values)];
const usual = { data: "", lam: "", x: "passes", y: "gap", scale: "log", show: "" };
let state = readState(usual);
const choosing = document.getElementById("choose");
const chartPlace = document.getElementById("chart");
const listing = document.getElementById("shown");
const telling = document.getElementById("said");
let redraw = () => {};

// Where a link names nothing, or nothing that there is: the data set with most methods, and the lam with most runs.
function settle() {
  const methodsOf = (name) => distinct(everyRun.filter((run) => nameOf(run) === name).map((run) => run.method)).length;
  const places = distinct(everyRun.map(nameOf));
  if (!places.includes(state.data)) state.data = places.reduce((best, name) => (methodsOf(name) > methodsOf(best) ? name : best));
  const here = everyRun.filter((run) => nameOf(run) === state.data);
  const lams = distinct(here.map((run) => run.lam)).sort((a, b) => (Number(a) || 0) - (Number(b) || 0));
  const runsAt = (lam) => here.filter((run) => run.lam === lam).length;
  if (!lams.includes(state.lam)) state.lam = lams.reduce((best, lam) => (runsAt(lam) > runsAt(best) ? lam : best));
  return { places, lams, runs: here.filter((run) => run.lam === state.lam) };
}

function linesOf(runs, stored) {
  return runs.flatMap((run) => Object.entries(stored[run.key].traces).map(([variant, trace]) => {
    const method = report.data.runs.methods.find((each) => each.name === variant);
    return { run, trace, variant, method, n: stored[run.key].n, words: `${method.label}, seed ${run.seed} ${run.options}` };
  }));
}

async function show() {
  const { places, lams, runs } = settle();
  const stored = await report.load(`data-${runs[0].dataset}`);
  const lines = linesOf(runs, stored);
  const variants = distinct(lines.map((each) => each.variant));
  const methods = report.data.runs.methods.filter((method) => variants.includes(method.name));
  const traces = lines.map((each) => each.trace);
  const positions = choices(AXES, traces, 1);
  const measures = choices(MEASURES, traces, 1);
  if (positions.length && !positions.some(([name]) => name === state.x)) state.x = positions[0][0];
  if (measures.length && !measures.some(([name]) => name === state.y)) state.y = measures[0][0];
  const told = variants.filter((name) => report.data.runs.first.includes(name));
  const usually = (told.length > 1 ? told : variants.filter((name) => !/-(wavg|tavg|avg)$/.test(name))).sort().join(" ");
  const named = state.show ? state.show.split(" ").filter((name) => variants.includes(name)) : [];
  const shown = new Set(named.length ? named : usually.split(" "));
  const change = (name) => (value) => { state[name] = value; show(); };
  choosing.replaceChildren(
    element(
      "div", { class: "controls" },
      select("Data set", places.map((name) => [name, name]), state.data, (value) => { state = { ...state, data: value, lam: "", show: "" }; show(); }),
      select("lam", lams.map((lam) => [lam, lam || "none"]), state.lam, (value) => { state = { ...state, lam: value, show: "" }; show(); }),
      select("Values", measures, state.y, change("y")),
      select("against", positions, state.x, change("x")),
      select("scales", SCALES.slice(1), state.scale, change("scale")),
    ),
  );
  document.getElementById("methods").replaceChildren(methodBoxes(methods, (name) => shown.has(name), (name, isShown) => {
    shown[isShown ? "add" : "delete"](name);
    state.show = [...shown].sort().join(" ");
    if (state.show === usually) state.show = "";
    redraw();
  }));
  redraw = () => {
    const chosen = lines.filter((each) => shown.has(each.variant));
    writeState(state, usual);
    drawTraces(chartPlace, chosen, state);
    // Runs that did not finish have no trace on these pages, and are listed without a line.
    const drawn = lines.length ? distinct(chosen.map((each) => each.run)) : runs;
    const words = lines.length ? "a line for each seed and iterate" : "none with a trace";
    telling.textContent = `${drawn.length} runs of ${state.data}${state.lam && `, lam = ${state.lam}`}, ${words}.`;
    listing.replaceChildren(...drawn.map((run) => element(
      "tr", {},
      element("td", { "data-label": "run" }, element("a", { href: `run.html#${run.key}` }, run.key)),
      ...[["method", labelOf(run.method)], ["seed", run.seed], ["passes", shownNumber(run.passes)], ["seconds", shownNumber(run.time)],
        ["gap", shownNumber(run.gap)], ["options that differ", briefly(run.options)]]
        .map(([label, text]) => element("td", { "data-label": label }, String(text))),
    )));
  };
  redraw();
}

if (everyRun.length) {
  show();
  dark.addEventListener("change", () => redraw());
  window.addEventListener("hashchange", () => { state = readState(usual); show(); });
} else {
  chartPlace.hidden = true;
  telling.textContent = "No run is stored yet.";
}
