// The ribbon: places of the stay, days and nights, on the axis of the page.
import { element } from "../common/dom.js";
import { chosenClock, chosenOf } from "../common/moment.js";
import * as Case from "./state.js";

export const course = JSON.parse(document.getElementById("case-ribbon").textContent);
const places = [...Case.root.querySelectorAll("[data-ribbon-places] > .place")];
const ground = Case.find("[data-ribbon-ground]");

function lay(box, from, to) {
  box.style.left = `${from * 100}%`;
  box.style.width = `${Math.max(0, to - from) * 100}%`;
}

course.places.forEach((place, index) => {
  lay(places[index], place.from, place.to);
});
if (course.out) lay(places.at(-1), course.end, 1);
for (const [from, to] of course.nights) {
  lay(ground.appendChild(element("div", "ribbon-night")), from, to);
}

// Days and titles as the reader chose to see times.
function writeTimes() {
  for (const day of ground.querySelectorAll(".ribbon-day")) day.remove();
  for (const [from, to, words] of course.days[chosenClock()]) {
    const day = ground.appendChild(element("div", "ribbon-day"));
    lay(day, from, to);
    day.append(element("span", "", words));
  }
  course.places.forEach((place, index) => (places[index].title = chosenOf(place.words)));
}
writeTimes();
if (course.zero > 0.05) {
  const before = ground.appendChild(element("div", "ribbon-outside"));
  lay(before, 0, course.zero);
  before.append(element("span", "", "before"));
}
if (course.end < 0.95 && !course.out) {
  const after = ground.appendChild(element("div", "ribbon-outside"));
  lay(after, course.end, 1);
  after.append(element("span", "", "after"));
}

// A day's words are shown if they fit.
function fit() {
  for (const day of ground.querySelectorAll(".ribbon-day, .ribbon-outside")) {
    const words = day.firstChild;
    words.hidden = false;
    words.hidden = words.offsetWidth + 4 > day.clientWidth;
  }
}
new ResizeObserver(fit).observe(ground);
document.addEventListener("clockchange", () => {
  writeTimes();
  fit();
});
