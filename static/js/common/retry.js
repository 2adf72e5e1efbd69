const WAITS = [1, 2, 4, 8, 15, 30];

// Seconds until the next attempt, after so many failures.
export const pauseAfter = (failures) => WAITS[Math.min(failures, WAITS.length - 1)];
