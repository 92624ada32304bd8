/**
 * `node bench/pipeline.mjs`: times pipelined steps of two ranks by each schedule, beside PyTorch's
 * `torch.distributed.pipelining` over Gloo, and compares the idle time of each rank
 * with the schedule's bubble. See README.md.
 */
import { parseArgs } from 'node:util';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { pipelineUsage } from './harness/options.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { pipelineSides } from './harness/sides.mjs';
import { median } from './harness/statistics.mjs';
import { ensurePeer } from './peers/setup.mjs';

const RANKS = 2;
const MODEL = { width: 512, layers: 8, rows: 64 };
const MANY = 8;
/** Steps before the measured ones. V8 compiles on the cores of the ranks in the first of them. */
const WARMUP = 60;
const SCHEDULES = ['gpipe', '1f1b', 'interleaved', 'zeroBubble'];
const CASES = SCHEDULES.map((schedule) => ({ schedule, microBatches: MANY }));
/** The stages of a rank, and by what the bubble is divided if backward takes twice as long as forward. */
const CHUNKS = { gpipe: 1, '1f1b': 1, interleaved: 2, zeroBubble: 1 };
const DIVIDED = { gpipe: 1, '1f1b': 1, interleaved: 1, zeroBubble: 3 };

await exitOnError(async () => {
  const { values } = parseArgs({
    options: {
      repeats: { type: 'string', default: '3' },
      python: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return console.log(pipelineUsage);
  const machine = describeMachine();
  const python = ensurePeer(values.python);
  const job = { ...MODEL, device: 'cpu', threads: 1, cases: CASES, warmup: WARMUP, blocks: 5, steps: 4 };
  const sides = { ours: [], theirs: [] };
  const versions = {};
  for (let repeat = 0; repeat < Number(values.repeats); repeat++) {
    for (const side of repeat % 2 ? ['theirs', 'ours'] : ['ours', 'theirs']) {
      const { results, versions: own } = await pipelineSides[side](job, { ranks: RANKS, python });
      sides[side].push(results.map(withMedians));
      Object.assign(versions, own);
      console.error(`${side}: ${results.map(({ stepMs }) => Math.round(median(stepMs))).join(', ')} ms`);
    }
  }
  const head = formatHead({
    name: 'pipeline',
    machine,
    versions,
    options: { device: 'cpu', precision: 'fp32' },
  });
  const command = ['npm run bench:pipeline --', ...process.argv.slice(2)].join(' ').replace(/ --$/, '');
  const text = `${head}\n\n${format(sides)}\n\nRepeat it: \`${command}\`\n`;
  console.log(`${text}\n${writeResult('pipeline.md', text)}`);
});

function withMedians(result) {
  const { stepMs, compiledMs } = result;
  return { ...result, stepMs: median(stepMs), ...(compiledMs && { compiledMs: median(compiledMs) }) };
}

function format(sides) {
  const times = CASES.map(({ schedule }, place) => {
    const at = (runs, name = 'stepMs') => runs.map((results) => results[place][name]);
    const [ours, compiled] = [at(sides.ours), at(sides.ours, 'compiledMs')];
    const theirs = at(sides.theirs);
    const ratio = (own) => median(own.map((ms, repeat) => ms / theirs[repeat])).toFixed(2);
    const { peakBytes, compiledPeakBytes } = sides.ours[0][place];
    return [
      schedule,
      ...[ours, compiled, theirs].map((each) => median(each).toFixed(1)),
      ...[ratio(ours), ratio(compiled)],
      ...[peakBytes, compiledPeakBytes].map((bytes) => `${Math.round(bytes / 2 ** 20)}`),
    ];
  });
  const header = [
    'schedule',
    ...['ours, ms per step', 'compiled', 'PyTorch, ms per step', 'ours/PyTorch', 'compiled/PyTorch'],
    ...['MiB at most, ours', 'compiled'],
  ];
  return `${formatColumns(header, times)}

Compiled: the same step by accelerator.compile. PyTorch's steps run without torch.compile.
${MODEL.layers} dense layers of ${MODEL.width} units, ${MANY} micro-batches of ${MODEL.rows} rows, SGD, ${RANKS} ranks of one thread. interleaved has two stages
a rank. PyTorch's zero bubble is ScheduleInterleavedZeroBubble with one stage a rank.

${formatBubble(sides)}`;
}

/** What each rank did, by its own clock, in steps of ours. */
function formatBubble(sides) {
  const percent = (value) => `${(100 * value).toFixed(1)} %`;
  const lines = CASES.map(({ schedule }, place) => {
    const steps = sides.ours.flatMap((results) => results[place].bubbles);
    const of = (name) => median(steps.map((step) => step[name]));
    const cost = (kind) => median(steps.map(({ costs }) => costs[kind])).toFixed(2);
    return [
      schedule,
      ...[cost('forward'), cost('backward'), schedule === 'zeroBubble' ? cost('weights') : ''],
      percent((RANKS - 1) / (CHUNKS[schedule] * DIVIDED[schedule] * MANY)),
      percent(of('simulated')),
      percent(of('simulatedByStage')),
      percent(of('measured')),
      percent(of('measured') - of('simulatedByStage')),
    ];
  });
  const header = [
    'bubble, ours',
    ...['forward, ms', 'backward, ms', 'weights, ms'],
    ...['(p − 1) / (v · m)', 'simulated', 'by stage', 'measured', 'overheads'],
  ];
  return `${formatColumns(header, lines)}

The bubble is the time that the rank with the most of it is idle, relative to the time that it computes; medians of all steps.
Simulated: the schedule's table with the measured mean times of actions. By stage: with the mean times of each stage. The first stage
computes no gradients of its inputs, and the last one computes the loss, so the first rank waits for the last one. The overheads are
waiting for messages on their way, and for actions that take longer than the mean. zeroBubble divides (p − 1) / m by 3.`;
}
