/**
 * `node bench/context.mjs`: measures training on one long sequence, on one rank and on two that have
 * pieces of it. See README.md.
 */
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { trainInPieces } from './harness/sides.mjs';
import { median } from './harness/statistics.mjs';

const SIZES = { length: 8192, units: 256, heads: 4, blocks: 2, steps: 3, threads: 1 };
const REPEATS = 2;
const WAYS = [
  { ranks: 1, attention: 'ring' },
  { ranks: 2, attention: 'ring' },
  { ranks: 2, attention: 'heads' },
];

const whole = (number) => Math.round(number).toLocaleString('en');

const nameOf = ({ ranks, attention, isCausal }) =>
  `${ranks === 1 ? 'one rank' : attention}${isCausal ? ', causal' : ''}`;

await exitOnError(async () => {
  if (process.argv.length > 2) throw new Error('node bench/context.mjs takes no options');
  const machine = describeMachine();
  const rows = [false, true].flatMap((isCausal) =>
    WAYS.map((way) => ({ ...way, isCausal, times: [], peakBytes: 0, versions: {} })),
  );
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    for (const row of repeat % 2 ? rows.toReversed() : rows) {
      const { attention, isCausal, ranks } = row;
      const found = await trainInPieces({ ...SIZES, attention, isCausal }, { ranks });
      row.times.push(...found.times);
      Object.assign(row, { peakBytes: found.peakBytes, versions: found.versions });
      console.error(`${nameOf(row)}, ${ranks} ranks: ${whole(median(found.times))} ms`);
    }
  }
  const head = formatHead({
    name: 'context',
    machine,
    versions: rows[0].versions,
    options: { device: 'cpu', precision: 'fp32' },
  });
  const { length, units, heads, blocks, steps } = SIZES;
  const text = `${head}

${table(rows)}

${blocks} transformer blocks of ${heads} heads and ${units} columns, rotary positions, one sequence of ${whole(length)}
positions, Adam, ranks of one thread, shared memory. Times are medians of ${REPEATS * steps} steps. Memory is the peak of
tensors of rank 0 in a step, above what it has before the first.

Repeat it: \`npm run bench:context\`
`;
  console.log(`${text}\n${writeResult('context.md', text)}`);
});

function table(rows) {
  const cells = rows.map((row) => {
    const alone = rows.find(({ ranks, isCausal }) => ranks === 1 && isCausal === row.isCausal);
    const [ms, aloneMs] = [median(row.times), median(alone.times)];
    return [
      nameOf(row),
      `${row.ranks}`,
      whole(ms),
      (ms / aloneMs).toFixed(2),
      whole(row.peakBytes / 1e6),
      (row.peakBytes / alone.peakBytes).toFixed(2),
    ];
  });
  const titles = ['attention', 'ranks', 'ms a step', 'beside one rank', 'peak MB', 'beside one rank'];
  return formatColumns(titles, cells);
}
