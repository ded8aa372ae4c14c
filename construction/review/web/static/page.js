// What every script of a page starts from.
export const facts = JSON.parse(document.body.dataset.facts);
export const csrf = document.querySelector("meta[name=csrf]").content;
export const by = (id) => document.getElementById(id);

// Live regions speak when they change: an unchanged text stays silent.
export const say = (element, text) => {
  if (element && element.textContent !== text) element.textContent = text;
};

// What has become of the work on this page: in the bar, and beside the button that was pressed.
export const tell = (text) => {
  for (const id of ["saved", "saved-here"]) say(by(id), text);
};

export const at = (microseconds) =>
  new Date(microseconds / 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });

export const complain = (problem, faults = []) => {
  const box = by("trouble");
  box.replaceChildren(Object.assign(document.createElement("p"), { textContent: problem }));
  if (faults.length) {
    const list = document.createElement("ul");
    list.className = "bullets";
    for (const fault of faults) list.append(Object.assign(document.createElement("li"), { textContent: fault }));
    box.append(list);
  }
  box.hidden = false;
  box.scrollIntoView({ block: "nearest" });
};

export const SIGNED_OUT =
  "You are signed out. Open your invite link again in this browser: what you wrote stays here, and what is not sent yet is sent once you are back.";
export const STALE = "You signed in again elsewhere. Reload this page: what you wrote stays here.";

const TIME_LIMIT = 15000;

// Ends as {kind, data}: "done" only when the server has said so in its own words.
export const post = async (url, body, keepalive = false) => {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
      body: JSON.stringify(body),
      keepalive,
      signal: AbortSignal.timeout(TIME_LIMIT),
    });
    const data = await response.json().catch(() => null);
    if (response.ok) return data && typeof data === "object" ? { kind: "done", data } : { kind: "unsent" };
    if (response.status === 401) return { kind: "signed_out" };
    if (response.status === 403) return { kind: "stale" };
    if (response.status === 429 || response.status >= 500 || !data) return { kind: "unsent" };
    return { kind: "refused", data, status: response.status };
  } catch {
    return { kind: "unsent" };
  }
};

// 1, 2, 4, ... at most 30 s, each up to a quarter longer, so that browsers do not return at once.
export class Retry {
  constructor(again) {
    this.again = again;
    this.count = 0;
    this.timer = 0;
    addEventListener("online", () => this.timer && this.now());
  }

  later() {
    clearTimeout(this.timer);
    const wait = Math.min(30, 2 ** this.count) * (1 + Math.random() / 4);
    this.count += 1;
    this.timer = setTimeout(() => this.now(), 1000 * wait);
  }

  now() {
    this.stop();
    this.again();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = 0;
  }

  succeeded() {
    this.stop();
    this.count = 0;
  }
}
