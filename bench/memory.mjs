/**
 * `node bench/memory.mjs`: measures the memory of a training step, beside PyTorch's. See README.md.
 */
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { jobOf } from './harness/measure.mjs';
import { memoryUsage, parseMemoryOptions } from './harness/options.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { memoryProbes } from './harness/sides.mjs';
import { parameterCountOf, workloads } from './harness/workloads.mjs';
import { ensurePeer } from './peers/setup.mjs';

const STEPS = 2;
const WARMUP_STEPS = 2;

const mib = (bytes) => (bytes / 2 ** 20).toFixed(1);
const ratio = (a, b) => (a / b).toFixed(2);

await exitOnError(async () => {
  const args = process.argv.slice(2);
  const options = parseMemoryOptions(args);
  if (options.help) return console.log(memoryUsage);
  const machine = describeMachine();
  const python = ensurePeer(options.python);

  const measured = [];
  for (const model of options.models) {
    const job = {
      ...jobOf(model, { device: 'cpu', threads: 1, precision: options.precision, blocks: 1, steps: STEPS }),
      warmupSteps: WARMUP_STEPS,
    };
    const sides = {};
    for (const [side, run] of Object.entries(memoryProbes)) {
      sides[side] = await run({ ...job, parameterCount: parameterCountOf(model, side) }, { python });
    }
    if (options.precision !== 'fp32') {
      const parameterCount = parameterCountOf(model, 'ours');
      sides.wide = await memoryProbes.ours({ ...job, parameterCount, precision: 'fp32' });
    }
    measured.push({ model, ...sides });
    const { ours, theirs } = sides;
    console.error(`${model}: ours/theirs ${ratio(ours.peakBytes, theirs.peakBytes)}`);
  }

  const { ours, theirs } = measured[0];
  const versions = { ...ours.versions, ...theirs.versions };
  const { name, precision } = options;
  const head = formatHead({ name, machine, versions, options: { device: 'cpu', precision } });
  const command = ['npm run bench:memory --', ...args].join(' ').replace(/ --$/, '');
  const text = `${head}\n\n${formatMemory(measured, precision)}\n\nRepeat it: \`${command}\`\n`;
  console.log(`${text}\n${writeResult(`${name}.md`, text)}`);
});

function formatMemory(measured, precision) {
  const isWide = precision === 'fp32';
  const header = [
    ...['model', 'ours', 'ours between steps', 'theirs', 'theirs between steps', 'ours/theirs'],
    ...(isWide ? [] : ['ours in float32', `ours, ${precision}/float32`]),
    ...["with tfjs's walk", "ours/tfjs's walk"],
  ];
  const rows = measured.map(({ model, ours, theirs, wide }) => [
    workloads[model].title,
    ...[ours, theirs].flatMap(({ peakBytes, restingBytes }) => [mib(peakBytes), mib(restingBytes)]),
    ratio(ours.peakBytes, theirs.peakBytes),
    ...(isWide ? [] : [mib(wide.peakBytes), ratio(ours.peakBytes, wide.peakBytes)]),
    mib(ours.stockPeakBytes),
    ratio(ours.peakBytes, ours.stockPeakBytes),
  ]);
  return `${formatColumns(header, rows)}

Peak memory of tensors in MiB, over ${STEPS} training steps with Adam after ${WARMUP_STEPS + 1} others, on one rank with one thread. It includes
weights, the optimizer's state and the batches. Ours is the peak of our allocator, including its rounding. Theirs is the peak of
libtorch's allocator, which torch.profiler reports. Neither contains memory that a library takes without the allocator. PyTorch
keeps gradients until the next step begins. The column "with tfjs's walk" is ours with tfjs's own \`engine().gradients\` instead of
Accelerate's.`;
}
