// Reads a file of features into the field that the form sends. Without this script people paste it.
const field = document.querySelector("[data-features]");
const input = field.querySelector("input");

field.hidden = false;
input.addEventListener("change", async () => {
  const [file] = input.files;
  if (file) document.querySelector('textarea[name="features"]').value = await file.text();
});
