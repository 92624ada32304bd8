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
  return { parts, triggers, padded, lines, tree, turns, own, synchronized, isSame, leaked };
}
