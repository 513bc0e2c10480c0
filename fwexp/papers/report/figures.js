// Draws the curves of the page's figures from the data beside them, with controls for positions, scales and methods.
"use strict";

function endings(curve) {
  return [["diverged", "diverged"], ["stopped", "stopped early"]].filter(([name]) => curve[name])
    .map(([name, words]) => `, ${curve[name]} of ${curve.runs} ${words}`).join("");
}

function tracesOf(panel, content, state) {
  const found = [];
  const top = panel.y[2] ?? Math.max(...panel.curves.flatMap((each) => each.worst));
  for (const curve of panel.curves) {
    const method = content.methods.find((each) => each.name === curve.name);
    if (state.hidden.has(curve.name)) continue;
    const x = (curve[state.position] || []).some((value) => value !== null) ? curve[state.position] : curve.x;
    const color = visible(method.color);
    if (curve.runs > 1) {
      const edge = { x, mode: "lines", line: { width: 0, color }, hoverinfo: "skip", showlegend: false };
      found.push({ ...edge, y: curve.best });
      // A worst that is null is infinite, where a run diverged: the band then goes to the top.
      const worst = curve.worst.map((value, k) => (value === null && curve.best[k] !== null ? top : value));
      found.push({ ...edge, y: worst, fill: "tonexty", fillcolor: color.replace("rgb(", "rgba(").replace(")", ",0.18)") });
    }
    found.push(line(method, x, curve.median, `${method.label}${endings(curve)}`));
  }
  return found;
}

function axesOf(panel, state) {
  const asDrawn = state.position === "x";
  // The ends are those of the picture while the scale is its own, too; plotly wants them as exponents on a logarithmic axis.
  const scaled = (chosen, [own, first, last], whole) => {
    const type = chosen === "own" ? own : chosen;
    if (!whole || type !== own || first === null) return { type };
    return { type, range: [first, last].map((end) => (type === "log" ? Math.log10(end) : end)) };
  };
  return layout(
    { title: { text: asDrawn ? panel.axis : POSITIONS[state.position] }, ...scaled(state.logx, panel.x, asDrawn) },
    { title: { text: panel.measure }, ...scaled(state.logy, panel.y, true) },
  );
}

function chart(place) {
  const content = JSON.parse(document.getElementById(`data-${place.dataset.figure}`).textContent);
  const state = { position: "x", logx: "own", logy: "own", hidden: new Set() };
  const panels = content.panels.map((panel) => {
    const label = `Curves of ${panel.title}: ${panel.measure}`;
    return element("div", { class: "panel", role: "group", "aria-label": label });
  });
  const draw = () => panels.forEach((made, k) => {
    plot(made, tracesOf(content.panels[k], content, state), axesOf(content.panels[k], state));
  });
  const change = (name) => (value) => { state[name] = value; draw(); };
  const known = Object.entries(POSITIONS).filter(([name]) => content.panels.some((panel) => panel.curves.some((curve) => curve[name])));
  const controls = element(
    "div", { class: "controls" },
    select("Horizontal axis", known, "x", change("position")),
    select("its scale", SCALES, "own", change("logx")),
    select("scale of values", SCALES, "own", change("logy")),
  );
  const boxes = methodBoxes(content.methods, () => true, (name, shown) => {
    state.hidden[shown ? "delete" : "add"](name);
    draw();
  });
  place.append(
    controls, boxes,
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
