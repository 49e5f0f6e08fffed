// What is wrong with the layout of a case page: one line for each thing that lies over another, is cut, or is outside.

() => {
  const NAMES = [
    ".case-head > :not(.case-head-end)", ".case-head-end > *", ".viewer-button", ".viewer-pane", ".case-steps",
    ".case-meta", ".case-stem", ".case-option", ".case-none", ".case-label", ".case-seg label", ".case-anchor",
    ".case-anchors", ".case-chip", ".case-text", ".case-answers li", ".case-explanation", ".case-report",
    ".case-topic > *", ".case-hint", ".case-go",
  ].join();
  const MAY_BE_CUT = ".case-round, .viewer-pane, .case-saving";
  const isWide = document.documentElement.classList.contains("viewer-wide");

  const isShown = (node) =>
    node.checkVisibility({ visibilityProperty: true }) && (!isWide || node.closest(".viewer, [data-viewer-strip]"));
  const nameOf = (node) => `${node.className} "${node.textContent.trim().replace(/\s+/g, " ").slice(0, 30)}"`;

  function boxOf(node) {
    const { left, right, top, bottom } = node.getBoundingClientRect();
    const around = [".case-told, .case-rating", ".case-scroll"].map((name) => node.closest(name)).filter(Boolean);
    const scrolls = around.map((one) => one.getBoundingClientRect());
    const [tops, bottoms] = [scrolls.map((one) => one.top), scrolls.map((one) => one.bottom)];
    return { node, left, right, top: Math.max(top, ...tops), bottom: Math.min(bottom, ...bottoms) };
  }

  function isCut(part) {
    const isBlock = getComputedStyle(part).display !== "inline" && part.clientWidth > 0;
    return isBlock && part.scrollWidth > part.clientWidth + 1 && !part.matches(MAY_BE_CUT);
  }

  function areOver(a, b) {
    if (a.node.contains(b.node) || b.node.contains(a.node)) return false;
    const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    return x > 1 && y > 1;
  }

  const boxes = [...document.querySelectorAll(NAMES)]
    .filter(isShown)
    .map(boxOf)
    .filter(({ left, right, top, bottom }) => bottom - top > 1 && right - left > 1);
  return boxes.flatMap((a, i) => [
    ...(a.left < -1 || a.right > innerWidth + 1 || a.bottom > innerHeight + 1 ? [`outside: ${nameOf(a.node)}`] : []),
    ...[a.node, ...a.node.querySelectorAll("span, b")].filter(isCut).map((part) => `cut: ${nameOf(part)}`),
    ...boxes.slice(i + 1).filter((b) => areOver(a, b)).map((b) => `${nameOf(a.node)} over ${nameOf(b.node)}`),
  ]);
};
