/**
 * `node bench/data.mjs`: reads data with our DataLoader and with PyTorch's, in turn, and measures how
 * long a training step waits for data. See README.md.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { dataUsage, parseDataOptions } from './harness/options.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { runProcess } from './harness/run-process.mjs';
import { dataSides, decodeSides, trainWaiting } from './harness/sides.mjs';
import { median } from './harness/statistics.mjs';
import { benchDir, workloads } from './harness/workloads.mjs';
import { ensureImageReader, ensurePeer } from './peers/setup.mjs';

const IMAGES = 512;
const SEQUENCE = 1024;
const SEQUENCES = 8192;
const NORMAL = { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] };

/** V8 compiles for some epochs; one of them takes less than a second. */
const LONG = { warmup: 5, epochs: 8 };

const IMAGE_CASE = { isImages: true, batch: 32, workers: 2, warmup: 1, epochs: 3, crop: 224, ...NORMAL };

const CASES = {
  columns: { what: 'MNIST-like, a tensor of all samples', samples: 60_000, batch: 64, workers: 0, ...LONG },
  samples: { what: 'MNIST-like, sample by sample', samples: 60_000, batch: 64, workers: 0, ...LONG },
  images: { what: 'JPEGs of 500 × 375, cropped to 224 × 224', ...IMAGE_CASE, jpegDecoder: 'sharp' },
  fastImages: { what: 'the same, decoded by @napi-rs/image', ...IMAGE_CASE, jpegDecoder: '@napi-rs/image' },
  tokens: {
    what: 'sequences of 1,024 tokens from a file',
    samples: SEQUENCES,
    batch: 16,
    workers: 0,
    ...LONG,
  },
};

await exitOnError(async () => {
  const args = process.argv.slice(2);
  const options = parseDataOptions(args, Object.keys(CASES));
  if (options.help) return console.log(dataUsage);
  const machine = describeMachine();
  const python = ensurePeer(options.python);
  const packages = ensureImageReader(python);
  const folder = mkdtempSync(join(tmpdir(), 'acc-bench-data-'));
  try {
    const peer = { python, env: { PYTHONPATH: packages } };
    const rows = [];
    let versions = {};
    for (const name of options.cases) {
      const result = await measure(
        { case: name, ...CASES[name] },
        { folder, peer, repeats: options.repeats },
      );
      versions = { ...versions, ...result.versions };
      rows.push(result.row);
      console.error(result.row.join('  '));
    }
    const decoding = await decodingAlone(await provide('images', folder, peer), { peer, ...options });
    const waits = await waiting(options);
    const head = formatHead({ name: options.name, machine, versions, options: { device: 'cpu' } });
    const command = ['npm run bench:data --', ...args].join(' ').replace(/ --$/, '');
    const text = `${head}\n\n${format(rows, { waits, decoding })}\nRepeat it: \`${command}\`\n`;
    console.log(`${text}\n${writeResult(`${options.name}.md`, text)}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Both sides read the same number of samples, `repeats` times, and take turns to be first. */
async function measure(given, { folder, peer, repeats }) {
  const job = {
    sequence: SEQUENCE,
    ...given,
    path: await provide(given.isImages ? 'images' : given.case, folder, peer),
  };
  const rates = { ours: [], theirs: [] };
  let versions = {};
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (const side of repeat % 2 ? ['theirs', 'ours'] : ['ours', 'theirs']) {
      const result = await dataSides[side](job, peer);
      const all = given.isImages ? IMAGES : given.samples;
      const wanted = all - (all % given.batch);
      const isRight = result.samples === wanted && result.shape[0] === given.batch && !result.leaked;
      if (!isRight) throw new Error(`${given.case}, ${side}: unexpected ${JSON.stringify(result)}`);
      rates[side].push(result.samples / (median(result.epochMs) / 1e3));
      versions = { ...versions, ...result.versions };
    }
  }
  const ratio = median(rates.ours.map((rate, i) => rate / rates.theirs[i]));
  const whole = (list) => Math.round(median(list)).toLocaleString('en');
  const { what, batch, workers } = given;
  return {
    row: [what, `${batch}`, `${workers}`, whole(rates.ours), whole(rates.theirs), ratio.toFixed(2)],
    versions,
  };
}

/** Writes the files of a case. */
async function provide(name, folder, { python, env }) {
  const path = join(folder, name);
  if (name === 'images' && !existsSync(path)) {
    await runProcess(python, [`${benchDir}peers/data_load.py`, '--write', path, `${IMAGES}`], env);
  }
  if (name === 'tokens') {
    const tokens = Uint16Array.from({ length: SEQUENCE * SEQUENCES + 1 }, (_, i) => (i * 2654435761) >>> 16);
    writeFileSync(path, tokens);
  }
  return path;
}

/**
 * The time of processors for one image, in ms: decoding alone, one image after the other, by the
 * decoders of both sides in turn.
 */
async function decodingAlone(path, { peer, repeats }) {
  const times = {};
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (const side of ['ours', 'theirs']) {
      const { cpuMs } = await decodeSides[side]({ case: 'decode', path, rounds: 5 }, peer);
      for (const [name, ms] of Object.entries(cpuMs)) (times[name] ??= []).push(ms);
    }
  }
  return Object.entries(times).map(([name, list]) => `${median(list).toFixed(2)} by ${name}`);
}

/** The share of a step in which the convnet waits for data, and the step, in ms. */
async function waiting({ repeats }) {
  const { sizes, batch, learningRate } = workloads.convnet;
  const job = { model: 'convnet', sizes, batch, learningRate, steps: 120, warmupSteps: 60, threads: 1 };
  const shares = [];
  const steps = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    const { dataMs, stepMs } = await trainWaiting(job);
    shares.push(median(dataMs) / median(stepMs));
    steps.push(median(stepMs));
  }
  return { share: median(shares), stepMs: median(steps) };
}

function format(rows, { waits: { share, stepMs }, decoding }) {
  const titles = ['data', 'batch', 'workers', 'ours, samples/s', 'theirs, samples/s', 'ours/theirs'];
  return `${formatColumns(titles, rows)}

Samples per second of an epoch, without a model: the median of the processes, each of which takes the median of its
epochs after the warm-up. All cases shuffle. One thread computes on each side; workers are threads of ours and processes of
theirs. Images are decoded by sharp and by Pillow, as by torchvision's ImageFolder, with RandomResizedCrop, a flip and
normalisation on both sides.

Decoding a JPEG of 500 × 375 alone, one after the other, takes these ms of processor time: ${decoding.join(', ')}.
It is most of the time of these rows. sharp decodes only to the end of the part that is cut out.

The convnet, batch ${workloads.convnet.batch}, waits for data in ${(100 * share).toFixed(1)} % of its step of ${stepMs.toFixed(1)} ms (\`time/data_ms\` of the
monitor; samples one by one from memory, shuffled, in the thread of the loop).
`;
}
