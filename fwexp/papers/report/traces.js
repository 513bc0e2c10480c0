// A chart of stored runs, a line each, that the explorer and the page of a run share.
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
