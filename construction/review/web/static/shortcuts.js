// Keyboard shortcuts: single keys that rest while one types, with modifiers, and on controls that use
// the key themselves. They can be switched off (WCAG 2.1.4).
import { by } from "./page.js";
import { keep, kept } from "./store.js";

const TYPING = "textarea, select, input:not([type=radio], [type=checkbox], [type=range])";
const PRESSED = "button, a, summary, input[type=checkbox]";

// Whether the focused control has a use of its own for the key.
const isTaken = (target, key) => {
  if (target.matches("input[type=radio]")) return key.startsWith("Arrow") || (key === " " && !target.checked);
  if (key === " ") return target.matches(PRESSED);
  return key === "Enter" && target.matches("button, a, summary");
};

export const useShortcuts = (actions) => {
  const sheet = by("sheet");
  const on = by("keys-on");
  on.checked = kept("keys") !== false;
  on.addEventListener("change", () => keep("keys", on.checked));
  const open = () => (sheet.open ? sheet.close() : sheet.showModal());
  by("help").addEventListener("click", open);
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    if (!on.checked || !(target instanceof Element) || target.matches(TYPING) || isTaken(target, key)) return;
    if (key === "?") {
      event.preventDefault();
      return open();
    }
    if (sheet.open) return;
    const action = actions(key, event.shiftKey, target);
    if (!action) return;
    event.preventDefault();
    if (!event.repeat || key.startsWith("Arrow") || key === "," || key === ".") action();
  });
};
