// Beside the page, and knowing nothing of it: when a case stood on screen, and when its answer was committed.
(() => {
  if (!location.protocol.startsWith("http")) return;
  const told = JSON.parse(sessionStorage.getItem("watched") ?? "{}");
  let on = null;
  const keep = () => sessionStorage.setItem("watched", JSON.stringify(told));
  const look = () => {
    const content = document.getElementById("content");
    const place = document.querySelector("#room-place b")?.textContent;
    const isMain = document.getElementById("room-practice")?.hidden;
    const isShown = content?.dataset.showing === "case" && isMain && !content.classList.contains("room-covered");
    if (isShown && place && place !== on) {
      on = place;
      told[place] ??= { from: performance.timeOrigin + performance.now() };
      keep();
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !told[on] || told[on].to) return;
    const go = document.getElementById("case-go");
    if (go?.getAttribute("aria-disabled") !== "false") return;
    told[on].to = performance.timeOrigin + performance.now();
    keep();
  }, { capture: true });
})();
