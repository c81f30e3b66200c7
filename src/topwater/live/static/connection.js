// The connection to the feed. It comes back by itself, where it was, at longer and longer intervals.

const SILENCE = 25_000;
const FIRST_RETRY = 500;
const LAST_RETRY = 8_000;

/** Calls ``on[kind](told)`` for each event, and ``on.lost()`` when the connection breaks. */
export class Connection {
  #on;
  #source = null;
  #last = "";
  #sign = 0;
  #retry = FIRST_RETRY;
  #timer = 0;

  constructor(on) {
    this.#on = on;
  }

  open() {
    this.close();
    this.#sign = Date.now();
    const address = new URL("events", document.baseURI);
    if (this.#last) address.searchParams.set("after", this.#last);
    this.#source = new EventSource(address);
    this.#source.onerror = () => this.#lost();
    for (const kind of ["about", "window", "note", "ended", "beat"]) {
      this.#source.addEventListener(kind, (event) => this.#take(kind, event));
    }
  }

  close() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  /** A connection may fall silent without an end: a laptop that slept, a cable that was cut. */
  check() {
    if (this.#source !== null && Date.now() - this.#sign > SILENCE) this.#lost();
  }

  #take(kind, event) {
    this.#sign = Date.now();
    this.#retry = FIRST_RETRY;
    if (event.lastEventId) this.#last = event.lastEventId;
    this.#on[kind](JSON.parse(event.data));
  }

  #lost() {
    this.close();
    this.#timer = setTimeout(() => this.open(), this.#retry * (0.8 + 0.4 * Math.random()));
    this.#retry = Math.min(this.#retry * 1.7, LAST_RETRY);
    this.#on.lost();
  }
}
