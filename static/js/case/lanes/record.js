// The rows of the record that the lanes draw. Without them the lanes have the note's occurrences
// alone.
import * as Case from "../state.js";

export async function fetchTracks() {
  const { timeline, evaluation, basis } = Case.root.dataset;
  const parameters = new URLSearchParams({ t: timeline });
  if (evaluation) {
    parameters.set("e", evaluation);
    parameters.set("b", basis);
  }
  const answer = await fetch(`${Case.root.dataset.case}lanes/?${parameters}`, {
    headers: { Accept: "application/json" },
  });
  if (!answer.ok) throw new Error(`lanes: ${answer.status}`);
  return (await answer.json()).tracks;
}
