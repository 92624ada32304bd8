/**
 * `node bench/small-state.mjs`: measures what a parameter takes with optimizer state in 32, 8 and 4
 * bits, and with a loss that never holds the logits. See README.md.
 */
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { trainSmallState } from './harness/sides.mjs';

const STEPS = 1;
const CASES = [
  { stateBits: 32, isChunked: false },
  { stateBits: 8, isChunked: false },
  { stateBits: 4, isChunked: false },
  { stateBits: 8, isChunked: true },
];

await exitOnError(async () => {
  const machine = describeMachine();
  const rows = [];
  for (const each of CASES) {
    const found = await trainSmallState({ ...each, steps: STEPS });
    rows.push({ ...each, ...found });
    console.error(
      `${each.stateBits} bits: ${(found.restingBytes / found.parameters).toFixed(2)} bytes a parameter`,
    );
  }
  const head = formatHead({
    name: 'small-state',
    machine,
    versions: rows[0].versions,
    options: { device: 'cpu' },
  });
  const page = `${head}\n\n${format(rows)}\n\nRepeat it: \`npm run bench:small-state\`\n`;
  console.log(`${page}\n${writeResult('small-state.md', page)}`);
});

function format(rows) {
  const [first] = rows;
  const header = [
    'state',
    'logits',
    'bytes a parameter',
    'peak, MB',
    'of float32',
    'ms a step',
    'loss after one step',
  ];
  const cells = rows.map((row) => [
    `${row.stateBits} bits`,
    row.isChunked ? 'in parts' : 'whole',
    (row.restingBytes / row.parameters).toFixed(2),
    Math.round(row.peakBytes / 1e6).toLocaleString('en'),
    (row.peakBytes / first.peakBytes).toFixed(2),
    Math.round(row.stepMs).toLocaleString('en'),
    row.losses.at(-1).toFixed(4),
  ]);
  const about =
    `AdamW on a GPT of ${first.parameters.toLocaleString('en')} parameters, 256 tokens a step, float32 weights, ` +
    '1 thread. Bytes a parameter are those of native tensors between steps: weights and state, and one batch. ' +
    'The peak is that of a step. In parts: `linearCrossEntropy`.';
  return `${about}\n\n${formatColumns(header, cells)}`;
}
