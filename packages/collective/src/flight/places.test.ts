import { expect, it } from 'vitest';
import type { GroupEngine } from '../group-engine.js';
import { Places } from './places.js';
import type { RecordedCall } from './recorder.js';

it('a rank that goes on has not taken back its line, and one that differs again waits for the new line', () => {
  const board = new Map<string, string>();
  const asked: string[] = [];
  const [first, second] = [0, 1].map((rank) => {
    const publish = (topic: string, report: string) => void board.set(`${topic}/${rank}`, report);
    const accounts = (topic: string) => {
      asked.push(topic);
      return [0, 1].map((of) => ({ report: board.get(`${topic}/${of}`) }));
    };
    return new Places({ rank, publish, accounts } as unknown as GroupEngine);
  });
  const calls = (number: number, line: string): RecordedCall[] => [{ number, call: 'x', at: 0, line }];
  second!.of([3, 3], calls(3, '/b.mjs:3:1'));
  second!.of([4, 4], calls(4, '/b.mjs:4:1'));
  expect(first!.of([3, 3], calls(3, '/a.mjs:3:1'))).toEqual(['at /a.mjs:3:1', 'at /b.mjs:3:1']);
  expect(asked).toHaveLength(3);
});
