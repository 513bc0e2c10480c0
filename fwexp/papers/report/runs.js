// The table of runs: a click on a head sorts it, and the box filters it. The words behind # of a link are in the box at first.
"use strict";

const body = document.querySelector("#runs tbody");
const heads = [...document.querySelectorAll("#runs th")];
const find = document.getElementById("find");

function filter() {
  const words = find.value.toLowerCase().split(/\s+/).filter((word) => word);
  let shown = 0;
  for (const row of body.rows) {
    const text = `${row.textContent} ${row.dataset.used}`.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    shown += !row.hidden;
  }
  document.getElementById("said").textContent = `${shown} of ${body.rows.length} runs.`;
  history.replaceState(null, "", find.value ? `#${encodeURIComponent(find.value)}` : location.pathname);
}

function sort(column) {
  const down = heads[column].getAttribute("aria-sort") === "ascending";
  const valueOf = (row) => row.cells[column].textContent;
  const isMissing = (text) => text === "" || text === "-";
  const compare = (a, b) => {
    if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b);  // last in both directions
    const difference = Number(a) - Number(b);
    return (down ? -1 : 1) * (Number.isNaN(difference) ? a.localeCompare(b) : difference);
  };
  body.append(...[...body.rows].sort((a, b) => compare(valueOf(a), valueOf(b))));
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
