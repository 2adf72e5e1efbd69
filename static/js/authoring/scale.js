// The scale of the time strip: logarithmic on both sides of admission.

// The smallest step that covers the hours, or the largest step.
export const stepFor = (hours, steps) => steps.find((step) => step >= hours) ?? steps.at(-1);

// The position of an hour between 0 and 1; `past` and `future` are the hours at the two ends.
export function placeOf(hours, { zero, linear, past, future }) {
  const bend = (size) => Math.log1p(size / linear);
  if (hours < 0) return zero * (1 - Math.min(bend(-hours) / bend(past), 1));
  return zero + (1 - zero) * Math.min(bend(hours) / bend(future), 1);
}
