import { mkdirSync, writeFileSync } from 'node:fs';
import { benchDir, workloads } from './workloads.mjs';

const percent = (fraction) => (fraction === undefined ? '–' : `${Math.round(100 * fraction)} %`);
const time = (ms) => ms.toPrecision(ms < 1 ? 2 : 3);
const rate = (perS) => Math.round(perS).toLocaleString('en');

/** One row of `summarize` in a line, for whoever waits. */
export function formatProgress({ model, ranks, ratio, ...row }, sides) {
  const times = sides.map((side) => `${side} ${time(row[side].stepMs)} ms`);
  if (ratio !== undefined) times.push(`ours/theirs ${ratio.toFixed(2)}`);
  return `${model}, ${ranks} ${ranks === 1 ? 'rank' : 'ranks'}: ${times.join(', ')}`;
}

/** The rows of `summarize` as a Markdown table, columns aligned. */
export function formatTable(rows, sides) {
  const perSide = (side) => [`${side} ms`, `${side} samples/s`, `${side} efficiency`, `${side} cores busy`];
  const header = ['model', 'ranks', 'parameters', ...sides.flatMap(perSide), 'ours/theirs'];
  const lines = rows.map((row) => [
    row.model,
    `${row.ranks}`,
    row.parameterCount.toLocaleString('en'),
    ...sides.flatMap((side) => {
      const { stepMs, stepMsMin, stepMsMax, samplesPerS, efficiency, coresBusy } = row[side];
      const spread = `${time(stepMs)} (${time(stepMsMin)}–${time(stepMsMax)})`;
      return [spread, rate(samplesPerS), percent(efficiency), coresBusy.toFixed(2)];
    }),
    row.ratio?.toFixed(2) ?? '–',
  ]);
  const widths = header.map((title, i) => Math.max(title.length, ...lines.map((line) => line[i].length)));
  const format = (cells) => `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
  const rule = format(widths.map((width) => '-'.repeat(width)));
  return [format(header), rule, ...lines.map(format)].join('\n');
}

/**
 * Writes `bench/results/<name>.md` for readers and `<name>.json` with every block's time.
 *
 * @returns The path of the Markdown file.
 */
export function writeReport(name, { rows, measurements, machine, versions, options, command }) {
  const folder = `${benchDir}results`;
  mkdirSync(folder, { recursive: true });
  const record = { name, machine, versions, options, command, rows, measurements };
  writeFileSync(`${folder}/${name}.json`, `${JSON.stringify(record, null, 1)}\n`);
  const path = `${folder}/${name}.md`;
  writeFileSync(path, toMarkdown(record));
  return path;
}

function toMarkdown({ name, machine, versions, options, command, rows, measurements }) {
  const listed = Object.entries(versions).map(([what, version]) => `${what} ${version}`);
  const steps = measurements.map(({ model, steps }) => `${model} ${steps}`);
  const titles = options.models.map((model) => `- ${model}: ${workloads[model].title}`);
  return `# ${name}

${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.system}; ${machine.date}; load before the run
${machine.load.toFixed(1)}.
${listed.join(', ')}. Threads a rank: ${options.threads}.

${formatTable(rows, options.sides)}

ms: time of one training step, the median of all timed blocks, with the fastest and slowest block. ours/theirs:
the ratio of these medians; below 1, ours is faster. The batch is per rank, so samples/s counts all ranks and
efficiency is the rate on k ranks through k times that on one. Cores busy: a rank's CPU time through wall time.

${titles.join('\n')}

Each side ${options.repeats} times in turn, in new processes; in each, ${options.blocks} timed blocks of so many
steps: ${[...new Set(steps)].join(', ')}. Forward, backward, reduction over ranks and Adam in float32; batches are
tensors before the clock starts, the loss is read once a block, and a barrier opens and closes each block.

Repeat it: \`${command}\`
`;
}
