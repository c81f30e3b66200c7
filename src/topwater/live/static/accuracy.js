// Precision and nDCG over time: estimated, true where somebody knows, and those of rivals.

import { find, make } from "./elements.js";
import { endText } from "./known.js";
import { isNumber, percent, share } from "./words.js";

const CHARTED = 90;
const TABLED = 30;
const MOST_RIVALS = 6;

/** What is measured: its field, its name, how it is written, and how on the axis. */
const MEASURES = [
  ["precision", "Precision", percent, (tick) => `${Math.round(tick * 100)}%`],
  ["ndcg", "nDCG", share, (tick) => tick.toFixed(2)],
];

/** Charts of the windows up to the one shown; ``pick`` gets a window that is clicked. */
export function drawAccuracy(windows, place, pick) {
  const end = Math.max(place + 1, Math.min(windows.length, CHARTED));
  const start = Math.max(0, end - CHARTED);
  const charted = windows.slice(start, end);
  const series = seriesOf(charted);
  find("accuracy").hidden = !series.length;
  if (!series.length) return;
  const here = place - start;
  find("charts").replaceChildren(
    ...MEASURES.map((measure) => chart(measure, series, charted, here, pick)),
  );
  drawLegend(series, charted, here);
  drawFigures(series, charted);
}

/** The lines to draw: estimated, true, and each rival; each reads a field of a record. */
function seriesOf(windows) {
  const named = new Set(windows.flatMap((each) => Object.keys(each.rivals ?? {})));
  const rivals = [...named].slice(0, MOST_RIVALS);
  const ours = rivals.length ? "ours, " : "";
  const lines = [
    { kind: "estimated", name: `${ours}estimated`, read: (each, field) => each.freshness?.[field] },
    { kind: "true", name: `${ours}true`, read: (each, field) => each.truth?.[field] },
    ...rivals.map((name, number) => ({
      kind: `rival rival-${number + 1}`,
      name,
      read: (each, field) => each.rivals?.[name]?.[field],
    })),
  ];
  return lines.filter(({ read }) => windows.some((each) => isNumber(read(each, "precision"))));
}

const WIDE = 360;
const HIGH = 104;
const PAD = { left: 34, right: 8, top: 8, bottom: 16 };

function chart(measure, series, windows, here, pick) {
  const [field, name] = measure;
  const lines = series.map(({ kind, read }) => [kind, windows.map((each) => read(each, field))]);
  const { x, y, low, step } = scales(lines.flatMap(([, points]) => points.filter(isNumber)), windows);
  const parts = [...grid(y, low, measure), ...ends(x, windows), cursor(x(here))];
  for (const [kind, points] of lines.reverse()) {
    parts.push(make("path", { class: `line ${kind}`, d: path(points, x, y) }));
    const value = points[here];
    if (isNumber(value)) {
      parts.push(make("circle", { class: `point ${kind}`, cx: x(here), cy: y(value), r: 2.8 }));
    }
  }
  const label = inWords(measure, series, windows, here);
  const box = { class: "chart", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": label };
  const svg = make("svg", box, parts);
  svg.addEventListener("click", (event) => {
    const { left, width } = svg.getBoundingClientRect();
    const at = ((event.clientX - left) / width) * WIDE - PAD.left;
    pick(windows[Math.min(windows.length - 1, Math.max(0, Math.round(at / step)))]);
  });
  return make("figure", {}, [make("figcaption", { text: name }), svg]);
}

/** Where things are: from 0, 50 or 80 % up, so that what differs can be seen. */
function scales(values, windows) {
  const low = [0.8, 0.5].find((each) => Math.min(...values) >= each) ?? 0;
  const step = (WIDE - PAD.left - PAD.right) / Math.max(1, windows.length - 1);
  const x = (place) => (windows.length === 1 ? WIDE / 2 : PAD.left + place * step);
  const y = (value) => PAD.top + ((1 - value) / (1 - low)) * (HIGH - PAD.top - PAD.bottom);
  return { x, y, low, step };
}

function grid(y, low, [, , , tickText]) {
  return [low, (low + 1) / 2, 1].flatMap((tick) => [
    make("line", { class: "grid", x1: PAD.left, x2: WIDE - PAD.right, y1: y(tick), y2: y(tick) }),
    tickAt(PAD.left - 5, y(tick) + 3.5, "end", tickText(tick)),
  ]);
}

function ends(x, windows) {
  const last = windows.length - 1;
  if (last === 0) return [tickAt(x(0), HIGH - 3, "middle", endText(windows[0]))];
  return [
    tickAt(x(0), HIGH - 3, "start", endText(windows[0])),
    tickAt(x(last), HIGH - 3, "end", endText(windows[last])),
  ];
}

const tickAt = (x, y, anchor, text) => make("text", { class: "tick", x, y, "text-anchor": anchor, text });
const cursor = (x) => make("line", { class: "cursor", x1: x, x2: x, y1: PAD.top, y2: HIGH - PAD.bottom });

/** A line that is broken where there is no figure; a lone figure is a dot. */
function path(points, x, y) {
  let drawn = "";
  let open = false;
  points.forEach((value, place) => {
    if (isNumber(value)) {
      const point = `${x(place).toFixed(1)} ${y(value).toFixed(1)}`;
      drawn += open ? `L${point}` : `M${point}h.01`;
    }
    open = isNumber(value);
  });
  return drawn;
}

function inWords([field, name, text], series, windows, here) {
  const told = series.map(({ name: which, read }) => {
    const values = windows.map((each) => read(each, field)).filter(isNumber);
    return `${which} ${text(read(windows[here], field))}, mean ${text(mean(values))}`;
  });
  return `${name} over ${windows.length} windows to ${endText(windows.at(-1))}: ${told.join("; ")}`;
}

const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);

// ---- the figures, at the window shown and on average, and as a table ----

const columnHeads = (texts) =>
  make("thead", {}, [
    make("tr", {}, texts.map((text) => (text ? make("th", { scope: "col", text }) : make("td")))),
  ]);

function drawLegend(series, windows, here) {
  const rows = series.map(({ kind, name, read }) => {
    const figures = MEASURES.flatMap(([field, , text]) => {
      const values = windows.map((each) => read(each, field)).filter(isNumber);
      const now = make("td", { text: text(read(windows[here], field)) });
      return [now, make("td", { class: "mean", text: text(mean(values)) })];
    });
    const sample = make("svg", { class: "sample", viewBox: "0 0 22 8", "aria-hidden": "true" }, [
      make("path", { class: `line ${kind}`, d: "M1 4H21" }),
    ]);
    const label = make("span", { text: name, title: name });
    return make("tr", {}, [make("th", { scope: "row" }, [sample, label]), ...figures]);
  });
  const caption = "At the window shown, and on average over those charted";
  find("legend").replaceChildren(
    make("caption", { class: "unseen", text: caption }),
    columnHeads(["", "precision", "mean", "nDCG", "mean"]),
    make("tbody", {}, rows),
  );
}

function drawFigures(series, windows) {
  if (!find("figures-box").open) return;
  const heads = series.flatMap(({ name }) => MEASURES.map(([, measure]) => `${name} ${measure}`));
  const newest = windows.slice(-TABLED).reverse();
  const rows = newest.map((record) =>
    make("tr", {}, [
      make("th", { scope: "row", text: endText(record) }),
      ...series.flatMap(({ read }) =>
        MEASURES.map(([field, , text]) => make("td", { text: text(read(record, field)) })),
      ),
    ]),
  );
  find("figures").replaceChildren(columnHeads(["Window to", ...heads]), make("tbody", {}, rows));
}
