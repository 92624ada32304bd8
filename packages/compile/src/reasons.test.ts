import { afterEach, expect, it, vi } from 'vitest';
import { Reasons } from './reasons.js';

afterEach(() => void vi.restoreAllMocks());

it('each reason causes one warning, however often it holds', () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  const reasons = new Reasons();
  for (const why of ['it is slow', undefined, 'it is slow', undefined, 'it is far']) reasons.setBackend(why);
  reasons.refuse('it is slow');
  const warned = warn.mock.calls.flat();
  expect(warned).toEqual(
    ['it is slow', 'it is far'].map((why) => `acc: a compiled step runs without replay: ${why}.`),
  );
  expect(reasons.current).toBe('it is far');
});
