/**
 * `node bench/int8.mjs [repeats] [blocks]`: times steps of the small GPT in float32, bf16 and int8 on one
 * thread, in turn, plain and compiled, and compares the processor time. See README.md.
 */
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { jobOf } from './harness/measure.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { sides } from './harness/sides.mjs';
import { median } from './harness/statistics.mjs';
import { parameterCountOf } from './harness/workloads.mjs';

const PRECISIONS = ['fp32', 'bf16', 'int8'];

await exitOnError(async () => {
  const [repeats = 3, blocks = 5] = process.argv.slice(2).map(Number);
  const rows = [];
  let versions;
  for (const compile of [false, true]) {
    const runs = PRECISIONS.map(() => []);
    for (let repeat = 0; repeat < repeats; repeat++) {
      for (const [i, precision] of PRECISIONS.entries()) {
        const job = jobOf('gpt', { device: 'cpu', threads: 1, precision, blocks, compile });
        job.parameterCount = parameterCountOf('gpt', 'ours');
        const result = await sides.ours(job, { ranks: 1 });
        versions = result.versions;
        runs[i].push(...result.cpuMs.map((ms) => ms / job.steps));
      }
    }
    const [wide, short, narrow] = runs.map((times) => ({ median: median(times), least: Math.min(...times) }));
    const times = [wide, short, narrow].flatMap((each) => [each.median.toFixed(0), each.least.toFixed(0)]);
    const ratios = [narrow.median / short.median, narrow.least / short.least].map((ratio) =>
      ratio.toFixed(2),
    );
    rows.push([compile ? 'compiled' : 'plain', ...times, ...ratios]);
    console.error(rows.at(-1).join(', '));
  }
  const options = { device: 'cpu', precision: 'each' };
  const head = formatHead({ name: 'int8', machine: describeMachine(), versions, options });
  const header = [
    'step',
    'float32',
    'least',
    'bf16',
    'least',
    'int8',
    'least',
    'int8 / bf16',
    'of the least',
  ];
  const text = `${head}\n\n${formatColumns(header, rows)}\n
Milliseconds of processor time of one step of the GPT of 4 × 256 with Adam on one thread: the median and the least of
${repeats} × ${blocks} blocks (processes × blocks of each). The precisions take turns.\n\nRepeat it: \`npm run bench:int8 -- ${repeats} ${blocks}\`\n`;
  console.log(`${text}\n${writeResult('int8.md', text)}`);
});
