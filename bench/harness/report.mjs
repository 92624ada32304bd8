import { mkdirSync, writeFileSync } from 'node:fs';
import { formatColumns } from './markdown-table.mjs';
import { benchDir, workloads } from './workloads.mjs';

const percent = (fraction) => (fraction === undefined ? '–' : `${Math.round(100 * fraction)} %`);
const whole = (number) => Math.round(number).toLocaleString('en');
const time = (ms) => (ms < 1e3 ? ms.toPrecision(ms < 1 ? 2 : 3) : whole(ms));

/** One row of `summarize` as a line of progress. */
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
  return formatColumns([...CASE, ...sides.map((side) => `${side}, ms per step`), ...ratio], cells);
}

/** The other figures of these rows. */
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

/** `12.3 (11.9–13.0)`: a median with the minimum and the maximum. */
function spread(figures, name, format) {
  return `${format(figures[name])} (${format(figures[`${name}Min`])}–${format(figures[`${name}Max`])})`;
}

/**
 * Writes `bench/results/<name>.md` for readers and `<name>.json` with the time of every block.
 *
 * @returns The path of the Markdown file.
 */
export function writeReport(name, report) {
  const record = { name, ...report };
  const path = writeResult(`${name}.md`, toMarkdown(record));
  writeResult(`${name}.json`, `${JSON.stringify(record, null, 1)}\n`);
  return path;
}

/** Writes a file to `bench/results` and returns its path. */
export function writeResult(fileName, text) {
  const folder = `${benchDir}results`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/${fileName}`, text);
  return `${folder}/${fileName}`;
}

/** The first lines of every report: what was measured, on what machine, with which versions. */
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

Milliseconds of one training step: the median of all timed blocks, with the fastest and the slowest. ours/theirs is the
median of the ratios of the repeats, with the minimum and the maximum. Below 1, ours is faster.
${missing.length > 0 ? `\nLeft out, because ranks × threads are more than the cores: ${[...new Set(missing)].join(', ')}.\n` : ''}
${formatRates(rows, options.sides)}

Each rank has a whole batch, and samples/s counts all ranks. Efficiency is the rate on k ranks divided by k times the rate on
one. Cores busy is the CPU time of a rank divided by wall time.

${titles.join('\n')}

Both sides ran ${options.repeats} times in new processes, and took turns to be first. Each process had ${options.blocks} timed blocks with these numbers of
steps: ${[...new Set(steps)].join(', ')}. A step is forward, backward, reduction over ranks and Adam, in ${PRECISION[options.precision]}. Batches are
on the device before the clock starts, the loss is read once per block, and a barrier begins and ends each block.

Repeat it: \`${command}\`
`;
}
