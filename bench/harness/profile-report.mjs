import { formatColumns } from './markdown-table.mjs';
import { workloads } from './workloads.mjs';

/** Lines of each table of operators and functions; the rest is one more line. */
const TOP = 14;
/** Tensors of a call that are shown by their shapes. */
const SHAPES = 3;

/**
 * The profiles as Markdown: for each model what its step is made of, then its most expensive operators, and our
 * JavaScript functions.
 *
 * @param profiles `{model, steps, ours, theirs}`, as `profiling/ours.ts` and `peers/profile_train.py` give them.
 */
export function formatProfile(profiles, { threads, command }) {
  return `Threads: ${threads}. All times are milliseconds of one training step on one rank, in the operator or function itself,
without what it calls. "Unobserved" is the wall time without a profiler; the tables are of further steps, under profilers,
which take time themselves: beside small operators as much as those. Ours: operator calls are timed at the addon;
garbage collection, JavaScript and what else is native are sampled by V8. Theirs: torch.profiler; Python's time is what
is left of its wall time.

${profiles.map(formatModel).join('\n\n')}

Repeat it: \`${command}\`
`;
}

function formatModel({ model, steps, ours, theirs }) {
  const unobserved = `${ms(ours.stepMs)} ms ours, ${ms(theirs.stepMs)} ms theirs`;
  return `## ${workloads[model].title}

Unobserved: ${unobserved}. Observed: ${ms(ours.observedStepMs)} ms ours, ${ms(theirs.observedStepMs)} ms theirs. ${steps} steps each.

### What the step is made of

${sideBySide(partsOf(ours), partsOf(theirs), ['part', 'ms', 'share'])}

### Operators

${sideBySide(operatorsOf(ours), operatorsOf(theirs), ['operator', 'of', 'calls', 'ms'])}

### Our functions outside operators

${formatColumns(
  ['function', 'ms'],
  top(ours.functions, ({ name, ms: time }) => [name, ms(time)], 2),
)}`;
}

function sideBySide(ours, theirs, titles) {
  const empty = titles.map(() => '');
  const rows = Array.from({ length: Math.max(ours.length, theirs.length) }, (_, i) => [
    ...(ours[i] ?? empty),
    ...(theirs[i] ?? empty),
  ]);
  const header = ['ours', 'theirs'].flatMap((side) =>
    titles.map((title, i) => (i === 0 ? `${side}: ${title}` : title)),
  );
  return formatColumns(header, rows);
}

function partsOf({ parts }) {
  const total = sumMs(parts);
  const sorted = [...parts].sort((a, b) => b.ms - a.ms);
  const share = (time) => `${Math.round((100 * time) / total)} %`;
  return [...sorted.map(({ name, ms: time }) => [name, ms(time), share(time)]), ['all', ms(total), '100 %']];
}

function operatorsOf({ operators }) {
  const line = ({ name, shapes, calls, ms: time }) => [name, shorten(shapes), count(calls), ms(time)];
  return top(operators, line, 4);
}

/** The greatest, and the sum of the others in a line of as many cells. */
function top(entries, line, cells) {
  const sorted = [...entries].sort((a, b) => b.ms - a.ms);
  const others = sorted.slice(TOP);
  const lines = sorted.slice(0, TOP).map(line);
  if (others.length === 0) return lines;
  const middle = Array.from({ length: cells - 2 }, () => '');
  return [...lines, [`${others.length} others`, ...middle, ms(sumMs(others))]];
}

function shorten(shapes) {
  const words = shapes.match(/\[[^\]]*\]|\d+ tensors/g) ?? [];
  return words.length > SHAPES ? `${words.slice(0, SHAPES).join(' ')} …` : words.join(' ');
}

const sumMs = (entries) => entries.reduce((sum, { ms: time }) => sum + time, 0);
const count = (calls) => `${Math.round(calls * 10) / 10}`;
const ms = (time) => (time < 10 ? time.toFixed(time < 1 ? 3 : 2) : time.toFixed(1));
