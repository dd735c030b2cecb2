// Event ids are `run.seq`, consecutive within a run, so that a missing one shows.
export function parse(text) {
  const found = /^(\d{1,9})\.(\d{1,9})$/.exec(text ?? "");
  return found ? { run: Number(found[1]), seq: Number(found[2]) } : null;
}

export const isAfter = (a, b) => a.run > b.run || (a.run === b.run && a.seq > b.seq);

export function missingBetween(last, next) {
  const expected = next.run === last.run ? last.seq + 1 : 1;
  return Math.max(0, next.seq - expected);
}

export const format = (id) => `${id.run}.${id.seq}`;
