import { formatColumns } from './markdown-table.mjs';
import { workloads } from './workloads.mjs';

/** The number of lines in each table of operators and functions. The rest is one more line. */
const TOP = 14;
/** The number of tensors of a call whose shapes are shown. */
const SHAPES = 3;

/**
 * Returns the profiles as Markdown. Each model has the parts of its step, its most expensive
 * operators, and our JavaScript functions.
 *
 * @param profiles `{model, steps, ours, theirs}`, from `profiling/ours.ts` and
 * `peers/profile_train.py`.
 */
export function formatProfile(profiles, { threads, command }) {
  return `Threads: ${threads}. All times are milliseconds of one training step on one rank. They are times in the operator or
function itself, without the functions that it calls. "Unobserved" is the wall time without a profiler. The tables come from other
steps, under profilers. A profiler takes time itself, for small operators as much as the operators. Ours: operator calls are timed
at the addon; V8 samples garbage collection, JavaScript and other native functions. Theirs: torch.profiler; the time of Python is
the rest of its wall time.

${profiles.map(formatModel).join('\n\n')}

Repeat it: \`${command}\`
`;
}

function formatModel({ model, steps, ours, theirs }) {
  const unobserved = `${ms(ours.stepMs)} ms ours, ${ms(theirs.stepMs)} ms theirs`;
  return `## ${workloads[model].title}

Unobserved: ${unobserved}. Observed: ${ms(ours.observedStepMs)} ms ours, ${ms(theirs.observedStepMs)} ms theirs. ${steps} steps each.

### Parts of the step

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

/** The most expensive ones, and the sum of the others in one line with as many cells. */
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
