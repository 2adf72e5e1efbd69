// A person's choices about the layout, stored in the browser under a prefix.

export function rememberedUnder(prefix) {
  return {
    get(key, otherwise) {
      try {
        return JSON.parse(localStorage.getItem(`${prefix}.${key}`)) ?? otherwise;
      } catch {
        return otherwise;
      }
    },
    set(key, value) {
      try {
        localStorage.setItem(`${prefix}.${key}`, JSON.stringify(value));
      } catch {
        // The browser may block storage; the choice is not remembered then.
      }
    },
  };
}
