/**
 * `node bench/convergence.mjs`: checks whether mixed precision reaches float32's loss. See
 * README.md.
 */
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { jobOf } from './harness/measure.mjs';
import { convergenceUsage, parseConvergenceOptions } from './harness/options.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { trainOurs } from './harness/sides.mjs';
import { workloads } from './harness/workloads.mjs';

const PRECISIONS = ['fp32', 'bf16', 'fp16'];
/** The largest difference of a final loss from float32's, relative to it. */
const TOLERANCE = 0.01;

await exitOnError(async () => {
  const args = process.argv.slice(2);
  const options = parseConvergenceOptions(args);
  if (options.help) return console.log(convergenceUsage);
  const machine = describeMachine();
  const rows = [];
  let versions;
  for (const model of options.models) {
    let reference;
    for (const precision of PRECISIONS) {
      const job = jobOf(model, { device: 'cpu', threads: options.threads, precision, steps: options.steps });
      const trained = await trainOurs(job);
      reference ??= trained;
      versions = trained.versions;
      const difference = trained.loss / reference.loss - 1;
      rows.push({ model, precision, ...trained, difference });
      console.error(`${model}, ${precision}: loss ${trained.loss.toFixed(4)} after ${options.steps} steps`);
    }
  }
  const head = formatHead({
    name: options.name,
    machine,
    versions,
    options: { device: 'cpu', precision: 'each' },
  });
  const command = ['npm run bench:convergence --', ...args].join(' ').replace(/ --$/, '');
  const text = `${head}\n\n${format(rows, options.steps)}\n\nRepeat it: \`${command}\`\n`;
  console.log(`${text}\n${writeResult(`${options.name}.md`, text)}`);
  const failed = rows.filter(({ difference }) => !(difference <= TOLERANCE));
  if (failed.length > 0) {
    const names = failed.map(({ model, precision }) => `${model} in ${precision}`);
    throw new Error(`Off by more than ${100 * TOLERANCE} %: ${names.join(', ')}`);
  }
});

function format(rows, steps) {
  const header = [
    'model',
    'precision',
    'first loss',
    'loss',
    'to float32',
    'in training',
    'to float32',
    'skipped steps',
  ];
  const percent = (part) => `${part < 0 ? '−' : '+'}${Math.abs(100 * part).toFixed(2)} %`;
  const cells = rows.map((row) => {
    const reference = rows.find(({ model, precision }) => model === row.model && precision === 'fp32');
    return [
      ...[workloads[row.model].title, row.precision, row.firstLoss.toFixed(4)],
      ...[row.loss.toFixed(4), percent(row.difference)],
      ...[row.trainingLoss.toFixed(4), percent(row.trainingLoss / reference.trainingLoss - 1)],
      `${row.skippedSteps}`,
    ];
  });
  return `${formatColumns(header, cells)}

After ${steps} steps of Adam from the same weights on the same data: next symbols of a Markov chain with an entropy of 1.208 nats for the
GPT, images of ten kinds under noise, a tenth of them with a wrong label, for the convnet. The loss is over eight batches that were not
trained on, in float32 and without dropout; in training it is the mean over the last 20 steps. A loss of more than ${100 * TOLERANCE} % above
float32's is an error.`;
}
