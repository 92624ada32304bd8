import { mkdirSync, writeFileSync } from 'node:fs';
import { formatColumns } from './markdown-table.mjs';
import { benchDir, workloads } from './workloads.mjs';

const percent = (fraction) => (fraction === undefined ? '–' : `${Math.round(100 * fraction)} %`);
const whole = (number) => Math.round(number).toLocaleString('en');
const time = (ms) => (ms < 1e3 ? ms.toPrecision(ms < 1 ? 2 : 3) : whole(ms));

/** One row of `summarize` in a line, for whoever waits. */
export function formatProgress({ model, ranks, threads, ...row }, sides) {
  const times = sides.map((side) => `${side} ${time(row[side].stepMs)} ms`);
  if (row.ratio !== undefined) times.push(`ours/theirs ${row.ratio.toFixed(2)}`);
  const plural = (count, what) => `${count} ${what}${count === 1 ? '' : 's'}`;
  return `${model}, ${plural(ranks, 'rank')}, ${plural(threads, 'thread')}: ${times.join(', ')}`;
}

/** The step times of `summarize`'s rows, as a Markdown table. */
export function formatTimes(rows, sides) {
  const cells = rows.map((row) => [
    ...caseOf(row),
    ...sides.map((side) => spread(row[side], 'stepMs', time)),
    ...(row.ratio === undefined ? [] : [spread(row, 'ratio', (ratio) => ratio.toFixed(2))]),
  ]);
  const ratio = sides.length > 1 ? ['ours/theirs'] : [];
  return formatColumns([...CASE, ...sides.map((side) => `${side}, ms a step`), ...ratio], cells);
}

/** What else is known of these rows. */
export function formatRates(rows, sides) {
  const figures = (row) => [
    whole(row.parameterCount),
    whole(row.samplesPerS),
    percent(row.efficiency),
    row.coresBusy.toFixed(2),
  ];
  const titles = ['parameters', 'samples/s', 'efficiency', 'cores busy'];
  const header = titles.flatMap((title) => sides.map((side) => `${title}, ${side}`));
  const cells = rows.map((row) => {
    const perSide = sides.map((side) => figures(row[side]));
    return [...caseOf(row), ...titles.flatMap((_, i) => perSide.map((side) => side[i]))];
  });
  return formatColumns([...CASE, ...header], cells);
}

const CASE = ['model', 'ranks', 'threads'];
const caseOf = ({ model, ranks, threads }) => [model, `${ranks}`, `${threads}`];

/** `12.3 (11.9–13.0)`: a median with the least and the greatest. */
function spread(figures, name, format) {
  return `${format(figures[name])} (${format(figures[`${name}Min`])}–${format(figures[`${name}Max`])})`;
}

/**
 * Writes `bench/results/<name>.md` for readers and `<name>.json` with every block's time.
 *
 * @returns The path of the Markdown file.
 */
export function writeReport(name, report) {
  const record = { name, ...report };
  const path = writeResult(`${name}.md`, toMarkdown(record));
  writeResult(`${name}.json`, `${JSON.stringify(record, null, 1)}\n`);
  return path;
}

/** Writes a file in `bench/results` and gives its path. */
export function writeResult(fileName, text) {
  const folder = `${benchDir}results`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/${fileName}`, text);
  return `${folder}/${fileName}`;
}

/** The first lines of every report: what was measured, where, with what. */
export function formatHead({ name, machine, versions, options }) {
  const gpu = machine.gpu ? `; ${machine.gpu}` : '';
  const listed = Object.entries(versions).map(([what, version]) => `${what} ${version}`);
  return `# ${name}

${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.system}${gpu}; ${machine.date}; load
before the run ${machine.load.toFixed(1)}.
${listed.join(', ')}. Device: ${options.device}. Precision: ${options.precision ?? 'fp32'}.${options.compile ? ' Our steps are compiled: `accelerator.compile`.' : ''}`;
}

const PRECISION = {
  fp32: 'float32',
  bf16: 'mixed precision of bfloat16 and float32',
  fp16: 'mixed precision of float16 and float32',
};

function toMarkdown(record) {
  const { options, command, rows, measurements, leftOut } = record;
  const steps = measurements.map(({ model, steps }) => `${model} ${steps}`);
  const titles = options.models.map((model) => `- ${model}: ${workloads[model].title}`);
  const missing = leftOut.map((one) => `${one.ranks} × ${one.threads}`);
  return `${formatHead(record)}

${formatTimes(rows, options.sides)}

Milliseconds of one training step: the median of all timed blocks, with the fastest and the slowest. ours/theirs: the
median of the repeats' ratios, with the least and the greatest; below 1, ours is faster.
${missing.length > 0 ? `\nLeft out, since ranks × threads are more than the cores: ${[...new Set(missing)].join(', ')}.\n` : ''}
${formatRates(rows, options.sides)}

The batch is per rank, so samples/s counts all ranks, and efficiency is the rate on k ranks through k times that on one.
Cores busy: a rank's CPU time through wall time.

${titles.join('\n')}

${options.repeats} times both sides, each of them first by turns, in new processes; in each, ${options.blocks} timed blocks of so many
steps: ${[...new Set(steps)].join(', ')}. Forward, backward, reduction over ranks and Adam, in ${PRECISION[options.precision]}; batches are
tensors on the device before the clock starts, the loss is read once a block, and a barrier opens and closes each block.

Repeat it: \`${command}\`
`;
}
