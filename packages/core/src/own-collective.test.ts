import { expect, it } from 'vitest';
import { SingleCollective } from '@acc/collective';
import { type AccError, type Collective } from '@acc/contract';
import { Accelerator } from './accelerator.js';
import { readLaunchEnvironment } from './environment.js';
import { placeIn } from './launchers/place-in.js';

const ranks = (rank: number, size: number, hosts?: string[]): Collective =>
  ({ rank, size, hosts, subgroup: () => undefined }) as unknown as Collective;

const launched = (rank: number, size: number) =>
  readLaunchEnvironment({
    ...{ RANK: `${rank}`, WORLD_SIZE: `${size}`, LOCAL_RANK: '0', LOCAL_WORLD_SIZE: '1' },
    ...{ MASTER_ADDR: '127.0.0.1', MASTER_PORT: '1234' },
  });

it('an Accelerator uses a collective of the program, and endTraining closes it', async () => {
  const calls: string[] = [];
  class Own extends SingleCollective {
    override barrier(): void {
      calls.push('barrier');
    }
    override close(): void {
      calls.push('close');
    }
  }
  const accelerator = await Accelerator.create({ collective: new Own() });
  accelerator.waitForEveryone();
  expect(calls).toEqual(['barrier']);
  await accelerator.endTraining();
  expect(calls.at(-1)).toBe('close');
});

it('the place of a rank is that in the collective', () => {
  const alone = readLaunchEnvironment({});
  const place = { rank: 2, size: 3, localRank: 2, localSize: 3 };
  expect(placeIn(ranks(2, 3), alone)).toMatchObject(place);
  const onHosts = { rank: 2, size: 3, localRank: 1, localSize: 2 };
  expect(placeIn(ranks(2, 3, ['a', 'b', 'b']), alone)).toMatchObject(onHosts);
  expect(placeIn(ranks(1, 2), launched(1, 2))).toMatchObject({ rank: 1, size: 2 });
});

it('another place than that of the launcher is refused', () => {
  const invalid = expect.objectContaining({ code: 'ACC_INVALID_OPTION' }) as AccError;
  expect(() => placeIn(ranks(0, 2), launched(1, 2))).toThrowError(invalid);
  expect(() => placeIn(ranks(1, 3), launched(1, 2))).toThrowError(invalid);
});
