/** What the server is sent: answers, and errors without their traces. */
export function posted({ answers, problem }) {
  const all = problem ? { parse: {} } : answers;
  const plain = ({ value, error, line }) => (value === undefined ? { error, line } : { value });
  const of = (streams) => Object.fromEntries(Object.entries(streams).map(([name, answer]) => [name, plain(answer)]));
  return { parse: {}, ...Object.fromEntries(Object.entries(all).map(([name, streams]) => [name, of(streams)])) };
}
