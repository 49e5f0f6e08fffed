// Tells the size of the window and of the screen with the display check.

const form = document.getElementById("display-form");
const sizeText = document.getElementById("display-size");

function measure() {
  const measured = {
    width: window.innerWidth,
    height: window.innerHeight,
    screen_width: window.screen.width,
    screen_height: window.screen.height,
    pixel_ratio: Math.round(window.devicePixelRatio * 1000) / 1000,
    colour_depth: window.screen.colorDepth,
    zoom_percent: Math.round((100 * window.outerWidth) / window.innerWidth) || 100,
  };
  for (const [name, value] of Object.entries(measured)) form.elements[name].value = value;
  sizeText.textContent = sizeText.dataset.words.replace("%width%", measured.width).replace("%height%", measured.height);
  const [width, height] = (sizeText.dataset.least ?? "0 0").split(" ").map(Number);
  sizeText.classList.toggle("too-small", measured.width < width || measured.height < height);
}

// The pattern, one of its pixels on one of the screen. Low contrast is 2 to 15 levels of 255, as letters fade.
const [WIDTH, HEIGHT, STEPS, WORD] = [864, 300, 18, "QUALITYCONTROL"];
const canvas = document.getElementById("display-pattern");

function draw() {
  const ratio = window.devicePixelRatio || 1;
  Object.assign(canvas, { width: WIDTH, height: HEIGHT });
  Object.assign(canvas.style, { width: `${WIDTH / ratio}px`, height: `${HEIGHT / ratio}px` });
  const context = canvas.getContext("2d", { alpha: false });
  const grey = (level) => `rgb(${level} ${level} ${level})`;
  const fill = (level, ...box) => Object.assign(context, { fillStyle: grey(level) }).fillRect(...box);
  fill(128, 0, 0, WIDTH, HEIGHT);
  const side = WIDTH / STEPS;
  for (let n = 0; n < STEPS; n++) {
    const level = Math.round((255 * n) / (STEPS - 1));
    fill(level, n * side, 0, side, 90);
    fill(Math.min(level + 4, 255), n * side + 6, 60, 12, 12); // four levels apart, in each step
    fill(Math.max(level - 4, 0), n * side + 30, 60, 12, 12);
  }
  [0, 128, 255].forEach((ground, at) => {
    const left = (at * WIDTH) / 3;
    fill(ground, left, 90, WIDTH / 3, 110);
    context.font = "bold 18px sans-serif";
    [...WORD].forEach((letter, n) => {
      const apart = WORD.length + 1 - n; // 15 down to 2 levels
      context.fillStyle = grey(ground === 255 ? ground - apart : ground + apart);
      context.fillText(letter, left + 12 + n * 19, 150);
    });
  });
  [1, 2].forEach((wide, at) => {
    for (let n = 0; n < 40; n += wide * 2) {
      fill(255, 40 + at * 300 + n, 215, wide, 70);
      fill(0, 40 + at * 300 + n + wide, 215, wide, 70);
      fill(255, 120 + at * 300, 215 + n, 70, wide);
      fill(0, 120 + at * 300, 215 + n + wide, 70, wide);
    }
  });
}

draw();
measure();
window.addEventListener("resize", draw);
window.addEventListener("resize", measure);
form.addEventListener("submit", measure);
