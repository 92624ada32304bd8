/**
 * `node bench/deterministic.mjs`: measures the cost of `deterministic`, beside the same steps
 * without it. See README.md.
 */
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { deterministicUsage, parseDeterministicOptions } from './harness/options.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { timeDeterministic } from './harness/sides.mjs';
import { median } from './harness/statistics.mjs';
import { workloads } from './harness/workloads.mjs';

const SHARDS = [4, 8];

await exitOnError(async () => {
  const args = process.argv.slice(2);
  const options = parseDeterministicOptions(args);
  if (options.help) return console.log(deterministicUsage);
  const machine = describeMachine();
  const rows = [];
  let versions = {};
  for (const model of options.models) {
    const { sizes, batch, learningRate } = workloads[model];
    for (const ranks of options.ranks) {
      const counts = { warmupSteps: options.steps, steps: options.steps, blocks: options.blocks };
      const virtualShards = [...new Set([ranks, ...SHARDS])].filter((count) => count % ranks === 0);
      const job = { model, sizes, batch, learningRate, threads: 1, virtualShards, ...counts };
      const result = await timeDeterministic(job, { ranks });
      ({ versions } = result);
      const plain = median(result.plain);
      result.byShards.forEach((times, i) => {
        const ms = median(times);
        rows.push([
          model,
          `${batch}`,
          `${ranks}`,
          `${virtualShards[i]}`,
          plain.toFixed(2),
          ms.toFixed(2),
          (ms / plain).toFixed(2),
        ]);
        console.error(rows.at(-1).join('  '));
      });
    }
  }
  const head = formatHead({ name: options.name, machine, versions, options: { device: 'cpu' } });
  const titles = [
    'model',
    'batch of all ranks',
    'ranks',
    'virtual shards',
    'ordinary, ms',
    'deterministic, ms',
    'ratio',
  ];
  const command = ['npm run bench:deterministic --', ...args].join(' ').replace(/ --$/, '');
  const text = `${head}

${formatColumns(titles, rows)}

Milliseconds of one training step with one thread per rank: the median of ${options.blocks} blocks of ${options.steps} steps. Ordinary and deterministic
blocks alternate in the same processes. Ordinary training chooses the fastest kernels by measuring, deterministic training always
uses the first.

Repeat it: \`${command}\`
`;
  console.log(`${text}\n${writeResult(`${options.name}.md`, text)}`);
});
