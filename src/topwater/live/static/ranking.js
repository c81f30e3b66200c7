// The ranking of a window, as a table whose rows glide to their new places.

import { drawMore, find, make, mute, setText, unseen } from "./elements.js";
import { inWords } from "./costs.js";
import { counts, endText, state } from "./known.js";
import { duration, isNumber, known, numberFormat, percent, tone, whole } from "./words.js";

const MOST_ROWS = 100;

const rowNodes = new Map();
let layoutDrawn = "";

export function clearRanking() {
  rowNodes.clear();
  find("rows").replaceChildren();
  for (const id of ["table", "triples", "nothing", "more", "gone", "accuracy", "budget", "events"]) {
    find(id).hidden = true;
  }
}

/** Begin with new rows, none of which glides: those of another group. */
export function redrawRanking() {
  rowNodes.clear();
  layoutDrawn = "";
}

/** Rows by what they show: a key may be in a ranking more than once. */
function named(rows) {
  const seen = new Map();
  return rows.map((row) => {
    const times = seen.get(row.label) ?? 0;
    seen.set(row.label, times + 1);
    return { row, name: `${row.label}\u0000${times}` };
  });
}

export function drawRanking(record, before) {
  const rows = named(record.rows);
  const cut = state.all ? rows : rows.slice(0, MOST_ROWS);
  find("triples").hidden = record.triples === undefined;
  setText(find("triples"), record.triples ?? "");
  find("table").hidden = !rows.length;
  find("nothing").hidden = rows.length > 0 || Boolean(record.triples);
  setText(find("nothing"), `${emptyText(record)}.`);
  drawMore("more", rows.length, MOST_ROWS, state.all);
  setText(find("caption"), `Ranking of the window to ${endText(record)}`);
  drawGone(rows, before);
  drawRows(record, cut, before);
}

/** Why there is nothing to show: no items, or items without a value or a score. */
export function emptyText({ freshness, counts: { bad_score: unscored = 0 } = {} }) {
  const without = freshness?.without_value ?? 0;
  if (without) return `None of the ${whole(without)} items in this window has a usable value`;
  if (unscored) return "No item in this window has a number to rank by";
  return freshness?.nothing_usable
    ? "No item in this window has a usable value"
    : "Nothing was in this window";
}

function drawGone(rows, before) {
  const here = new Set(rows.map(({ name }) => name));
  const gone = before ? named(before.rows).filter(({ name }) => !here.has(name)) : [];
  find("gone").hidden = !gone.length;
  const told = gone.slice(0, 5).map(({ row }) => `${row.label} (was ${row.rank})`);
  if (gone.length > 5) told.push(`and ${gone.length - 5} more`);
  setText(find("gone"), `No longer in it: ${told.join(", ")}`);
}

function drawRows(record, rows, before) {
  const columns = columnsOf(record, rows.map(({ row }) => row), before);
  const layout = JSON.stringify(columns.map(({ head, kind }) => [head, kind]));
  if (layout !== layoutDrawn) {
    layoutDrawn = layout;
    rowNodes.clear();
    find("rows").replaceChildren();
    find("heads").replaceChildren(
      ...columns.map(({ head, kind, hint }) =>
        make("th", { scope: "col", role: "columnheader", class: kind, text: head, title: hint }),
      ),
    );
  }
  const places = new Map([...rowNodes].map(([name, node]) => [name, node.offsetTop]));
  const first = rowNodes.size === 0;
  const nodes = rows.map(({ row, name }) => {
    const node = rowNodes.get(name) ?? newRow(columns);
    columns.forEach(({ fill }, place) => fill(node.cells[place], row, name));
    return [name, node];
  });
  rowNodes.clear();
  nodes.forEach(([name, node]) => rowNodes.set(name, node));
  const wanted = nodes.map(([, node]) => node);
  const body = find("rows");
  if (wanted.length !== body.rows.length || wanted.some((node, place) => body.rows[place] !== node)) {
    body.replaceChildren(...wanted);
  }
  if (!first) move(places);
}

function newRow(columns) {
  return make(
    "tr",
    { role: "row" },
    columns.map(({ kind, head }) =>
      kind === "key"
        ? make("th", { scope: "row", role: "rowheader", class: kind })
        : make("td", { role: "cell", class: kind, "data-head": head }),
    ),
  );
}

const still = matchMedia("(prefers-reduced-motion: reduce)");

/** Rows glide from where they were; new ones appear. */
function move(places) {
  if (still.matches || document.hidden) return;
  const moves = [...rowNodes].map(([name, node]) => [node, places.get(name), node.offsetTop]);
  for (const [node, from, to] of moves) {
    if (from === undefined) {
      node.animate({ opacity: [0, 1] }, { duration: 300, easing: "ease-out" });
    } else if (from !== to) {
      const frames = { transform: [`translateY(${from - to}px)`, "none"] };
      node.animate(frames, { duration: 320, easing: "cubic-bezier(.2,.7,.2,1)" });
    }
  }
}

function columnsOf(record, rows, before) {
  const ranks = before && new Map(named(before.rows).map(({ row, name }) => [name, row.rank]));
  const columns = [
    { kind: "rank", head: "Rank", fill: (cell, row) => setText(cell, String(row.rank)) },
    {
      kind: "change",
      head: "Change",
      hint: "against the window before",
      fill: (cell, row, name) => fillChange(cell, row, ranks && (ranks.get(name) ?? 0)),
    },
  ];
  const bar = barOf(rows);
  columns.push(...(record.columns ? cellColumns(record, rows, bar) : scoreColumns(rows, bar)));
  if (record.freshness || rows.some((row) => known(row.remote))) {
    if (!record.columns) {
      columns.push(numberColumn("value", state.about.remote || "Remote", rows, (row) => row.remote));
    }
    const fetched = new Set((record.looked_up ?? []).filter((each) => each.ok).map((each) => each.label));
    columns.push({
      kind: "fresh",
      head: "Freshness",
      hint: "how likely the remote value is still right, and how old it is",
      fill: (cell, row) => fillFresh(cell, row, fetched.has(row.label)),
    });
  }
  return columns;
}

/** Columns of the query's own: the one with the labels first, as RSP-QL names them. */
function cellColumns({ columns }, rows, bar) {
  const holds = (place) => rows.some((row) => String(row.cells?.[place]) === row.label);
  const label = Math.max(0, columns.findIndex((_, place) => holds(place)));
  const others = columns.map((head, place) =>
    numberColumn("cell", head, rows, (row) => row.cells?.[place]),
  );
  return [keyColumn(columns[label], bar, rows), ...others.filter((_, place) => place !== label)];
}

function scoreColumns(rows, bar) {
  const many = Math.max(0, ...rows.map((row) => row.values?.length ?? 0));
  const values = Array.from({ length: many }, (_, place) => {
    const head = state.about.values[place] ?? (many > 1 ? `Stream ${place + 1}` : "Stream");
    return numberColumn("value", head, rows, (row) => row.values?.[place]);
  });
  const score = numberColumn("score", "Score", rows, (row) => row.score);
  return [keyColumn("Key", bar, rows), score, ...values];
}

function keyColumn(head, bar, rows) {
  const prefix = commonPrefix(rows.map((row) => row.label));
  const fill = (cell, row) => {
    if (!cell.firstChild) {
      const line = make("span", { class: "bar", "aria-hidden": "true" }, [make("span")]);
      cell.append(make("span", { class: "label" }), line);
    }
    const [label, line] = cell.children;
    fillLabel(label, row.label, prefix);
    const share = bar(row.score);
    line.hidden = share === null;
    line.firstChild.style.setProperty("--share", share ?? 0);
  };
  return { kind: "key", head, fill };
}

/** What all labels begin with, if they are IRIs: it is shown small, as what differs comes after. */
function commonPrefix(labels) {
  const [first = "", ...others] = labels;
  if (!others.length || !/^[a-z][a-z0-9+.-]*:/i.test(first)) return "";
  let length = 0;
  while (length < first.length && others.every((each) => each[length] === first[length])) length += 1;
  return first.slice(0, length).replace(/[^/#:]*$/, "");
}

function fillLabel(node, label, prefix) {
  const drawn = `${prefix.length} ${label}`;
  if (node.dataset.drawn === drawn) return;
  node.dataset.drawn = drawn;
  node.title = label || "(no name)";
  const start = make("span", { class: "prefix", text: prefix });
  node.replaceChildren(...(prefix ? [start, label.slice(prefix.length)] : [node.title]));
}

function numberColumn(kind, head, rows, read) {
  const values = rows.map(read);
  const shown = numberFormat(values);
  const text = (value) =>
    isNumber(value) ? shown(value) : (value ?? "–");
  const words = values.some((value) => typeof value === "string");
  return {
    kind: words ? `${kind} words` : kind,
    head,
    fill: (cell, row) => {
      setText(cell, text(read(row)));
      if (words) cell.title = cell.textContent;
    },
  };
}

/** How long a bar is: of the largest score, or of the range if there are negative ones. */
function barOf(rows) {
  const scores = rows.map((row) => row.score).filter((each) => isNumber(each));
  const low = Math.min(0, ...scores);
  const high = Math.max(0, ...scores);
  if (!scores.length || low === high) return () => null;
  const base = high > 0 ? low : low * 1.05;
  return (score) => (isNumber(score) ? Math.max(0.01, (score - base) / (high - base)) : null);
}

const CHANGES = { "-1": "down", 0: "same", 1: "up" };

function fillChange(cell, row, was) {
  const by = was ? was - row.rank : 0;
  const kind = was === undefined ? "none" : was === 0 ? "new" : CHANGES[Math.sign(by)];
  const drawn = `${kind} ${by}`;
  if (cell.dataset.drawn === drawn) return;
  cell.dataset.drawn = drawn;
  cell.dataset.change = kind;
  const parts = {
    none: [],
    new: [make("span", { text: "new" })],
    up: [mute(`▲ ${by}`), unseen(`up ${by}`)],
    down: [mute(`▼ ${-by}`), unseen(`down ${-by}`)],
    same: [mute("–"), unseen("same rank")],
  };
  cell.replaceChildren(...parts[kind]);
}

/** Why the value is not one that the source gave, and whether another stands for it. */
function assumedText({ assumed, remote }) {
  const why = assumed === "never" ? "never looked up" : inWords(assumed);
  return known(remote) ? `assumed: ${why}` : why;
}

function fillFresh(cell, row, now) {
  if (!cell.firstChild) {
    const meter = make("span", { class: "meter", "aria-hidden": "true" }, [make("span")]);
    cell.append(meter, make("span", { class: "confidence" }), make("span", { class: "age" }));
  }
  const [meter, confidence, age] = cell.children;
  cell.dataset.tone = known(row.age) ? tone(row.confidence) : "none";
  cell.classList.toggle("now", now);
  meter.firstChild.style.setProperty("--share", row.confidence ?? 0);
  setText(confidence, known(row.confidence) ? `${percent(row.confidence)} sure` : "");
  setText(age, ageText(row, now));
}

function ageText(row, now) {
  if (known(row.assumed)) return assumedText(row);
  if (now) return "looked up now";
  if (!known(row.age)) return row.remote === null ? "no value" : "never looked up";
  if (counts()) return `${whole(row.age)} events old`;
  return row.age <= 0 ? "looked up now" : `${duration(row.age)} old`;
}
