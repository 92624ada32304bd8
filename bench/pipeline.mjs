/**
 * `node bench/pipeline.mjs`: times pipelined steps of two ranks by each schedule, beside PyTorch's
 * `torch.distributed.pipelining` over Gloo, and compares the idle time with the schedule's bubble.
 * See README.md.
 */
import { parseArgs } from 'node:util';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { pipelineSides } from './harness/sides.mjs';
import { median } from './harness/statistics.mjs';
import { ensurePeer } from './peers/setup.mjs';

const RANKS = 2;
const MODEL = { width: 512, layers: 8, rows: 64 };
const MANY = 8;
/** The numbers of micro-batches from which the time of one is found. */
const COUNTS = [2, 4, 16];
const SCHEDULES = ['gpipe', '1f1b', 'interleaved', 'zeroBubble'];
const CASES = [
  ...SCHEDULES.map((schedule) => ({ schedule, microBatches: MANY })),
  ...COUNTS.map((microBatches) => ({ schedule: '1f1b', microBatches })),
];

await exitOnError(async () => {
  const { values } = parseArgs({
    options: { repeats: { type: 'string', default: '3' }, python: { type: 'string' } },
  });
  const machine = describeMachine();
  const python = ensurePeer(values.python);
  const job = { ...MODEL, device: 'cpu', threads: 1, cases: CASES, blocks: 3, steps: 4 };
  const sides = { ours: [], theirs: [] };
  const versions = {};
  for (let repeat = 0; repeat < Number(values.repeats); repeat++) {
    for (const side of repeat % 2 ? ['theirs', 'ours'] : ['ours', 'theirs']) {
      const { results, versions: own } = await pipelineSides[side](job, { ranks: RANKS, python });
      sides[side].push(results.map((each) => ({ ...each, stepMs: median(each.stepMs) })));
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

function format(sides) {
  const at = (runs, place) => median(runs.map((results) => results[place].stepMs));
  const times = CASES.slice(0, SCHEDULES.length).map(({ schedule }, place) => {
    const ratios = sides.ours.map(
      (results, repeat) => results[place].stepMs / sides.theirs[repeat][place].stepMs,
    );
    return [
      schedule,
      at(sides.ours, place).toFixed(1),
      at(sides.theirs, place).toFixed(1),
      median(ratios).toFixed(2),
      `${Math.round(sides.ours[0][place].peakBytes / 2 ** 20)}`,
    ];
  });
  const header = [
    'schedule',
    'ours, ms per step',
    'PyTorch, ms per step',
    'ours/PyTorch',
    'MiB at most, ours',
  ];
  return `${formatColumns(header, times)}

${MODEL.layers} dense layers of ${MODEL.width} units, ${MANY} micro-batches of ${MODEL.rows} rows, SGD, ${RANKS} ranks of one thread. interleaved has two stages
a rank. PyTorch's zero bubble is ScheduleInterleavedZeroBubble with one stage a rank.

${formatBubble(sides)}`;
}

/**
 * A step of m micro-batches takes (m + p - 1) t + c: t is the time of one micro-batch in one stage,
 * c what a step takes besides. t is the slope of the times over m.
 */
function formatBubble(sides) {
  const placeOf = (count) =>
    CASES.findIndex((each) => each.schedule === '1f1b' && each.microBatches === count);
  const counts = [...COUNTS, MANY].sort((a, b) => a - b);
  const lines = ['ours', 'theirs'].map((side) => {
    const times = counts.map((count) => median(sides[side].map((results) => results[placeOf(count)].stepMs)));
    const mean = (list) => list.reduce((sum, each) => sum + each, 0) / list.length;
    const [m, t] = [mean(counts), mean(times)];
    const slope =
      counts.reduce((sum, count, i) => sum + (count - m) * (times[i] - t), 0) /
      counts.reduce((sum, count) => sum + (count - m) ** 2, 0);
    const rest = t - slope * m;
    return [
      side === 'ours' ? 'ours' : 'PyTorch',
      ...times.map((time) => time.toFixed(1)),
      slope.toFixed(2),
      (rest / slope).toFixed(2),
      `${RANKS - 1}`,
      (rest - (RANKS - 1) * slope).toFixed(2),
    ];
  });
  const header = [
    '1f1b',
    ...counts.map((count) => `ms, m = ${count}`),
    ...['ms per micro-batch', 'bubble · m, measured', '(p − 1)', 'besides, ms'],
  ];
  return `${formatColumns(header, lines)}

The bubble, from the times of a step with m micro-batches: the slope is the time of one, and what is left at m = 0 is the bubble
and what a step takes besides (the update, the exchange of the loss).`;
}
