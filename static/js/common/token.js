// A random token of 128 bits. The server stores a step once, however often it is sent.

export function token() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
