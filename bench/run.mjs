/**
 * `node bench/run.mjs`: compares training steps with PyTorch + Accelerate in one run. See
 * README.md.
 */
import { checkModels } from './harness/check-models.mjs';
import { exitOnError } from './harness/exit-on-error.mjs';
import { defaultName, describeMachine } from './harness/machine.mjs';
import { measure } from './harness/measure.mjs';
import { parseOptions, usage } from './harness/options.mjs';
import { formatProgress, formatRates, formatTimes, writeReport } from './harness/report.mjs';
import { summarize } from './harness/statistics.mjs';
import { ensurePeer } from './peers/setup.mjs';

await exitOnError(async () => {
  const args = process.argv.slice(2);
  const parsed = parseOptions(args);
  if (parsed.help) return console.log(usage);
  const isComparison = parsed.sides.length > 1;
  const machine = describeMachine();
  const options = { ...parsed, python: ensurePeer(parsed.python) };
  if (isComparison) await checkModels('acc', options.python);

  const { cases, leftOut } = chooseCases(options, machine.cores);
  const measurements = [];
  for (const one of cases) {
    const measurement = await measure(one, options);
    measurements.push(measurement);
    const [row] = summarize([measurement]);
    console.error(formatProgress(row, options.sides));
  }
  const rows = summarize(measurements);
  console.log(`${formatTimes(rows, options.sides)}\n\n${formatRates(rows, options.sides)}`);
  if (!isComparison) return;

  const { ours, theirs } = measurements[0].results;
  const versions = { ...ours[0].versions, ...theirs[0].versions };
  const command = ['npm run bench --', ...args].join(' ');
  const name = options.name ?? defaultName(machine, options.device);
  const report = { rows, measurements, machine, versions, options, command, leftOut };
  console.log(writeReport(name, report));
});

/**
 * Every model with every number of threads and ranks, except those that need more cores than the
 * machine has. These would only measure waiting.
 */
function chooseCases({ models, threads, ranks }, cores) {
  const all = models.flatMap((model) =>
    threads.flatMap((threadsEach) => ranks.map((count) => ({ model, threads: threadsEach, ranks: count }))),
  );
  const fits = (one) => one.ranks * one.threads <= cores;
  const [cases, leftOut] = [all.filter(fits), all.filter((one) => !fits(one))];
  if (cases.length === 0) throw new Error(`Nothing to measure: ranks × threads are more than ${cores} cores`);
  return { cases, leftOut };
}
