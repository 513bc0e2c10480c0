// What the pages with scripts share: making elements, data files, the state of a view in its link, and how curves look.
"use strict";

const POSITIONS = { x: "as drawn", passes: "passes", calls: "oracle calls", seconds: "seconds", time: "seconds", at_lam: "lam" };
const SCALES = [["own", "as drawn"], ["log", "logarithmic"], ["linear", "linear"]];
const dark = window.matchMedia("(prefers-color-scheme: dark)");

// A page opened from disk may not fetch: its data are scripts that call take.
const report = {
  data: {},
  take(name, content) { this.data[name] = content; },
  load(name) {
    if (this.data[name]) return Promise.resolve(this.data[name]);
    return new Promise((resolve, reject) => {
      const script = element("script", { src: `data/${encodeURIComponent(name)}.js` });
      script.addEventListener("load", () => resolve(this.data[name]));
      script.addEventListener("error", () => reject(new Error(`data/${name}.js is not there`)));
      document.head.append(script);
    });
  },
};

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// The table of runs, each an object.
function storedRuns() {
  const { cells, rows } = report.data.runs;
  return rows.map((row) => Object.fromEntries(cells.map((name, k) => [name, row[k]])));
}

function labelOf(method) {
  const found = report.data.runs.methods.find((each) => each.name === method);
  return found ? found.label : method;
}

function shownNumber(value) {
  return value === null || value === undefined ? "-" : String(Number(value.toPrecision(4)));
}

function briefly(text) {
  return text.length > 90 ? `${text.slice(0, 90)} ...` : text || "-";
}

// What a link says behind its #, over what is so without it; a link says no more than it has to.
function readState(usual) {
  const said = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(Object.keys(usual).map((name) => [name, said.get(name) ?? usual[name]]));
}

function writeState(state, usual) {
  const differing = Object.entries(state).filter(([name, value]) => value !== usual[name]);
  const said = new URLSearchParams(differing).toString();
  if (said !== location.hash.slice(1)) history.replaceState(null, "", said ? `#${said}` : location.pathname + location.search);
}

function select(words, choices, chosen, change) {
  const options = choices.map(([value, name]) => element("option", { value, selected: value === chosen }, name));
  const made = element("select", {}, ...options);
  made.addEventListener("change", () => change(made.value));
  return element("label", {}, `${words} `, made);
}

function channels(color) {
  return [1, 3, 5].map((k) => parseInt(color.slice(k, k + 2), 16));
}

// Colours are made for white pages: on a dark one, dark ones are mixed with white.
function visible(color) {
  const [r, g, b] = channels(color);
  const light = (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
  const part = dark.matches ? Math.max(0, 0.62 - light) : 0;
  return `rgb(${[r, g, b].map((value) => Math.round(value + (255 - value) * part)).join(",")})`;
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Boxes that show and hide methods, each with a piece of its line.
function methodBoxes(methods, isShown, change) {
  const boxes = methods.map((method) => {
    const box = element("input", { type: "checkbox", checked: isShown(method.name) });
    box.addEventListener("change", () => change(method.name, box.checked));
    const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
    const dashes = method.dash === "solid" ? "none" : method.dash;
    const paint = () => {
      const line = `<path d="M0 3h28" stroke="${visible(method.color)}" stroke-width="3" stroke-dasharray="${dashes}"/>`;
      swatch.innerHTML = `<svg width="28" height="6">${line}</svg>`;
    };
    dark.addEventListener("change", paint);
    paint();
    return element("label", {}, box, swatch, method.label);
  });
  return element("fieldset", { class: "methods" }, element("legend", {}, "Methods"), ...boxes);
}

// Plotly's line of a method; words are what hovering says first.
function line(method, x, y, words) {
  const color = visible(method.color);
  return {
    x, y, name: method.label, mode: x.length < 3 ? "lines+markers" : "lines", showlegend: false,
    line: { color, dash: method.dash, width: 2 }, marker: { symbol: method.symbol, color },
    hovertemplate: `${words.replace(/[<>&]/g, " ")}<br>%{x:.4g}: %{y:.4g}<extra></extra>`,
  };
}

function layout(xaxis, yaxis) {
  const axis = { gridcolor: css("--line"), linecolor: css("--dim"), zeroline: false, automargin: true, exponentformat: "power",
    minorloglabels: "complete" };  // else ticks between powers of ten are a 2 and a 5 each
  return {
    margin: { l: 55, r: 10, t: 28, b: 45 }, paper_bgcolor: css("--page"), plot_bgcolor: css("--page"),
    font: { color: css("--ink"), size: 12 }, hovermode: "closest", showlegend: false,
    xaxis: { ...axis, ...xaxis }, yaxis: { ...axis, ...yaxis, title: { standoff: 14, ...yaxis.title } },  // clear of the numbers
  };
}

// Nothing leaves the page: plotly's button that uploads a chart is taken out.
function plot(place, lines, axes) {
  const options = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["sendChartToCloud", "lasso2d", "select2d"] };
  Plotly.react(place, lines, axes, options);
}
