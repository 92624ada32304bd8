import { afterEach, expect, it, vi } from 'vitest';
import { getLogger } from './logger.js';

afterEach(() => void vi.restoreAllMocks());

it('a message that is written once has no order of ranks, which could call it at different times', () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const logger = getLogger('train');
  const refused = expect.objectContaining({ code: 'ACC_INVALID_OPTION' }) as Error;
  const inOrder = { inOrder: true } as object;
  expect(() => logger.warnOnce('slow', inOrder)).toThrow(refused);
  logger.warnOnce('slow', { mainProcessOnly: false });
  expect(() => logger.warnOnce('slow', inOrder)).toThrow(refused);
  logger.warnOnce('slow');
  expect(warn.mock.calls).toEqual([['WARN train: [RANK 0] slow']]);
});
