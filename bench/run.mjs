/** `node bench/run.mjs`: training steps of ours beside PyTorch + Accelerate, in one run. See README.md. */
import { checkModels } from './harness/check-models.mjs';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { measure } from './harness/measure.mjs';
import { parseOptions, usage } from './harness/options.mjs';
import { formatProgress, formatTable, writeReport } from './harness/report.mjs';
import { summarize } from './harness/statistics.mjs';
import { ensurePeer } from './peers/setup.mjs';

await exitOnError(async () => {
  const args = process.argv.slice(2);
  const options = parseOptions(args);
  if (options.help) return console.log(usage);
  const isComparison = options.sides.length > 1;
  const machine = describeMachine();
  ensurePeer();
  if (isComparison) await checkModels('acc');

  const measurements = [];
  for (const model of options.models) {
    for (const ranks of options.ranks) {
      const measurement = await measure(model, ranks, options);
      measurements.push(measurement);
      const [row] = summarize([measurement]);
      console.error(formatProgress(row, options.sides));
    }
  }
  const rows = summarize(measurements);
  console.log(formatTable(rows, options.sides));
  if (!isComparison) return;

  const slug = machine.cpu
    .match(/[a-z0-9]+/gi)
    .join('-')
    .toLowerCase();
  const versions = Object.assign(
    {},
    ...Object.values(measurements[0].results).map((runs) => runs[0].versions),
  );
  const command = ['npm run bench --', ...args].join(' ');
  const name = options.name ?? `${machine.date}-${slug}`;
  console.log(writeReport(name, { rows, measurements, machine, versions, options, command }));
});
