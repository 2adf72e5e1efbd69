// Counts the seconds in which somebody looked: the page was visible, and there was a key, a touch or
// a movement within the last minute. Has no access to the page.

const IDLE = 60_000;

// `now` returns milliseconds, `isVisible` whether the page can be seen.
export function createStopwatch(now, isVisible) {
  let seconds = 0;
  let since = null;
  let lastSign = 0;
  let running = false;

  // Adds the time up to now, at most a minute after the last sign.
  function settle() {
    const at = now();
    if (since !== null) {
      const until = Math.min(at, lastSign + IDLE);
      if (until > since) seconds += (until - since) / 1000;
    }
    since = running && isVisible() ? at : null;
    return seconds;
  }

  return {
    settle,
    // Starts again from the seconds that were counted before.
    start(counted) {
      running = true;
      lastSign = now();
      settle();
      seconds = counted;
    },
    stop() {
      running = false;
      settle();
      seconds = 0;
    },
    sign() {
      settle();
      lastSign = now();
    },
  };
}
