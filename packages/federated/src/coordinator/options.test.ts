import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { packedTensor, registerAccBackend } from '@acc/kernels';
import { startCoordinator } from './coordinator.js';
import type { CoordinatorOptions } from './options.js';

const start = async (options: object) => {
  await tf.setBackend('cpu');
  const weight = tf.variable(tf.zeros([2]));
  try {
    const coordinator = await startCoordinator({
      variables: [weight],
      rounds: 1,
      ...options,
    } as CoordinatorOptions);
    await coordinator.close();
    return 'started';
  } catch (error) {
    return (error as { code: string; message: string }).code;
  } finally {
    weight.dispose();
  }
};

async function packedVariable(): Promise<tf.Variable> {
  registerAccBackend();
  await tf.setBackend('acc');
  const unpack = () => expect.unreachable('nothing reads it');
  return tf.variable(
    packedTensor({ tensors: [], shape: [2, 2], records: {} as never, dynamic: false, unpack }),
    false,
  );
}

it('options that contradict each other, or are none, are refused', async () => {
  const invalid: object[] = [
    { rounds: 0 },
    { variables: undefined },
    { model: {}, variables: [] },
    { token: 'short' },
    { origins: ['example.org'] },
    { maxUnproven: 0 },
    { proofMs: 0 },
    { port: 70_000 },
    { clientsPerRound: 2, fraction: 0.5 },
    { fraction: 0 },
    { minClients: 3, clientsPerRound: 2 },
    { minClients: 3, enoughClients: 2 },
    { minClients: 3, waitForClients: 2 },
    { waitForClients: 3, maxClients: 2 },
    { minClients: 1, enoughClients: 3, clientsPerRound: 2 },
    { enoughClients: 101 },
    { clientsPerRound: 101 },
    { trimRatio: 0.5, aggregate: 'trimmedMean' },
    { trimRatio: 0.1 },
    { trimRatio: 0.1, aggregate: 'median' },
    { project: 'digits' },
    { projectDir: 'runs' },
    { checkpoint: null },
    { heartbeatMs: 2 ** 31 },
    { aggregate: 'mode' },
    { compression: 'zip' },
    { proximalMu: -1 },
    { resume: true },
    { tls: { cert: 'x' } },
  ];
  for (const options of invalid)
    expect([options, await start(options)]).toEqual([options, 'ACC_INVALID_OPTION']);
  for (const options of [{ round: 1 }, { checkpoint: { async: true } }]) {
    expect(await start(options)).toBe('ACC_UNKNOWN_OPTION');
  }
  // An address for documentation, which no machine has.
  expect(await start({ host: '192.0.2.1' })).toBe('ACC_FEDERATED_LISTEN');
  expect(await start({ variables: [] })).toBe('ACC_FEDERATED_MODEL');
  expect(await start({ variables: [await packedVariable()] })).toBe('ACC_FEDERATED_MODEL');
  expect(await start({ tls: { cert: 'no certificate', key: 'no key' } })).toBe('ACC_INVALID_OPTION');
  expect(await start({ origins: ['https://example.org'] })).toBe('started');
});

it('messages contain no secrets', async () => {
  await expect(startCoordinator({ rounds: 1, token: 'secret' })).rejects.toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('secret') as string }) as Error,
  );
});
