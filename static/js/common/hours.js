// Parses and formats hours from admission.

const UNITS = { y: 8760, w: 168, d: 24, h: 1, min: 1 / 60 };
const UNIT =
  /([\d.,]+)\s*(years?|yrs?|y|weeks?|wks?|w|days?|d|hours?|hrs?|hr|h|minutes?|mins?|min|m)?/giu;

// Parses "−3 d 4 h", "+6.5", "2 weeks before" to hours; null for an empty field or "N/A", NaN if
// the text is no valid time.
export function parseHours(text) {
  const words = text.trim().toLowerCase().replace(/[−–]/gu, "-").replace(/^n\/a$/u, "");
  if (!words) return null;
  const before = /^-|\bbefore\b/u.test(words);
  const bare = words.replace(/\b(before|after)( admission)?\b/gu, "").replace(/^[+-]\s*/u, "")
    .trim();
  if (bare.replace(UNIT, "").trim() || !bare) return NaN;
  let sum = 0;
  for (const [, number, unit = "h"] of bare.matchAll(UNIT)) {
    const short = unit.startsWith("mi") || unit === "m" ? "min" : unit[0];
    sum += Number(number.replace(",", ".")) * UNITS[short];
  }
  return before ? -sum : sum;
}

// Rounded, for display: "−3.2 d".
export function hoursInWords(hours) {
  const size = Math.abs(hours);
  const amount = size >= 8760
    ? `${(size / 8760).toFixed(1)} y`
    : size >= 48
    ? `${(size / 24).toFixed(1)} d`
    : `${size.toFixed(1)} h`;
  return `${hours < 0 ? "−" : "+"}${amount.replace(".0 ", " ")}`;
}

// Exact, in a form that can be typed: whole days as days.
export function hoursAsTyped(hours) {
  if (hours === null) return "";
  const size = Math.abs(hours);
  const sign = hours < 0 ? "-" : "+";
  return size >= 48 && size % 24 === 0
    ? `${sign}${size / 24} d`
    : `${sign}${Number(size.toFixed(3))} h`;
}
