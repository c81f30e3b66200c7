// The live page: takes windows from the feed, and shows one of them.
// Text is only ever set as text, so a key can hold anything.

const MOST_WINDOWS = 1000;
const MOST_ROWS = 100;
const MOST_LOOK_UPS = 12;
const MOST_NOTES = 30;
const CHARTED = 90;
const TABLED = 30;
const SILENCE = 25_000;
const QUIET = 30_000;
const FIRST_RETRY = 500;
const LAST_RETRY = 8_000;

const find = (id) => document.getElementById(id);

function make(tag, { text, ...attributes } = {}, children = []) {
  const svg = ["svg", "path", "line", "circle", "text", "rect", "g"].includes(tag);
  const node = svg
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  if (text !== undefined) node.textContent = text;
  node.append(...children.filter((each) => each !== null));
  return node;
}

const unseen = (text) => make("span", { class: "unseen", text });
const mute = (text) => make("span", { "aria-hidden": "true", text });

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// ---- how things are written ----

const formats = new Map();

function format(options) {
  const name = JSON.stringify(options);
  if (!formats.has(name)) formats.set(name, new Intl.NumberFormat("en", options));
  return formats.get(name);
}

const whole = (value) => format({ maximumFractionDigits: 0 }).format(value);
const minus = (text) => text.replace("-", "−");

/** One way to write all numbers of a column: the decimals that they need, at most three. */
function numberFormat(values) {
  const sizes = values.filter((each) => typeof each === "number").map(Math.abs);
  const largest = Math.max(0, ...sizes);
  if (largest >= 1e12 || (largest > 0 && largest < 1e-3)) {
    const science = format({ notation: "scientific", maximumFractionDigits: 3 });
    return (value) => minus(science.format(value));
  }
  const most = largest >= 10_000 ? 1 : largest >= 100 ? 2 : 3;
  const needed = (size) => {
    let digits = 0;
    while (digits < most && Math.abs(size - Number(size.toFixed(digits))) > 1e-9) digits += 1;
    return digits;
  };
  const digits = Math.max(0, ...sizes.map(needed));
  const plain = format({ minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (value) => minus(plain.format(value));
}

function percent(share) {
  if (share === null || share === undefined) return "–";
  const rounded = Math.round(share * 100);
  if (rounded === 100 && share < 1) return "> 99 %";
  return rounded === 0 && share > 0 ? "< 1 %" : `${rounded} %`;
}

function duration(millis) {
  const seconds = Math.max(0, millis) / 1000;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${(Math.floor(seconds * 10) / 10).toFixed(1)} s`;
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${whole(Math.floor(seconds / 86_400))} days`;
}

const agoText = (millis) => (millis < 2000 ? "just now" : `${duration(millis).replace(/\.\d/, "")} ago`);

const two = (number) => String(number).padStart(2, "0");

function clock(millis) {
  const moment = new Date(millis);
  const text = [moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(":");
  return millis % 1000 ? `${text}.${String(moment.getMilliseconds()).padStart(3, "0")}` : text;
}

const days = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

function day(millis) {
  const moment = new Date(millis);
  return Number.isNaN(moment.getTime()) ? "" : days.format(moment);
}

const counts = () => state.about.by === "count";
const endText = (record) =>
  counts() ? `event ${whole(record.window.closes)}` : clock(record.window.closes);

// ---- what is known ----

const state = {
  about: { title: "Topwater", explained: "", waiting: "", values: [], remote: "", by: "time" },
  run: "",
  last: "",
  skew: 0,
  groups: new Map(), // each group's windows, in the order of time
  order: new Map(), // all windows, in the order of arrival
  group: undefined,
  shown: null, // the end of the window that is looked at; null follows the newest
  all: false, // whether all rows are shown, however many
  allLookUps: false,
  notes: [],
  ended: null,
};

const groupOf = (record) => record.group ?? null;
const placeOf = (record) => JSON.stringify([groupOf(record), record.window.closes]);
const serverNow = () => Date.now() + state.skew;

function forgetAll() {
  state.groups.clear();
  state.order.clear();
  Object.assign(state, { group: undefined, shown: null, notes: [], ended: null });
}

/** As on the server: a window replaces all of its group that are not earlier. */
function add(record) {
  const group = groupOf(record);
  if (!state.groups.has(group)) state.groups.set(group, []);
  const windows = state.groups.get(group);
  while (windows.length && windows.at(-1).window.closes >= record.window.closes) {
    state.order.delete(placeOf(windows.pop()));
  }
  windows.push(record);
  state.order.set(placeOf(record), group);
  if (state.group === undefined) state.group = group;
  state.ended = null;
  while (state.order.size > MOST_WINDOWS) forgetOldest();
}

function forgetOldest() {
  const [place, group] = state.order.entries().next().value;
  state.order.delete(place);
  const windows = state.groups.get(group);
  windows.shift();
  if (!windows.length && group !== state.group) state.groups.delete(group);
}

const windowsShown = () => state.groups.get(state.group) ?? [];

function placeShown() {
  const windows = windowsShown();
  if (state.shown === null) return windows.length - 1;
  const place = windows.findIndex((each) => each.window.closes >= state.shown);
  return place < 0 ? windows.length - 1 : place;
}

// ---- the connection ----

let source = null;
let retry = FIRST_RETRY;
let retryTimer = 0;
let lastSign = Date.now();

function connect() {
  clearTimeout(retryTimer);
  source?.close();
  lastSign = Date.now();
  const address = new URL("events", document.baseURI);
  if (state.last) address.searchParams.set("after", state.last);
  source = new EventSource(address);
  const on = (kind, take) =>
    source.addEventListener(kind, (event) => {
      lastSign = Date.now();
      if (event.lastEventId) state.last = event.lastEventId;
      take(JSON.parse(event.data));
      schedule();
    });
  on("about", takeAbout);
  on("window", add);
  on("note", takeNote);
  on("ended", (told) => (state.ended = told));
  on("beat", (told) => (state.skew = told.at - Date.now()));
  source.onerror = lost;
}

function lost() {
  source?.close();
  source = null;
  setLink("lost");
  clearTimeout(retryTimer);
  retryTimer = setTimeout(connect, retry * (0.8 + 0.4 * Math.random()));
  retry = Math.min(retry * 1.7, LAST_RETRY);
}

function takeAbout({ run, at, ...about }) {
  const same = about.title === state.about.title && about.explained === state.about.explained;
  if (state.run && !same) forgetAll();
  if (run !== state.run) state.notes = []; // those of this run come again, from its first
  Object.assign(state, { run, about, skew: at - Date.now() });
  retry = FIRST_RETRY;
  setLink("live");
}

function takeNote(note) {
  state.notes.push(note);
  state.notes.splice(0, state.notes.length - MOST_NOTES);
}

let link = "connecting";

function setLink(next) {
  link = next;
  schedule();
}

// ---- drawing ----

let scheduled = false;

function schedule() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    draw();
  });
}

function draw() {
  const windows = windowsShown();
  const place = placeShown();
  const record = windows[place];
  drawLink();
  drawAbout();
  drawNotes();
  drawGroups();
  drawSteering(windows, place);
  find("empty").hidden = record !== undefined;
  find("window").hidden = record === undefined;
  if (record === undefined) return clearRanking();
  const before = windows[place - 1];
  drawWindow(record);
  drawVerdict(record);
  drawRanking(record, before);
  drawAccuracy(windows, place);
  drawBudget(record);
  drawCounts(record);
  sayNow(record, before);
}

const LINKS = {
  connecting: "connecting",
  live: "live",
  lost: "connection lost, trying again",
  ended: "ended",
};

function drawLink() {
  const shown = state.ended ? "ended" : link;
  find("link").dataset.state = shown;
  setText(find("link-text"), LINKS[shown]);
  const lostText = "The connection is lost: what you see may be old. Trying again.";
  const text = state.ended ? state.ended.text : shown === "lost" ? lostText : "";
  const banner = find("banner");
  banner.hidden = !text;
  banner.dataset.state = shown;
  setText(banner, text);
}

function drawAbout() {
  const { title, explained, waiting } = state.about;
  setText(find("title"), title);
  const mark = link === "lost" && !state.ended ? "(lost) " : "";
  if (document.title !== `${mark}${title}`) document.title = `${mark}${title}`;
  find("query").hidden = !explained;
  setText(find("explained"), explained);
  if (waiting) setText(find("waiting"), waiting);
}

let notesDrawn = "";

function drawNotes() {
  const drawn = JSON.stringify(state.notes);
  if (drawn === notesDrawn) return;
  notesDrawn = drawn;
  find("notes").hidden = !state.notes.length;
  find("notes-list").replaceChildren(
    ...state.notes
      .map(({ at, text }) =>
        make("li", {}, [
          make("time", { text: clock(at - (at % 1000)), datetime: new Date(at).toISOString() }),
          make("span", { text }),
        ]),
      )
      .reverse(),
  );
}

let groupsDrawn = "";
let groupNames = [];

function drawGroups() {
  const known = [...state.groups.keys()].filter((each) => each !== null);
  find("group-label").hidden = !known.length;
  const drawn = `${JSON.stringify(known)}`;
  const select = find("group");
  if (drawn !== groupsDrawn) {
    groupsDrawn = drawn;
    const collator = new Intl.Collator("en", { numeric: true });
    groupNames = known.sort(collator.compare);
    select.replaceChildren(
      ...groupNames.map((text, value) => make("option", { text: text || "(empty)", value })),
    );
  }
  const chosen = String(groupNames.indexOf(state.group));
  if (select.value !== chosen) select.value = chosen;
}

function drawSteering(windows, place) {
  const following = state.shown === null;
  find("earlier").disabled = place <= 0;
  find("later").disabled = following || !windows.length;
  const pause = find("pause");
  pause.disabled = !windows.length;
  const newer = windows.length - 1 - place;
  setText(pause, following ? "Pause" : "Go on with the newest");
  pause.classList.toggle("main", !following);
  const number = `window ${whole(place + 1)} of ${whole(windows.length)} kept`;
  const behind = following ? "" : newer > 0 ? ` · ${whole(newer)} newer` : " · paused";
  setText(find("place"), windows.length ? number + behind : "");
}

function drawWindow(record) {
  const { opens, closes } = record.window;
  const following = state.shown === null;
  const newest = record === windowsShown().at(-1);
  setText(
    find("window-kind"),
    newest ? (following ? "The window that just closed" : "Paused at this window") : "An earlier window",
  );
  if (counts()) {
    setText(find("span"), `events ${whole(opens + 1)} to ${whole(closes)}`);
  } else {
    setText(find("span"), `${clock(opens)} – ${clock(closes)}`);
    find("span").title = `${new Date(opens).toISOString()} to ${new Date(closes).toISOString()}`;
  }
  drawAgo();
}

/** Recorded data closed long ago: then only how long ago it was answered tells something. */
function drawAgo() {
  const record = windowsShown()[placeShown()];
  if (record === undefined) return;
  const lag = record.at - record.window.closes;
  const live = !counts() && lag >= 0 && lag < 3_600_000;
  const date = counts() ? "" : `${day(record.window.closes)} · `;
  const since = live
    ? `closed ${agoText(serverNow() - record.window.closes)}, answered ${duration(lag)} later`
    : `answered ${agoText(serverNow() - record.at)}`;
  setText(find("ago"), date + since);
}

function drawVerdict(record) {
  const { exact, freshness, truth } = record;
  const box = find("verdict");
  box.hidden = exact === undefined && !freshness;
  if (box.hidden) return;
  const estimated = freshness?.precision ?? null;
  box.dataset.tone = exact ? "good" : tone(estimated);
  const text = exact ? "Exact" : estimated === null ? "Not certain" : `About ${percent(estimated)} right`;
  setText(find("verdict-text"), text);
  const more = [];
  if (exact) more.push("certainly what sorting the whole window would give");
  else if (estimated === null) more.push("a better item may have been left out");
  else more.push("estimated");
  if (truth) more.push(`in truth ${percent(truth.precision)}`);
  if (freshness?.missed) more.push("below the accuracy asked for");
  setText(find("verdict-more"), more.join(" · "));
}

const tone = (share) => (share === null || share === undefined ? "none" : share >= 0.9 ? "good" : share >= 0.6 ? "fair" : "poor");

// ---- the ranking ----

const rowNodes = new Map();
let layoutDrawn = "";

function clearRanking() {
  rowNodes.clear();
  find("rows").replaceChildren();
  for (const id of ["table", "triples", "nothing", "more", "gone", "accuracy", "budget", "events"]) {
    find(id).hidden = true;
  }
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

function drawRanking(record, before) {
  const rows = named(record.rows);
  const cut = state.all ? rows : rows.slice(0, MOST_ROWS);
  find("triples").hidden = record.triples === undefined;
  setText(find("triples"), record.triples ?? "");
  find("table").hidden = !rows.length;
  find("nothing").hidden = rows.length > 0 || Boolean(record.triples);
  drawMore("more", rows.length, MOST_ROWS, state.all);
  setText(find("caption"), `Ranking of the window to ${endText(record)}`);
  drawGone(rows, before);
  drawRows(record, cut, before);
}

function drawMore(id, length, most, all) {
  find(id).hidden = length <= most;
  setText(find(id), all ? `Show the first ${most}` : `Show all ${whole(length)}`);
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
    if (from === undefined) node.animate({ opacity: [0, 1] }, { duration: 300, easing: "ease-out" });
    else if (from !== to) {
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
  if (record.columns) {
    const labelled = record.columns.findIndex((_, place) => rows.some((row) => row.cells?.[place] === row.label));
    const label = Math.max(0, labelled);
    columns.push(keyColumn(record.columns[label], bar));
    record.columns.forEach((head, place) => {
      if (place !== label) columns.push(numberColumn("cell", head, rows, (row) => row.cells?.[place]));
    });
  } else {
    columns.push(keyColumn("Key", bar));
    columns.push(numberColumn("score", "Score", rows, (row) => row.score));
    const values = Math.max(0, ...rows.map((row) => row.values?.length ?? 0));
    for (let place = 0; place < values; place += 1) {
      const head = state.about.values[place] ?? (values > 1 ? `Stream ${place + 1}` : "Stream");
      columns.push(numberColumn("value", head, rows, (row) => row.values?.[place]));
    }
  }
  if (record.freshness || rows.some((row) => row.remote !== undefined && row.remote !== null)) {
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

const keyColumn = (head, bar) => ({
  kind: "key",
  head,
  fill: (cell, row) => {
    if (!cell.firstChild) {
      const line = make("span", { class: "bar", "aria-hidden": "true" }, [make("span")]);
      cell.append(make("span", { class: "label" }), line);
    }
    const [label, line] = cell.children;
    const text = row.label === "" ? "(no name)" : row.label;
    setText(label, text);
    label.title = text;
    const share = bar(row.score);
    line.hidden = share === null;
    line.firstChild.style.setProperty("--share", share ?? 0);
  },
});

function numberColumn(kind, head, rows, read) {
  const values = rows.map(read);
  const shown = numberFormat(values);
  const text = (value) =>
    typeof value === "number" ? shown(value) : value === null || value === undefined ? "–" : value;
  const words = values.some((value) => typeof value === "string");
  return {
    kind: words ? `${kind} words` : kind,
    head,
    fill: (cell, row) => setText(cell, text(read(row))),
  };
}

/** How long a bar is: of the largest score, or of the range if there are negative ones. */
function barOf(rows) {
  const scores = rows.map((row) => row.score).filter((each) => typeof each === "number");
  const low = Math.min(0, ...scores);
  const high = Math.max(0, ...scores);
  if (!scores.length || low === high) return () => null;
  const base = high > 0 ? low : low * 1.05;
  return (score) => (typeof score === "number" ? Math.max(0.01, (score - base) / (high - base)) : null);
}

function fillChange(cell, row, was) {
  const by = was ? was - row.rank : 0;
  const kind = was === undefined ? "none" : was === 0 ? "new" : by > 0 ? "up" : by < 0 ? "down" : "same";
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

function fillFresh(cell, row, now) {
  if (!cell.firstChild) {
    const meter = make("span", { class: "meter", "aria-hidden": "true" }, [make("span")]);
    cell.append(meter, make("span", { class: "right" }), make("span", { class: "age" }));
  }
  const [meter, right, age] = cell.children;
  const known = typeof row.right === "number";
  cell.dataset.tone = row.age === null || row.age === undefined ? "none" : tone(row.right);
  cell.classList.toggle("now", now);
  meter.firstChild.style.setProperty("--share", known ? row.right : 0);
  setText(right, known ? `${percent(row.right)} sure` : "");
  setText(age, ageText(row, now));
}

function ageText(row, now) {
  if (now) return "looked up now";
  if (row.age === null || row.age === undefined) return row.remote === null || row.remote === undefined ? "no value" : "never looked up";
  if (counts()) return `${whole(row.age)} events old`;
  return row.age <= 0 ? "looked up now" : `${duration(row.age)} old`;
}

// ---- accuracy over time ----

const share = (value) => (isNumber(value) ? value.toFixed(3) : "–");
const MEASURES = [
  ["precision", "Precision", percent],
  ["ndcg", "nDCG", share],
];

/** The lines to draw: estimated, true, and each rival; each reads a record. */
function seriesOf(windows) {
  const rivals = [...new Set(windows.flatMap((each) => Object.keys(each.rivals ?? {})))].slice(0, 6);
  const ours = rivals.length ? "ours, " : "";
  const lines = [
    { kind: "estimated", name: `${ours}estimated`, read: (record, measure) => record.freshness?.[measure] },
    { kind: "true", name: `${ours}true`, read: (record, measure) => record.truth?.[measure] },
    ...rivals.map((name, number) => ({
      kind: `rival rival-${number + 1}`,
      name,
      read: (record, measure) => record.rivals?.[name]?.[measure],
    })),
  ];
  return lines.filter(({ read }) => windows.some((each) => isNumber(read(each, "precision"))));
}

const isNumber = (value) => typeof value === "number";

function drawAccuracy(windows, place) {
  const end = Math.max(place + 1, Math.min(windows.length, CHARTED));
  const charted = windows.slice(Math.max(0, end - CHARTED), end);
  const series = seriesOf(charted);
  find("accuracy").hidden = !series.length;
  if (!series.length) return;
  const here = place - Math.max(0, end - CHARTED);
  find("charts").replaceChildren(
    ...MEASURES.map((measure) => chart(measure, series, charted, here)),
  );
  drawLegend(series, charted, here);
  drawFigures(series, charted);
}

const WIDE = 360;
const HIGH = 104;
const PAD = { left: 34, right: 8, top: 8, bottom: 16 };

function chart([measure, name, text], series, windows, here) {
  const values = series.flatMap(({ read }) => windows.map((each) => read(each, measure)).filter(isNumber));
  const low = [0.8, 0.5].find((each) => Math.min(...values) >= each) ?? 0;
  const step = (WIDE - PAD.left - PAD.right) / Math.max(1, windows.length - 1);
  const x = (place) => (windows.length === 1 ? WIDE / 2 : PAD.left + place * step);
  const y = (value) => PAD.top + ((1 - value) / (1 - low)) * (HIGH - PAD.top - PAD.bottom);
  const ticks = [low, (low + 1) / 2, 1];
  const parts = ticks.flatMap((tick) => [
    make("line", { class: "grid", x1: PAD.left, x2: WIDE - PAD.right, y1: y(tick), y2: y(tick) }),
    make("text", { class: "tick", x: PAD.left - 5, y: y(tick) + 3.5, "text-anchor": "end", text: measure === "ndcg" ? tick.toFixed(2) : `${Math.round(tick * 100)}%` }),
  ]);
  parts.push(make("line", { class: "cursor", x1: x(here), x2: x(here), y1: PAD.top, y2: HIGH - PAD.bottom }));
  const ends = [[0, "start"], [windows.length - 1, "end"]].slice(windows.length > 1 ? 0 : 1);
  for (const [place, anchor] of ends) {
    parts.push(make("text", { class: "tick", x: x(place), y: HIGH - 3, "text-anchor": windows.length > 1 ? anchor : "middle", text: endText(windows[place]) }));
  }
  for (const { kind, read } of [...series].reverse()) {
    const points = windows.map((each) => read(each, measure));
    parts.push(make("path", { class: `line ${kind}`, d: line(points, x, y) }));
    if (isNumber(points[here])) parts.push(make("circle", { class: `point ${kind}`, cx: x(here), cy: y(points[here]), r: 2.8 }));
  }
  const svg = make("svg", { class: "chart", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": inWords([measure, name, text], series, windows, here) }, parts);
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * WIDE - PAD.left;
    const picked = windows[Math.min(windows.length - 1, Math.max(0, Math.round(at / step)))];
    show(windowsShown().indexOf(picked));
  });
  return make("figure", {}, [make("figcaption", { text: name }), svg]);
}

/** A line that is broken where there is no figure; a lone figure is a dot. */
function line(points, x, y) {
  let path = "";
  let open = false;
  points.forEach((value, place) => {
    if (isNumber(value)) path += `${open ? "L" : "M"}${x(place).toFixed(1)} ${y(value).toFixed(1)}${open ? "" : "h.01"}`;
    open = isNumber(value);
  });
  return path;
}

function inWords([measure, name, text], series, windows, here) {
  const told = series.map(({ name: which, read }) => {
    const values = windows.map((each) => read(each, measure)).filter(isNumber);
    return `${which} ${text(read(windows[here], measure))}, mean ${text(mean(values))}`;
  });
  return `${name} over ${windows.length} windows to ${endText(windows.at(-1))}: ${told.join("; ")}`;
}

const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);

function drawLegend(series, windows, here) {
  const heads = ["", "precision", "mean", "nDCG", "mean"];
  const rows = series.map(({ kind, name, read }) => {
    const figures = MEASURES.flatMap(([measure, , text]) => {
      const values = windows.map((each) => read(each, measure)).filter(isNumber);
      return [text(read(windows[here], measure)), text(mean(values))];
    });
    const sample = make("svg", { class: "sample", viewBox: "0 0 22 8", "aria-hidden": "true" }, [make("path", { class: `line ${kind}`, d: "M1 4H21" })]);
    return make("tr", {}, [
      make("th", { scope: "row" }, [sample, make("span", { text: name, title: name })]),
      ...figures.map((text, place) => make("td", { class: place % 2 ? "mean" : "", text })),
    ]);
  });
  find("legend").replaceChildren(
    make("caption", { class: "unseen", text: "At the window shown, and on average over those charted" }),
    make("thead", {}, [make("tr", {}, heads.map((text, place) => (place ? make("th", { scope: "col", text }) : make("td"))))]),
    make("tbody", {}, rows),
  );
}

function drawFigures(series, windows) {
  if (!find("figures-box").open) return;
  const heads = series.flatMap(({ name }) => MEASURES.map(([, measure]) => `${name} ${measure}`));
  const rows = windows.slice(-TABLED).reverse().map((record) =>
    make("tr", {}, [
      make("th", { scope: "row", text: endText(record) }),
      ...series.flatMap(({ read }) => MEASURES.map(([measure, , text]) => make("td", { text: text(read(record, measure)) }))),
    ]),
  );
  find("figures").replaceChildren(
    make("thead", {}, [make("tr", {}, ["Window to", ...heads].map((text) => make("th", { scope: "col", text })))]),
    make("tbody", {}, rows),
  );
}

// ---- what it cost, and what went wrong ----

function drawBudget(record) {
  const { freshness, looked_up: lookedUp = [] } = record;
  find("budget").hidden = !freshness;
  if (!freshness) return;
  const { fetched, failed, bad } = freshness;
  const of = state.about.budget === null || state.about.budget === undefined ? "" : ` of ${whole(state.about.budget)}`;
  const spent = [`${whole(fetched)}${of} ${fetched === 1 && !of ? "look-up" : "look-ups"}`];
  spent.push(failed ? `${whole(failed)} failed` : "none failed");
  if (bad) spent.push(`${whole(bad)} without a usable value`);
  setText(find("spent"), spent.join(" · "));
  drawPips(fetched, failed);
  const shown = numberFormat(lookedUp.flatMap(({ before, after }) => [before, after]));
  const cut = state.allLookUps ? lookedUp : lookedUp.slice(0, MOST_LOOK_UPS);
  const items = cut.map((each) => lookUp(each, shown));
  const unlisted = lookedUp.length ? fetched - lookedUp.length : 0;
  if (unlisted > 0 && cut.length === lookedUp.length) {
    items.push(make("li", { class: "unlisted", text: `${whole(unlisted)} more are not listed` }));
  }
  find("lookups").replaceChildren(...items);
  drawMore("more-lookups", lookedUp.length, MOST_LOOK_UPS, state.allLookUps);
  const problems = Object.entries(record.problems ?? {});
  find("problems").hidden = !problems.length;
  find("problems").replaceChildren(
    ...problems.map(([name, times]) => make("li", { text: `${whole(times)} ${PROBLEMS[name] ?? name}` })),
  );
}

function drawPips(fetched, failed) {
  const most = Math.max(fetched, state.about.budget ?? 0);
  const pips = most > 40 ? [] : Array.from({ length: most }, (_, place) => {
    const kind = place < fetched - failed ? "ok" : place < fetched ? "failed" : "unspent";
    return make("span", { class: `pip ${kind}` });
  });
  find("pips").replaceChildren(...pips);
}

function lookUp({ label, before, after, ok }, shown) {
  const number = (value) => (isNumber(value) ? shown(value) : "no value");
  const change = isNumber(before) && isNumber(after) ? after - before : null;
  let told;
  if (!ok) told = [make("span", { text: isNumber(before) ? `failed, kept ${number(before)}` : "failed" })];
  else if (change === 0) told = [make("span", { text: `${number(after)}, unchanged` })];
  else if (!isNumber(before)) told = [make("span", { text: `${number(after)}, first look-up` })];
  else told = [make("span", { class: "was", text: number(before) }), mute(" → "), unseen(" became "), make("span", { class: "is", text: number(after) })];
  const kind = !ok ? "failed" : change === 0 ? "same" : change === null ? "first" : change > 0 ? "up" : "down";
  return make("li", { class: kind }, [make("span", { class: "who", text: label, title: label }), make("span", { class: "what" }, told)]);
}

const PROBLEMS = {
  "": "failed, and the source can't tell why",
  late: "did not come by the deadline",
  timeout: "timed out",
  refused: "not connected: no such host, or it refuses",
  dropped: "broke off in the middle",
  limited: "refused: asked too often",
  server: "failed at the service (5xx)",
  client: "were wrong requests (4xx)",
  redirect: "were sent to another host",
  tls: "not trusted: the secure connection failed",
  garbled: "came back unreadable",
  large: "came back too large",
  doubled: "came back with two values",
  rate: "left out: our own rate limit leaves no room",
  open: "not asked: it failed too often just before",
  broken: "failed: the source raised an error",
};

const COUNTS = [
  ["events", "events used"],
  ["late", "too late"],
  ["bad", "unusable"],
  ["bad_key", "without a key"],
  ["bad_time", "without a time"],
  ["bad_score", "without a number to rank by"],
  ["before_start", "before the first window"],
  ["skipped_windows", "windows skipped"],
];
const ALWAYS = ["events", "late", "bad"];

function drawCounts(record) {
  const told = { ...record.counts };
  find("events").hidden = !Object.keys(told).length;
  told.bad = ["bad_key", "bad_time", "bad_score"].reduce((sum, name) => sum + (told[name] ?? 0), 0);
  const parts = COUNTS.filter(([name]) => ALWAYS.includes(name) || told[name]).map(([name, text]) => {
    const wrong = name !== "events" && told[name] > 0;
    return make("div", { class: wrong ? "wrong" : "" }, [make("dt", { text }), make("dd", { text: whole(told[name] ?? 0) })]);
  });
  if (isNumber(record.candidates)) {
    parts.push(make("div", {}, [make("dt", { text: "items remembered" }), make("dd", { text: whole(record.candidates) })]));
  }
  find("counts").replaceChildren(...parts);
}

// ---- what a screen reader is told ----

let saidAt = 0;
let saidOrder = "";
let stepped = false;

/** A window that was chosen is told at once; those that come, seldom, and only if the order is new. */
function sayNow(record, before) {
  const order = record.rows.map(({ label }) => label).join("\u0000");
  const wanted = stepped || (order !== saidOrder && Date.now() - saidAt > QUIET);
  if (!wanted) return;
  stepped = false;
  saidAt = Date.now();
  saidOrder = order;
  const first = record.rows.slice(0, 3).map(({ rank, label }) => `${rank}: ${label}`);
  const verdict = find("verdict").hidden ? "" : ` ${find("verdict-text").textContent}.`;
  const what = first.length ? first.join(", ") : "nothing in it";
  setText(find("said"), `Window to ${endText(record)}: ${what}.${verdict}`);
}

// ---- what a person does ----

function show(place) {
  const windows = windowsShown();
  if (!windows.length) return;
  const wanted = Math.min(windows.length - 1, Math.max(0, place));
  state.shown = windows[wanted].window.closes;
  stepped = true;
  schedule();
}

function later() {
  if (state.shown === null) return;
  if (placeShown() >= windowsShown().length - 2) follow();
  else show(placeShown() + 1);
}

function follow() {
  state.shown = null;
  stepped = true;
  schedule();
}

find("earlier").addEventListener("click", () => show(placeShown() - 1));
find("later").addEventListener("click", later);
find("pause").addEventListener("click", () => (state.shown === null ? show(placeShown()) : follow()));
find("more").addEventListener("click", () => {
  state.all = !state.all;
  schedule();
});
find("more-lookups").addEventListener("click", () => {
  state.allLookUps = !state.allLookUps;
  schedule();
});
find("group").addEventListener("change", (event) => {
  state.group = groupNames[Number(event.target.value)];
  rowNodes.clear();
  layoutDrawn = "";
  stepped = true;
  schedule();
});
find("figures-box").addEventListener("toggle", schedule);

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.target.closest("select, input, textarea, pre, .scroll")) return;
  if (event.key === "ArrowLeft" && placeShown() > 0) show(placeShown() - 1);
  else if (event.key === "ArrowRight") later();
  else return;
  event.preventDefault();
});

// ---- colours ----

const THEMES = ["system", "light", "dark"];
const THEME_TEXTS = { system: "Colours: as the system", light: "Colours: light", dark: "Colours: dark" };

function chosenTheme() {
  try {
    const chosen = localStorage.getItem("topwater-theme");
    return THEMES.includes(chosen) ? chosen : "system";
  } catch {
    return "system";
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  find("theme-text").textContent = THEME_TEXTS[theme];
  try {
    localStorage.setItem("topwater-theme", theme);
  } catch {
    // Not remembered, where nothing may be stored.
  }
}

find("theme").addEventListener("click", () => {
  const current = document.documentElement.dataset.theme;
  setTheme(THEMES[(THEMES.indexOf(current) + 1) % THEMES.length]);
});

// ---- begin ----

setTheme(chosenTheme());
find("zone").textContent = `in ${Intl.DateTimeFormat().resolvedOptions().timeZone} time`;
connect();
setInterval(() => {
  drawAgo();
  if (source !== null && Date.now() - lastSign > SILENCE) lost();
}, 1000);
// When the network comes or goes, ask: the server may be on this machine, and not care.
addEventListener("online", connect);
addEventListener("offline", connect);
addEventListener("pagehide", () => source?.close());
addEventListener("pageshow", (event) => event.persisted && connect());
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && link === "lost") connect();
});
