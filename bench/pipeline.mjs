/**
 * `node bench/pipeline.mjs`: times pipelined steps of two ranks by each schedule, beside PyTorch's
 * `torch.distributed.pipelining` over Gloo. With --bubbles, it compares the idle time of ours with the
 * schedules' bubbles. See README.md.
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
/** Stages with the same work: the first and the last large layer stand beside small layers. */
const BALANCED = { width: 768, layers: 8, rows: 64, ends: 16 };
const BALANCED_CASES = [4, 8, 16].flatMap((microBatches) =>
  SCHEDULES.map((schedule) => ({ schedule, microBatches })),
);
/** The stages of a rank, and by what the bubble is divided if backward takes twice as long as forward. */
const CHUNKS = { gpipe: 1, '1f1b': 1, interleaved: 2, zeroBubble: 1 };
const DIVIDED = { gpipe: 1, '1f1b': 1, interleaved: 1, zeroBubble: 3 };

await exitOnError(async () => {
  const { values } = parseArgs({
    options: {
      repeats: { type: 'string', default: '3' },
      bubbles: { type: 'boolean' },
      python: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return console.log(pipelineUsage);
  const machine = describeMachine();
  const common = { device: 'cpu', threads: 1, warmup: WARMUP, blocks: 5, steps: 4 };
  if (values.bubbles) return reportBubbles(common, machine, Number(values.repeats));
  const python = ensurePeer(values.python);
  const job = { ...MODEL, ...common, cases: CASES, isTimed: true };
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
a rank. PyTorch's zero bubble is ScheduleInterleavedZeroBubble with one stage a rank.`;
}

/** Writes a report of its own: PyTorch's schedules do not tell what they wait for. */
async function reportBubbles(common, machine, repeats) {
  const shapes = [
    { ...BALANCED, cases: BALANCED_CASES },
    { ...MODEL, cases: CASES },
  ];
  const found = shapes.map(() => []);
  const all = {};
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (const [place, shape] of shapes.entries()) {
      // The cases before have warmed up what all share.
      const job = { ...common, ...shape, warmup: WARMUP / 2, isTimed: false };
      const { results, versions } = await pipelineSides.ours(job, { ranks: RANKS });
      found[place].push(results);
      Object.assign(all, versions);
    }
  }
  const options = { device: 'cpu', precision: 'fp32' };
  const head = formatHead({ name: 'pipeline-bubbles', machine, versions: all, options });
  const [balanced, unequal] = found;
  const command = `npm run bench:pipeline -- --bubbles --repeats ${repeats}`;
  const text = `${head}\n\n${formatBalanced(balanced)}\n\n${formatBubble(unequal)}\n\nRepeat it: \`${command}\`\n`;
  console.log(`${text}\n${writeResult('pipeline-bubbles.md', text)}`);
}

// Functions, because the program above runs before constants below are set.
function percent(value) {
  return `${(100 * value).toFixed(1)} %`;
}

function signed(value) {
  return `${value < 0 ? '−' : '+'}${percent(Math.abs(value))}`;
}

/** The actions of each rank in steps of ours, by a clock that they share. */
function bubblesOf(runs, place) {
  const steps = runs.flatMap((results) => results[place].bubbles);
  return {
    of: (name) => median(steps.map((step) => step[name])),
    between: (from, to) => median(steps.map((step) => step[to] - step[from])),
    cost: (kind) => median(steps.map(({ costs }) => costs[kind])).toFixed(2),
  };
}

function formulaOf({ schedule, microBatches }) {
  return (RANKS - 1) / (CHUNKS[schedule] * DIVIDED[schedule] * microBatches);
}

/** Each cause of idle time by itself. */
function formatBalanced(runs) {
  const lines = BALANCED_CASES.map((each, place) => {
    const { of, between } = bubblesOf(runs, place);
    const formula = formulaOf(each);
    return [
      ...[each.schedule, `${each.microBatches}`, of('stepMs').toFixed(1), percent(formula)],
      signed(of('mean') - formula + between('mean', 'sentEarly')),
      signed(between('sentEarly', 'byStage')),
      signed(between('byStage', 'ownTimes')),
      signed(between('ownTimes', 'messages')),
      signed(between('messages', 'predicted')),
      ...[percent(of('predicted')), percent(of('measured')), percent(of('unexplained'))],
    ];
  });
  const header = [
    ...['balanced stages', 'm', 'ms per step', '(p − 1) / (v · m)'],
    ...['sent early', 'stages', 'own times', 'messages', 'start and end', 'sum', 'measured', 'unexplained'],
  ];
  return `${formatColumns(header, lines)}

${BALANCED.layers} dense layers of ${BALANCED.width} units between small layers from and to ${BALANCED.ends} features, micro-batches of ${BALANCED.rows} rows. Bubbles are the idle time of both ranks,
relative to the time that they compute; medians of all steps. To the formula are added: sent early, because backward sends the gradient
of a stage's inputs before it computes those of its weights; stages, whose mean times differ; own times, as actions take longer or
shorter than the mean of their stage; messages on their way while the receiver waits; start and end of the step, with the optimizer,
the comparison of batches and the exchange of the loss. Each is a simulation of the table with measured times and one cause more than
the one before it. Unexplained is what of the step's time the sum lacks: the time between actions.`;
}

/** The stages of the steps that are timed: the first computes no gradients of its inputs. */
function formatBubble(runs) {
  const lines = CASES.map((each, place) => {
    const { schedule } = each;
    const { of, between, cost } = bubblesOf(runs, place);
    return [
      schedule,
      ...[cost('forward'), cost('backward'), schedule === 'zeroBubble' ? cost('weights') : ''],
      ...[percent(formulaOf(each)), percent(of('byStage'))],
      ...[signed(between('byStage', 'predicted')), percent(of('measured'))],
    ];
  });
  const header = [
    'unequal stages',
    ...['forward, ms', 'backward, ms', 'weights, ms'],
    ...['(p − 1) / (v · m)', 'by stage', 'overheads', 'measured'],
  ];
  return `${formatColumns(header, lines)}

By stage: a simulation with the mean times of each stage. The first stage computes no gradients of its inputs, and the last one computes
the loss, so the first rank waits for the last one. zeroBubble divides (p − 1) / m by 3.`;
}
