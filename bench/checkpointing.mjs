/**
 * `node bench/checkpointing.mjs`: measures the memory and time of activation checkpointing, beside
 * PyTorch's. See README.md.
 */
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { jobOf } from './harness/measure.mjs';
import { checkpointingUsage, parseCheckpointingOptions } from './harness/options.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { memoryProbes, sides } from './harness/sides.mjs';
import { median } from './harness/statistics.mjs';
import { workloads } from './harness/workloads.mjs';
import { ensurePeer } from './peers/setup.mjs';

const SIZES = { width: 256, heads: 4, sequence: 128, vocabulary: 96 };
const BATCH = 8;
const WARMUP_STEPS = 2;
const STEPS = 2;
const BLOCKS = 2;

const whole = (number) => Math.round(number).toLocaleString('en');
const ratio = (a, b) => (a / b).toFixed(2);

await exitOnError(async () => {
  const args = process.argv.slice(2);
  const options = parseCheckpointingOptions(args);
  if (options.help) return console.log(checkpointingUsage);
  const machine = describeMachine();
  const python = ensurePeer(options.python);

  const measured = [];
  for (const side of Object.keys(sides)) {
    for (const checkpointed of [false, true]) {
      const { peakBytes, versions } = await memoryProbes[side](jobFor(options, checkpointed), { python });
      measured.push({ side, checkpointed, peakBytes, versions, blockMs: [] });
    }
  }
  for (let repeat = 0; repeat < options.repeats; repeat++) {
    for (const one of repeat % 2 ? measured.toReversed() : measured) {
      const job = jobFor(options, one.checkpointed);
      const { blockMs } = await sides[one.side](job, { ranks: 1, python });
      one.blockMs.push(...blockMs);
      console.error(
        `${one.side}${one.checkpointed ? ', checkpointed' : ''}: ${whole(median(blockMs) / STEPS)} ms`,
      );
    }
  }

  const versions = Object.assign({}, ...measured.map((one) => one.versions));
  const { name, precision } = options;
  const head = formatHead({ name, machine, versions, options: { device: 'cpu', precision } });
  const command = ['npm run bench:checkpointing --', ...args].join(' ').replace(/ --$/, '');
  const text = `${head}\n\n${format(measured, options)}\n\nRepeat it: \`${command}\`\n`;
  console.log(`${text}\n${writeResult(`${name}.md`, text)}`);
});

function jobFor({ layers, threads, precision }, checkpointed) {
  const job = jobOf('gpt', { device: 'cpu', threads, precision, blocks: BLOCKS, steps: STEPS });
  const { width: C, sequence: T, vocabulary: V } = SIZES;
  return {
    ...job,
    sizes: { ...SIZES, layers, checkpointed },
    batch: BATCH,
    batches: 2,
    warmupSteps: WARMUP_STEPS,
    // Each layer has weights of 12 · C² and 13 vectors. The rest are embeddings of tokens and
    // positions, the last norm and the head.
    parameterCount: layers * (12 * C * C + 13 * C) + (2 * V + T + 2) * C,
  };
}

function format(measured, { layers, threads, repeats }) {
  const of = (side, checkpointed) =>
    measured.find((one) => one.side === side && one.checkpointed === checkpointed);
  const stepMs = ({ blockMs }) => median(blockMs) / STEPS;
  const rows = [false, true].map((checkpointed) => {
    const [ours, theirs] = [of('ours', checkpointed), of('theirs', checkpointed)];
    return [
      checkpointed ? 'each layer computed again' : 'all activations kept',
      ...[ours, theirs].map(({ peakBytes }) => (peakBytes / 2 ** 20).toFixed(1)),
      ratio(ours.peakBytes, theirs.peakBytes),
      ...[ours, theirs].map((one) => whole(stepMs(one))),
      ratio(stepMs(ours), stepMs(theirs)),
    ];
  });
  const changes = ['again/kept'];
  for (const figure of [({ peakBytes }) => peakBytes, stepMs]) {
    for (const side of ['ours', 'theirs']) {
      changes.push(ratio(figure(of(side, true)), figure(of(side, false))));
    }
    changes.push('');
  }
  const header = [
    '',
    'peak MiB, ours',
    'theirs',
    'ours/theirs',
    'ms per step, ours',
    'theirs',
    'ours/theirs',
  ];
  return `${formatColumns(header, [...rows, changes])}

A GPT as in \`npm run bench\` with ${layers} layers (${workloads.gpt.title} has four), batch ${BATCH}, ${threads} thread${threads === 1 ? '' : 's'}, Adam. Ours runs
each layer by \`checkpoint\`, theirs by \`torch.utils.checkpoint\`. Peaks are of the memory for tensors in ${STEPS} steps, as in
\`npm run bench:memory\`; times are medians over ${repeats} processes of ${BLOCKS} blocks of ${STEPS} steps, all four in turn.`;
}
