// Reports how ranks use splitting, padding, flags, turns and random states.
import { appendFileSync, readFileSync } from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import {
  Accelerator,
  concatenate,
  findBatchSize,
  getDataStructure,
  getLogger,
  initializeTensors,
  listify,
  recursivelyApply,
  registerHook,
  setSeed,
  sliceTensors,
  synchronizeRngStates,
} from '@acc/core';

async function partsOf(accelerator: Accelerator) {
  const x = tf.range(0, 4);
  const parts = {
    list: accelerator.splitBetweenProcesses(['a', 'b', 'c', 'd'], (part) => part),
    rows: accelerator.splitBetweenProcesses({ x }, (part) => [...part.x.dataSync()], {
      applyPadding: true,
    }),
    later: await accelerator.splitBetweenProcesses([1, 2, 3], async (part) => {
      await Promise.resolve();
      return part.length;
    }),
  };
  x.dispose();
  return parts;
}

function paddedBy(accelerator: Accelerator) {
  const { processIndex } = accelerator;
  const x = tf.fill([2, processIndex + 1], processIndex + 1);
  const { rows, front, flag } = {
    rows: accelerator.padAcrossProcesses(x, { dim: 1, padIndex: -1 }),
    front: accelerator.padAcrossProcesses(x, { dim: -1, padFirst: true }),
    flag: accelerator.padAcrossProcesses({
      scalar: tf.scalar(7),
      bools: tf.ones([processIndex + 1], 'bool'),
    }),
  };
  const all = accelerator.gather(rows);
  return {
    all: all.arraySync(),
    front: front.arraySync(),
    scalar: flag.scalar.dataSync()[0],
    bools: [flag.bools.dtype, ...flag.bools.dataSync()],
  };
}

/** The lines that this rank writes. */
function logged(): string[] {
  const lines: string[] = [];
  const levels = ['debug', 'info', 'warn', 'error'] as const;
  const before = levels.map((level) => console[level]);
  for (const level of levels) console[level] = (line: string) => void lines.push(`${level}|${line}`);
  try {
    const logger = getLogger('train', { level: 'info' });
    logger.debug('not written', { mainProcessOnly: false });
    logger.info('main');
    logger.error('all', { mainProcessOnly: false });
    logger.info('turns', { inOrder: true });
    logger.warnOnce('once');
    logger.warnOnce('once');
  } finally {
    levels.forEach((level, i) => (console[level] = before[i]!));
  }
  return lines;
}

/** Works on batches of every rank, which are gathered. */
function trees(accelerator: Accelerator): unknown {
  const { processIndex: rank } = accelerator;
  const text = tf.tidy(() => {
    const batch = { x: tf.fill([2, 3], rank), rest: [tf.tensor1d([rank, -rank], 'int32')] };
    const all = accelerator.gather(batch);
    const doubled = recursivelyApply((x) => x.mul(2), sliceTensors(all, -3));
    const joined = concatenate([doubled, initializeTensors(getDataStructure(batch)) as typeof batch]);
    return JSON.stringify({
      size: findBatchSize(all),
      structure: getDataStructure(all),
      joined: listify(joined),
      wide: listify(concatenate([batch.x, batch.x], 1)),
    });
  });
  return JSON.parse(text);
}

/** The calls of hooks before saves and loads, and the values that `save` has written. */
async function stateOf(accelerator: Accelerator, folder: string) {
  const { processIndex: rank } = accelerator;
  const variable = (x: () => tf.Tensor) => tf.tidy(() => tf.variable(x()));
  const kept = variable(() => tf.scalar(1));
  const set = (value: number) => tf.tidy(() => kept.assign(tf.scalar(value)));
  accelerator.prepare([kept]);
  const calls: string[] = [];
  const paths: (string | undefined)[] = [];
  const save = accelerator.registerSaveStatePreHook(async ({ path, models }) => {
    await Promise.resolve();
    calls.push(`save ${models.length}`);
    paths.push(path);
    set(7);
  });
  const load = accelerator.registerLoadStatePreHook(() => {
    calls.push('load');
    set(3);
  });
  const path = `${folder}-state`;
  await accelerator.saveState(path);
  save.remove();
  save.remove();
  set(2);
  await accelerator.loadState(path);
  load.remove();
  await accelerator.loadState(path);
  const failing = accelerator.registerSaveStatePreHook(() => {
    if (rank === accelerator.numProcesses - 1) throw new Error('no room');
  });
  const failure = await accelerator.saveState(`${folder}-failed`).catch((error: Error) => error.message);
  failing.remove();

  const own = { a: tf.fill([2], rank + 1), list: [tf.scalar(5, 'int32')] };
  await accelerator.save(own, `${folder}-tensors`);
  const read = { a: variable(() => tf.zeros([2])), list: variable(() => tf.scalar(0, 'int32')) };
  const { a, list } = read;
  await accelerator.loadModel([a, list], `${folder}-tensors`, {
    names: { a: a.name, 'list[0]': list.name },
  });
  const values = [kept, a, list].map((variable) => [...variable.dataSync()]);
  tf.dispose([own, read, kept]);
  return { calls, isPath: paths.every((given) => given === path), values, failure };
}

/** The output of a model whose layer has a hook, and the weight after a step on all ranks. */
function hooked(accelerator: Accelerator) {
  const model = tf.sequential({
    layers: [tf.layers.dense({ units: 1, inputShape: [1], useBias: false, kernelInitializer: 'ones' })],
  });
  const optimizer = tf.train.sgd(1);
  accelerator.prepare(model, optimizer);
  const handle = registerHook(model.layers[0]!, { postForward: (_, y) => tf.mul(y as tf.Tensor, 3) });
  const x = tf.fill([1, 1], accelerator.processIndex);
  optimizer.minimize(() => tf.sum(model.apply(x, { training: true }) as tf.Tensor));
  const weight = model.getWeights()[0]!.dataSync()[0];
  handle.remove();
  tf.dispose(x);
  model.dispose();
  optimizer.dispose();
  return weight;
}

/** Draws from libtorch's own generator. */
const native = () => tf.tidy(() => tf.multinomial(tf.zeros([50]) as tf.Tensor1D, 4).dataSync());
const draw = () => [Math.random(), ...tf.tidy(() => tf.randomUniform([2]).dataSync()), ...native()];

export default async function processTools(logPath: string) {
  const accelerator = await Accelerator.create();
  const { processIndex: rank, numProcesses: size } = accelerator;
  const before = tf.memory().numTensors;
  const parts = await partsOf(accelerator);
  const triggers: boolean[] = [accelerator.checkTrigger()];
  if (rank === size - 1) accelerator.setTrigger();
  triggers.push(accelerator.checkTrigger(), accelerator.checkTrigger());

  const padded = tf.tidy(() => paddedBy(accelerator));
  const lines = logged();
  const tree = trees(accelerator);
  const state = await stateOf(accelerator, logPath);
  const weight = hooked(accelerator);
  await accelerator.localMainProcessFirst(() => appendFileSync(logPath, `${rank} `));
  accelerator.waitForEveryone();
  const turns = readFileSync(logPath, 'utf8').trim().split(' ');

  setSeed(rank);
  const own = draw();
  setSeed(rank);
  synchronizeRngStates();
  const synchronized = draw();

  const model = accelerator.prepare(
    tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] }),
  );
  const isSame = accelerator.unwrapModel(model) === model;
  accelerator.freeMemory(model, { more: tf.ones([2]) });
  const leaked = tf.memory().numTensors - before;
  return { parts, triggers, padded, lines, tree, state, weight, turns, own, synchronized, isSame, leaked };
}
