/** A wrong program, and what it must end with. */
export interface WrongProgram {
  readonly name: string;
  /** The number of ranks that `acc launch` starts. 1: Node.js runs the program alone. */
  readonly ranks: 1 | 2;
  /** The code of our error. Undefined: the error is another library's, or the program's own. */
  readonly code?: string;
  /** Parts of the message and of the next step. */
  readonly says: readonly string[];
  /** Comes after the imports. The guilty line ends with {@link GUILTY}, if it can be known. */
  readonly source: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Other files beside the program. */
  readonly files?: Readonly<Record<string, string>>;
  /** The exit code. Default 1. */
  readonly exitCode?: number;
  /** Whether only `npm run test:release` runs it: another one ends by the same kind of error. */
  readonly isLate?: boolean;
  /** Parts that must not be there. */
  readonly never?: readonly string[];
}

export const GUILTY = '// wrong';

/** The first lines of a program. */
export const IMPORTS = `import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, consoleTracker } from '@acc/core';
`;

const CREATE = 'const accelerator = await Accelerator.create();\n';
const MODEL = `${CREATE}const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
const optimizer = tf.train.sgd(0.1);
accelerator.prepare(model, optimizer);
const loss = (x) => tf.losses.meanSquaredError(tf.zeros([4, 1]), model.apply(x));
`;

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
    never: ['npm install', 'acc-tracker-tensorboard'],
    source: `const accelerator = await Accelerator.create({ logWith: ['tensorbord'] });
await accelerator.initTrackers('run'); // wrong`,
  },
  {
    name: 'a tracker that nobody knows',
    code: 'ACC_TRACKER_MISSING',
    says: ['Known trackers: console', 'Check the name'],
    never: ['npm install'],
    source: `const accelerator = await Accelerator.create({ logWith: ['my-own-service'] });
await accelerator.initTrackers('run'); // wrong`,
  },
  {
    name: 'a tracker that was not called',
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
    code: 'ACC_CHECKPOINT_NOT_FOUND',
    says: ['are damaged', 'Bring back an intact copy'],
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
    code: 'ACC_INVALID_OPTION',
    says: ['batchSize'],
    source: 'new DataLoader([1, 2, 3], { batchSize: 0 }); // wrong',
  },
  {
    name: 'a sample that cannot be made',
    says: ['no picture 3'],
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

const LAUNCHED: readonly Omit<WrongProgram, 'ranks'>[] = [
  {
    name: 'an option of another spelling',
    code: 'ACC_UNKNOWN_OPTION',
    says: ["Did you mean 'mixedPrecision'?"],
    source: "await Accelerator.create({ mixedPrecison: 'bf16' }); // wrong",
  },
  {
    name: 'a strategy that does not exist',
    isLate: true,
    code: 'ACC_INVALID_OPTION',
    says: ['strategy is "dpp"', "Did you mean 'ddp'?"],
    source: "await Accelerator.create({ strategy: 'dpp' }); // wrong",
  },
  {
    name: "a shape that is not the model's",
    says: ['Error: ', 'got shape 4,3'],
    source: `${MODEL}optimizer.minimize(() => loss(tf.zeros([4, 3]))); // wrong`,
  },
  {
    name: 'a tensor that was disposed',
    isLate: true,
    says: ['disposed'],
    source: `${MODEL}const x = tf.zeros([4, 2]);
x.dispose();
optimizer.minimize(() => loss(x)); // wrong`,
  },
  {
    name: 'a method that does not exist',
    says: ['TypeError: ', "(reading 'apply')"],
    source: `${MODEL}optimizer.minimize(() => accelerator.modle.apply(tf.zeros([4, 2])).mean()); // wrong`,
  },
  {
    name: 'a program that one rank cannot go on with',
    says: ['rank 1 of 2', 'RangeError: row 7'],
    source: `${MODEL}for (let step = 0; step < 5; step++) {
  if (accelerator.processIndex === 1 && step === 2) throw new RangeError('row 7'); // wrong
  optimizer.minimize(() => loss(tf.zeros([4, 2])));
}`,
  },
  {
    name: 'process.exit on one rank',
    says: ['rank 1 of 2', 'exit code 3', 'no labels'],
    exitCode: 3,
    source: `${CREATE}if (accelerator.processIndex === 1) {
  console.error('no labels');
  process.exit(3);
}
await accelerator.waitForEveryone();`,
  },
  {
    name: 'models that differ',
    code: 'ACC_VARIABLES_DIFFER',
    says: ['[2,1]', '[2,2]'],
    source: `${CREATE}const units = 1 + accelerator.processIndex;
const model = tf.sequential({ layers: [tf.layers.dense({ units, inputShape: [2] })] });
accelerator.prepare(model, tf.train.sgd(0.1)); // wrong`,
  },
  {
    name: 'options that differ',
    code: 'ACC_OPTIONS_DIFFER',
    says: ['gradientAccumulationSteps'],
    source: 'await Accelerator.create({ gradientAccumulationSteps: 1 + Number(process.env.RANK) }); // wrong',
  },
  {
    name: 'a collective that one rank calls',
    code: 'ACC_COLLECTIVE_MISMATCH',
    says: ['barrier', 'rank 0'],
    source: `${MODEL}if (accelerator.isMainProcess) {
  await accelerator.gather(tf.ones([2])); // wrong
}
await accelerator.waitForEveryone(); // wrong`,
  },
  {
    name: 'tensors of other shapes',
    code: 'ACC_COLLECTIVE_MISMATCH',
    says: ['float32[1]', 'float32[2]'],
    source: `${CREATE}await accelerator.reduce(tf.ones([1 + accelerator.processIndex])); // wrong`,
  },
  {
    name: 'a reduction that does not exist',
    isLate: true,
    code: 'ACC_INVALID_ARGUMENT',
    says: ["'avg'"],
    source: `${CREATE}await accelerator.reduce(tf.ones([2]), 'avg'); // wrong`,
  },
  {
    name: 'a gather of numbers',
    isLate: true,
    code: 'ACC_NOT_A_TENSOR',
    says: ['gatherObject'],
    source: `${CREATE}await accelerator.gather([1, 2]); // wrong`,
  },
  {
    name: 'a mesh of more ranks',
    says: ['tensor'],
    source: 'await Accelerator.create({ mesh: { tensor: 3 } }); // wrong',
    code: 'ACC_INVALID_OPTION',
  },
  {
    name: 'a fit that nobody waits for',
    code: 'ACC_TRAINING_ENDED',
    says: ['endTraining', 'fit() has been awaited'],
    source: `${MODEL}model.compile({ loss: 'meanSquaredError', optimizer });
model.fit(tf.ones([16, 2]), tf.ones([16, 1]), { epochs: 3, verbose: 0 });
await accelerator.endTraining();`,
  },
  {
    name: 'a module that is not there',
    says: ['ERR_MODULE_NOT_FOUND', 'modle.mjs'],
    source: "import { createModel } from './modle.mjs';\ncreateModel();",
  },
  {
    name: 'an export that is not there',
    says: ['SyntaxError', "'Acelerator'", 'program.mjs:3'],
    source: "import { Acelerator } from '@acc/core'; // wrong\nawait Acelerator.create();",
  },
  {
    name: 'a line that cannot be parsed',
    says: ["SyntaxError: Unexpected token ';'", 'program.mjs:3', 'const steps = ;'],
    source: 'const steps = ;',
  },
  {
    name: 'a word that is thrown',
    isLate: true,
    says: ["Uncaught 'no data'", 'Throw an Error'],
    source: "throw 'no data';",
  },
  {
    name: 'ranks that fail by different errors',
    says: ['failed, too: Error: '],
    source: `${CREATE}const rank = accelerator.processIndex;
await accelerator.waitForEveryone();
throw rank === 0 ? new Error('the first') : new Error('the second'); // wrong`,
  },
  {
    name: 'weights that are not there',
    isLate: true,
    code: 'ACC_WEIGHTS_NOT_FOUND',
    says: ['weights.safetensors', 'Check the path'],
    source: `${MODEL}await accelerator.loadModel(model, 'weights.safetensors'); // wrong`,
  },
  {
    name: 'a misspelt tracker',
    isLate: true,
    code: 'ACC_TRACKER_MISSING',
    says: ["Did you mean 'console'?"],
    never: ['npm install'],
    source: `const accelerator = await Accelerator.create({ logWith: ['consol'] });
await accelerator.initTrackers('run'); // wrong`,
  },
];

export const PROGRAMS: readonly WrongProgram[] = [
  ...ALONE.map((program) => ({ ...program, ranks: 1 as const })),
  ...LAUNCHED.map((program) => ({ ...program, ranks: 2 as const })),
];
