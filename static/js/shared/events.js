// The events of one page: modules listen by name, in the order in which they were loaded.

export function createEvents() {
  const listeners = new Map();
  return {
    on(name, listener) {
      if (!listeners.has(name)) listeners.set(name, []);
      listeners.get(name).push(listener);
    },
    tell(name, ...values) {
      for (const listener of listeners.get(name) ?? []) listener(...values);
    },
  };
}
