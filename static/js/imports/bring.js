// The page that brings files: choose or drop files and folders, and see how much was sent. Without this script
// the form sends the chosen files.
import { dropped } from "./dropped.js";

const form = document.getElementById("bring");
const drop = document.getElementById("drop");
const input = document.getElementById("bring-files");
const whole = document.getElementById("bring-whole");
const folder = document.getElementById("bring-folder");
const progress = document.getElementById("bring-progress");
const refusal = document.getElementById("bring-refusal");
const chosen = document.getElementById("bring-chosen");
const button = form.querySelector("[type=submit]");
let files = [];

for (const one of form.querySelectorAll("[data-scripted]")) one.hidden = false;

function choose(found) {
  files = found;
  const size = files.reduce((sum, one) => sum + one.file.size, 0);
  const count = files.length === 1 ? files[0].path : `${files.length} files`;
  chosen.textContent = files.length ? `${count}, ${(size / 1e6).toFixed(1)} MB` : "";
}

// The latest choice counts, and the other one must not look as if it did.
input.addEventListener("change", () => {
  folder.value = "";
  choose([...input.files].map((file) => ({ file, path: file.name })));
});
folder.addEventListener("change", () => {
  input.value = "";
  choose([...folder.files].map((file) => ({ file, path: file.webkitRelativePath })));
});
// Some browsers of phones cannot choose folders.
whole.hidden = !("webkitdirectory" in folder);
drop.addEventListener("dragover", (event) => {
  event.preventDefault();
  drop.classList.add("is-over");
});
drop.addEventListener("dragleave", () => drop.classList.remove("is-over"));
drop.addEventListener("drop", async (event) => {
  event.preventDefault();
  drop.classList.remove("is-over");
  choose(await dropped(event.dataTransfer));
});

function refuse(words) {
  refusal.textContent = words;
  refusal.hidden = false;
  progress.hidden = true;
  button.disabled = false;
}

function ended(request) {
  // The page of the upload is where the answer leads; a refusal is the form again with a sentence.
  const page = new DOMParser().parseFromString(request.responseText, "text/html");
  const words = page.getElementById("bring-refusal")?.textContent;
  if (request.status === 200 && !words) location.assign(request.responseURL);
  else refuse(words || "The files could not be sent. Reload the page and try again.");
}

form.addEventListener("submit", (event) => {
  if (!files.length) return;
  event.preventDefault();
  const body = new FormData();
  body.append("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
  body.append("paths", JSON.stringify(files.map((one) => one.path)));
  for (const one of files) body.append("files", one.file, one.file.name);
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.setRequestHeader("X-Upload", "1");
  request.upload.addEventListener("progress", (sent) => {
    progress.value = (100 * sent.loaded) / sent.total;
  });
  request.addEventListener("load", () => ended(request));
  request.addEventListener("error", () => refuse("The connection was lost. Try again."));
  refusal.hidden = true;
  progress.hidden = false;
  button.disabled = true;
  request.send(body);
});
