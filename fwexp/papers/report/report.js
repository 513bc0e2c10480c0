// Draws the curves of the page from the data beside them, with controls for positions, scales and methods.
"use strict";

const POSITIONS = { x: "as drawn", passes: "passes", calls: "oracle calls", seconds: "seconds" };
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function channels(color) {
  return [1, 3, 5].map((k) => parseInt(color.slice(k, k + 2), 16));
}

// Colours are made for white pages: on a dark one, dark ones are mixed with white, on a white one light ones with black.
function visible(color) {
  const [r, g, b] = channels(color);
  const light = (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
  const [target, part] = dark.matches ? [255, Math.max(0, 0.62 - light)] : [0, 0];
  return `rgb(${[r, g, b].map((value) => Math.round(value + (target - value) * part)).join(",")})`;
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function translucent(color) {
  return color.replace("rgb(", "rgba(").replace(")", ",0.18)");
}

function traces(panel, content, state) {
  const found = [];
  for (const curve of panel.curves) {
    const method = content.methods.find((each) => each.name === curve.name);
    if (state.hidden.has(curve.name)) continue;
    const x = (curve[state.position] || []).some((value) => value !== null) ? curve[state.position] : curve.x;
    const color = visible(method.color);
    if (curve.runs > 1) {
      const edge = { x, mode: "lines", line: { width: 0, color }, hoverinfo: "skip", showlegend: false };
      found.push({ ...edge, y: curve.best });
      found.push({ ...edge, y: curve.worst, fill: "tonexty", fillcolor: translucent(color) });
    }
    found.push({
      x, y: curve.median, name: method.label, mode: x.length < 3 ? "lines+markers" : "lines", showlegend: false,
      line: { color, dash: method.dash, width: 2 }, marker: { symbol: method.symbol, color },
      hovertemplate: `${method.label.replace(/[<>&]/g, " ")}<br>%{x:.4g}: %{y:.4g}<extra></extra>`,
    });
  }
  return found;
}

function layout(panel, state) {
  const axis = { gridcolor: css("--line"), linecolor: css("--dim"), zeroline: false, automargin: true, exponentformat: "power",
    minorloglabels: "complete" };  // else ticks between powers of ten are a 2 and a 5 each
  const asDrawn = state.position === "x";
  // The ends are those of the picture while the scale is its own, too; plotly wants them as exponents on a logarithmic axis.
  const scaled = (chosen, [own, first, last], whole) => {
    const type = chosen === "own" ? own : chosen;
    if (!whole || type !== own || first === null) return { type };
    return { type, range: [first, last].map((end) => (type === "log" ? Math.log10(end) : end)) };
  };
  return {
    margin: { l: 55, r: 10, t: 28, b: 45 }, paper_bgcolor: css("--page"), plot_bgcolor: css("--page"),
    font: { color: css("--ink"), size: 12 }, hovermode: "closest", showlegend: false,
    xaxis: { ...axis, title: { text: asDrawn ? panel.axis : POSITIONS[state.position] }, ...scaled(state.logx, panel.x, asDrawn) },
    yaxis: { ...axis, title: { text: panel.measure }, ...scaled(state.logy, panel.y, true) },
  };
}

function chart(place) {
  const content = JSON.parse(document.getElementById(`data-${place.dataset.figure}`).textContent);
  const state = { position: "x", logx: "own", logy: "own", hidden: new Set() };
  const scales = [["own", "as drawn"], ["log", "logarithmic"], ["linear", "linear"]];
  const panels = content.panels.map((panel) => {
    const label = `Curves of ${panel.title}: ${panel.measure}`;
    return element("div", { class: "panel", role: "group", "aria-label": label });
  });
  // Nothing leaves the page: plotly's button that uploads a chart is taken out.
  const options = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["sendChartToCloud", "lasso2d", "select2d"] };
  const draw = () => panels.forEach((made, k) => {
    Plotly.react(made, traces(content.panels[k], content, state), layout(content.panels[k], state), options);
  });
  const select = (words, choices, change) => {
    const made = element("select", {}, ...choices.map(([value, name]) => element("option", { value }, name)));
    made.addEventListener("change", () => { change(made.value); draw(); });
    return element("label", {}, `${words} `, made);
  };
  const known = Object.entries(POSITIONS).filter(([name]) => content.panels.some((panel) => panel.curves.some((curve) => curve[name])));
  const controls = element(
    "div", { class: "controls" },
    select("Horizontal axis", known, (value) => { state.position = value; }),
    select("its scale", scales, (value) => { state.logx = value; }),
    select("scale of values", scales, (value) => { state.logy = value; }),
  );
  const boxes = content.methods.map((method) => {
    const box = element("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => {
      if (box.checked) state.hidden.delete(method.name);
      else state.hidden.add(method.name);
      draw();
    });
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
  place.append(
    controls,
    element("fieldset", { class: "methods" }, element("legend", {}, "Methods"), ...boxes),
    element("div", { class: "panels" }, ...panels.map((made, k) => element("div", {}, element("h3", {}, content.panels[k].title), made))),
  );
  dark.addEventListener("change", draw);
  draw();
}

function fallBack(place) {
  const picture = place.parentElement.querySelector("details");
  if (picture) picture.open = true;
}

const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    seen.unobserve(entry.target);
    if (typeof Plotly === "undefined") fallBack(entry.target);
    else chart(entry.target);
  }
}, { rootMargin: "600px" });
for (const place of document.querySelectorAll(".curves")) seen.observe(place);
