// Forms with `data-passkey`: the browser makes ("create") or uses ("get") a passkey, and the form sends what came of it.
// The options are on the page, or come from the form's address.
const written = document.getElementById("passkey-options");

async function readOptions(form) {
  if (written) return JSON.parse(written.textContent);
  const answer = await fetch(form.action, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.json();
}

// A passkey that signs in without a password is stored on the device, which checks who uses it.
function choose(selection, alone) {
  return {
    ...selection,
    residentKey: alone ? "required" : "discouraged",
    requireResidentKey: alone,
    userVerification: alone ? "required" : selection.userVerification,
  };
}

async function create(form) {
  const { publicKey } = (await readOptions(form)).creation_options;
  publicKey.authenticatorSelection = choose(
    publicKey.authenticatorSelection ?? {},
    form.elements.passwordless.checked,
  );
  return navigator.credentials.create({
    publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey),
  });
}

async function get(form) {
  const { publicKey } = (await readOptions(form)).request_options;
  return navigator.credentials.get({
    publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey),
  });
}

function complain(form, words) {
  const place = form.querySelector("[data-passkey-error]");
  place.textContent = words;
  place.hidden = false;
}

async function send(event) {
  event.preventDefault();
  const form = event.target;
  try {
    const credential = await (form.dataset.passkey === "create" ? create(form) : get(form));
    form.elements.credential.value = JSON.stringify(credential.toJSON());
  } catch {
    complain(form, "No passkey was used. Try again.");
    return;
  }
  form.submit();
}

const able = Boolean(globalThis.PublicKeyCredential?.parseCreationOptionsFromJSON);
for (const form of document.querySelectorAll("form[data-passkey]")) {
  form.addEventListener("submit", send);
  if (able) form.hidden = false;
  else if (!form.hidden) complain(form, "This browser cannot use passkeys.");
}
