// What a window cost, and what went wrong: look-ups, problems, events that could not be used.

import { drawMore, find, make, mute, setText, unseen } from "./elements.js";
import { state } from "./known.js";
import { isNumber, known, numberFormat, whole } from "./words.js";

const MOST_LOOK_UPS = 12;
const MOST_PIPS = 40;

export function drawBudget(record) {
  find("budget").hidden = !record.freshness;
  if (!record.freshness) return;
  drawSpent(record.freshness);
  drawLookUps(record);
  const problems = Object.entries(record.problems ?? {});
  find("problems").hidden = !problems.length;
  find("problems").replaceChildren(
    ...problems.map(([name, times]) => make("li", { text: `${whole(times)} ${inWords(name)}` })),
  );
}

function drawSpent({ fetched, failed, bad }) {
  const { budget } = state.about;
  const of = known(budget) ? ` of ${whole(budget)}` : "";
  const told = [`${whole(fetched)}${of} ${fetched === 1 && !of ? "look-up" : "look-ups"}`];
  told.push(failed ? `${whole(failed)} failed` : "none failed");
  if (bad) told.push(`${whole(bad)} without a usable value`);
  setText(find("spent"), told.join(" · "));
  const most = Math.max(fetched, budget ?? 0);
  const usable = fetched - failed - (bad ?? 0);
  const kind = (place) => (place < usable ? "ok" : place < fetched ? "failed" : "unspent");
  const pips = Array.from({ length: most > MOST_PIPS ? 0 : most }, (_, place) =>
    make("span", { class: `pip ${kind(place)}` }),
  );
  find("pips").replaceChildren(...pips);
}

function drawLookUps({ freshness, looked_up: all = [] }) {
  const shown = numberFormat(all.flatMap(({ before, after }) => [before, after]));
  const cut = state.allLookUps ? all : all.slice(0, MOST_LOOK_UPS);
  const items = cut.map((each) => lookUp(each, shown));
  const unlisted = all.length ? freshness.fetched - all.length : 0;
  if (unlisted > 0 && cut.length === all.length) {
    items.push(make("li", { class: "unlisted", text: `${whole(unlisted)} more are not listed` }));
  }
  find("lookups").replaceChildren(...items);
  drawMore("more-lookups", all.length, MOST_LOOK_UPS, state.allLookUps);
}

function lookUp({ label, before, after, ok }, shown) {
  const told = make("span", { class: "what" }, outcome(before, after, ok, shown));
  const who = make("span", { class: "who", text: label, title: label });
  return make("li", { class: ok ? "" : "failed" }, [who, told]);
}

/** What a look-up brought: nothing, the same, a first value, or another one. */
function outcome(before, after, ok, shown) {
  const number = (value) => (isNumber(value) ? shown(value) : "no value");
  if (!ok) return [isNumber(before) ? `failed, kept ${number(before)}` : "failed"];
  if (!isNumber(before)) return [`${number(after)}, first look-up`];
  if (before === after) return [`${number(after)}, unchanged`];
  const is = make("span", { class: "is", text: number(after) });
  return [number(before), mute(" → "), unseen(" became "), is];
}

export const inWords = (problem) => (Object.hasOwn(PROBLEMS, problem) ? PROBLEMS[problem] : problem);

const PROBLEMS = {
  "": "failed, and the source can't say why",
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
  not_found: "not found: the source does not know the key",
  null: "came back without a value (null)",
  no_value: "came back with nothing where the value should be",
  not_a_number: "came back with something that is not a number",
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
  ["skipped_files", "files skipped: they could not be read"],
  ["forgotten", "keys forgotten"],
];
const ALWAYS = ["events", "late", "bad"];

export function drawCounts({ counts = {}, candidates }) {
  find("events").hidden = !Object.keys(counts).length;
  const bad = ["bad_key", "bad_time", "bad_score"].reduce((sum, name) => sum + (counts[name] ?? 0), 0);
  const told = { ...counts, bad };
  const parts = COUNTS.filter(([name]) => ALWAYS.includes(name) || told[name]).map(([name, text]) =>
    figure(text, told[name] ?? 0, name !== "events" && told[name] > 0),
  );
  if (isNumber(candidates)) parts.push(figure("items remembered", candidates, false));
  find("counts").replaceChildren(...parts);
}

const figure = (text, value, wrong) =>
  make("div", { class: wrong ? "wrong" : "" }, [
    make("dt", { text }),
    make("dd", { text: whole(value) }),
  ]);
