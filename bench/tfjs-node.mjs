/**
 * `node bench/tfjs-node.mjs`: training steps on tfjs-node with and without the Accelerator, beside
 * the backend `acc` and PyTorch, in one run. See README.md.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { jobOf } from './harness/measure.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { sides as usual, tfjsNodeSides } from './harness/sides.mjs';
import { median } from './harness/statistics.mjs';
import { parameterCountOf, rootDir, workloads } from './harness/workloads.mjs';
import { ensurePeer } from './peers/setup.mjs';

const usage = `node bench/tfjs-node.mjs [options]
  --models a,b       some of convnet, mlp, gpt (default: all)
  --tfjs-node PATH   a project with a working tfjs-node and this repository's tfjs (default: that of this checkout's tests)
  --threads N        the number of threads of each side (default: 2)
  --repeats N        the number of processes of each side and model, in turn (default: 2)
  --blocks N         the number of timed blocks in each process (default: 3)
  --python PATH      a Python with torch and accelerate (default: bench/.venv)
  --help             print this text`;

const OPTIONS = {
  models: { type: 'string', default: 'convnet,mlp,gpt' },
  'tfjs-node': { type: 'string', default: `${rootDir}node_modules/.cache/acc-tfjs-node` },
  threads: { type: 'string', default: '2' },
  repeats: { type: 'string', default: '2' },
  blocks: { type: 'string', default: '3' },
  python: { type: 'string' },
  help: { type: 'boolean', default: false },
};

const FLOATS = { precision: 'fp32' };
const SHORTS = { precision: 'bf16' };

/** The measured sides, by the title of their column: each is a function of a job. */
const SIDES = {
  'tfjs-node': (job) => tfjsNodeSides.alone({ ...job, ...FLOATS }),
  'with us': (job) => tfjsNodeSides.ours({ ...job, ...FLOATS }),
  'with us, bf16': (job) => tfjsNodeSides.ours({ ...job, ...SHORTS }),
  acc: (job) => usual.ours({ ...job, ...FLOATS }, { ranks: 1 }),
  'acc, bf16': (job) => usual.ours({ ...job, ...SHORTS }, { ranks: 1 }),
  PyTorch: (job, python) => usual.theirs({ ...job, ...FLOATS }, { ranks: 1, python }),
};

/** How many times faster the second side is. */
const RATIOS = [
  ['tfjs-node', 'with us'],
  ['with us', 'with us, bf16'],
  ['tfjs-node', 'with us, bf16'],
];

const mib = (bytes) => (bytes / 2 ** 20).toFixed(0);
const ratio = (a, b) => (a / b).toFixed(2);
const time = (ms) => (ms < 1 ? ms.toFixed(2) : ms.toPrecision(3));

await exitOnError(async () => {
  const args = process.argv.slice(2);
  const { values } = parseArgs({ args, options: OPTIONS });
  if (values.help) return console.log(usage);
  const options = { ...values, tfjsNode: values['tfjs-node'], python: ensurePeer(values.python) };
  if (!existsSync(join(options.tfjsNode, 'package.json'))) {
    throw new Error(`${options.tfjsNode} has no tfjs-node. Run a test that needs it, or give --tfjs-node.`);
  }
  const machine = describeMachine();
  const measured = [];
  for (const model of options.models.split(',')) measured.push(await measureModel(model, options));
  const versions = Object.assign({}, ...measured.flatMap(({ versions }) => versions));
  const head = formatHead({ name: 'tfjs-node', machine, versions, options: { device: 'cpu' } });
  const command = ['npm run bench:tfjs-node --', ...args].join(' ').replace(/ --$/, '');
  const text = `${head}\n\n${format(measured, options)}\n\nRepeat it: \`${command}\`\n`;
  console.log(`${text}\n${writeResult('tfjs-node.md', text)}`);
});

async function measureModel(model, { threads, blocks, repeats, tfjsNode, python }) {
  const job = {
    ...jobOf(model, { device: 'cpu', threads: Number(threads), blocks: Number(blocks) }),
    tfjsNode,
    parameterCount: parameterCountOf(model, 'ours'),
  };
  const runs = Object.fromEntries(Object.keys(SIDES).map((side) => [side, []]));
  for (let repeat = 0; repeat < Number(repeats); repeat++) {
    const order = Object.entries(SIDES);
    for (const [side, run] of repeat % 2 ? order.toReversed() : order) {
      const result = await run(job, python);
      if (!Number.isFinite(result.lastLoss)) throw new Error(`${model}, ${side}: loss ${result.lastLoss}`);
      runs[side].push(result);
      console.error(`${model}, ${side}: ${time(median(result.blockMs) / job.steps)} ms`);
    }
  }
  const stepMs = Object.fromEntries(
    Object.entries(runs).map(([side, results]) => [
      side,
      Math.min(...results.map(({ blockMs }) => median(blockMs) / job.steps)),
    ]),
  );
  // Sides of one repeat run one after the other, so each repeat has its own ratios.
  const ratioOf = (a, b) =>
    median(runs[a].map(({ blockMs }, i) => median(blockMs) / median(runs[b][i].blockMs)));
  const ratios = RATIOS.map(([a, b]) => ratioOf(a, b));
  const ownWalk = await tfjsNodeSides.ours({ ...job, ...FLOATS, blocks: 1, hasOwnWalk: true });
  const peakOf = (side) => median(runs[side].map(({ peakBytes }) => peakBytes));
  const peaks = { alone: peakOf('tfjs-node'), ownWalk: ownWalk.peakBytes, ours: peakOf('with us') };
  const versions = Object.values(runs).map(([{ versions: own }]) => own);
  return { model, stepMs, ratios, peaks: { ...peaks, short: peakOf('with us, bf16') }, versions };
}

function format(measured, { threads, repeats, blocks }) {
  const names = Object.keys(SIDES);
  const times = measured.map(({ model, stepMs, ratios }) => [
    model,
    ...names.map((side) => time(stepMs[side])),
    ...ratios.map((value) => value.toFixed(2)),
  ]);
  const titlesOfRatios = RATIOS.map(([a, b]) => `${a} / ${b}`);
  const memory = measured.map(({ model, peaks }) => [
    model,
    ...[peaks.alone, peaks.ownWalk, peaks.ours, peaks.short].map(mib),
    ratio(peaks.ours, peaks.ownWalk),
  ]);
  const columns = ['tfjs-node', "with us, tfjs's own walk", 'with us', 'with us, bf16', "ours/tfjs's walk"];
  const titles = measured.map(({ model }) => `- ${model}: ${workloads[model].title}`);
  return `${formatColumns(['model', ...names, ...titlesOfRatios], times)}

Milliseconds of one training step with Adam, in float32 or in mixed precision of bfloat16: the median of ${blocks} blocks, of the fastest of
${repeats} processes, on ${threads} threads, all sides in turn. A ratio is the median of the ratios of the repeats; above 1, the second side is faster. \`tfjs-node\` is the program without the
Accelerator. \`with us\` is the same program with \`Accelerator.create\` and \`prepare\`, on tfjs-node's backend. \`acc\` is the
program on our backend, and PyTorch is PyTorch + Accelerate.

${formatColumns(['model', ...columns], memory)}

Peak of the resident memory of the process, in MiB, above that before the first step: activations, gradients, the optimizer's
state, and what allocators keep. "tfjs's own walk" is \`engine().gradients\` as tfjs has it, beside the rest of the Accelerator.

${titles.join('\n')}`;
}
