"use strict";
for (const button of document.querySelectorAll("[data-at]")) {
  button.addEventListener("click", () => {
    const video = document.getElementById(button.dataset.video);
    video.currentTime = Number(button.dataset.at);
    video.play().catch(() => {});
  });
}
