import { LAUNCHED } from './launched.js';
import { CREATE, MODEL, type WrongProgram } from './wrong-program.js';

const ALONE: readonly Omit<WrongProgram, 'ranks'>[] = [
  {
    name: 'an option of another spelling',
    code: 'ACC_UNKNOWN_OPTION',
    says: ["unknown option 'gradientClippin'", "Did you mean 'gradientClipping'?"],
    source: 'await Accelerator.create({ gradientClippin: { norm: 1 } }); // wrong',
  },
  {
    name: 'a number in quotes',
    isLate: true,
    code: 'ACC_INVALID_OPTION',
    says: ['gradientAccumulationSteps is "4"', 'without quotes'],
    source: "await Accelerator.create({ gradientAccumulationSteps: '4' }); // wrong",
  },
  {
    name: 'options that are a word',
    isLate: true,
    code: 'ACC_INVALID_OPTION',
    says: ["options are 'ddp'", 'Give options by name'],
    source: "await Accelerator.create('ddp'); // wrong",
  },
  {
    name: 'two Accelerators',
    isLate: true,
    code: 'ACC_ALREADY_CREATED',
    says: ['freeMemory()'],
    source: `${CREATE}await Accelerator.create(); // wrong`,
  },
  {
    name: 'new in place of create',
    says: ['Accelerator.create'],
    source: 'new Accelerator(); // wrong',
    code: 'ACC_NOT_CREATED',
  },
  {
    name: 'a misspelt tracker',
    code: 'ACC_TRACKER_MISSING',
    says: ["'tensorbord' is not a known tracker", "Did you mean 'tensorboard'?"],
    never: ['npm install', 'acc-tracker-tensorboard', 'caused by'],
    source: `const accelerator = await Accelerator.create({ logWith: ['tensorbord'] });
await accelerator.initTrackers('run'); // wrong`,
  },
  {
    name: 'a tracker that nobody knows',
    isLate: true,
    code: 'ACC_TRACKER_MISSING',
    says: ['Known trackers: console', 'Check the name'],
    never: ['npm install'],
    source: `const accelerator = await Accelerator.create({ logWith: ['my-own-service'] });
await accelerator.initTrackers('run'); // wrong`,
  },
  {
    name: 'a tracker that was not called',
    isLate: true,
    code: 'ACC_INVALID_OPTION',
    says: ['logWith.0 is a function', 'A factory must be called'],
    source: 'await Accelerator.create({ logWith: [consoleTracker] }); // wrong',
  },
  {
    name: 'no trackers',
    isLate: true,
    code: 'ACC_NO_TRACKERS',
    says: ['logWith'],
    source: `${CREATE}await accelerator.initTrackers('run'); // wrong`,
  },
  {
    name: 'an object that cannot be prepared',
    isLate: true,
    code: 'ACC_CANNOT_PREPARE',
    says: ['prepare'],
    source: `${CREATE}accelerator.prepare({ units: 3 }); // wrong`,
  },
  {
    name: 'a model that is not built',
    code: 'ACC_MODEL_NOT_BUILT',
    says: ['inputShape'],
    source: `${CREATE}const model = tf.sequential();
accelerator.prepare(model); // wrong`,
  },
  {
    name: 'weights that are not there',
    code: 'ACC_WEIGHTS_NOT_FOUND',
    says: ['weights.safetensors', 'Check the path'],
    never: ['disk or bucket'],
    source: `${MODEL}await accelerator.loadModel(model, 'nowhere/weights.safetensors'); // wrong`,
  },
  {
    name: 'a run without a checkpoint',
    code: 'ACC_CHECKPOINT_NOT_FOUND',
    says: ['There is no complete checkpoint', 'ifPresent'],
    source: `const accelerator = await Accelerator.create({ checkpoint: { dir: 'nowhere' } });
await accelerator.loadState('latest'); // wrong`,
  },
  {
    name: 'a marker that was cut off',
    code: 'ACC_CHECKPOINT_INVALID',
    says: ['checkpoint.json is not a valid checkpoint file', 'load another checkpoint by its path'],
    source: `import { truncateSync } from 'node:fs';
${MODEL}await accelerator.saveState('saved');
truncateSync('saved/checkpoint.json', 20);
await accelerator.loadState('saved'); // wrong`,
  },
  {
    name: 'checkpoints that are all damaged',
    isLate: true,
    code: 'ACC_CHECKPOINT_NOT_FOUND',
    says: ['are damaged', 'Bring back an intact copy'],
    never: ['Trying the checkpoint before it', 'give { ifPresent: true }'],
    source: `import { readdirSync, truncateSync } from 'node:fs';
${MODEL.replace('create()', "create({ checkpoint: { dir: 'all' } })")}await accelerator.saveState();
for (const name of readdirSync('all', { recursive: true })) if (name.endsWith('.safetensors')) truncateSync(\`all/\${name}\`, 9);
await accelerator.loadState('latest', { ifPresent: true }); // wrong`,
  },
  {
    name: 'a checkpoint of other weights',
    code: 'ACC_CHECKPOINT_MISMATCH',
    says: ['are not those that the ranks hold', 'Prepare the same models'],
    source: `${MODEL}await accelerator.saveState('saved');
accelerator.freeMemory();
const other = await Accelerator.create();
other.prepare(tf.sequential({ layers: [tf.layers.dense({ units: 3, inputShape: [2] })] }), tf.train.sgd(0.1));
await other.loadState('saved'); // wrong`,
  },
  {
    name: 'a config file with several mistakes',
    code: 'ACC_CONFIG_INVALID',
    says: [
      'acc.yaml has 3 mistakes',
      ":1: the file: unknown option 'nproc'. Put it below 'launch:'",
      "Did you mean 'ddp'?",
      'bf61',
    ],
    files: { 'acc.yaml': 'nproc: 2\naccelerator:\n  strategy: dpp\n  mixedPrecision: bf61\n' },
    source: 'await Accelerator.create(); // wrong',
  },
  {
    name: 'a variable of another spelling',
    isLate: true,
    says: ['ACC_MIXED_PRECISON', 'ACC_MIXED_PRECISION'],
    code: 'ACC_UNKNOWN_OPTION',
    env: { ACC_MIXED_PRECISON: 'bf16' },
    source: 'await Accelerator.create(); // wrong',
  },
  {
    name: 'a value that is no metric',
    isLate: true,
    code: 'ACC_INVALID_ARGUMENT',
    says: ['loss'],
    source: `const accelerator = await Accelerator.create({ logWith: ['console'] });
await accelerator.initTrackers('run');
accelerator.log({ loss: 'low' }); // wrong`,
  },
  {
    name: 'a batch of no rows',
    isLate: true,
    code: 'ACC_INVALID_OPTION',
    says: ['batchSize'],
    source: 'new DataLoader([1, 2, 3], { batchSize: 0 }); // wrong',
  },
  {
    name: 'a sample that cannot be made',
    code: 'ACC_DATA_SAMPLE',
    says: ['Sample 3: no picture 3'],
    source: `${CREATE}const pictures = { length: 4, get(i) {
  if (i === 3) throw new RangeError('no picture 3'); // wrong
  return i;
} };
const loader = accelerator.prepare(new DataLoader(pictures, { batchSize: 2 }));
for await (const batch of loader) batch.dispose();`,
  },
  {
    name: 'an engine that does not exist',
    isLate: true,
    code: 'ACC_INVALID_OPTION',
    says: ['engine is "cuda"'],
    source: "await Accelerator.create({ engine: 'cuda' }); // wrong",
  },
  {
    name: 'a format that does not exist',
    isLate: true,
    code: 'ACC_INVALID_OPTION',
    says: ["format is 'onnx'"],
    source: `${MODEL}await accelerator.saveModel(model, 'saved', { format: 'onnx' }); // wrong`,
  },
  {
    name: "an error of the program's own with a cause",
    says: ['Error: cannot read labels', 'caused by: Error: ENOENT', 'labels.json'],
    source: `import { readFile } from 'node:fs/promises';
${CREATE}async function labels() {
  try {
    return await readFile('labels.json');
  } catch (cause) {
    throw new Error('cannot read labels', { cause }); // wrong
  }
}
await labels();`,
  },
  {
    name: 'a word that is thrown',
    isLate: true,
    says: ["Uncaught 'no data'", 'Throw an Error'],
    source: `${CREATE}throw 'no data';`,
  },
  {
    name: 'a promise that nobody waits for',
    says: ['RangeError: epoch 7'],
    source: `${CREATE}const train = async () => {
  await null;
  throw new RangeError('epoch 7'); // wrong
};
train();
await new Promise((resolve) => setTimeout(resolve, 10_000));`,
  },
];

export const PROGRAMS: readonly WrongProgram[] = [
  ...ALONE.map((program) => ({ ...program, ranks: 1 as const })),
  ...LAUNCHED.map((program) => ({ ...program, ranks: 2 as const })),
];
