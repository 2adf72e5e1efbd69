// The events of one page: listeners of a name are called in the order in which they were added.

export function createEvents() {
  const listeners = new Map();
  return {
    on(name, listener) {
      if (!listeners.has(name)) listeners.set(name, []);
      listeners.get(name).push(listener);
    },
    emit(name, ...values) {
      for (const listener of listeners.get(name) ?? []) listener(...values);
    },
  };
}
