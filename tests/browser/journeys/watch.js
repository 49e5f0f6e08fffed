// Beside the page, and knowing nothing of it: when a case stood on screen, and when its answer was committed.
(() => {
  if (!location.protocol.startsWith("http")) return;
  const told = JSON.parse(sessionStorage.getItem("watched") ?? "{}");
  let on = null;
  let fresh = null; // the case that came with the frame before
  let last = performance.now();
  const keep = () => sessionStorage.setItem("watched", JSON.stringify(told));
  const look = () => {
    const now = performance.now();
    const frame = now - last; // within this time it is not known when something came
    last = now;
    if (fresh) {
      told[fresh].frame = Math.max(told[fresh].frame, frame);
      fresh = null;
      keep();
    }
    const content = document.getElementById("content");
    const place = document.querySelector("#room-place b")?.textContent;
    const isMain = document.getElementById("room-practice")?.hidden;
    const isShown = content?.dataset.showing === "case" && isMain && !content.classList.contains("case-hidden");
    if (isShown && place && place !== on) {
      on = place;
      if (!told[place]) {
        told[place] = { from: performance.timeOrigin + now, frame };
        fresh = place;
        keep();
      }
    }
  };
  const eachFrame = () => {
    look();
    requestAnimationFrame(eachFrame);
  };
  requestAnimationFrame(eachFrame);
  addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    look(); // on a busy machine a key comes within the frame that showed the case
    if (!told[on] || told[on].to) return;
    const go = document.getElementById("case-go");
    if (go?.getAttribute("aria-disabled") !== "false") return;
    told[on].to = performance.timeOrigin + performance.now();
    setTimeout(keep); // not before the page has taken its own time: writing may wait for the disk
  }, { capture: true });
})();
