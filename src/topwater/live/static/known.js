// What is known: the last windows of each group, and which of them is shown.

import { clock, whole } from "./words.js";

const MOST_WINDOWS = 1000;
const MOST_NOTES = 30;

export const state = {
  about: { title: "Topwater", explained: "", waiting: "", values: [], remote: "", by: "time" },
  run: "",
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
const placeOf = (record) => JSON.stringify([groupOf(record), record.window.end]);
export const serverNow = () => Date.now() + state.skew;

export function forgetAll() {
  state.groups.clear();
  state.order.clear();
  Object.assign(state, { group: undefined, shown: null, notes: [], ended: null });
}

/** As on the server: a window replaces all of its group that are not earlier. */
export function add(record) {
  const group = groupOf(record);
  if (!state.groups.has(group)) state.groups.set(group, []);
  const windows = state.groups.get(group);
  while (windows.length && windows.at(-1).window.end >= record.window.end) {
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

export const windowsShown = () => state.groups.get(state.group) ?? [];

export function placeShown() {
  const windows = windowsShown();
  if (state.shown === null) return windows.length - 1;
  const place = windows.findIndex((each) => each.window.end >= state.shown);
  return place < 0 ? windows.length - 1 : place;
}

export const counts = () => state.about.by === "count";
export const endText = (record) =>
  counts() ? `event ${whole(record.window.end)}` : clock(record.window.end);

export function takeNote(note) {
  state.notes.push(note);
  state.notes.splice(0, state.notes.length - MOST_NOTES);
}
