// Offers the time zone of the browser; on a new account it is chosen at once.

const select = document.getElementById("id_time_zone");
const offer = document.getElementById("time-zone-offer");
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const known = zone && [...select.options].some((option) => option.value === zone);

function showOffer() {
  offer.hidden = !known || select.value === zone;
}

if (known) {
  offer.querySelector("[data-zone]").textContent = zone.replaceAll("_", " ");
  offer.querySelector("button").addEventListener("click", () => {
    select.value = zone;
    showOffer();
    select.focus();
  });
  if (offer.dataset.set === "yes" && select.value === "UTC") select.value = zone;
  select.addEventListener("change", showOffer);
  showOffer();
}
