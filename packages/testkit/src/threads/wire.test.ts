import { MessageChannel } from 'node:worker_threads';
import { expect, it, vi } from 'vitest';
import { SharedState } from './shared-state.js';
import { Wire } from './wire.js';

it('takes what a rank sent just before it closed the group', () => {
  const { port1, port2 } = new MessageChannel();
  const memory = SharedState.memoryFor(2);
  const [sender, receiver] = [
    [undefined, port1],
    [port2, undefined],
  ].map((ports, rank) => new Wire({ rank, size: 2, ports, memory })) as [Wire, Wire];
  const hasArrived = receiver.hasArrived.bind(receiver);
  // The sender is just too late for the first question.
  vi.spyOn(receiver, 'hasArrived').mockImplementation((from, name) => {
    const result = hasArrived(from, name);
    if (name === 'call 1' && !result) {
      sender.send(1, 'call 1', { words: [7] });
      sender.send(1, 'closed', { words: [] });
    }
    return result;
  });
  const wait = { rank: 1, for: 0 };
  expect(receiver.take({ from: 0, name: 'call 1', closed: 'closed', wait })).toEqual({ words: [7] });
  expect(() => receiver.take({ from: 0, name: 'call 2', closed: 'closed', wait })).toThrow(
    'rank 0 has closed the group.',
  );
  port1.close();
});
