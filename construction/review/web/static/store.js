// Texts kept in this browser, under the reviewer who wrote them; in memory where it keeps nothing.
import { facts } from "./page.js";

const PREFIX = `psychemme:${facts.reviewer}:`;
const memory = new Map();

export const isLasting = (() => {
  try {
    localStorage.setItem(`${PREFIX}probe`, "1");
    localStorage.removeItem(`${PREFIX}probe`);
    return true;
  } catch {
    return false;
  }
})();

const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

export const keep = (name, value) => {
  const text = JSON.stringify(value);
  memory.set(PREFIX + name, text);
  try {
    localStorage.setItem(PREFIX + name, text);
  } catch {
    // Full or forbidden: memory has it for as long as the page is open.
  }
};

export const kept = (name) => {
  if (!isLasting) return parsed(memory.get(PREFIX + name) ?? null);
  return parsed(localStorage.getItem(PREFIX + name) ?? memory.get(PREFIX + name) ?? null);
};

export const drop = (name) => {
  memory.delete(PREFIX + name);
  if (isLasting) localStorage.removeItem(PREFIX + name);
};

export const names = (start) => {
  const all = new Set([...(isLasting ? Object.keys(localStorage) : []), ...memory.keys()]);
  return [...all].filter((key) => key.startsWith(PREFIX + start)).map((key) => key.slice(PREFIX.length));
};

// Calls back with what a text was and has become, where another page of this reviewer changed it.
export const watch = (start, changed) =>
  addEventListener("storage", (event) => {
    if (!event.key?.startsWith(PREFIX + start)) return;
    memory.delete(event.key);
    changed(parsed(event.oldValue), parsed(event.newValue));
  });

// Who signs out leaves no drafts behind on this device: the server has them.
document.querySelector(".bar .leave").addEventListener("submit", () => names("draft:").forEach(drop));
