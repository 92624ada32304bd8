import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import type { Strategy } from '@acc/contract';
import { packedTensor, registerAccBackend } from '@acc/kernels';
import { tensorFrom } from '@acc/native';
import { prepareVariables } from './prepare-variables.js';

const strategyWith = (parameters: 'replicated' | 'sharded', prepared: string[]) =>
  ({
    name: 'mine',
    traits: { parameters },
    prepareVariables: (variables: readonly tf.Variable[]) =>
      void prepared.push(...variables.map(({ name }) => name)),
  }) as unknown as Strategy;

it('packed variables are refused by strategies that shard variables, and by no other', async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  const unpack = () => tensorFrom(new Float32Array(4), 'float32', [2, 2]);
  const packed = packedTensor({ tensors: [], shape: [2, 2], unpack });
  const variable = tf.variable(packed, false, 'packed');
  const prepared: string[] = [];
  const life = { isOver: false };
  const sharding = { strategy: strategyWith('sharded', prepared), life };
  expect(() => prepareVariables(sharding, [variable])).toThrow(
    expect.objectContaining({ code: 'ACC_QUANTIZED_PLACE' }),
  );
  prepareVariables({ strategy: strategyWith('replicated', prepared), life }, [variable]);
  expect(prepared).toEqual(['packed']);
  tf.dispose([packed, variable]);
});
