/**
 * `node bench/sharding-memory.mjs`: measures the memory of a rank by stage of `fsdp` and number of
 * ranks, beside the table of the ZeRO paper. See README.md.
 */
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { jobOf } from './harness/measure.mjs';
import { parseShardingMemoryOptions, shardingMemoryUsage } from './harness/options.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { measureSharded } from './harness/sides.mjs';
import { drawBars } from './sharding/bars.mjs';
import { LARGE, SMALL } from './sharding/models.mjs';

/** Bytes of the paper's table for Adam in float32, for each parameter: weights, gradients, moments. */
const PAPER = {
  ddp: () => 16,
  'stage 1': (ranks) => 8 + 8 / ranks,
  'stage 2': (ranks) => 4 + 12 / ranks,
  'stage 3': (ranks) => 16 / ranks,
};
const STRATEGIES = {
  ddp: { strategy: 'ddp' },
  'stage 1': { strategy: 'fsdp', fsdp: { stage: 1 } },
  'stage 2': { strategy: 'fsdp', fsdp: { stage: 2 } },
  'stage 3': { strategy: 'fsdp', fsdp: { stage: 3 } },
};

const LABELS = {
  title: 'Memory of a rank, GB',
  parts: ['at rest: weights, optimizer state', 'with gradients, before the update', 'at most'],
  mark: 'table of the ZeRO paper',
  label: 'Memory of a rank by number of ranks and stage, beside the table of the ZeRO paper',
};

/** The figures of the rank that has the most. */
const most = (ranks) =>
  Object.fromEntries(
    Object.keys(ranks[0]).map((name) => [name, Math.max(...ranks.map((rank) => rank[name]))]),
  );

const mb = (bytes) => Math.round(bytes / 1e6).toLocaleString('en');

await exitOnError(async () => {
  const args = process.argv.slice(2);
  const options = parseShardingMemoryOptions(args);
  if (options.help) return console.log(shardingMemoryUsage);
  const machine = describeMachine();
  const model = options.model === 'large' ? LARGE : SMALL;
  const rows = [];
  let versions = {};
  for (const ranks of options.ranks) {
    for (const [name, strategy] of Object.entries(STRATEGIES)) {
      const result = await measureSharded(jobFor(model, strategy), { ranks });
      ({ versions } = result);
      rows.push({ ranks, name, ...most(result.memory), paper: PAPER[name](ranks) * result.parameterCount });
      console.error(cellsOf(rows.at(-1)).join('  '));
    }
  }
  const head = formatHead({ name: options.name, machine, versions, options: { device: 'cpu' } });
  const command = ['npm run bench:sharding-memory --', ...args].join(' ').replace(/ --$/, '');
  const page = `${head}\n\n${format(rows, model, options.name)}\n\nRepeat it: \`${command}\`\n`;
  writeResult(`${options.name}.svg`, drawBars(groupsOf(rows), LABELS));
  console.log(`${page}\n${writeResult(`${options.name}.md`, page)}`);
});

function jobFor(model, strategy) {
  const job = jobOf('gpt', { device: 'cpu', threads: 1, precision: 'fp32', blocks: 1, steps: 2 });
  const { sizes, parameterCount, batch } = model;
  return { ...job, sizes, parameterCount, batch, warmupSteps: 1, batches: 2, strategy, optimizer: 'adamw' };
}

function cellsOf({ ranks, name, restingBytes, updateBytes, peakBytes, paper }) {
  const figures = [
    mb(restingBytes),
    mb(updateBytes),
    mb(paper),
    (updateBytes / paper).toFixed(2),
    mb(peakBytes),
  ];
  return [`${ranks}`, name, ...figures];
}

function groupsOf(rows) {
  const gb = (bytes) => bytes / 1e9;
  return [...new Set(rows.map(({ ranks }) => ranks))].map((ranks) => ({
    name: `${ranks} rank${ranks === 1 ? '' : 's'}`,
    bars: rows
      .filter((row) => row.ranks === ranks)
      .map(({ name, restingBytes, updateBytes, peakBytes, paper }) => ({
        name: name.replace('stage ', ''),
        values: [restingBytes, updateBytes, peakBytes].map(gb),
        mark: gb(paper),
      })),
  }));
}

function format(rows, model, name) {
  const titles = ['ranks', '', 'MB at rest', 'MB before the update', 'MB, ZeRO table', 'ratio', 'MB at most'];
  return `![Memory of a rank by stage and number of ranks](${name}.svg)

${formatColumns(titles, rows.map(cellsOf))}

${model.title}; ranks of one thread, AdamW, float32. MB (10⁶ bytes) are of our allocator, on the rank that has the most.
- **At rest**, between steps: weights, optimizer state, and two batches. There are no gradients.
- **Before the update**: the same with all gradients, and without activations.
- **ZeRO table**: the paper's formulas (figure 1) with 4 bytes a parameter each for weights and gradients, and 8 for Adam's two moments:
  16 Ψ, 8 Ψ + 8 Ψ / N, 4 Ψ + 12 Ψ / N, and 16 Ψ / N. The ratio is that of the column before the update to it.
- **Stage 1** needs less than its table, because gradients are reduced to shards in backward.
- **Stages 1 and 2**: this rank's shard of the weights lies in the whole weights, which every rank keeps.
- **At most**: in a step, with activations and with what is gathered or on its way.

On one rank \`fsdp\` divides nothing.`;
}
