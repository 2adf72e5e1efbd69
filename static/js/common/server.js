// Requests to the server in the session of the page.

const PATIENCE = 30000;
let csrf = tokenIn(document);

function tokenIn(page) {
  return JSON.parse(page.body.getAttribute("hx-headers"))["X-CSRFToken"];
}

const request = (url, options = {}) =>
  fetch(url, { ...options, redirect: "manual", signal: AbortSignal.timeout(PATIENCE) });

// Returns {status, data, isJson}: status 0 if there was no answer, 401 if the session has ended.
async function ask(url, options) {
  try {
    const response = await request(url, options);
    if (response.type === "opaqueredirect") return { status: 401, data: {} };
    const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
    return { status: response.status, data: isJson ? await response.json() : {}, isJson };
  } catch {
    return { status: 0, data: {} };
  }
}
export const get = (url) => ask(url, { headers: { Accept: "application/json" } });
export const post = (url, body, more = {}) =>
  ask(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json",
      "X-CSRFToken": csrf,
    },
    body: JSON.stringify(body),
    ...more,
  });

// Posts the words of a search, which no address has, and returns the answer, or null without one.
export async function postWords(url, words) {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "X-CSRFToken": csrf, "HX-Request": "true" },
    body: new URLSearchParams({ text: words }),
  }).catch(() => null);
  return answer?.ok && !answer.redirected ? answer : null;
}

// Fetches a page of the person to check the session and to get its CSRF token. Returns "renewed",
// "signed-out", "stopped" (somebody else is signed in) or "lost".
export async function renew(url) {
  try {
    const response = await request(url);
    if (response.type === "opaqueredirect") return "signed-out";
    if (!response.ok) return "stopped";
    csrf = tokenIn(new DOMParser().parseFromString(await response.text(), "text/html"));
    return "renewed";
  } catch {
    return "lost";
  }
}
