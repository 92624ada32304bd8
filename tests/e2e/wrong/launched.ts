import { CREATE, MODEL, type WrongProgram } from './wrong-program.js';

/** Programs that `acc launch` starts on two ranks. */
export const LAUNCHED: readonly Omit<WrongProgram, 'ranks'>[] = [
  {
    name: 'an option of another spelling',
    isLate: true,
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
    says: ['rank 1 of 2', 'exit code 3, by process.exit(3)', 'no labels'],
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
    // Each rank has the place of its own call.
    says: ['barrier', 'program.mjs:9:21\n      rank 1: barrier', 'barrier(), at ', 'program.mjs:11:19\n'],
    source: `${MODEL}if (accelerator.isMainProcess) {
  await accelerator.gather(tf.ones([2])); // wrong
}
await accelerator.waitForEveryone(); // wrong`,
  },
  {
    name: 'tensors of other shapes',
    isLate: true,
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
    isLate: true,
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
    name: 'a rank that does not come',
    code: 'ACC_COLLECTIVE_TIMEOUT',
    says: [
      's for rank 1, in allReduce(float32[],',
      'rank 0 no longer waits for rank 1',
      'program.mjs:8:',
      'rank 1 did not come within 4000 ms',
    ],
    source: `const collective = { timeoutMs: 4000, joinTimeoutMs: 60_000, noticeMs: 100 };
const accelerator = await Accelerator.create({ collective });
const seconds = (count) => new Promise((resolve) => setTimeout(resolve, 1000 * count));
if (accelerator.processIndex === 1) await seconds(2);
await accelerator.reduce(tf.scalar(1));
if (accelerator.processIndex === 0) await accelerator.reduce(tf.scalar(1)); // wrong
await seconds(20);`,
  },
  {
    name: 'a save that nobody waits for',
    code: 'ACC_ACCELERATOR_FREED',
    says: ['freeMemory() was called before saveState() had ended', 'Write await accelerator.saveState(…)'],
    source: `${MODEL}accelerator.saveState('saved'); // wrong
accelerator.freeMemory();
await accelerator.endTraining();`,
  },
  {
    name: 'a module that is not there',
    says: ['ERR_MODULE_NOT_FOUND', 'modle.mjs', "Did you mean './model.mjs'?"],
    never: ['node:internal'],
    files: { 'model.mjs': 'export const createModel = () => {};' },
    source: "import { createModel } from './modle.mjs'; // wrong\ncreateModel();",
  },
  {
    name: 'an export that is not there',
    isLate: true,
    says: [
      'SyntaxError',
      "'Acelerator'",
      '             ^\n',
      "Did you mean 'Accelerator'?",
      'program.mjs:3:10',
    ],
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
