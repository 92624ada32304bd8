/**
 * `node bench/tensor.mjs`: times steps of models that two ranks compute together, beside one rank
 * and beside PyTorch's `parallelize_module` over Gloo. See README.md.
 */
import { parseArgs } from 'node:util';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { tensorUsage } from './harness/options.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { tensorSides } from './harness/sides.mjs';
import { median } from './harness/statistics.mjs';
import { workloads } from './harness/workloads.mjs';
import { ensurePeer } from './peers/setup.mjs';

const RANKS = 2;
const GPT = { ...workloads.gpt.sizes, batch: workloads.gpt.batch };
const MLP = { pairs: 4, width: 512, inner: 2048, batch: 256 };
const CASES = [
  { name: 'gpt', gpt: GPT },
  // On one rank it is the same as the model before.
  { name: 'gpt, along the sequence', gpt: GPT, sequence: true, alone: 'gpt' },
  { name: 'gpt, 2 sequences', gpt: { ...GPT, batch: 2 } },
  { name: 'mlp', mlp: MLP },
];
const JOB = { device: 'cpu', threads: 1, warmupSteps: 30, steps: 3, blocks: 5 };
/** How our step runs on one rank and on two: what the names of rows end in. */
const WAYS = { plain: '', compiled: ', compiled', fused: ', compiled and fused' };
/** The order within a repeat. What is compared lies side by side. */
const RUNS = [
  { side: 'theirs', ranks: RANKS },
  { side: 'ours', ranks: RANKS },
  { side: 'ours', ranks: 1 },
];

await exitOnError(async () => {
  const { values } = parseArgs({
    options: {
      repeats: { type: 'string', default: '3' },
      cases: { type: 'string', default: CASES.map(({ name }) => name).join(';') },
      python: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return console.log(tensorUsage);
  const cases = casesOf(values.cases.split(';'));
  const machine = describeMachine();
  const python = ensurePeer(values.python);
  const repeats = [];
  const versions = {};
  for (let repeat = 0; repeat < Number(values.repeats); repeat++) {
    const found = {};
    for (const { side, ranks } of repeat % 2 ? RUNS.toReversed() : RUNS) {
      const job = { ...JOB, cases: ranks > 1 ? cases : aloneOf(cases), ranks };
      const { results, versions: own } = await tensorSides[side](job, { ranks, python });
      found[`${side} ${ranks}`] = results;
      Object.assign(versions, own);
      const times = results.map((result) => timesOf(result).join(', '));
      console.error(`${side}, ${ranks} ranks: ${times.join('; ')} ms`);
    }
    requireSameLoss(found, cases);
    repeats.push(found);
  }
  const options = { device: 'cpu', precision: 'fp32' };
  const head = formatHead({ name: 'tensor', machine, versions, options });
  const command = ['npm run bench:tensor --', ...process.argv.slice(2)].join(' ').replace(/ --$/, '');
  const text = `${head}\n\n${format(repeats, cases)}\n\nRepeat it: \`${command}\`\n`;
  console.log(`${text}\n${writeResult('tensor.md', text)}`);
});

/** @throws Error for names that are none of a case. */
function casesOf(names) {
  return names.map((name) => {
    const found = CASES.find((each) => each.name === name);
    if (!found) throw new Error(`no case is called '${name}': ${CASES.map((each) => each.name).join('; ')}`);
    return found;
  });
}

/** The cases of one rank that others are compared with. */
function aloneOf(cases) {
  const names = new Set(cases.map(({ name, alone }) => alone ?? name));
  return CASES.filter(({ name }) => names.has(name));
}

function timesOf({ plain, compiled, fused, stepMs }) {
  const lists = stepMs ? [stepMs] : [plain, compiled, fused].map((run) => run.stepMs);
  return lists.map((list) => Math.round(median(list)));
}

/** One rank and two begin with the same weights, so they have the same first loss. */
function requireSameLoss(found, cases) {
  found[`ours ${RANKS}`].forEach(({ name, firstLoss }, i) => {
    const alone = aloneIn(found, cases[i]).firstLoss;
    if (Math.abs(firstLoss - alone) > 1e-4 * alone)
      throw new Error(`${name}: the first loss is ${alone} on one rank, and ${firstLoss} on ${RANKS}`);
  });
}

/** The measurement of one rank for a case. */
function aloneIn(found, { name, alone = name }) {
  return found['ours 1'].find((each) => each.name === alone);
}

function format(repeats, cases) {
  const rows = cases.flatMap((each, i) => Object.keys(WAYS).map((way) => rowOf(repeats, each, i, way)));
  const header = [
    ...['', 'one rank, ms', 'two ranks, ms', 'exchanges alone, ms', 'two / (one / 2 + exchanges)'],
    ...['the same, fastest', 'PyTorch on two, ms', 'ours/PyTorch', 'MiB, one rank', 'MiB, two'],
  ];
  return `${formatColumns(header, rows)}\n\n${legendOf(repeats.length)}`;
}

function rowOf(repeats, each, place, way) {
  const runs = repeats.map((found) => {
    const ours = found[`ours ${RANKS}`][place];
    return {
      alone: aloneIn(found, each)[way],
      ours: { ...ours[way], exchangeMs: ours.exchangeMs },
      theirs: found[`theirs ${RANKS}`][place],
    };
  });
  const middle = (value) => median(runs.map(value));
  const fastest = (value) => Math.min(...runs.map(value));
  const limit = ({ alone, ours }, pick) => pick(alone.stepMs) / RANKS + pick(ours.exchangeMs);
  const least = (list) => Math.min(...list);
  const mib = ({ peakBytes }) => `${Math.round(peakBytes / 2 ** 20)}`;
  return [
    `${each.name}${WAYS[way]}`,
    middle(({ alone }) => median(alone.stepMs)).toFixed(1),
    middle(({ ours }) => median(ours.stepMs)).toFixed(1),
    middle(({ ours }) => median(ours.exchangeMs)).toFixed(2),
    middle((run) => median(run.ours.stepMs) / limit(run, median)).toFixed(2),
    (fastest(({ ours }) => least(ours.stepMs)) / fastest((run) => limit(run, least))).toFixed(2),
    middle(({ theirs }) => median(theirs.stepMs)).toFixed(1),
    middle(({ ours, theirs }) => median(ours.stepMs) / median(theirs.stepMs)).toFixed(2),
    mib(runs[0].alone),
    mib(runs[0].ours),
  ];
}

function legendOf(repeats) {
  const { layers, width, heads, sequence, vocabulary, batch } = GPT;
  return `Milliseconds of a step with Adam, in float32; ranks of one thread on this host. gpt: GPT-2 of ${layers} layers, width ${width}, ${heads} heads,
${batch} sequences of ${sequence} tokens, vocabulary ${vocabulary}; mlp: ${MLP.pairs} pairs of dense layers, ${MLP.width} → ${MLP.inner} → ${MLP.width}, ${MLP.batch} rows. Ours is
\`parallelize(model, 'auto')\` on shared memory, and norms and residuals along the sequence by a plan; PyTorch's is
\`parallelize_module\` over Gloo with the same cuts, scaled_dot_product_attention and \`loss_parallel\`, without
\`torch.compile\`. A compiled row has \`accelerator.compile(step)\` on one rank and on two, a fused one \`fuse: true\`.
Exchanges alone are the all-reduces of a step, or its reduce-scatters and all-gathers, one after the other and without
a step: the same number and sizes, which is checked by calls and bytes. The limit is half of one rank's step, run in
the same way, plus these exchanges.

Each ran ${repeats} times in new processes. Times are medians of ${JOB.blocks} blocks of ${JOB.steps} steps, after ${JOB.warmupSteps}, and ratios are medians
of the ratios of the repeats. The fastest blocks of all repeats show what is left if other programs of the machine are
out of the way. MiB is the peak of tensors of rank 0 in steps.`;
}
