/**
 * `node bench/offload.mjs`: measures resident memory and step time with optimizer state and
 * parameters in files, beside the same steps without offload. See README.md.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { trainOffloaded } from './harness/sides.mjs';

const USAGE = `npm run bench:offload -- [options]

  --layers N    square layers of the network (default 120)
  --width N     their width (default 1024)
  --batch N     rows per rank (default 256)
  --ranks N,N   numbers of ranks (default 1,4)
  --steps N     timed steps (default 3)
  --folder F    where files are kept (default: a temporary folder)
  --name N      of the page in bench/results (default offload)`;

const mb = (bytes) => Math.round(bytes / 1e6).toLocaleString('en');

await exitOnError(async () => {
  const args = process.argv.slice(2);
  const { values, job, ranks } = optionsOf(args);
  if (values.help) return console.log(USAGE);
  const machine = describeMachine();
  const rows = [];
  let versions = {};
  for (const count of ranks) {
    const measured = await measure(job, count, values.folder ?? tmpdir());
    rows.push(...measured.rows);
    ({ versions } = measured);
  }
  const head = formatHead({ name: values.name, machine, versions, options: { device: 'cpu' } });
  const command = ['npm run bench:offload --', ...args].join(' ').replace(/ --$/, '');
  const page = `${head}\n\n${format(rows, job)}\n\nRepeat it: \`${command}\`\n`;
  console.log(`${page}\n${writeResult(`${values.name}.md`, page)}`);
});

function optionsOf(args) {
  const text = (value) => ({ type: 'string', ...(value && { default: value }) });
  const { values } = parseArgs({
    args,
    options: {
      layers: text('120'),
      width: text('1024'),
      batch: text('256'),
      ranks: text('1,4'),
      steps: text('3'),
      folder: text(),
      name: text('offload'),
      help: { type: 'boolean' },
    },
  });
  const [layers, width, batch, steps] = ['layers', 'width', 'batch', 'steps'].map((name) =>
    Number(values[name]),
  );
  const ranks = values.ranks.split(',').map(Number);
  return { values, job: { layers, width, batch, steps, threads: 1 }, ranks };
}

async function measure(job, ranks, parent) {
  const folder = mkdtempSync(join(parent, 'acc-bench-'));
  const rows = [];
  let versions = {};
  let plainMs;
  try {
    for (const to of [undefined, folder]) {
      const result = await trainOffloaded({ ...job, ...(to && { folder: to }) }, { ranks });
      ({ versions } = result);
      plainMs ??= result.stepMs;
      const most = (bytesOf) => mb(Math.max(...result.ranks.map(bytesOf)));
      rows.push([
        `${ranks}`,
        to ? 'in files' : 'in memory',
        most(({ idleBytes, peakBytes }) => peakBytes - idleBytes),
        most(({ peakBytes }) => peakBytes),
        most(({ idleBytes }) => idleBytes),
        Math.round(result.stepMs).toLocaleString('en'),
        (result.stepMs / plainMs).toFixed(2),
      ]);
      console.error(rows.at(-1).join('  '));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return { rows, versions };
}

function format(rows, { layers, width, batch, steps }) {
  const parameters = layers * width * width;
  const titles = [
    'ranks',
    'parameters and state',
    'MB above idle',
    'peak MB',
    'idle MB',
    'ms a step',
    'beside memory',
  ];
  return `${formatColumns(titles, rows)}

${layers} layers of ${width} × ${width} float32 weights, ${mb(parameters)} M parameters, ${batch} rows a rank, Adam, ranks of one
thread, fsdp in stage 3. Over all ranks, parameters are ${mb(4 * parameters)} MB, Adam's state ${mb(8 * parameters)} MB, and gradients
${mb(4 * parameters)} MB; a rank has its share of each. In a step, ${mb(40 * parameters)} MB of them are read from files and written to files: parameters
are read in forward, backward and the update. Memory is resident memory of the process, as the kernel counts it, of the rank that has the most: its peak (\`VmHWM\`), and the same process before the network is made (\`VmRSS\`, when it has taken steps of one
layer). ${mb(8 * layers * batch * width)} MB of it are activations: results of products and of tanh. Files are read and written past the page cache where the disk has direct I/O. Time is the mean of ${steps} steps.`;
}
