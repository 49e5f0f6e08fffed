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
  };
  for (const [name, value] of Object.entries(measured)) form.elements[name].value = value;
  sizeText.textContent = sizeText.dataset.words.replace("%width%", measured.width).replace("%height%", measured.height);
  const [width, height] = (sizeText.dataset.least ?? "0 0").split(" ").map(Number);
  sizeText.classList.toggle("too-small", measured.width < width || measured.height < height);
}

measure();
window.addEventListener("resize", measure);
form.addEventListener("submit", measure);
