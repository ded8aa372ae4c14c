// One task: what is chosen or written is saved at once, and the page says what has become of it.
const facts = JSON.parse(document.body.dataset.facts);
const csrf = document.querySelector("meta[name=csrf]").content;
const by = (id) => document.getElementById(id);
const form = by("form");
const draftKey = `${facts.store}/${facts.owner}/${facts.number}`;
const PAUSE = 700;
const TIME_LIMIT = 15000;

// Live regions speak when they change: an unchanged text stays silent.
const say = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};

const clock = (microseconds) =>
  new Date(microseconds / 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });

const complain = (text) => {
  say(by("trouble"), text);
  by("trouble").hidden = !text;
};

// What is on its way, until the server has answered.
let sent = null;

// The browser may refuse to store; then what is not sent lives in this page alone.
const draft = {
  get: () => {
    try {
      return JSON.parse(localStorage.getItem(draftKey));
    } catch {
      return null;
    }
  },
  set: (fields) => {
    try {
      if (fields) localStorage.setItem(draftKey, JSON.stringify({ fields, sent, revision: facts.revision }));
      else localStorage.removeItem(draftKey);
    } catch {
      return;
    }
  },
};

const fields = () => {
  const found = {};
  for (const input of form.elements) {
    if (!input.name) continue;
    if (input.type === "checkbox") {
      found[input.name] ??= [];
      if (input.checked) found[input.name].push(input.value);
    } else if (input.type !== "radio" || input.checked) found[input.name] = input.value;
  }
  return found;
};

const fill = (given) => {
  for (const input of form.elements) {
    const value = given[input.name];
    if (!input.name || value === undefined) continue;
    if (input.type === "radio" || input.type === "checkbox") input.checked = [value].flat().includes(input.value);
    else input.value = value;
  }
};

// Time counts while the page is seen.
let seen = document.hidden ? null : performance.now();
let spent = facts.seconds * 1000;
const look = () => {
  const now = performance.now();
  if (seen !== null) spent += now - seen;
  seen = document.hidden ? null : now;
};
document.addEventListener("visibilitychange", look);

let saved = JSON.stringify(fields());
let isSending = false;
let isRefused = false;
let tries = 0;
let timer = 0;
let onward = null;
const isUnsaved = () => JSON.stringify(fields()) !== saved;

const showWhole = () => {
  if (form.querySelector("fieldset:disabled")) return;
  const hint = isUnsaved() || facts.revision === 0 ? "" : facts.complete ? "Complete." : "Not complete yet.";
  say(by("whole"), hint);
};

const showSaved = () => say(by("saved"), facts.saved_at ? `Saved ${clock(facts.saved_at)}` : "");

const post = async (body) => {
  try {
    const response = await fetch(`/api/tasks/${facts.number}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
      body,
      signal: AbortSignal.timeout(TIME_LIMIT),
    });
    const data = await response.json().catch(() => null);
    if (response.ok && data) return { data };
    if (response.status >= 500 || !data) return {};
    return { refused: `${data.problem} ${data.action}` };
  } catch {
    return {};
  }
};

// The same body is sent until it is acknowledged, so that a lost answer of the server does no harm.
const send = async () => {
  clearTimeout(timer);
  if (isSending || isRefused || !isUnsaved()) return;
  isSending = true;
  look();
  sent = fields();
  draft.set(sent);
  const text = JSON.stringify(sent);
  const body = JSON.stringify({ fields: sent, seconds: Math.round(spent / 100) / 10, revision: facts.revision });
  say(by("saved"), "Saving…");
  let answer = {};
  for (;;) {
    answer = await post(body);
    if (answer.data || answer.refused) break;
    say(by("saved"), navigator.onLine ? "Not saved yet: trying again" : "Not saved yet: you are offline");
    const wait = 1000 * Math.min(20, 2 ** tries++);
    await new Promise((again) => {
      const retry = setTimeout(again, wait);
      addEventListener("online", () => (clearTimeout(retry), again()), { once: true });
    });
  }
  isSending = false;
  sent = null;
  tries = 0;
  if (answer.refused) {
    isRefused = true;
    onward = null;
    say(by("saved"), "Not saved");
    return complain(answer.refused);
  }
  saved = text;
  Object.assign(facts, answer.data);
  if (isUnsaved()) {
    draft.set(fields());
    return send();
  }
  draft.set(null);
  showSaved();
  showWhole();
  if (onward) location.assign(onward);
};

const changed = (wait) => {
  clearTimeout(timer);
  if (!isUnsaved() && !isSending) {
    draft.set(null);
    showWhole();
    return showSaved();
  }
  draft.set(fields());
  showWhole();
  if (!isSending) say(by("saved"), "Not saved yet");
  timer = setTimeout(send, wait);
};

// Who cannot answer gives no answer, and the other way round.
const exclude = (input) => {
  const cannot = form.elements.cannot_answer;
  if (!cannot) return;
  if (input !== cannot) cannot.checked &&= !input.value || (input.type === "checkbox" && !input.checked);
  else if (cannot.checked) for (const box of form.querySelectorAll("[name=answer]:checked")) box.checked = false;
};

form.addEventListener("input", ({ target }) => {
  exclude(target);
  changed(target.type === "textarea" ? PAUSE : 0);
});
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("beforeunload", (event) => isUnsaved() && event.preventDefault());

const go = (href) => {
  if (!isUnsaved() || isRefused) return location.assign(href);
  onward = href;
  return send();
};
for (const link of document.querySelectorAll("[data-go]"))
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(link.href);
  });

const video = by("video");
if (video) {
  const track = video.addTextTrack("captions", "Transcript");
  const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  for (const line of by("lines").content.children) {
    const { start, end } = line.dataset;
    track.addCue(new VTTCue(Number(start), Number(end), escaped(line.textContent)));
  }
  track.mode = "hidden";
  const show = () => by("captions").setAttribute("aria-pressed", String(track.mode === "showing"));
  by("captions").addEventListener("click", () => {
    track.mode = track.mode === "showing" ? "hidden" : "showing";
    show();
  });
  video.addEventListener("error", () => (by("unplayable").hidden = false));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("textarea")) return;
  const key = event.key.toLowerCase();
  if (/^[1-9]$/.test(key)) {
    const group = document.activeElement?.closest("fieldset.group") ?? form.querySelector("[data-keys]");
    const input = group?.querySelectorAll("input")[key - 1];
    if (input && !input.matches(":disabled")) {
      input.focus();
      input.click();
    }
  } else if (key === "n") go(by("next").href);
  else if (key === "p" && by("before")) go(by("before").href);
  else if (key === "c") by("captions")?.click();
  else if (key === "k" && video) video.paused ? video.play() : video.pause();
  else return;
  event.preventDefault();
});

// As the server keeps them: texts without blanks around them, no answer beside "cannot".
const asKept = (given) =>
  JSON.stringify(
    Object.entries(given).map(([name, value]) => {
      if (name === "answer" && given.cannot_answer?.length) return [name, []];
      return [name, typeof value === "string" ? value.trim() : value];
    }),
  );

const words = (name, value) => {
  const chosen = [...form.querySelectorAll(`input[name="${name}"]`)].filter((input) => [value].flat().includes(input.value));
  return chosen.length ? chosen.map((input) => input.closest("label").innerText).join("; ") : [value].flat().join("; ");
};

const showLeft = (left) => {
  for (const [name, value] of Object.entries(left)) {
    if (!words(name, value)) continue;
    const [term, text] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = name.replaceAll("_", " ");
    text.textContent = words(name, value);
    text.dir = "auto";
    by("left").append(term, text);
  }
  const close = () => (by("unsent").hidden = true);
  by("take").addEventListener("click", () => (close(), fill(left), changed(0)));
  by("keep").addEventListener("click", () => (close(), isUnsaved() || draft.set(null)));
  by("unsent").hidden = false;
};

// What an earlier visit could not send, or sent without hearing back. It overrides nothing newer.
const left = draft.get();
const isHeard = left?.sent && left.revision + 1 === facts.revision && asKept(left.sent) === asKept(fields());
if (left && !form.querySelector("fieldset:disabled")) {
  if (left.revision === facts.revision || isHeard) fill(left.fields);
  else if (asKept(left.fields) !== asKept(fields())) showLeft(left.fields);
}
if (isUnsaved()) changed(0);
else {
  if (by("unsent").hidden) draft.set(null);
  showSaved();
}
showWhole();
document.body.dataset.ready = "";
