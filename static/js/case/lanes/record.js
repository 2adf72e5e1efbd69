// The rows of the record that the lanes draw. They are fetched once, when the lanes are first
// opened; without them the lanes have the note's occurrences alone.
import * as Case from "../state.js";

let asked = null;

export function fetchTracks() {
  asked ??= ask();
  return asked;
}

async function ask() {
  const { timeline, evaluation, basis } = Case.root.dataset;
  const parameters = new URLSearchParams({ t: timeline });
  if (evaluation) {
    parameters.set("e", evaluation);
    parameters.set("b", basis);
  }
  const path = Case.root.dataset.case.replace(/[?#].*$/, "");
  const answer = await fetch(`${path}lanes/?${parameters}`, {
    headers: { Accept: "application/json" },
  });
  if (!answer.ok) throw new Error(`lanes: ${answer.status}`);
  return (await answer.json()).tracks;
}
