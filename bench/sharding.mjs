/**
 * `node bench/sharding.mjs`: measures the time, memory and traffic of the stages of `fsdp`, beside
 * our `ddp` and PyTorch's DDP and `fully_shard`. See README.md.
 */
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { jobOf } from './harness/measure.mjs';
import { parseShardingOptions, shardingUsage } from './harness/options.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { shardingSides } from './harness/sides.mjs';
import { median } from './harness/statistics.mjs';
import { workloads } from './harness/workloads.mjs';
import { LARGE } from './sharding/models.mjs';
import { ensurePeer } from './peers/setup.mjs';

const BLOCKS = 3;

const stage = (number) => ({ strategy: 'fsdp', fsdp: { stage: number } });
const VARIANTS = [
  { name: 'ddp', side: 'ours', strategy: { strategy: 'ddp' } },
  { name: 'stage 1', side: 'ours', strategy: stage(1) },
  { name: 'stage 2', side: 'ours', strategy: stage(2) },
  { name: 'stage 3', side: 'ours', strategy: stage(3) },
  { name: 'PyTorch DDP', side: 'theirs', sharding: 'ddp' },
  { name: 'PyTorch fully_shard', side: 'theirs', sharding: 'fully_shard' },
];

await exitOnError(async () => {
  const args = process.argv.slice(2);
  const options = parseShardingOptions(args);
  if (options.help) return console.log(shardingUsage);
  const machine = describeMachine();
  const python = ensurePeer(options.python);
  const model = options.model === 'large' ? LARGE : workloads.gpt;

  const measured = VARIANTS.map((variant) => ({ ...variant, runs: [] }));
  for (let repeat = 0; repeat < options.repeats; repeat++) {
    for (const one of repeat % 2 ? measured.toReversed() : measured) {
      const run = await shardingSides[one.side](jobFor(model, one, options), {
        ranks: options.ranks,
        python,
      });
      one.runs.push({ ...run, stepMs: median(run.blockMs) / model.steps });
      console.error(`${one.name}: ${Math.round(one.runs.at(-1).stepMs)} ms`);
    }
  }

  const versions = Object.assign({}, ...measured.map(({ runs }) => runs[0].versions));
  const { name, precision } = options;
  const head = formatHead({ name, machine, versions, options: { device: 'cpu', precision } });
  const command = ['npm run bench:sharding --', ...args].join(' ').replace(/ --$/, '');
  const text = `${head}\n\n${format(measured, model, options)}\n\nRepeat it: \`${command}\`\n`;
  console.log(`${text}\n${writeResult(`${name}.md`, text)}`);
});

function jobFor(model, { strategy, sharding }, { precision }) {
  const job = jobOf('gpt', { device: 'cpu', threads: 1, precision, blocks: BLOCKS, steps: model.steps });
  const { sizes, parameterCount, batch, warmupSteps } = model;
  return { ...job, sizes, parameterCount, batch, warmupSteps, batches: 2, strategy, sharding };
}

function format(measured, model, { ranks, repeats }) {
  const [ddp] = measured;
  const sharded = measured.at(-1);
  const mib = (runs, figure) =>
    runs[0][figure] === undefined
      ? '–'
      : Math.round(Math.max(...runs.map((run) => run[figure])) / 2 ** 20).toLocaleString('en');
  const rows = measured.map(({ name, runs }) => [
    name,
    Math.round(median(runs.map(({ stepMs }) => stepMs))).toLocaleString('en'),
    ...[ddp, sharded].map((base) => ratioOf(runs, base.runs)),
    ...['restingBytes', 'peakBytes', 'residentBytes'].map((figure) => mib(runs, figure)),
    runs[0].sentBytes === undefined ? '–' : (runs[0].sentBytes / ddp.runs[0].sentBytes).toFixed(2),
  ]);
  const header = [
    ...['', 'ms per step', '/ our ddp', '/ fully_shard'],
    ...['MiB at rest', 'MiB at most', 'MiB resident at most', 'bytes sent / ddp'],
  ];
  return `${formatColumns(header, rows)}

${model.title}; ${ranks} ranks of one thread, Adam. Each ran ${repeats} times in new processes, in turn; times are medians of
${BLOCKS} blocks of ${model.steps} steps, and ratios are medians of the ratios of the repeats. MiB are those of the rank with the most.
At rest and at most are of our allocator, between and during steps: parameters, their shards, optimizer state, gradients,
activations and batches. Resident is the largest resident set of a process, with everything that it has loaded. Bytes are
those of ring algorithms.`;
}

function ratioOf(runs, base) {
  return median(runs.map(({ stepMs }, repeat) => stepMs / base[repeat].stepMs)).toFixed(2);
}
