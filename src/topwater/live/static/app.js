// The live page: takes windows from the feed, and shows one of them.

import { drawAccuracy } from "./accuracy.js";
import { Connection } from "./connection.js";
import { drawBudget, drawCounts, inWords } from "./costs.js";
import { find, make, setText } from "./elements.js";
import {
  add, counts, endText, forgetAll, placeShown, serverNow, state, takeNote, windowsShown,
} from "./known.js";
import { clearRanking, drawRanking, emptyText, redrawRanking } from "./ranking.js";
import { agoText, clock, day, duration, iso, percent, tone, whole } from "./words.js";

const QUIET = 30_000;

// ---- what comes ----

let link = "connecting";

const connection = new Connection({
  about: taking(takeAbout),
  window: taking(add),
  note: taking(takeNote),
  ended: taking((told) => (state.ended = told)),
  beat: (told) => (state.skew = told.at - Date.now()),
  lost: taking(() => (link = "lost")),
});

function taking(take) {
  return (told) => {
    take(told);
    schedule();
  };
}

function takeAbout({ run, at, ...about }) {
  const same = about.title === state.about.title && about.explained === state.about.explained;
  if (state.run && !same) forgetAll();
  if (run !== state.run) state.notes = []; // those of this run come again, from its first
  Object.assign(state, { run, about, skew: at - Date.now() });
  link = "live";
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
  drawAccuracy(windows, place, (picked) => show(windows.indexOf(picked)));
  drawBudget(record);
  drawCounts(record);
  sayNow(record);
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
          make("time", { text: clock(at - (at % 1000)), datetime: iso(at) }),
          make("span", { text }),
        ]),
      )
      .reverse(),
  );
}

let groupsDrawn = "";
let groupNames = [];

function drawGroups() {
  const names = [...state.groups.keys()].filter((each) => each !== null);
  find("group-label").hidden = !names.length;
  const drawn = JSON.stringify(names);
  const select = find("group");
  if (drawn !== groupsDrawn) {
    groupsDrawn = drawn;
    groupNames = names.sort(new Intl.Collator("en", { numeric: true }).compare);
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
  const { start, end } = record.window;
  const following = state.shown === null;
  const newest = record === windowsShown().at(-1);
  const paused = newest ? "Paused at this window" : "An earlier window";
  setText(find("window-kind"), following ? "The window that just closed" : paused);
  if (counts()) {
    setText(find("span"), `events ${whole(start + 1)} to ${whole(end)}`);
  } else {
    setText(find("span"), `${clock(start)} – ${clock(end)}`);
    find("span").title = `${iso(start)} to ${iso(end)}`;
  }
  drawAgo();
}

/** Recorded data closed long ago: then only how long ago it was answered tells something. */
function drawAgo() {
  const record = windowsShown()[placeShown()];
  if (record === undefined) return;
  const lag = record.at - record.window.end;
  const live = !counts() && lag >= 0 && lag < 3_600_000;
  const date = counts() ? "" : `${day(record.window.end)} · `;
  const since = live
    ? `closed ${agoText(serverNow() - record.window.end)}, answered ${duration(lag)} later`
    : `answered ${agoText(serverNow() - record.at)}`;
  setText(find("ago"), date + since);
}

function drawVerdict(record) {
  const { exact, freshness, truth } = record;
  const box = find("verdict");
  box.hidden = exact === undefined && !freshness;
  if (box.hidden) return;
  const estimated = freshness?.precision ?? null;
  if (freshness?.nothing_usable) return drawNothingUsable(record);
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

/** A source that gave nothing usable is a problem, whatever is ranked. */
function drawNothingUsable({ freshness, problems = {} }) {
  find("verdict").dataset.tone = "poor";
  setText(find("verdict-text"), "Nothing usable came from the source");
  const why = Object.entries(problems).map(([name, times]) => `${whole(times)} ${inWords(name)}`);
  setText(find("verdict-more"), [`${whole(freshness.fetched)} looked up`, ...why].join(" · "));
}

// ---- what a screen reader is told ----

let saidAt = 0;
let saidOrder = "";
let stepped = false;

/** A window that was chosen is told at once; those that come, seldom, and only if the order is new. */
function sayNow(record) {
  const order = record.rows.map(({ label }) => label).join("\u0000");
  const wanted = stepped || (order !== saidOrder && Date.now() - saidAt > QUIET);
  if (!wanted) return;
  stepped = false;
  saidAt = Date.now();
  saidOrder = order;
  const first = record.rows.slice(0, 3).map(({ rank, label }) => `${rank}: ${label}`);
  const verdict = find("verdict").hidden ? "" : ` ${find("verdict-text").textContent}.`;
  const what = first.length ? first.join(", ") : emptyText(record);
  setText(find("said"), `Window to ${endText(record)}: ${what}.${verdict}`);
}

// ---- what a person does ----

function show(place) {
  const windows = windowsShown();
  if (!windows.length) return;
  const wanted = Math.min(windows.length - 1, Math.max(0, place));
  state.shown = windows[wanted].window.end;
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
  redrawRanking();
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
  find("theme-text").textContent = `Colours: ${theme === "system" ? "as the system" : theme}`;
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
connection.open();
setInterval(() => {
  drawAgo();
  connection.check();
}, 1000);
// When the network comes or goes, ask: the server may be on this machine, and not care.
for (const change of ["online", "offline"]) addEventListener(change, () => connection.open());
addEventListener("pagehide", () => connection.close());
addEventListener("pageshow", (event) => event.persisted && connection.open());
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && link === "lost") connection.open();
});
