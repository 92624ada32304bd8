import { hostname, networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { torchrunPlace } from './torchrun.js';

const bare = { RANK: '1', WORLD_SIZE: '2', MASTER_PORT: '29500' };
const ownAddresses = Object.values(networkInterfaces()).flatMap((own) => own!.map(({ address }) => address));

const failure = (env: Record<string, string>): Error & { code?: string; help?: string } => {
  try {
    torchrunPlace(env);
  } catch (error) {
    return error as Error;
  }
  return expect.unreachable();
};

describe('without LOCAL_WORLD_SIZE', () => {
  it.each(['localhost', '127.0.0.1', '::1', hostname(), ...ownAddresses])(
    'all ranks are on this host if MASTER_ADDR is this host: %s',
    (address) => {
      const place = torchrunPlace({ ...bare, MASTER_ADDR: address });
      // Not the loopback in its stead: a rank on another host would look for it at MASTER_ADDR.
      expect(place).toMatchObject({ localRank: 1, localSize: 2, masterAddress: address });
    },
  );

  it.each(['no.such.host', '192.0.2.1'])(
    'a rank is alone on its host if MASTER_ADDR is another host: %s',
    (address) => {
      const place = torchrunPlace({ ...bare, MASTER_ADDR: address });
      expect(place).toMatchObject({ localRank: 0, localSize: 1, masterAddress: address });
      expect(torchrunPlace({ ...bare, MASTER_ADDR: address, LOCAL_RANK: '0' })).toEqual(place);
    },
  );

  it('LOCAL_RANK needs LOCAL_WORLD_SIZE if MASTER_ADDR is another host', () => {
    const { code, message } = failure({ ...bare, MASTER_ADDR: 'no.such.host', LOCAL_RANK: '1' });
    expect(code).toBe('ACC_ENVIRONMENT');
    expect(message).toContain('LOCAL_WORLD_SIZE is not set');
  });
});

describe('with LOCAL_WORLD_SIZE', () => {
  it('ranks of one host meet at its loopback address', () => {
    const place = torchrunPlace({ ...bare, LOCAL_WORLD_SIZE: '2', MASTER_ADDR: 'no.such.host' });
    expect(place).toMatchObject({ localRank: 1, localSize: 2, masterAddress: '127.0.0.1' });
  });

  it('ranks count from 0 on each host if LOCAL_RANK is not set', () => {
    const env = { ...bare, WORLD_SIZE: '4', RANK: '3', LOCAL_WORLD_SIZE: '2', MASTER_ADDR: 'no.such.host' };
    expect(torchrunPlace(env)).toMatchObject({ localRank: 1, localSize: 2, masterAddress: 'no.such.host' });
  });
});

it.each(['0', '1'])('RANK=%s without WORLD_SIZE is refused', (RANK) => {
  const { code, message, help } = failure({ RANK });
  expect(code).toBe('ACC_ENVIRONMENT');
  expect(message).toContain(`WORLD_SIZE is not set, but RANK is ${RANK}`);
  expect(help).toContain('unset RANK');
});
