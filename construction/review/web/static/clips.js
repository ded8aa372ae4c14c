// The page of clips: a name is typed once, and keys go from clip to clip.
"use strict";
(() => {
  const NAME = "psychemme:curator";
  const names = [...document.querySelectorAll(".decision [name=by]")];
  const fill = (name) => names.forEach((field) => (field.value = name));
  try {
    fill(sessionStorage.getItem(NAME) ?? "");
  } catch {
    // Only a convenience.
  }
  for (const field of names)
    field.addEventListener("change", () => {
      fill(field.value);
      try {
        sessionStorage.setItem(NAME, field.value);
      } catch {
        // Only a convenience.
      }
    });

  const clips = [...document.querySelectorAll(".clip")];
  const current = () => clips.indexOf(document.activeElement.closest(".clip") ?? document.querySelector(".clip:target"));
  document.addEventListener("keydown", (event) => {
    const step = { j: 1, k: -1 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    const next = clips[Math.max(current() + step, 0)];
    next?.focus();
    next?.scrollIntoView({ block: "start" });
  });
})();
