// The table of all runs: sorted and filtered, which its link keeps.
"use strict";

const MOST = 200;  // rows, until more are asked for
const SHOWN = [["key", "run"], ["status", "status"], ["place", "data set"], ["task", "task"], ["method", "method"], ["lam", "lam"],
  ["seed", "seed"], ["passes", "passes"], ["time", "seconds"], ["gap", "gap"], ["options", "options that differ"]];
const NUMBERS = new Set(["seed", "passes", "time", "gap"]);
const usual = { find: "", place: "", task: "", method: "", status: "", claim: "", figure: "", sort: "", limit: String(MOST) };
const everyRun = storedRuns();
let state = readState(usual);

function textOf(run, name) {
  if (name === "method") return labelOf(run.method);
  return NUMBERS.has(name) && name !== "seed" ? shownNumber(run[name]) : briefly(String(run[name] ?? "-"));
}

function chosenRuns() {
  const words = state.find.toLowerCase().split(/\s+/);
  const fits = (run) => ["place", "task", "method", "status"].every((name) => !state[name] || run[name] === state[name])
    && (!state.claim || run.claims.includes(state.claim)) && (!state.figure || run.figures.includes(state.figure))
    && words.every((word) => SHOWN.map(([name]) => textOf(run, name)).join(" ").toLowerCase().includes(word));
  const chosen = everyRun.filter(fits);
  const name = state.sort.replace(/^-/, "");
  if (!SHOWN.some(([known]) => known === name)) return chosen;
  const sign = state.sort.startsWith("-") ? -1 : 1;
  const isMissing = (value) => value === null || value === undefined || value === "";
  const valueOf = (run) => (name === "lam" && Number(run.lam) ? Number(run.lam) : run[name]);
  return chosen.sort((a, b) => {
    const [left, right] = [valueOf(a), valueOf(b)];
    if (isMissing(left) || isMissing(right)) return isMissing(left) - isMissing(right);  // last in both directions
    if (typeof left === "number" && typeof right === "number") return sign * (left - right);
    return sign * String(left).localeCompare(String(right));
  });
}

function show() {
  const chosen = chosenRuns();
  const shown = chosen.slice(0, Number(state.limit) || MOST);
  document.querySelector("#runs tbody").replaceChildren(...shown.map((run) => element("tr", {}, ...SHOWN.map(([name, label]) => {
    const text = textOf(run, name);
    return element("td", { "data-label": label }, name === "key" ? element("a", { href: `run.html#${run.key}` }, text) : text);
  }))));
  document.querySelectorAll("#runs th").forEach((head, k) => {
    const way = { [SHOWN[k][0]]: "ascending", [`-${SHOWN[k][0]}`]: "descending" }[state.sort];
    if (way) head.setAttribute("aria-sort", way);
    else head.removeAttribute("aria-sort");
  });
  const rest = chosen.length - shown.length;
  document.getElementById("said").textContent = `${chosen.length} of ${everyRun.length} runs${rest ? `, ${shown.length} shown` : ""}.`;
  document.getElementById("more").hidden = rest === 0;
  writeState(state, usual);
}

function controls() {
  const change = (name) => (value) => { state[name] = value; show(); };
  const distinct = (values) => [...new Set(values)].filter((value) => value).sort();
  const offered = (name, label) => [["", "all"], ...distinct(everyRun.map((run) => run[name])).map((value) => [value, label ? label(value) : value])];
  const find = element("input", { type: "search", value: state.find });
  find.addEventListener("input", () => change("find")(find.value));
  const used = (name) => [["", "any"], ...Object.keys(report.data.runs[`${name}s`]).map((value) => [value, value])];
  document.getElementById("choose").replaceChildren(
    element("label", {}, "Find ", find),
    select("Data set", offered("place"), state.place, change("place")),
    select("Task", offered("task"), state.task, change("task")),
    select("Method", offered("method", labelOf), state.method, change("method")),
    select("Status", offered("status"), state.status, change("status")),
    select("Used by claim", used("claim"), state.claim, change("claim")),
    select("in figure", used("figure"), state.figure, change("figure")),
  );
}

document.querySelector("#runs thead tr").replaceChildren(...SHOWN.map(([name, label]) => {
  const button = element("button", { type: "button", class: "sort" }, label);
  button.addEventListener("click", () => { state.sort = state.sort === name ? `-${name}` : name; show(); });
  return element("th", { scope: "col" }, button);
}));
document.getElementById("more").addEventListener("click", () => { state.limit = String(everyRun.length); show(); });
window.addEventListener("hashchange", () => { state = readState(usual); controls(); show(); });
controls();
show();
