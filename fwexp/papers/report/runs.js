// The table of runs: a click on a head sorts it, and the box filters it. The words behind # of a link are in the box at first.
"use strict";

const body = document.querySelector("#runs tbody");
const heads = [...document.querySelectorAll("#runs th")];
const find = document.getElementById("find");

function filter() {
  const words = find.value.toLowerCase().split(/\s+/);
  const hides = (row) => !words.every((word) => `${row.textContent} ${row.dataset.used}`.toLowerCase().includes(word));
  for (const row of body.rows) row.hidden = hides(row);
  const shown = [...body.rows].filter((row) => !row.hidden).length;
  document.getElementById("said").textContent = `${shown} of ${body.rows.length} runs.`;
  history.replaceState(null, "", find.value ? `#${encodeURIComponent(find.value)}` : location.pathname);
}

function sort(column) {
  const down = heads[column].getAttribute("aria-sort") === "ascending";
  const isMissing = (text) => text === "" || text === "-";
  const compare = (a, b) => {
    if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b);  // last in both directions
    return (down ? -1 : 1) * (Number.isNaN(a - b) ? a.localeCompare(b) : a - b);
  };
  body.append(...[...body.rows].sort((a, b) => compare(a.cells[column].textContent, b.cells[column].textContent)));
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
}

function read() {
  find.value = decodeURIComponent(location.hash.slice(1));
  filter();
}

heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => sort(column)));
find.addEventListener("input", filter);
window.addEventListener("hashchange", read);
read();
