import { expect, it } from 'vitest';
import { resultsOfRanks, runRanks } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { Report } from './ranks/memory.js';

const env = { OMP_NUM_THREADS: '1' };
const urlOf = (name: string) => new URL(`./ranks/${name}.ts`, import.meta.url);

it('refuses on all ranks what a pipeline cannot do', async () => {
  const found = await resultsOfRanks<Record<string, string>>({ script: urlOf('refusals'), ranks: 2, env });
  const [sender, receiver] = found;
  expect(sender!['another shape in a slot']).toBe('ACC_COLLECTIVE_SHAPE');
  expect(receiver!.received).toBe('1,2,3,4');
  for (const [rank, { received: _, 'another shape in a slot': __, ...codes }] of found.entries()) {
    expect(codes).toEqual({
      'weights in files': 'ACC_STRATEGY_CANNOT',
      'a hook with state': 'ACC_STRATEGY_CANNOT',
      'gradients at apply': 'ACC_STRATEGY_CANNOT',
      'an unknown option': 'ACC_UNKNOWN_OPTION',
      'not prepared': 'ACC_NOT_PREPARED',
      'not a model': 'ACC_INVALID_ARGUMENT',
      'an unknown layer': 'ACC_PIPELINE_STAGES',
      'a layer twice': 'ACC_PIPELINE_STAGES',
      'a layer missing': 'ACC_PIPELINE_STAGES',
      'another order': 'ACC_PIPELINE_STAGES',
      'an empty stage': 'ACC_PIPELINE_STAGES',
      'a rank without weights': 'ACC_PIPELINE_STAGES',
      'three stages': 'ACC_PIPELINE_SHAPE',
      'stages for 1f1b': 'ACC_PIPELINE_SHAPE',
      'uneven groups': 'ACC_PIPELINE_SHAPE',
      'ranks with other schedules': 'ACC_OPTIONS_DIFFER',
      'an optimizer with state of whole weights': 'ACC_STRATEGY_CANNOT',
      'no optimizer': 'ACC_PIPELINE_OPTIMIZER',
      'rows that cannot be divided': 'ACC_PIPELINE_BATCH',
      'other numbers of rows': 'ACC_PIPELINE_BATCH',
      'other stages': 'ACC_PIPELINE_STAGES',
      'other frozen layers': 'ACC_OPTIONS_DIFFER',
      'a rank whose layers are frozen': 'ACC_PIPELINE_STAGES',
      'a variable of the loss': rank === 1 ? 'ACC_PIPELINE_WEIGHT' : 'ACC_PIPELINE_FAILED',
      'a frozen variable of the loss': 'none',
      'a loss without the model':
        rank === 1
          ? (expect.stringMatching(/^Error: Cannot compute gradient of y=f\(x\)/) as string)
          : 'ACC_PIPELINE_FAILED',
      'inside noSync': 'ACC_STRATEGY_CANNOT',
      minimize: 'ACC_PIPELINE_OUTSIDE',
      'compile of shards': 'ACC_STRATEGY_CANNOT',
      'weights in a compiled step': expect.stringMatching(
        /^0 replays: it reads weights that other ranks have outside of a pass, or a sharded gradient, at .*refusals\.ts:\d+$/,
      ) as string,
      'steps after all that': 'fall',
      'two optimizers': 'ACC_PIPELINE_OPTIMIZER',
      'a model with another optimizer': 'ACC_PIPELINE_OPTIMIZER',
      'a model that was compiled later': 'ACC_PIPELINE_OPTIMIZER',
    });
  }
});

it('refuses steps that would train copies of a model, before weights change', async () => {
  const found = await onRanks<Record<string, string>>({ module: urlOf('undivided'), ranks: 2, env });
  for (const each of found) {
    expect(each).toEqual({
      minimize: 'ACC_PIPELINE_OUTSIDE, no effect, next',
      computeGradients: 'ACC_PIPELINE_OUTSIDE, no effect, next',
      variableGrads: 'ACC_PIPELINE_OUTSIDE, no effect, next',
      'own gradients': 'ACC_PIPELINE_OUTSIDE, no effect, next',
      'minimize in noSync': 'ACC_STRATEGY_CANNOT',
      'a plain variable': 'ACC_PIPELINE_OUTSIDE, no effect, next',
      weights: 'the same',
      'minimize of stages': 'ACC_PIPELINE_OUTSIDE',
      'own gradients of stages': 'ACC_PIPELINE_OUTSIDE',
      'steps after all that': 'fall',
    });
  }
});

it('refuses different batches of ranks of one pipeline', async () => {
  const found = await onRanks<Record<string, string>>({
    module: urlOf('other-batches'),
    ranks: 2,
    env,
  });
  for (const each of found) {
    expect(each).toEqual({
      rows: 'ACC_BATCHES_DIFFER shapes',
      inputs: 'ACC_BATCHES_DIFFER values',
      labels: 'ACC_BATCHES_DIFFER values',
      'a compiled step': 'ACC_BATCHES_DIFFER values',
      same: 'none',
      'another size': 'ACC_BATCHES_DIFFER values',
      'the same of another size': 'none',
      'new rows on one rank': 'ACC_BATCHES_DIFFER shapes',
      'known rows that differ': 'ACC_BATCHES_DIFFER shapes',
      'new rows in replays': 'ACC_BATCHES_DIFFER shapes',
      'after that': 'none',
      fit: 'ACC_BATCHES_DIFFER values',
      // Four messages of one slot, whose header is 11 numbers of 4 bytes.
      'more in the first step': '0,44',
      'more in the second step': '0,0',
    });
  }
});

it.each([
  ['promise', 'returned a promise', 'without async'],
  ['number', 'returned number 3', 'tf.losses.meanSquaredError'],
  ['nothing', 'returned undefined', 'tf.losses.meanSquaredError'],
])('a loss that is no tensor is named: %s', async (what, message, help) => {
  const [, last] = await runRanks({ script: urlOf('no-tensor'), ranks: 2, args: [what], env });
  expect(last!.exitCode).toBe(1);
  for (const part of ['ACC_INVALID_ARGUMENT', message, help]) expect(last!.stderr).toContain(part);
});

it.each(['error', 'signal'])('a rank that ends in a step ends the others: %s', async (how) => {
  const [waiting, ending] = await runRanks({ script: urlOf('dying'), ranks: 2, args: [how], env });
  expect(waiting!.exitCode).toBe(1);
  expect(waiting!.stderr).toContain(how === 'error' ? 'ACC_PIPELINE_FAILED' : 'ACC_PEER_LOST');
  if (how === 'error') {
    for (const { stderr } of [waiting!, ending!]) expect(stderr).toContain('the loss of rank 1');
  } else expect(ending!.signal).toBe('SIGKILL');
});

it('keeps the weights and the activations that a stage needs', async () => {
  const found = await onRanks<Report>({ module: urlOf('memory'), ranks: 2, env });
  for (const [rank, { gpipe, '1f1b': alternating, beyondWeights, ...checkpointed }] of found.entries()) {
    // Weights are broadcast in chunks of 4 MiB.
    expect(beyondWeights).toBeLessThan(13 * 2 ** 20);
    // 1F1B keeps the activations of one or two micro-batches, GPipe those of eight.
    expect(alternating.peak).toBeLessThan(gpipe.peak * (rank === 0 ? 0.6 : 0.5));
    // A stage is one section. GPipe keeps its inputs in place of the activations of three layers.
    expect(checkpointed['gpipe, checkpointed'].peak).toBeLessThan(gpipe.peak * 0.6);
    // The last stage of 1F1B goes backward at once, so that nothing is computed again.
    const { peak } = checkpointed['1f1b, checkpointed'];
    if (rank === 0) expect(peak).toBeLessThan(alternating.peak * 0.97);
    else expect(peak / alternating.peak).toBeCloseTo(1, 1);
    for (const each of [gpipe, alternating, ...Object.values(checkpointed)]) {
      expect(each.held / each.weights).toBeCloseTo(0.5, 2);
      expect(each.grown).toBe(0);
    }
  }
});
